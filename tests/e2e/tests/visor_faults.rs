//! The faults of the tool that `.visor.yaml` comes from, each by its number, and what polder does instead.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

fn place(text: &str) -> Place {
    let place = Place::new().trusting();
    place.write("work/.visor.yaml", text);
    place
}

fn steps(place: &Place, arguments: &[&str]) -> Said {
    let mut all = vec!["steps"];
    all.extend(arguments);
    place.says(&all)
}

/// Steps that would have run on the host without a word are refused by name; nothing runs.
#[test]
fn b2_no_step_runs_without_its_sandbox_silently() {
    let place = place(
        "sandboxes: {s: {engine: native}}\nsandbox: s\nsteps:\n  first: {type: command, exec: touch ran}\n  nested: {type: workflow, workflow: x.yaml}\n  review: {type: ai, prompt: x}\n",
    );
    let said = steps(&place, &[]);
    assert_eq!(said.code, 125);
    for wanted in
        ["the step `nested` is of the type `workflow`", "the step `review` is of the type `ai`", "shall run: first"]
    {
        assert!(said.err.contains(wanted), "{wanted}: {}", said.err);
    }
    assert!(!place.has("work/ran"));
    assert_eq!(steps(&place, &["first"]).code, 0);
    assert!(place.has("work/ran"));
}

/// A command that fails has failed, whatever it printed.
#[test]
fn b3_a_failure_is_never_reported_as_success() {
    let place =
        place("checks:\n  a: {type: command, exec: 'echo {\\\"issues\\\":[],\\\"error\\\":\\\"x\\\"}; exit 1'}\n");
    let said = steps(&place, &["--json"]);
    let last: serde_json::Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (said.code, &last["steps"][0]["status"], &last["steps"][0]["exitCode"]),
        (1, &"failed".into(), &1.into())
    );
}

