use super::*;
use std::process::Command;

#[test]
fn both_may_run_where_they_could_before_and_meanwhile_on_one_cpu() {
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id();
    let (ours, theirs) = (Cpus::of(0).unwrap(), Cpus::of(pid).unwrap());
    let together = Together::with(pid, &ours);
    if ours.count() > 1 {
        assert!(together.is_some());
        let (our_cpu, their_cpu) = (Cpus::of(0).unwrap(), Cpus::of(pid).unwrap());
        assert_eq!((our_cpu.count(), their_cpu.count()), (1, 1));
        assert!(our_cpu == their_cpu);
    } else {
        assert!(together.is_none(), "there is nothing to gain");
    }
    drop(together);
    assert!(Cpus::of(0).unwrap() == ours && Cpus::of(pid).unwrap() == theirs);
    if ours.count() > 1 {
        // Whoever may not run here is left alone, and what somebody gave meanwhile stays.
        let first = Cpus::only((0..CPUS_MAX).find(|cpu| ours.have(*cpu)).unwrap());
        let other = Cpus::only((0..CPUS_MAX).rfind(|cpu| ours.have(*cpu)).unwrap());
        first.give(0).unwrap();
        other.give(pid).unwrap();
        assert!(Together::with(pid, &ours).is_none());
        assert!(Cpus::of(pid).unwrap() == other);
        theirs.give(pid).unwrap();
        let together = Together::with(pid, &ours);
        assert!(together.is_some());
        other.give(pid).unwrap();
        drop(together);
        assert!(Cpus::of(pid).unwrap() == other && Cpus::of(0).unwrap() == ours);
        // One that was bound before is bound as before.
        first.give(0).unwrap();
        first.give(pid).unwrap();
        drop(Together::with(pid, &ours));
        assert!(Cpus::of(pid).unwrap() == first);
        ours.give(0).unwrap();
    }
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(Together::with(pid, &ours).is_none(), "nobody is there");
    assert!(Cpus::of(0).unwrap() == ours);
}
