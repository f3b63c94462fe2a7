//! Trust in a project's file: the refusal, the three ways to allow, and where it ends.
#![forbid(unsafe_code)]

use polder_e2e::{Held, Place, Said, hold, until};
use std::fs;
use std::path::Path;
use std::process::Stdio;

const OPEN: &str = "sandboxes: {a: {engine: native, network: true}}\nsandbox: a\n";
const RUN: [&str; 3] = ["run", "--", "true"];

fn in_directory(place: &Place, directory: &Path, arguments: &[&str]) -> Said {
    place.polder(arguments).current_dir(directory).output().expect("polder").into()
}

#[test]
fn visor_file_without_network_is_refused_in_one_line() {
    let place = Place::new();
    place.write("work/.visor.yaml", "sandboxes: {a: {engine: native}}\nsandbox: a\n");
    let said = place.says(&RUN);
    let file = place.work().join(".visor.yaml").display().to_string();
    let expected = format!(
        "polder: `{file}` asks: the host's network, which an absent `network` means in this file (line 1); \
         you have not trusted it: `--trust` allows it once, `polder trust` remembers it, POLDER_TRUST_PROJECT=1 is \
         for CI; `--network full` gives only that\n"
    );
    assert_eq!((said.code, said.out.as_str(), said.err), (125, "", expected));
}

#[test]
fn flag_call_and_store_each_allow_the_network() {
    let place = Place::new();
    place.write("work/polder.yaml", OPEN);
    assert_eq!(place.says(&RUN).code, 125);
    for flags in [&["--trust"][..], &["--network", "full"], &["--network", "none"]] {
        let said = place.says(&[&["run"], flags, &["--", "true"]].concat());
        assert_eq!(said.code, 0, "{flags:?}: {said:?}");
    }
    for (name, value) in [("POLDER_TRUST_PROJECT", "1"), ("POLDER_NETWORK", "full")] {
        let said: Said = place.polder(&RUN).env(name, value).output().expect("polder").into();
        assert_eq!(said.code, 0, "{name}: {said:?}");
    }
    assert_eq!(place.says(&RUN).code, 125, "none of these is remembered");
    assert_eq!(place.says(&["trust"]).code, 0);
    assert_eq!(place.says(&RUN).code, 0);
    assert_eq!(place.says(&["trust", "--revoke"]).code, 0);
    assert_eq!(place.says(&RUN).code, 125);
}

/// Each weakens in its own way, in a run and in a step.
#[test]
fn weaker_values_of_untrusted_project_are_refused() {
    let asks = [
        ("network: {allow: [example.org]}", "the network to `example.org`"),
        ("limits: {pids: 100000}", "`limits.pids` of 100000 instead of 4096"),
        ("limits: {disk: 1T}", "`limits.disk` of 1T instead of 2G"),
        ("observe: 'off'", "to be watched less (`observe: off`)"),
        ("engine: seatbelt", "a weaker engine (`seatbelt`)"),
        ("accept: [fs]", "to accept gaps in `fs`"),
    ];
    for (key, what) in asks {
        let place = Place::new();
        place.write(
            "work/polder.yaml",
            format!("sandboxes: {{a: {{{key}}}}}\nsandbox: a\nsteps: {{s: {{exec: touch ran}}}}\n"),
        );
        for arguments in [&["run", "--", "touch", "ran"][..], &["steps"], &["run", "--dry-run", "--", "true"]] {
            let said = place.says(arguments);
            assert!(said.code == 125 && said.err.contains(what), "{key}: {said:?}");
            assert!(said.err.contains("you have not trusted it"), "{key}: {said:?}");
        }
        assert!(!place.has("work/ran"), "{key}");
    }
    // The control: narrower values count at once.
    let place = Place::new();
    let narrow = "engine: native, network: false, limits: {pids: 64, disk: 1G}, observe: exact, read_only: true";
    place.write("work/polder.yaml", format!("sandboxes: {{a: {{{narrow}}}}}\nsandbox: a\n"));
    assert_eq!(place.says(&RUN).code, 0);
}

