//! `polder config` and `polder trust`.
#![forbid(unsafe_code)]

use expect_test::{expect, expect_file};
use polder_e2e::{Place, golden};

#[test]
fn check_without_a_file() {
    let place = Place::new();
    let said = place.says(&["config", "check"]);
    assert_eq!(said.code, 0);
    expect!["no configuration file; the built-in policy holds\n"].assert_eq(&said.out);
}

#[test]
fn check_reports_every_fault_with_its_place() {
    let place = Place::new();
    place.write(
        "work/polder.yaml",
        "sandboxes:\n  a:\n    engin: native\n    limits: {memory: much, timeout: 0s}\n    workdir: rel\n\
         \x20   bind_paths: [{host: ../x}]\nsandbox: b\n",
    );
    let said = place.says(&["config", "check"]);
    assert_eq!((said.code, said.err.as_str()), (1, ""), "{said:?}");
    expect_file![golden("config-check-faults.txt")].assert_eq(&place.normal(&said.out));
    let said = place.says(&["config", "check", "--json"]);
    assert_eq!(said.code, 1);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(value["ok"], false);
    let faults = value["faults"].as_array().expect("faults");
    assert!(faults.len() >= 4 && faults.iter().all(|fault| fault["origin"].as_str().is_some_and(|o| o.contains(':'))));
    // And nothing runs with it.
    let said = place.says(&["run", "--", "touch", "ran"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(!place.has("work/ran"));
}

#[test]
fn check_names_what_needs_trust() {
    let place = Place::new();
    place.write("home/.gitconfig", "");
    place.write("work/polder.yaml", "sandboxes:\n  a:\n    bind_paths: [{host: ~/.gitconfig}]\nsandbox: a\n");
    let said = place.says(&["config", "check"]);
    assert_eq!(said.code, 0, "{said:?}");
    expect![[r#"
        ok: $DIR/work/polder.yaml
        needs trust: $DIR/work/polder.yaml:3: to read `$DIR/home/.gitconfig`
    "#]]
    .assert_eq(&place.normal(&said.out));
}

#[test]
fn show_tells_where_each_value_comes_from() {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", "sandbox_defaults: {env_passthrough: [PATH, HOME]}\n");
    place.write("work/polder.yaml", "sandboxes:\n  a:\n    read_only: true\n    limits: {timeout: 5m}\nsandbox: a\n");
    let mut command = place.polder(&["config", "show", "--pids", "10"]);
    let said = command.env("POLDER_MEMORY", "1G").output().expect("polder");
    assert!(said.status.success(), "{said:?}");
    expect_file![golden("config-show.txt")].assert_eq(&place.normal(&String::from_utf8_lossy(&said.stdout)));
    let said = place.says(&["config", "show", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert!(value.is_object() && said.code == 0);
}

#[test]
fn schema_is_json_and_knows_the_keys() {
    let place = Place::new();
    for flags in [&["config", "schema"][..], &["config", "schema", "--visor"]] {
        let said = place.says(flags);
        let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
        assert_eq!(said.code, 0);
        assert!(value["$schema"].is_string());
        for key in ["bind_paths", "env_passthrough", "network", "read_only", "workdir"] {
            assert!(said.out.contains(&format!("\"{key}\"")), "{key}");
        }
    }
}

#[test]
fn a_project_is_found_upward_and_speaks_for_its_tree() {
    let place = Place::new();
    place.write("work/.git/HEAD", "");
    place.write("work/polder.yaml", "sandboxes:\n  a: {read_only: true}\nsandbox: a\n");
    place.write("work/deep/er/file", "x");
    let mut command = place.polder(&["run", "--", "sh", "-c", "pwd; cat file; touch new"]);
    let output = command.current_dir(place.work().join("deep/er")).output().expect("polder");
    let start = place.work().join("deep/er");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\nx", start.display()));
    assert!(!output.status.success() && !place.has("work/deep/er/new"), "{output:?}");
    // Without a repository, what lies above counts for nothing.
    let place = Place::new();
    place.write("work/polder.yaml", "sandboxes:\n  a: {read_only: true}\nsandbox: a\n");
    place.write("work/deep/file", "x");
    let mut command = place.polder(&["run", "--", "touch", "new"]);
    assert!(command.current_dir(place.work().join("deep")).output().expect("polder").status.success());
}

#[test]
fn two_project_files_are_one_too_many() {
    let place = Place::new();
    place.write("work/polder.yaml", "");
    place.write("work/.visor.yaml", "");
    let said = place.says(&["run", "--", "true"]);
    assert_eq!(said.code, 125);
    assert!(said.err.contains("polder.yaml` and") && said.err.contains("keep one"), "{}", said.err);
}

#[test]
fn trust_is_for_this_very_content() {
    let place = Place::new();
    place.write("home/.gitconfig", "[user]\n\tname = trusted\n");
    let config =
        "sandboxes:\n  a:\n    bind_paths:\n      - host: ~/.gitconfig\n    env_passthrough: [MY_TOKEN]\nsandbox: a\n";
    place.write("work/polder.yaml", config);
    let run = ["run", "--", "git", "config", "user.name"];

    let said = place.says(&run);
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    expect_file![golden("trust-refusal.txt")].assert_eq(&place.normal(&said.err));

    // For one call, by flag and by variable; neither is remembered.
    assert_eq!(place.says(&["run", "--trust", "--", "git", "config", "user.name"]).out, "trusted\n");
    let by_variable = place.polder(&run).env("POLDER_TRUST_PROJECT", "1").output().expect("polder");
    assert_eq!(by_variable.stdout, b"trusted\n");
    let other_value = place.polder(&run).env("POLDER_TRUST_PROJECT", "0").output().expect("polder");
    assert_eq!(other_value.status.code(), Some(125));
    assert_eq!(place.says(&run).code, 125);

    let shown = place.says(&["trust", "--show"]);
    assert!(shown.code == 0 && shown.out.starts_with("not trusted: "), "{shown:?}");
    let trusted = place.says(&["trust"]);
    assert!(trusted.code == 0 && trusted.out.contains("home/.gitconfig"), "{trusted:?}");
    assert_eq!(place.says(&run).out, "trusted\n");
    assert!(place.says(&["trust", "--show"]).out.starts_with("trusted: "));

    // Another content, however similar, is another matter.
    place.write("work/polder.yaml", format!("{config}# more\n"));
    assert_eq!(place.says(&run).code, 125);
    // The old one is still known.
    place.write("work/polder.yaml", config);
    assert_eq!(place.says(&run).out, "trusted\n");

    let json = place.says(&["trust", "--revoke", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(value["state"], "revoked");
    assert_eq!(place.says(&run).code, 125);
}

#[test]
fn trust_without_a_project_says_so() {
    let place = Place::new();
    let said = place.says(&["trust"]);
    assert_eq!(said.code, 125);
    expect!["polder: there is no project configuration here (polder.yaml, polder.toml, .visor.yaml)\n"]
        .assert_eq(&said.err);
}

#[test]
fn a_project_never_permits_to_go_without_a_sandbox() {
    let place = Place::new();
    for text in
        ["allow_unsandboxed: true\n", "sandboxes: {a: {engine: none}}\nsandbox: a\n", "enforce: {network: true}\n"]
    {
        place.write("work/polder.yaml", text);
        for flags in [&["run", "--", "touch", "ran"][..], &["run", "--trust", "--", "touch", "ran"]] {
            let said = place.says(flags);
            assert_eq!(said.code, 125, "{text}: {said:?}");
            assert!(said.err.contains("polder.yaml:"), "{}", said.err);
            assert!(!place.has("work/ran"));
        }
    }
}

/// What the user's file says counts without being asked, so nobody inside writes it: not where the workspace or a bind holds
/// it, not where links lead to it, and not before it exists.
#[test]
fn no_command_writes_the_users_own_file() {
    for engine in ["native", "bubblewrap"] {
        let place = Place::new();
        let (home, work) = (place.home().display().to_string(), place.work().display().to_string());
        let write = "mkdir -p polder; echo 'sandbox_defaults: {env_passthrough: [TOKEN]}' > polder/polder.yaml; rm -rf polder/x; mv polder away";
        std::fs::create_dir_all(place.home().join(".config")).expect("a directory");
        let tried = |place: &Place, arguments: &[&str]| {
            let arguments = [&["run", "--engine", engine], arguments].concat();
            place.says(&arguments)
        };
        let whole = format!("{home}/.config:/there:rw");
        for existing in [false, true] {
            if existing {
                place.write("home/.config/polder/polder.yaml", "sandbox_defaults: {env_passthrough: [HOME]}\n");
            }
            let as_workspace = tried(&place, &["-C", &format!("{home}/.config"), "--", "sh", "-c", write]);
            let as_bind = tried(&place, &["--bind", &whole, "--", "sh", "-c", &format!("cd /there && {{ {write}; }}")]);
            for said in [as_workspace, as_bind] {
                // What does not exist yet is set aside; a command that moves it away first has made nothing that is read.
                assert!(said.code != 125 && (said.code != 0 || !existing), "{said:?}");
                assert_eq!(place.has("home/.config/polder/polder.yaml"), existing, "{said:?}");
                assert!(!existing || place.read("home/.config/polder/polder.yaml").contains("HOME"), "{said:?}");
            }
        }
        // Who says it has to mean it; the hint names the grant that does.
        let config = format!("{home}/.config");
        let said = tried(&place, &["-C", &config, "--allow", "fs.write=polder", "--", "touch", "polder/granted"]);
        assert!(said.code == 0 && place.has("home/.config/polder/granted"), "{said:?}");
        // A link to where such files are collected.
        std::fs::remove_dir_all(place.home().join(".config")).expect("removed");
        place.write("work/collected/polder/polder.yaml", "sandbox_defaults: {env_passthrough: [HOME]}\n");
        std::os::unix::fs::symlink(format!("{work}/collected"), format!("{home}/.config")).expect("a link");
        let said = tried(&place, &["--", "sh", "-c", &format!("touch other; cd collected && {{ {write}; }}")]);
        assert!(said.code != 0 && place.has("work/other"), "the control: {said:?}");
        assert!(place.read("work/collected/polder/polder.yaml").contains("HOME"), "{said:?}");
    }
}

/// What one sandbox starts beside its command is not for the command of another one to say.
#[test]
fn no_command_writes_the_compose_file_of_another_sandbox() {
    for engine in ["native", "bubblewrap"] {
        let place = Place::new();
        place.write(
            "work/polder.yaml",
            "sandboxes: {box: {engine: docker, compose: compose.yaml, service: app}, plain: {}}\nsandbox: plain\n",
        );
        for exists in [false, true] {
            if exists {
                place.write("work/compose.yaml", "services: {}\n");
            }
            let script = "touch other; echo more >>compose.yaml";
            let said = place.says(&["run", "--trust", "--engine", engine, "--", "sh", "-c", script]);
            // A file that exists is read-only; one that does not is set aside as soon as it is made.
            assert!((said.code != 0) == exists && said.code != 125 && place.has("work/other"), "{said:?}");
            assert!(said.err.contains("compose.yaml; to allow it"), "{said:?}");
            assert!(place.has("work/compose.yaml") == exists, "{said:?}");
            assert!(!exists || !place.read("work/compose.yaml").contains("more"), "{said:?}");
        }
    }
}

#[test]
fn a_check_reads_what_steps_would_refuse_and_leaves_steps_of_another_tool_alone() {
    let place = Place::new();
    let file = "steps:
  review: {type: ai, prompt: look}
  a: {type: command, exec: 'echo {{ outputs.review.x }} {{ inputs.given_later }}', depends_on: review}
";
    place.write("work/.visor.yaml", file);
    let said = place.says(&["config", "check"]);
    assert_eq!(said.code, 0, "{said:?}");
    place.write("work/.visor.yaml", format!("{file}  b: {{type: command, exec: 'echo {{{{ fileCount }}}}'}}\n"));
    let said = place.says(&["config", "check"]);
    assert!(said.code == 1 && said.out.contains(".visor.yaml:4: `fileCount` is not known in a template"), "{said:?}");
    let said = place.says(&["config", "check", "--json"]);
    assert!(said.code == 1 && said.out.contains("\"ok\":false"), "{said:?}");
}

/// Keys, values, types, undefined names and expressions, in one file: one call tells all of them.
#[test]
fn config_check_with_faults_of_every_kind_tells_all() {
    let place = Place::new();
    let text = "sandbox: fats\nsandboxes:\n  fast: {memry: 1G}\nsteps:\n  build: {exec: x, sandbox: fsat, depends_on: tset}\n  test: {exec: x, type: comand}\n  none-at-all: {}\n";
    place.write("work/polder.yaml", text);
    let said = place.says(&["config", "check"]);
    let faults = said.out.replace(&format!("{}/polder.yaml:", place.work().display()), "");
    expect_test::expect![[r#"
        1: there is no sandbox `fats`; did you mean `fast`? defined are fast
        3: unknown key `memry`
        5: there is no sandbox `fsat`; did you mean `fast`? defined are fast
        5: there is no step `tset`; did you mean `test`?
        6: `type` cannot be `comand`; did you mean `command`? known are command
        7: the step `none-at-all` has no `exec` and no `command`
    "#]]
    .assert_eq(&faults);
    assert_eq!(said.code, 1);
    let run = place.says(&["run", "--", "true"]);
    assert_eq!((run.code, run.err.lines().count()), (125, 6), "every load tells all: {run:?}");
    // A name that only an expression shows stands beside an undefined one.
    place.write("work/polder.yaml", "sandbox: x\nsteps:\n  a: {exec: 'echo {{ outputs.nope }}'}\n");
    let said = place.says(&["config", "check"]);
    assert!(said.out.contains("`x`") && said.out.contains("nope"), "{said:?}");
}

#[test]
fn name_in_an_unreadable_file_is_not_called_undefined() {
    let place = Place::new();
    place.write("work/base.yaml", "sandboxes: {fast: {}\n");
    place.write("work/polder.yaml", "extends: base.yaml\nsandbox: fast\nnonsense: 1\n");
    let said = place.says(&["config", "check"]);
    assert!(said.code == 1 && said.out.contains("nonsense") && !said.out.contains("no sandbox"), "{said:?}");
    place.write("work/base.yaml", "sandboxes: {fast: {}}\n");
    let said = place.says(&["config", "check"]);
    assert!(said.out.contains("nonsense") && said.out.lines().count() == 1, "{said:?}");
}
