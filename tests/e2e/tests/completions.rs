//! Completion by the shells themselves: the scripts are sourced, and the key is pressed.
#![forbid(unsafe_code)]

use polder_e2e::{Place, binary};

/// What bash offers at the end of a line, by its own completion function.
const PRESSED: &str = r#"
source <(polder completions bash)
IFS=$' \t\n'
offers() {
    COMP_LINE=$1 COMP_POINT=${#1}
    COMPREPLY=() ASKED=
    # As readline breaks a line, with a last word that may be empty.
    read -ra COMP_WORDS <<<"${1//=/ = }"
    [[ $1 == *' ' || $1 == *= ]] && [[ $1 != *= ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    compopt() { ASKED=$*; }
    _polder polder "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s|' "${COMPREPLY[@]}"
    echo "$ASKED"
}
"#;

fn bash(place: &Place, line: &str) -> String {
    let directory = binary().parent().expect("a directory").display().to_string();
    let script = format!("PATH={directory}:$PATH\n{PRESSED}\noffers '{line}'");
    let output = place.command("bash").args(["--norc", "-c", &script]).output().expect("bash");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8").trim_end_matches(['\n', ' ']).to_owned()
}

const FILE: &str = "sandboxes:\n  fast: {}\n  fine: {}\n  slow: {}\nsteps:\n  build: {exec: x}\n  test: {exec: x}\n";

#[test]
fn bash_completes_names_of_the_configuration() {
    let place = Place::new();
    place.write("work/polder.yaml", FILE);
    assert_eq!(bash(&place, "polder run --sandbox f"), "fast|fine|");
    assert_eq!(bash(&place, "polder run --sandbox=s"), "slow|");
    assert_eq!(bash(&place, "polder steps "), "build|test|");
    assert_eq!(bash(&place, "polder steps build t"), "test|");
    assert_eq!(bash(&place, "polder run --engine=bub"), "bubblewrap|");
    assert_eq!(bash(&place, "polder run --accept net"), "net|");
    assert_eq!(bash(&place, "polder run --profile n"), "node|");
    assert_eq!(bash(&place, "polder run --config "), "|-o default", "a file: the shell's own matter");
    assert_eq!(bash(&place, "polder run -C .. --sandbox f"), "|", "another directory has other names");
    // A file with faults has names all the same.
    place.write("work/polder.yaml", format!("{FILE}nonsense: 1\n"));
    assert_eq!(bash(&place, "polder run -s f"), "fast|fine|");
}

#[test]
fn bash_completes_names_of_workspaces() {
    let place = Place::new();
    assert_eq!(bash(&place, "polder workspace diff d"), "|");
    assert!(!place.has("home/.local"), "a key makes nothing");
    let run = place.says(&["run", "--workspace", "demo", "--", "touch", "x"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(bash(&place, "polder workspace diff d"), "demo|");
    assert_eq!(bash(&place, "polder run --workspace de"), "demo|");
}

#[test]
fn bash_completes_commands_after_the_dashes() {
    let place = Place::new();
    let offered = bash(&place, "polder run -- mkfif");
    assert!(offered.split('|').any(|word| word == "mkfifo"), "{offered}");
}

#[test]
fn names_that_a_shell_would_obey_are_not_offered() {
    let place = Place::new();
    place.write(
        "work/polder.yaml",
        "sandboxes:\n  good: {}\n  \"$(touch evil)\": {}\n  \"g\\e[2J\": {}\n  \"g;x\": {}\n  \"-g\": {}\n  \"g\\u202Ex\": {}\n",
    );
    assert_eq!(bash(&place, "polder run --sandbox "), "good|");
    assert_eq!(bash(&place, "polder run --sandbox g"), "good|");
    let raw = place.says(&["complete", "--", "run", "--sandbox", ""]);
    assert_eq!((raw.code, raw.out.lines().count()), (0, 1), "{raw:?}");
    assert_eq!(place.names(), ["polder.yaml"]);
}

#[test]
fn project_program_is_not_started_by_a_key() {
    let place = Place::new();
    place.sh("printf '#!/bin/sh\\ntouch started\\n' > polder; chmod +x polder");
    assert_eq!(bash(&place, "./polder compl"), "completions|");
    assert!(!place.has("work/started"));
}
