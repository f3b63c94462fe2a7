use super::*;
use expect_test::expect;
use polder::{Skip, Status};

pub(super) fn result(name: &str, status: Status, engine: Option<&str>) -> StepResult {
    let engine = engine.map(str::to_owned);
    StepResult { name: name.to_owned(), status, engine, outcome: None, took: Duration::from_millis(1250) }
}

#[test]
fn every_step_has_its_line() {
    let results = [
        result("lint", Status::Passed, Some("e")),
        result("a-longer-name", Status::Failed(3), Some("e")),
        result("x", Status::Skipped(Skip::Dependency(vec![("a-longer-name".to_owned(), "failed")])), None),
        result("y", Status::Broken("first\nsecond".to_owned()), None),
    ];
    expect![[r#"
        STEP           RESULT   TIME  ENGINE  WHY
        lint           passed   1.2s  e
        a-longer-name  failed   1.2s  e       exit code 3
        x              skipped  -     -       `a-longer-name` failed
        y              broken   -     -       first
        4 steps: 1 passed, 1 failed, 1 skipped, 1 broken"#]]
    .assert_eq(&table(&results, Paint::Plain).join("\n"));
}

#[test]
fn times_are_short() {
    let times = [5, 1000, 1250, 61_000].map(|millis| seconds(Duration::from_millis(millis)));
    assert_eq!(times, ["5ms", "1s", "1.2s", "1m01s"]);
}
