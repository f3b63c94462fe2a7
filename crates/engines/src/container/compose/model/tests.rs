use super::*;

fn check(interval: u64, retries: u32, start_period: u64) -> Check {
    let seconds = Duration::from_secs;
    Check {
        test: vec!["ask".to_owned()],
        interval: seconds(interval),
        timeout: seconds(1),
        retries,
        start_period: seconds(start_period),
    }
}

/// The second at which a service is given up whose every check fails, with one each second.
fn given_up(check: &Check) -> Option<u64> {
    let mut failures = Failures::none(check);
    (0..1000).find(|second| failures.add(Duration::from_secs(*second)))
}

#[test]
fn so_many_failures_in_a_row_at_the_interval_are_unhealthy() {
    // The first check counts after an interval, as the first one of compose comes then.
    assert_eq!(given_up(&check(5, 1, 0)), Some(5));
    assert_eq!(given_up(&check(5, 3, 0)), Some(15));
    assert_eq!(given_up(&check(30, 3, 0)), Some(90), "what compose says where nobody says anything");
}

#[test]
fn what_fails_while_a_service_starts_does_not_count() {
    assert_eq!(given_up(&check(5, 3, 60)), Some(70), "at 60, 65 and 70");
    assert_eq!(given_up(&check(1, 1, 60)), Some(60));
    assert_eq!(given_up(&check(90, 2, 60)), Some(180), "a period shorter than the interval");
}
