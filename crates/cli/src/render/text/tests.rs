use super::*;
use expect_test::expect;
use polder::{Gap, Guarantee, Origin, Refusal, Refused};

#[test]
fn the_first_engine_without_a_gap_is_not_worth_a_word() {
    assert!(before("first", &[], &[]).is_empty());
}

#[test]
fn one_line_for_each_engine_that_was_passed_over_and_for_each_reason() {
    let refusal = |guarantee, reason: &str| Refusal {
        guarantee,
        reason: reason.to_owned(),
        remedy: Some("not told here".to_owned()),
        acceptable: true,
    };
    let refusals = vec![refusal(Some(Guarantee::Memory), "no cgroup"), refusal(None, "no image")];
    let passed_over = [
        Unfit::Refused(Refused { engine: "first", refusals }),
        Unfit::Unavailable { engine: "second".to_owned(), reason: "no socket".to_owned(), remedy: String::new() },
    ];
    let accepted = |guarantee| Accepted {
        guarantee,
        gap: Gap { reason: "nobody counts".to_owned(), remedy: None },
        origin: Origin::Api,
    };
    let accepted = [accepted(Guarantee::Cpus), accepted(Guarantee::Disk)];
    expect![[r#"
        engine `third`, because `first` cannot enforce this policy: memory: no cgroup, and 1 more
        engine `third`, because `second` does not work here: no socket
        without `cpus`, `disk`: nobody counts"#]]
    .assert_eq(&before("third", &passed_over, &accepted).join("\n"));
}