#[test]
fn step_and_service_that_open_network_are_refused() {
    for text in [
        "steps: {s: {exec: touch ran, network: true}}\n",
        "sandboxes: {a: {network: true}}\nsteps: {s: {exec: touch ran, sandbox: a}}\n",
        "sandboxes: {a: {network: true}}\nservices: {v: {exec: touch ran, sandbox: a, ready: {port: 2000}}}\n\
         steps: {s: {exec: touch ran, services: v}}\n",
        "max_parallelism: 1000\nsteps: {s: {exec: touch ran}}\n",
    ] {
        let place = Place::new();
        place.write("work/polder.yaml", text);
        let said = place.says(&["steps"]);
        assert!(said.code == 125 && said.err.contains("you have not trusted it"), "{text}: {said:?}");
        assert!(!place.has("work/ran"), "{text}");
    }
}

#[test]
fn file_of_parent_or_behind_symlink_is_refused() {
    let place = Place::new();
    assert_eq!(place.sh("git init -q . && mkdir -p deep/down").code, 0);
    place.write("work/polder.yaml", OPEN);
    let below = place.work().join("deep/down");
    assert_eq!(in_directory(&place, &below, &RUN).code, 125, "a file of a parent directory");
    assert_eq!(in_directory(&place, &below, &["trust"]).code, 0);
    assert_eq!(in_directory(&place, &below, &RUN).code, 0);

    let place = Place::new();
    place.write("other/real.yaml", OPEN);
    std::os::unix::fs::symlink("../other/real.yaml", place.work().join("polder.yaml")).expect("a symlink");
    // No run protects a symlink, so the question is put to `config show`.
    let show = ["config", "show"];
    assert!(place.says(&RUN).err.contains("you have not trusted it"), "a symlink");
    assert_eq!(place.says(&show).code, 125);
    assert_eq!(place.says(&["trust"]).code, 0);
    assert_eq!(place.says(&show).code, 0);
    place.write("other/real.yaml", format!("{OPEN}# more\n"));
    assert_eq!(place.says(&show).code, 125, "the content behind the symlink changed");
}

#[test]
fn file_of_another_user_is_refused() {
    if !polder_e2e::is_root() {
        return;
    }
    let place = Place::new();
    let path = place.write("work/polder.yaml", OPEN);
    std::os::unix::fs::chown(&path, Some(65534), Some(65534)).expect("chown");
    assert_eq!(place.says(&RUN).code, 125);
    assert_eq!(place.says(&["run", "--trust", "--", "true"]).code, 0);
}

#[test]
fn trust_does_not_follow_content_to_another_place() {
    let place = Place::new();
    assert_eq!(place.sh("git init -q .").code, 0);
    place.write("work/polder.yaml", OPEN);
    assert_eq!(place.says(&["trust"]).code, 0);
    assert_eq!(place.says(&RUN).code, 0);
    let [copy, moved] = ["copy", "moved"].map(|name| place.dir().join(name));
    assert_eq!(place.sh("cp -a . ../copy").code, 0);
    assert_eq!(in_directory(&place, &copy, &RUN).code, 125, "a copy");
    // Another tree at the same path.
    assert_eq!(place.sh("mv ../work ../moved && mv ../copy ../work").code, 0);
    assert_eq!(place.says(&RUN).code, 125, "another tree at the trusted path");
    assert_eq!(in_directory(&place, &moved, &RUN).code, 125, "the trusted tree at another path");
    assert_eq!(place.sh("cd .. && mv work copy && mv moved work").code, 0);
    assert_eq!(place.says(&RUN).code, 0, "the control: the same tree at the same path");
}

#[test]
fn changed_file_that_project_names_ends_trust() {
    let place = Place::new();
    place.write("work/base.yaml", "sandboxes: {a: {engine: native, network: true}}\n");
    place.write("work/Containerfile", "FROM scratch\n");
    place.write("work/compose.yaml", "services: {s: {image: x}}\n");
    place.write(
        "work/polder.yaml",
        "extends: base.yaml\nsandbox: a\nsandboxes:\n  b: {dockerfile: Containerfile}\n  \
         c: {compose: compose.yaml, service: s}\n",
    );
    for name in ["base.yaml", "Containerfile", "compose.yaml"] {
        assert_eq!(place.says(&["trust"]).code, 0);
        assert_eq!(place.says(&RUN).code, 0, "{name}");
        let before = place.read(format!("work/{name}"));
        place.write(format!("work/{name}"), format!("{before}# more\n"));
        assert_eq!(place.says(&RUN).code, 125, "{name} changed");
        place.write(format!("work/{name}"), before);
        assert_eq!(place.says(&RUN).code, 0, "{name} is as it was");
    }
}

