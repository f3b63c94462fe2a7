use super::*;
use crate::graph::tests::step;
use polder_facts::LimitKind;
use polder_policy::Step;

fn schedule(steps: &[Step], at_once: usize) -> Schedule {
    let graph = Graph::of(steps, &[]).unwrap();
    let undaunted = vec![false; graph.nodes.len()];
    Schedule::new(graph, undaunted, at_once)
}

fn all(schedule: &mut Schedule) -> Vec<Decision> {
    std::iter::from_fn(|| schedule.decide()).collect()
}

fn skipped(place: usize, by: &str, how: &'static str) -> Decision {
    Decision::Skip(place, Status::Skipped(Skip::Dependency(vec![(by.to_owned(), how)])))
}

#[test]
fn as_many_as_allowed_start_and_the_rest_follow() {
    let steps = [step("a", &[]), step("b", &[]), step("c", &[]), step("d", &["a"])];
    let mut schedule = schedule(&steps, 2);
    assert_eq!(all(&mut schedule), [Decision::Start(0), Decision::Start(1)]);
    schedule.ended(1, Status::Passed);
    assert_eq!(all(&mut schedule), [Decision::Start(2)]);
    schedule.ended(0, Status::Passed);
    assert_eq!(all(&mut schedule), [Decision::Start(3)]);
    schedule.ended(2, Status::Passed);
    schedule.ended(3, Status::Passed);
    assert!(schedule.is_done());
}

#[test]
fn every_way_to_fail_stops_those_who_wait_and_says_which() {
    for status in [
        Status::Failed(1),
        Status::TimedOut,
        Status::Limit(LimitKind::Memory),
        Status::Broken("x".to_owned()),
        Status::Interrupted(2),
        Status::Skipped(Skip::Condition),
    ] {
        let mut schedule = schedule(&[step("a", &[]), step("b", &["a"]), step("c", &["b"])], 9);
        assert_eq!(all(&mut schedule), [Decision::Start(0)]);
        schedule.ended(0, status.clone());
        assert_eq!(all(&mut schedule), [skipped(1, "a", status.name()), skipped(2, "b", "skipped")]);
    }
}

#[test]
fn continuing_is_for_failures_of_the_command_and_never_for_polders() {
    for (status, runs) in [
        (Status::Failed(1), true),
        (Status::TimedOut, true),
        (Status::Limit(LimitKind::Pids), true),
        (Status::Broken("x".to_owned()), false),
        (Status::Interrupted(2), false),
    ] {
        let first = Step { continue_on_failure: true, ..step("a", &[]) };
        let mut schedule = schedule(&[first, step("b", &["a"])], 9);
        assert_eq!(all(&mut schedule), [Decision::Start(0)]);
        schedule.ended(0, status);
        assert_eq!(all(&mut schedule) == [Decision::Start(1)], runs);
    }
}

#[test]
fn one_of_several_is_enough_and_none_is_not() {
    let steps = [step("a", &[]), step("b", &[]), step("c", &["a|b"])];
    let mut first = schedule(&steps, 9);
    all(&mut first);
    first.ended(0, Status::Passed);
    assert_eq!(all(&mut first), [], "the other one may still bring a value");
    first.ended(1, Status::Failed(1));
    assert_eq!(all(&mut first), [Decision::Start(2)]);
    let mut second = schedule(&steps, 9);
    all(&mut second);
    second.ended(0, Status::Failed(1));
    second.ended(1, Status::TimedOut);
    let both = vec![("a".to_owned(), "failed"), ("b".to_owned(), "timed-out")];
    assert_eq!(all(&mut second), [Decision::Skip(2, Status::Skipped(Skip::Dependency(both)))]);
}

#[test]
fn who_asks_for_failures_is_asked() {
    let graph = Graph::of(&[step("a", &[]), step("b", &["a"])], &[]).unwrap();
    let mut schedule = Schedule::new(graph, vec![false, true], 9);
    all(&mut schedule);
    schedule.ended(0, Status::Failed(1));
    assert_eq!(all(&mut schedule), [Decision::Start(1)]);
}

#[test]
fn nothing_starts_after_the_end_was_asked_for() {
    let mut schedule = schedule(&[step("a", &[]), step("b", &["a"])], 9);
    all(&mut schedule);
    schedule.stop();
    assert_eq!(all(&mut schedule), [Decision::Skip(1, Status::Skipped(Skip::Stopped))]);
}