/// When the sandbox itself cannot be had, nobody who waits for the step runs, even where failures are let through.
#[test]
fn b4_a_broken_sandbox_stops_those_who_wait() {
    let place = place(
        "steps:\n  a: {type: command, exec: 'rm -r bound'}\n  b: {type: command, exec: 'true', sandbox: s, continue_on_failure: true, depends_on: [a]}\n  c: {type: command, exec: touch ran, depends_on: [b]}\nsandboxes: {s: {engine: native, bind_paths: [{host: bound, container: /bound}]}}\n",
    );
    place.write("work/bound/file", "");
    let said = steps(&place, &["--trust"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("b broken: ") && said.err.contains("c skipped: `b` broken"), "{}", said.err);
    assert!(!place.has("work/ran"));
}

/// A sandbox named by a template is that sandbox, or an error.
#[test]
fn b9_a_templated_sandbox_is_rendered() {
    let place = place(
        "sandboxes: {ro: {engine: native, read_only: true}, rw: {engine: native}}\nsteps: {a: {type: command, exec: touch ran, sandbox: '{{ inputs.sandbox }}'}}\n",
    );
    assert_eq!(steps(&place, &["--input", "sandbox=ro"]).code, 1);
    assert!(!place.has("work/ran"));
    assert_eq!(steps(&place, &["--input", "sandbox=rw"]).code, 0);
    assert!(place.has("work/ran"));
    let said = steps(&place, &["--input", "sandbox=other"]);
    assert!(said.code == 125 && said.err.contains("there is no sandbox `other`"), "{said:?}");
    assert_eq!(steps(&place, &[]).code, 125);
}

/// Ten megabytes pass from step to step.
#[test]
fn b11_a_large_payload_passes() {
    let place = place(
        "steps:\n  big: {type: command, exec: 'head -c 10000000 /dev/zero | tr \"\\\\0\" a'}\n  count: {type: command, exec: 'wc -c', stdin: '{{ outputs.big }}', depends_on: [big]}\n  small: {type: command, exec: 'echo {{ outputs.big }}', depends_on: [big]}\n",
    );
    let said = steps(&place, &["count"]);
    assert_eq!((said.code, said.out.trim_start_matches('a')), (0, "10000000\n"), "{}", said.err);
    // Where it cannot pass, the reason and the way are named.
    let said = steps(&place, &["small"]);
    assert!(
        said.code == 125 && said.err.contains("is 10000000 bytes") && said.err.contains("use `stdin`"),
        "{}",
        said.err
    );
}

/// No hidden limit cuts output or time: more than a megabyte comes out, and the step's own timeout is the one that counts.
#[test]
fn b17_there_is_no_second_limit_inside() {
    let place = place(
        "steps:\n  much: {type: command, exec: 'head -c 3000000 /dev/zero | tr \"\\\\0\" b'}\n  short: {type: command, exec: 'sleep 60', timeout: 300}\n",
    );
    let said = steps(&place, &["much"]);
    assert_eq!((said.code, said.out.len()), (0, 3_000_000));
    let said = steps(&place, &["short"]);
    assert!(said.code == 1 && said.err.contains("short timed-out"), "{said:?}");
}

/// Nothing of the user's repository is touched.
#[test]
fn b20_branches_are_as_they_were() {
    let place = place("steps: {a: {type: command, exec: 'git status >/dev/null && echo ok'}}\n");
    let git = |arguments: &str| {
        let said = place.sh(&format!("git -c user.name=a -c user.email=a@b {arguments}"));
        assert_eq!(said.code, 0, "{said:?}");
        said.out
    };
    git(
        "init -q -b main && git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git branch other && git branch third",
    );
    let before = git("for-each-ref");
    let said = steps(&place, &[]);
    assert_eq!((said.code, said.out.as_str()), (0, "ok\n"), "{}", said.err);
    assert_eq!(git("for-each-ref"), before);
    assert_eq!(git("worktree list").lines().count(), 1);
}

/// The child of an `extends` chain wins, and a step can opt out of the default sandbox where that is permitted.
#[test]
fn b23_the_child_wins_and_defaults_are_kept() {
    let place = place(
        "extends: base.yaml\nsandboxes: {s: {engine: native, read_only: false}}\nsteps: {a: {type: command, exec: 'touch ran && echo $KEPT'}}\n",
    );
    place.write("work/base.yaml", "sandbox: s\nsandbox_defaults: {env_passthrough: [PATH, KEPT]}\nsandboxes: {s: {engine: native, read_only: true}}\nsteps: {a: {type: command, exec: 'exit 9'}}\n");
    let mut command = place.polder(&["steps", "--trust"]);
    let said: Said = command.env("KEPT", "kept").output().expect("polder").into();
    assert_eq!((said.code, said.out.as_str()), (0, "kept\n"), "{}", said.err);
    assert!(place.has("work/ran"));
}

/// Git works in a linked worktree.
#[test]
fn b24_git_works_in_a_linked_worktree() {
    let place = Place::new().trusting();
    let made = place.sh(
        "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git worktree add -q ../linked",
    );
    assert_eq!(made.code, 0, "{made:?}");
    place.write(
        "linked/.visor.yaml",
        "sandboxes: {s: {engine: native}}\nsandbox: s\nsteps: {a: {type: command, exec: 'git log --format=%s'}}\n",
    );
    let said: Said = place.polder(&["steps"]).current_dir(place.dir().join("linked")).output().expect("polder").into();
    assert_eq!((said.code, said.out.as_str()), (0, "x\n"), "{}", said.err);
}

/// What the other tool's pages promise and its code does not do: `read_only` of a step, and times with a unit.
#[test]
fn b25_what_the_pages_promise_works() {
    let place = place(
        "sandboxes: {s: {engine: native}}\nsandbox: s\nsteps:\n  ro: {type: command, exec: touch ran, read_only: true}\n  timed: {type: command, exec: sleep 60, timeout: 1s}\n",
    );
    let said = steps(&place, &[]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("ro failed") && said.err.contains("timed timed-out"), "{}", said.err);
    assert!(!place.has("work/ran"));
    assert_eq!(place.says(&["run", "--sandbox", "s", "--", "touch", "ran"]).code, 0);
    assert!(place.has("work/ran"), "the control");
}

/// Keys that only say how and when the other tool shows or begins a step do not break a file that worked there, and nobody
/// has to find out that they are not read; what could turn a failure into a success is refused.
#[test]
fn keys_of_the_other_tool_are_told_or_refused_and_never_passed_over() {
    let with = |key: &str| place(&format!("steps:\n  a: {{type: command, exec: 'touch ran', {key}}}\n"));
    for key in
        ["group: g", "tags: [fast]", "on: [pr_opened]", "criticality: internal", "schema: plain", "template: {file: x}"]
    {
        let place = with(key);
        let said = place.says(&["steps"]);
        assert!(said.code == 0 && place.has("work/ran"), "{key}: {said:?}");
        let name = key.split(':').next().unwrap_or_default();
        let wanted = format!("polder: warning: not read, because only the runner of the file knows it: `{name}` (");
        assert!(said.err.contains(&wanted) && said.err.contains(".visor.yaml:2)"), "{key}: {said:?}");
        let said = place.says(&["steps", "--json"]);
        assert!(said.out.contains(r#"{"text":"not read, "#) && said.err.is_empty(), "{key}: {said:?}");
    }
    let apart = place("workspace: {enabled: true, name: w}\nsteps:\n  a: {type: command, exec: 'touch ran'}\n");
    let said = apart.says(&["steps"]);
    assert!(said.code == 0 && apart.has("work/ran") && said.err.contains("`workspace` ("), "{said:?}");
    for (key, wanted) in [
        ("fail_if: 'output.x'", "unknown key `fail_if`; a step fails when its command returns another code than 0"),
        ("guarantee: 'x'", "ask at the end of `exec`"),
        ("assume: 'x'", "write it as the step's `if`"),
        ("transform: 'x'", "with `jq` for example"),
        ("transform_js: 'x'", "with `jq` for example"),
        ("forEach: true", "write the loop in `exec`"),
        ("on_fail: {retry: {max: 2}}", "with `if: failure()`"),
        ("on_success: {}", "`success()`"),
        ("output_format: json", "output is JSON if all of it is"),
        ("workingDirectory: x", "begin `exec` with `cd DIR &&`"),
        ("schema: {type: object}", "`schema` must be a name (polder checks no output"),
        ("sanbox: x", "unknown key `sanbox`; did you mean `sandbox`?"),
    ] {
        let place = with(key);
        let said = place.says(&["steps"]);
        assert!(said.code == 125 && said.err.contains(wanted) && !place.has("work/ran"), "{key}: {said:?}");
    }
    // One that is not asked for says nothing.
    let place = place("steps:\n  a: {exec: 'true'}\n  b: {exec: 'true', group: x}\n");
    assert!(!place.says(&["steps", "a"]).err.contains("not read"));
}
