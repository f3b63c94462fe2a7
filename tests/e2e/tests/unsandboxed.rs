//! Running without a sandbox: refused unless permitted and asked for, said aloud, and still tidy.
#![forbid(unsafe_code)]

use expect_test::expect;
use polder_e2e::{Held, Place, Said, hold};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const WARNING: &str = "polder: without `fs`, `protect`, `second-layer`, `net`, `ipc`, `processes`, `privileges`, \
                       `syscalls`, `pids`: engine `none` enforces nothing\n";

/// A place whose user permits it.
fn permitted() -> Place {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
    place
}

fn run(place: &Place, flags: &[&str], command: &[&str]) -> Said {
    let mut arguments = vec!["run", "--engine", "none"];
    arguments.extend(flags);
    arguments.push("--");
    arguments.extend(command);
    place.says(&arguments)
}

/// A daemon that leaves its session, with its program in the workspace: there is no other place of its own.
fn daemon(rest: &str) -> String {
    hold(rest).replace("/tmp/daemon", "./daemon")
}

#[test]
fn nobody_permits_it_by_default() {
    let place = Place::new();
    let said = run(&place, &[], &["touch", "ran"]);
    expect!["polder: flag --engine: engine `none` enforces nothing and is not permitted; a user or system file permits it with `allow_unsandboxed: true`\n"]
        .assert_eq(&said.err);
    assert_eq!(said.code, 125);
    // Accepting every gap is not a permission, and neither is trust.
    for flags in [&["--accept", "fs", "--accept", "net"][..], &["--trust"]] {
        assert_eq!(run(&place, flags, &["touch", "ran"]).code, 125);
    }
    // A file of the caller's choice may come from anywhere, too.
    let file = place.write("other.yaml", "allow_unsandboxed: true\n");
    let said = run(&place, &["--config", &file.display().to_string()], &["touch", "ran"]);
    assert!(said.err.contains("counts in a system or user file only"), "{}", said.err);
    assert!(!place.has("work/ran"));
}

#[test]
fn a_project_neither_permits_nor_chooses_it() {
    let place = Place::new();
    place.write("work/polder.yaml", "allow_unsandboxed: true\n");
    let said = run(&place, &["--trust"], &["touch", "ran"]);
    assert!(said.err.contains("`allow_unsandboxed` counts in a system or user file only"), "{}", said.err);
    // Where the user permits it, a project still does not choose it.
    let place = permitted();
    place.write("work/polder.yaml", "sandboxes: {a: {engine: none}}\nsandbox: a\n");
    let said = place.says(&["run", "--trust", "--", "touch", "ran"]);
    assert!(said.err.contains("`none` enforces nothing and never comes from a project"), "{}", said.err);
    assert!(!place.has("work/ran"));
}

#[test]
fn auto_never_chooses_it() {
    let place = permitted();
    // Whatever auto says to a demand that nothing can keep, it is not the host.
    let said = place.says(&["run", "--network", "restricted", "--", "touch", "ran"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(!place.has("work/ran") && !said.err.contains("`none`"), "{}", said.err);
    let said = place.says(&["run", "--json", "--", "true"]);
    assert!(said.out.contains("\"starting\"") && !said.out.contains("\"engine\":\"none\""), "{}", said.out);
}

#[test]
fn it_says_that_nothing_is_enforced() {
    let place = permitted();
    let said = run(&place, &[], &["sh", "-c", "pwd; echo x >made"]);
    assert_eq!(said, Said { code: 0, out: format!("{}\n", place.work().display()), err: WARNING.to_owned() });
    assert!(place.has("work/made"));
    let said = run(&place, &["--json"], &["true"]);
    let downgrades = said.out.lines().filter(|line| line.contains("\"type\":\"downgrade\"")).count();
    assert_eq!((said.code, downgrades, said.err.as_str()), (0, 9, ""), "{}", said.out);
}

#[test]
fn what_is_required_is_refused() {
    let place = permitted();
    for guarantee in ["fs", "net", "processes", "pids", "syscalls"] {
        let said = run(&place, &["--require", guarantee], &["touch", "ran"]);
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains(&format!("{guarantee}: engine `none` enforces nothing")), "{}", said.err);
    }
    assert!(!place.has("work/ran"));
    assert_eq!(run(&place, &["--require", "env"], &["true"]).code, 0);
}

#[test]
fn paths_cannot_appear_elsewhere() {
    let place = permitted();
    let other = format!("{}:/opt/other", place.home().display());
    let said = run(&place, &["--bind", &other], &["touch", "ran"]);
    assert!(said.err.contains("engine `none` shows paths where they are"), "{}", said.err);
    assert!(!place.has("work/ran"));
    let said = place.says(&["run", "--engine", "none", "--dry-run", "--", "true"]);
    let rows: Vec<&str> =
        said.out.lines().filter(|line| line.starts_with("world") || line.starts_with("permitted")).collect();
    assert_eq!(rows.len(), 2, "{}", said.out);
    assert!(rows[1].ends_with("home/.config/polder/polder.yaml:1"), "{}", rows[1]);
}

#[test]
fn the_environment_is_filtered() {
    let place = permitted();
    let mut polder = place.polder(&["run", "--engine", "none", "--env", "GIVEN=1", "--", "env"]);
    let said: Said = polder.env("TOKEN", "secret").env("LD_PRELOAD_X", "y").output().expect("polder").into();
    let mut names: Vec<&str> = said.out.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "HOME", "LANG", "PATH"], "{said:?}");
}

