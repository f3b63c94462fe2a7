use super::*;
use crate::testing::{document, layers, parsed};
use crate::{Level, Source, Trust, parse};
use expect_test::expect;

fn fault(text: &str) -> String {
    steps(&layers(vec![document("polder.yaml", text)])).unwrap_err().to_string().replace("/repo/", "")
}

#[test]
fn steps_come_in_the_order_of_the_file() {
    let text = "steps:\n  z: {exec: a}\n  a: {command: [b, c], depends_on: z, continue_on_failure: true, if: always}\n";
    let steps = steps(&layers(vec![document("polder.yaml", text)])).unwrap();
    let names: Vec<_> = steps.iter().map(|step| (step.name.as_str(), step.kind.value.as_str())).collect();
    assert_eq!(names, [("z", "command"), ("a", "command")]);
    assert_eq!(steps[1].command.as_ref().unwrap().value, ["b", "c"]);
    assert!(steps[1].continue_on_failure && steps[1].condition.is_some());
}

#[test]
fn a_stronger_file_changes_what_it_names() {
    let base = Source::new(
        "/repo/base.yaml",
        "sandboxes: {s: {}}\nsteps: {x: {exec: a, sandbox: s}, y: {exec: b}}",
        Level::Project,
    );
    let child = Source::new("/repo/polder.yaml", "steps: {x: {command: [c]}}", Level::Project);
    let child = Source { extends: vec![base], ..child };
    let document = parse(&child, &crate::testing::vocabulary(), "/h".as_ref()).unwrap();
    let steps = steps(&layers(vec![document])).unwrap();
    assert_eq!(steps.len(), 2);
    assert!(steps[0].exec.is_none() && steps[0].command.is_some());
    assert_eq!(steps[0].sandbox.as_ref().unwrap().value, "s");
}

#[test]
fn what_cannot_run_is_a_fault() {
    expect!["polder.yaml:1: the step `x` has no `exec` and no `command`"]
        .assert_eq(&fault("steps: {x: {type: command}}"));
    expect!["polder.yaml:1: the steps wait for each other: `x` waits for `y` waits for `x`"]
        .assert_eq(&fault("steps: {x: {exec: a, depends_on: [y]}, y: {exec: b, depends_on: 'x|z'}, z: {exec: c}}"));
    expect![[r#"
        polder.yaml:1: there is no step `buidl`; did you mean `build`?
        polder.yaml:1: there is no step `other`"#]]
    .assert_eq(&fault("steps: {build: {exec: a}, test: {exec: b, depends_on: 'buidl|other'}}"));
}

#[test]
fn the_number_of_steps_at_once_is_the_strongest_files() {
    let user = parsed("polder.yaml", "max_parallelism: 2", Level::User).unwrap();
    let project = parsed("polder.yaml", "max_parallelism: 4", Level::Project).unwrap();
    assert_eq!(layers(vec![project, user]).max_parallelism(&Trust::Everything).unwrap().unwrap().value, 4);
}

#[test]
fn what_other_tools_call_it_has_a_hint() {
    let faults = parsed("polder.yaml", "steps: {x: {run: make}}", Level::Project).unwrap_err().to_string();
    assert!(faults.contains("unknown key `run`") && faults.contains("`exec`"), "{faults}");
}