#[test]
fn protect_with_60000_entries_is_refused_at_once() {
    let place = Place::new();
    let names: Vec<_> = (0..60_000).map(|at| format!("d{at}")).collect();
    place.write("work/polder.yaml", format!("sandboxes: {{a: {{protect: [{}]}}}}\nsandbox: a\n", names.join(",")));
    let started = std::time::Instant::now();
    let said = place.says(&RUN);
    assert!(said.code == 125 && said.err.contains("`protect` has 60000 entries, more than 4096"), "{said:?}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// The command of one run writes what the next one in that directory would obey.
#[test]
fn nested_file_that_a_run_wrote_does_not_count() {
    let ways = [
        ("a new file", "printf 'sandboxes: {a: {limits: {timeout: 9s}}}\\nsandbox: a\\n' >sub/polder.yaml"),
        ("a new file in TOML", "printf '' >sub/polder.toml"),
        ("another dialect", "printf 'sandboxes: {a: {network: false}}\\nsandbox: a\\n' >sub/.visor.yaml"),
        ("an old time", "printf 'sandboxes: {}\\n' >sub/polder.yaml; touch -d 2001-01-01 sub/polder.yaml"),
        ("a file moved there", "mv mine.yaml sub/polder.yaml"),
        ("a hard link", "ln mine.yaml sub/polder.yaml"),
        ("a symlink", "ln -s ../mine.yaml sub/polder.yaml"),
    ];
    for (way, script) in ways {
        let place = Place::new();
        assert_eq!(place.sh("git init -q . && mkdir sub && printf 'sandboxes: {}\\n' >mine.yaml").code, 0);
        let sub = place.work().join("sub");
        assert_eq!(in_directory(&place, &sub, &RUN).code, 0, "{way}: the control");
        let said = place.says(&["run", "--", "sh", "-c", script]);
        assert_eq!(said.code, 0, "{way}: {said:?}");
        let said = in_directory(&place, &sub, &RUN);
        assert!(
            said.code == 125 && said.err.contains("while a command in a sandbox could write it"),
            "{way}: {said:?}"
        );
        if way.ends_with("link") {
            // No run protects a file with two names, trusted or not.
            continue;
        }
        assert_eq!(in_directory(&place, &sub, &["run", "--trust", "--", "true"]).code, 0, "{way}: for once");
        assert_eq!(in_directory(&place, &sub, &RUN).code, 125, "{way}: not remembered");
        assert_eq!(in_directory(&place, &sub, &["trust"]).code, 0, "{way}");
        assert_eq!(in_directory(&place, &sub, &RUN).code, 0, "{way}: trusted");
    }
}

#[test]
fn nested_file_of_the_user_counts_until_a_run_changes_it() {
    let place = Place::new();
    assert_eq!(place.sh("git init -q . && mkdir sub && printf 'sandboxes: {}\\n' >sub/polder.yaml").code, 0);
    let sub = place.work().join("sub");
    assert_eq!(place.says(&["run", "--", "touch", "other"]).code, 0);
    assert_eq!(in_directory(&place, &sub, &RUN).code, 0, "the run wrote something else");
    assert_eq!(place.says(&["run", "--", "sh", "-c", "echo '# more' >>sub/polder.yaml"]).code, 0);
    assert_eq!(in_directory(&place, &sub, &RUN).code, 125);
    assert_eq!(place.sh("touch sub/polder.yaml").code, 0);
    assert_eq!(in_directory(&place, &sub, &RUN).code, 0, "the user has looked at it");
}

/// Whether a run is refused for a file that a command could write.
fn is_refused_as_written(said: &Said) -> bool {
    said.code == 125 && said.err.contains("while a command in a sandbox could write it")
}

#[test]
fn named_file_that_a_run_wrote_does_not_count() {
    let image = "sandboxes: {a: {limits: {timeout: 9m}}, b: {";
    let ways = [
        ("base.yaml", "extends: base.yaml\n".to_owned()),
        ("compose.yaml", format!("{image}compose: compose.yaml, service: s}}}}\nsandbox: a\n")),
        ("Dockerfile", format!("{image}dockerfile: Dockerfile}}}}\nsandbox: a\n")),
    ];
    for (name, text) in ways {
        let place = Place::new();
        assert_eq!(place.sh("git init -q . && mkdir sub").code, 0);
        let sub = place.work().join("sub");
        place.write("work/sub/polder.yaml", text);
        place.write(format!("work/sub/{name}"), if name == "base.yaml" { "sandboxes: {}\n" } else { "FROM x\n" });
        let said = in_directory(&place, &sub, &RUN);
        assert_eq!(said.code, 0, "{name}: the control: {said:?}");
        let said = place.says(&["run", "--", "sh", "-c", &format!("echo '# more' >>sub/{name}")]);
        assert_eq!(said.code, 0, "{name}: {said:?}");
        let said = in_directory(&place, &sub, &RUN);
        assert!(is_refused_as_written(&said) && said.err.contains(name), "{name}: {said:?}");
        assert_eq!(in_directory(&place, &sub, &["trust"]).code, 0, "{name}");
        assert_eq!(in_directory(&place, &sub, &RUN).code, 0, "{name}: trusted");
    }
}

#[test]
fn file_in_a_writable_bind_that_a_run_wrote_does_not_count() {
    let place = Place::new();
    let file = place.write("shared/polder.yaml", "sandboxes: {}\n");
    let shared = place.dir().join("shared");
    let (bind, file) = (format!("{}:rw", shared.display()), file.display().to_string());
    let named = ["run", "--config", &file, "--", "true"];
    for said in [in_directory(&place, &shared, &RUN), place.says(&named)] {
        assert_eq!(said.code, 0, "the control: {said:?}");
    }
    let said = place.says(&["run", "--bind", &bind, "--", "sh", "-c", &format!("echo '# more' >>{file}")]);
    assert_eq!(said.code, 0, "{said:?}");
    for said in [in_directory(&place, &shared, &RUN), place.says(&named)] {
        assert!(is_refused_as_written(&said), "{said:?}");
    }
    assert_eq!(place.sh(&format!("touch {file}")).code, 0);
    for said in [in_directory(&place, &shared, &RUN), place.says(&named)] {
        assert_eq!(said.code, 0, "the user has looked at it: {said:?}");
    }
}

/// The shim sweeps alone then, and keeps which trees the command could write, and as what.
#[test]
fn file_that_a_killed_run_wrote_does_not_count() {
    let place = Place::new();
    assert_eq!(place.sh("git init -q . && mkdir sub").code, 0);
    let sub = place.work().join("sub");
    let bound = place.write("shared/polder.yaml", "sandboxes: {}\n");
    place.write("work/sub/polder.yaml", "sandboxes: {}\n");
    let shared = place.dir().join("shared");
    let directories = [("below the workspace", &sub), ("at the top of a bind", &shared)];
    for (what, directory) in directories {
        assert_eq!(in_directory(&place, directory, &RUN).code, 0, "{what}: the control");
    }
    let held = Held::new(&place);
    let script = format!("for f in sub/polder.yaml {}; do echo '# more' >>$f; done; sleep 600", bound.display());
    let bind = format!("{}:rw", shared.display());
    let mut polder = place.polder(&["run", "--bind", &bind, "--", "sh", "-c", &hold(&script)]);
    let mut child = polder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("polder");
    until("the files", || place.read("shared/polder.yaml").contains("more"));
    child.kill().expect("a kill");
    child.wait().expect("an end");
    held.ended();
    // The shim holds the record until it has ended; a run at work refuses as well.
    until("the record to go", || {
        assert_eq!(place.says(&["run", "--read-only", "--", "true"]).code, 0);
        fs::read_dir(place.home().join(".local/state/polder/sweeps")).expect("records").count() == 0
    });
    for (what, directory) in directories {
        let said = in_directory(&place, directory, &RUN);
        assert!(is_refused_as_written(&said), "{what}: {said:?}");
    }
}

#[test]
fn trust_does_not_follow_content_within_the_repository() {
    let place = Place::new();
    assert_eq!(place.sh("git init -q . && mkdir one two").code, 0);
    place.write("work/one/polder.yaml", OPEN);
    let [one, two] = ["one", "two"].map(|name| place.work().join(name));
    assert_eq!(in_directory(&place, &one, &["trust"]).code, 0);
    assert_eq!(in_directory(&place, &one, &RUN).code, 0, "the control");
    assert_eq!(place.sh("cp one/polder.yaml two/").code, 0);
    assert_eq!(in_directory(&place, &two, &RUN).code, 125);
}
