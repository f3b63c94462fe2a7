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
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(Together::with(pid, &ours).is_none(), "nobody is there");
    assert!(Cpus::of(0).unwrap() == ours);
}
