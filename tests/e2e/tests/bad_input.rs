//! Whatever is wrong is said once, with its place and what to do; nothing runs and nothing stays.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// One clear message of polder's own, and nothing of the command.
fn assert_refused(place: &Place, said: &Said, words: &[&str]) {
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    assert!(said.err.starts_with("polder: "), "{}", said.err);
    assert_eq!(said.err.matches("polder: ").count(), 1, "said once: {}", said.err);
    for word in words {
        assert!(said.err.contains(word), "`{word}` is missing: {}", said.err);
    }
    assert!(!said.err.contains("panicked") && !said.err.contains("RUST_BACKTRACE"), "{}", said.err);
    assert!(!place.has("work/ran"), "nothing may run");
}

fn configured(text: impl AsRef<[u8]>, words: &[&str]) {
    let place = Place::new();
    place.write("work/polder.yaml", text);
    assert_refused(&place, &place.says(&["run", "--", "touch", "ran"]), words);
    assert_eq!(place.names(), ["polder.yaml"]);
}

fn flagged(flags: &[&str], words: &[&str]) {
    let place = Place::new();
    let mut arguments = vec!["run"];
    arguments.extend(flags);
    arguments.extend(["--", "touch", "ran"]);
    assert_refused(&place, &place.says(&arguments), words);
    assert!(place.names().is_empty());
}

#[test]
fn an_unknown_key() {
    configured("sandboxes:\n  a:\n    netwrok: true\nsandbox: a\n", &["polder.yaml:3", "netwrok", "network"]);
}

#[test]
fn two_modes_at_once() {
    configured(
        "sandboxes:\n  a:\n    image: x\n    dockerfile: y\nsandbox: a\n",
        &["polder.yaml:", "image", "dockerfile"],
    );
}

#[test]
fn a_parent_component() {
    configured("sandboxes:\n  a:\n    protect: [../x]\nsandbox: a\n", &["polder.yaml:3", "`..`"]);
    configured("sandboxes:\n  a:\n    bind_paths: [{host: /a/../b}]\nsandbox: a\n", &["polder.yaml:3", "`..`"]);
    flagged(&["--bind", "/usr/../etc:/x"], &["--bind", "`..`"]);
    flagged(&["--workdir", "/a/../b"], &["--workdir", "`..`"]);
    // A name with two dots is only a name.
    let place = Place::new();
    place.write("a..b/file", "seen");
    let bind = format!("{}:/opt/x", place.dir().join("a..b").display());
    assert_eq!(place.says(&["run", "--bind", &bind, "--", "cat", "/opt/x/file"]).out, "seen");
}

#[test]
fn a_relative_path_inside() {
    configured("sandboxes:\n  a:\n    workdir: here\nsandbox: a\n", &["polder.yaml:3", "absolute"]);
    flagged(&["--bind", "/etc/hostname:rel"], &["--bind", "absolute"]);
    flagged(&["--workdir", "here"], &["--workdir", "absolute"]);
}

#[test]
fn a_missing_bind_source() {
    flagged(&["--bind", "/no/such/source"], &["--bind", "/no/such/source", "does not exist"]);
    flagged(&["--bind", "~nobody/x"], &["--bind", "~"]);
}

#[test]
fn a_bind_where_the_sandbox_has_its_own() {
    for guest in ["/proc", "/dev/x", "/sys", "/", "/proc/self"] {
        flagged(&["--bind", &format!("/usr:{guest}")], &["--bind", guest]);
    }
}

#[test]
fn an_undefined_sandbox() {
    configured("sandboxes:\n  one: {}\n  two: {}\nsandbox: three\n", &["polder.yaml:4", "three", "one, two"]);
    flagged(&["--sandbox", "nowhere"], &["--sandbox", "nowhere"]);
}

#[test]
fn limits_that_are_none() {
    flagged(&["--timeout", "0s"], &["--timeout", "zero"]);
    flagged(&["--timeout", "10"], &["--timeout", "ms, s, m, h or d"]);
    flagged(&["--memory", "lots"], &["--memory", "number"]);
    flagged(&["--memory", "5X"], &["--memory", "K, M, G"]);
    flagged(&["--memory", "0"], &["--memory", "zero"]);
    flagged(&["--memory", "-5M"], &["--memory"]);
    flagged(&["--memory", "99999999999T"], &["--memory", "too large"]);
    flagged(&["--pids", "0"], &["--pids"]);
    flagged(&["--pids", "many"], &["--pids"]);
    flagged(&["--cpus", "0"], &["--cpus"]);
    flagged(&["--cpus", "nan"], &["--cpus"]);
    flagged(&["--files", "0"], &["--files"]);
}

