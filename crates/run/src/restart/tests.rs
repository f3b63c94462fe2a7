use super::*;
use polder_facts::Usage;

fn ended(ending: Ending) -> Outcome {
    Outcome { ending, limit: None, usage: Usage::default(), violations: 0 }
}

const SOON: Duration = Duration::from_secs(1);

fn starts(restart: Restart, ending: Ending) -> bool {
    matches!(Patience::new(restart).after(&ended(ending), SOON), Next::Start { .. })
}

#[test]
fn who_starts_again_after_what() {
    for (ending, on_failure, always) in [
        (Ending::Exited(0), false, true),
        (Ending::Exited(3), true, true),
        (Ending::Signalled(9), true, true),
        (Ending::TimedOut, true, true),
        (Ending::LimitReached, true, true),
        (Ending::Lost, true, true),
        (Ending::NotFound, false, false),
        (Ending::NotExecutable(13), false, false),
        (Ending::Interrupted(15), false, false),
    ] {
        assert!(!starts(Restart::Never, ending), "{ending:?}");
        assert_eq!(starts(Restart::OnFailure, ending), on_failure, "{ending:?}");
        assert_eq!(starts(Restart::Always, ending), always, "{ending:?}");
    }
}

#[test]
fn pauses_grow_and_come_to_an_end_and_a_steady_life_forgets_them() {
    let mut patience = Patience::new(Restart::OnFailure);
    let failed = ended(Ending::Exited(1));
    let pause = |patience: &mut Patience, lived| match patience.after(&failed, lived) {
        Next::Start { pause, .. } => Some(pause.as_millis()),
        Next::End | Next::GiveUp { .. } => None,
    };
    let row: Vec<_> = (0..6).map(|_| pause(&mut patience, SOON)).collect();
    assert_eq!(row, [Some(500), Some(1000), Some(2000), Some(4000), Some(8000), None]);
    assert_eq!(patience.after(&failed, SOON), Next::GiveUp { starts: 5 });
    assert_eq!(pause(&mut patience, STEADY), Some(500));
    assert_eq!(pause(&mut patience, SOON), Some(1000));
}