#[test]
fn codes_are_the_commands_own() {
    let place = permitted();
    place.write("work/script", "#!/bin/sh\n");
    for (command, code) in [
        (&["sh", "-c", "exit 42"][..], 42),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-command"], 127),
        (&["./no-such-file"], 127),
        (&["./script"], 126),
        (&["/"], 126),
    ] {
        assert_eq!(run(&place, &[], command).code, code, "{command:?}");
    }
    let said = run(&place, &[], &["printf", "%s|", "a b", "", "*", "$(id)", "-x"]);
    assert_eq!(said.out, "a b||*|$(id)|-x|");
}

#[test]
fn limits_that_polder_keeps_itself_hold() {
    let place = permitted();
    let held = Held::new(&place);
    let said = run(&place, &["--timeout", "3s"], &["sh", "-c", &daemon("sleep 600")]);
    assert_eq!(said.code, 124, "{said:?}");
    assert!(said.err.ends_with("polder: timed out after 3s; --timeout 6s lets it run longer\n"), "{}", said.err);
    assert!(place.has("work/held") && held.is_free(), "the daemon lives on");
    let said = run(&place, &["--output", "64K"], &["yes"]);
    assert_eq!((said.code, said.out.len()), (137, 64 << 10), "{}", said.err);
    assert_eq!(run(&place, &["--files", "77"], &["sh", "-c", "ulimit -n"]).out, "77\n");
}

#[test]
fn everything_ends_with_the_command_and_with_polder() {
    let place = permitted();
    let held = Held::new(&place);
    assert_eq!(run(&place, &[], &["sh", "-c", &daemon("exit 5")]).code, 5);
    assert!(place.has("work/held") && held.is_free(), "the daemon lives on");

    let place = permitted();
    let held = Held::new(&place);
    let mut polder = place.polder(&["run", "--engine", "none", "--", "sh", "-c", &daemon("sleep 600")]);
    let mut child = polder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("polder");
    held.begun(&place);
    // SIGKILL: no handler, no destructor.
    child.kill().expect("a kill");
    assert_eq!(child.wait().expect("an end").signal(), Some(9));
    held.ended();
}

#[test]
fn an_engine_of_another_system_says_what_to_use_instead() {
    let place = Place::new();
    for flags in [
        &["run", "--engine", "seatbelt", "--", "touch", "ran"][..],
        &["run", "--engine", "seatbelt", "--accept", "fs", "--bind", "/usr:/opt/x", "--", "touch", "ran"],
    ] {
        let said = place.says(flags);
        assert_eq!(said.code, 125);
        expect![[r#"
            polder: engine `seatbelt` does not work here: it is part of macOS and works nowhere else
              remedy: use engine `native` or `auto`
        "#]]
        .assert_eq(&said.err);
    }
    assert!(!place.has("work/ran"));
}
