//! The faults of the tool that `.visor.yaml` comes from that are about the sandbox itself, each by its number, and what polder
//! does instead. Those of its steps are in `visor_faults.rs`, those that need a daemon in `sessions.rs` (b10) and
//! `seed_images.rs` (b15).
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, until};
use std::process::Stdio;

/// The engines that need no daemon.
const ENGINES: [&str; 2] = ["native", "bubblewrap"];

fn place(text: &str) -> Place {
    let place = Place::new().trusting();
    place.write("work/.visor.yaml", text);
    place
}

fn run(place: &Place, flags: &[&str], script: &str) -> Said {
    let mut arguments = vec!["run"];
    arguments.extend(flags);
    arguments.extend(["--", "sh", "-c", script]);
    place.says(&arguments)
}

/// What was shown read-only stays so, also when root runs the sandbox.
#[test]
fn b1_nobody_inside_can_mount_anything_anew() {
    for engine in ENGINES {
        let place = Place::new();
        let script = "grep CapEff /proc/self/status; mount -o remount,rw,bind \"$PWD\"; mount -t tmpfs x /tmp; touch x";
        let said = run(&place, &["--engine", engine, "--read-only"], script);
        assert!(
            said.code != 0 && said.out == "CapEff:\t0000000000000000\n" && !place.has("work/x"),
            "{engine}: {said:?}"
        );
        assert_eq!(run(&place, &["--engine", engine], "touch x").code, 0);
        assert!(place.has("work/x"), "the control");
    }
}

/// What one repository keeps between runs is nothing to another, whatever their sandboxes are called.
#[test]
fn b5_caches_belong_to_one_repository() {
    let place = Place::new();
    let text = "sandboxes: {s: {cache: {paths: [/kept], prefix: HEAD}}}\nsandbox: s\n";
    place.write("work/polder.yaml", text);
    place.write("other/polder.yaml", text);
    assert_eq!(run(&place, &[], "echo poison >/kept/x").code, 0);
    let other = place.dir().join("other").display().to_string();
    let said = run(&place, &["-C", &other], "ls /kept");
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    assert_eq!(run(&place, &[], "cat /kept/x").out, "poison\n", "the control");
}