#[test]
fn words_that_nobody_knows() {
    flagged(&["--network", "some"], &["--network", "some"]);
    flagged(&["--engine", "natve"], &["--engine", "natve", "native"]);
    flagged(&["--require", "safety"], &["--require", "safety", "known are fs"]);
    flagged(&["--accept", "everything"], &["--accept", "everything"]);
    flagged(&["--env", "A-B=x"], &["--env"]);
    let place = Place::new();
    let said: Said =
        place.polder(&["run", "--", "touch", "ran"]).env("POLDER_MEMROY", "1G").output().expect("polder").into();
    assert_refused(&place, &said, &["POLDER_MEMROY", "POLDER_MEMORY"]);
    let said = place.says(&["run", "--allow", "fs.red=/x", "--", "touch", "ran"]);
    assert!(said.code == 125 && said.err.contains("fs.read=PATH"), "{said:?}");
}

#[test]
fn a_config_that_is_no_config() {
    configured("{{{{", &["polder.yaml:1"]);
    configured("- a\n- b\n", &["polder.yaml:1"]);
    configured(b"sandboxes:\n  a: {workdir: \"\xff\xfe\"}\n", &["polder.yaml:", "UTF-8"]);
    configured("a: &a [*a]\n", &["polder.yaml:"]);
    configured("sandbox: a\nsandbox: b\n", &["polder.yaml:2", "sandbox"]);
    configured(format!("# {}\n", "x".repeat(20 << 20)), &["polder.yaml:1", "bytes"]);
    configured(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), &["polder.yaml:"]);
    configured("sandboxes:\n  a:\n    workdir: \"/a\\0b\"\nsandbox: a\n", &["polder.yaml:3", "NUL"]);
    configured("sandboxes:\n  a:\n    workdir: \"/\\e[31mred\"\n    engin: x\nsandbox: a\n", &["engin"]);
}

#[test]
fn a_config_that_cannot_be_read() {
    let place = Place::new();
    let said = place.says(&["run", "--config", "/no/such.yaml", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["/no/such.yaml"]);
    fs::create_dir(place.work().join("polder.yaml")).expect("a directory");
    assert_refused(&place, &place.says(&["run", "--", "touch", "ran"]), &["polder.yaml"]);
    fs::remove_dir(place.work().join("polder.yaml")).expect("the directory");
    std::os::unix::fs::symlink("/dev/zero", place.work().join("polder.yaml")).expect("a link");
    assert_refused(&place, &place.says(&["run", "--", "touch", "ran"]), &["polder.yaml"]);
}

#[test]
fn a_command_that_cannot_run() {
    let place = Place::new();
    let said = place.says(&["run", "--", "no-such-command"]);
    assert_eq!((said.code, said.out.as_str()), (127, ""), "{said:?}");
    assert!(said.err.contains("`no-such-command` does not exist in the sandbox") && said.err.contains("PATH="));
    let script = place.write("work/script", "#!/bin/sh\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o644)).expect("rights");
    let said = place.says(&["run", "--", "./script"]);
    assert_eq!((said.code, said.out.as_str()), (126, ""), "{said:?}");
    assert!(
        said.err.contains("`./script` cannot be executed: ") && said.err.contains("Permission denied"),
        "{}",
        said.err
    );
    let said = place.says(&["run", "--", ""]);
    assert!(said.code == 125 && said.err.contains("there is no command"), "{said:?}");
    // Of the host and not inside: the message says how to show it.
    let tool = place.write("tool", "#!/bin/sh\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("rights");
    let said = place.says(&["run", "--", &tool.display().to_string()]);
    assert!(said.code == 127 && said.err.contains("--bind"), "{said:?}");
}

#[test]
fn a_workspace_that_is_none() {
    let place = Place::new();
    let at = |dir: &std::path::Path| -> Said {
        place.polder(&["run", "--", "touch", "ran"]).current_dir(dir).output().expect("polder").into()
    };
    assert_refused(&place, &at("/".as_ref()), &["the whole machine", "-C"]);
    assert_refused(&place, &at("/usr".as_ref()), &["`/usr`", "-C"]);
    assert_refused(&place, &at("/proc".as_ref()), &["`/proc`", "-C"]);
    assert_refused(&place, &at(&place.home()), &["home directory", "-C"]);
    assert_refused(&place, &at(place.dir()), &["home directory", "-C"]);
    let said = place.says(&["run", "-C", "nowhere", "--", "touch", "ran"]);
    assert_refused(&place, &said, &["nowhere"]);
    place.write("work/file", "");
    assert_refused(&place, &place.says(&["run", "-C", "file", "--", "touch", "ran"]), &["file"]);
}

#[test]
fn a_workspace_that_vanished() {
    let place = Place::new();
    let said = place.sh("mkdir gone && cd gone && rmdir ../gone && exec $POLDER run -- touch ran");
    assert_refused(&place, &said, &["cannot use"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_mode_that_cannot_be_had() {
    flagged(&["--cow", "--disk", "1M"], &["--cow", "--accept disk"]);
    flagged(&["--from", "nobody"], &["nobody", "polder workspace list"]);
    flagged(&["--network", "restricted"], &["net", "broker"]);
    flagged(&["--allow-host", "example.com"], &["net", "broker"]);
}