/// A value of a step is in no list of arguments while it runs.
#[test]
fn b6_values_are_on_no_command_line() {
    let found = |value: &str| {
        let lists = std::fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path().join("cmdline"));
        lists.filter_map(|list| std::fs::read(list).ok()).any(|list| String::from_utf8_lossy(&list).contains(value))
    };
    for engine in ENGINES {
        let value = format!("s3cret-{engine}-{}", std::process::id());
        let place = place(&format!(
            "sandboxes: {{s: {{engine: {engine}}}}}\nsandbox: s\nsteps: {{a: {{type: command, env: {{T: {value}}}, exec: 'test $T && touch up; while ! test -e go; do sleep 0.05; done'}}}}\n"
        ));
        let child = place.polder(&["steps"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        until("the step", || place.has("work/up"));
        assert!(!found(&value), "{engine}");
        place.write("work/go", "");
        assert!(child.expect("polder").wait().expect("an end").success());
        let mut bare = place.command("sh").args(["-c", "read line", &value]).stdin(Stdio::piped()).spawn().expect("sh");
        until("the control", || found(&value));
        bare.kill().and_then(|()| bare.wait()).expect("its end");
    }
}

/// Temporary files of other programs cannot be read, and nobody outside can be signalled.
#[test]
fn b7_other_programs_are_out_of_reach() {
    let place = Place::new();
    let file = std::env::temp_dir().join(format!("polder-b7-{}", std::process::id()));
    std::fs::write(&file, "somebody's").expect("a file");
    let mut other = place.command("sleep").arg("60").spawn().expect("sleep");
    let script = format!("cat {}; kill {}", file.display(), other.id());
    for engine in ENGINES {
        let said = run(&place, &["--engine", engine], &script);
        assert!(said.code != 0 && said.out.is_empty(), "{engine}: {said:?}");
        assert!(other.try_wait().expect("a look").is_none(), "{engine}: it was signalled");
    }
    let said = place.sh(&script);
    assert_eq!((said.code, said.out.as_str()), (0, "somebody's"), "the control");
    other.wait().expect("its end");
    std::fs::remove_file(file).expect("a file");
}

/// A workspace that keeps changes apart and cannot be had is an error, never the real tree.
#[test]
fn b8_a_workspace_that_cannot_be_had_is_an_error() {
    let place = Place::new();
    let said = run(&place, &["--worktree"], "touch x");
    assert!(said.code == 125 && said.err.contains("git") && !place.has("work/x"), "{said:?}");
}

/// An engine that is not here is named, with what to do.
#[test]
fn b12_a_missing_program_is_named() {
    let place = Place::new();
    let mut command = place.polder(&["run", "--engine", "bubblewrap", "--", "/bin/touch", "x"]);
    let said = Said::from(command.env("PATH", "/nowhere").output().expect("polder"));
    assert!(said.code == 125 && said.err.contains("`bwrap`") && said.err.contains("remedy"), "{said:?}");
    assert!(!place.has("work/x"));
    assert_eq!(run(&place, &["--engine", "bubblewrap"], "touch x").code, 0, "the control");
}

/// An engine of another system says so.
#[test]
fn b13_an_engine_of_another_system_says_so() {
    let place = Place::new();
    let said = run(&place, &["--engine", "seatbelt"], "touch x");
    assert!(said.code == 125 && said.err.contains("macOS") && !place.has("work/x"), "{said:?}");
}

/// Ordinary programs find what they need.
#[test]
fn b14_ordinary_programs_work() {
    let script = "echo 1 2 | awk '{print $2}' && whoami >/dev/null && getent hosts localhost >/dev/null && test -d $HOME && touch $HOME/x && \
                  test -e /etc/ssl/certs && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --format=%s";
    for engine in ENGINES {
        let place = Place::new();
        assert_eq!(place.sh("git init -q .").code, 0);
        let said = run(&place, &["--engine", engine], script);
        assert_eq!((said.code, said.out.as_str()), (0, "2\nx\n"), "{engine}: {said:?}");
    }
}

/// A step whose time is up is gone with everything that it started.
#[test]
fn b16_nothing_survives_its_time() {
    for engine in ENGINES {
        let script = hold("sleep 600").replace('\n', "\n        ");
        let place = place(&format!(
            "sandboxes: {{s: {{engine: {engine}}}}}\nsandbox: s\nsteps:\n  a:\n    type: command\n    timeout: 2s\n    exec: |\n        {script}\n"
        ));
        let held = Held::new(&place);
        let said = place.says(&["steps"]);
        assert!(said.code == 1 && said.err.contains("a timed-out"), "{engine}: {said:?}");
        assert!(place.has("work/held") && held.is_free(), "{engine}: something lives on");
    }
}

/// Making room for one sandbox takes nothing from another whose name looks alike, and the last used stays.
#[test]
fn b18_making_room_touches_only_its_own() {
    let place = Place::new();
    let used = |sandbox: &str, prefix: &str, script: &str| {
        let text = format!(
            "sandboxes: {{{sandbox}: {{cache: {{paths: [/kept], prefix: {prefix}, max_scopes: 1}}}}}}\nsandbox: {sandbox}\n"
        );
        place.write("work/polder.yaml", text);
        run(&place, &[], script)
    };
    for (sandbox, prefix) in [("a-b", "one"), ("a", "z"), ("a", "m")] {
        assert_eq!(used(sandbox, prefix, "echo x >/kept/x").code, 0);
    }
    assert_eq!(used("a-b", "one", "cat /kept/x").out, "x\n", "another sandbox's");
    assert_eq!(used("a", "m", "cat /kept/x").out, "x\n", "the last used");
    assert_eq!(used("a", "z", "ls /kept").out, "", "the control: room was made");
}

/// Services are on the network of the step that needs them, and it waits for them.
#[test]
fn b19_services_are_reached_and_awaited() {
    let place = Place::new();
    place.write(
        "work/polder.yaml",
        "services: {web: {exec: 'sleep 0.3; exec python3 -m http.server 8090 --bind 127.0.0.1', ready: {port: 8090}}}\n\
         steps: {a: {exec: \"python3 -c 'import urllib.request as u; print(u.urlopen(\\\"http://localhost:8090/polder.yaml\\\").status)'\", services: web}}\n",
    );
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (0, "200\n"), "{said:?}");
}

/// Nothing appears in the tree but what the command made, whether it runs or not.
#[test]
fn b21_nothing_of_polders_is_in_the_tree() {
    let place =
        place("sandboxes: {s: {engine: native}}\nsandbox: s\nsteps: {a: {type: command, exec: 'ls -A; exit 3'}}\n");
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (1, ".visor.yaml\n"), "{said:?}");
    place.write("work/.visor.yaml", "sandboxes: {s: {engine: native, visor_path: relative}}\nsandbox: s\nsteps: {a: {type: command, exec: 'true'}}\n");
    assert_eq!(place.says(&["steps"]).code, 125);
    assert_eq!(place.names(), [".visor.yaml"]);
}

/// Names and paths mean one thing: capitals are legal, `..` is a component and not a substring, `~user` and a missing source
/// are errors.
#[test]
fn b22_names_and_paths_mean_one_thing() {
    let with = |bind: &str| {
        let place = place(&format!(
            "sandboxes: {{Upper.Case: {{engine: native, bind_paths: [{{host: {bind}, container: /shown}}]}}}}\nsandbox: Upper.Case\nsteps: {{a: {{type: command, exec: cat /shown/x}}}}\n"
        ));
        place.write("home/a..b:c/x", "seen\n");
        place.says(&["steps", "--trust"])
    };
    let said = with("'~/a..b:c'");
    assert_eq!((said.code, said.out.as_str()), (0, "seen\n"), "{said:?}");
    for (wrong, why) in [("~somebody/x", "~"), ("'~/../x'", ".."), ("'~/nowhere'", "nowhere")] {
        let said = with(wrong);
        assert!(said.code == 125 && said.out.is_empty() && said.err.contains(why), "{wrong}: {said:?}");
    }
}
