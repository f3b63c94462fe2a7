//! Upper bounds: what goes beyond ends with a typed outcome, or the run is refused.

use crate::scene::{Scene, told};
use polder::{Ending, EventKind, Finished, Guarantee, LimitKind, Report, Unfit};

/// A limit that was reached is told twice: in the outcome and as an event before the exit.
fn assert_reached(finished: &Finished, limit: LimitKind) {
    assert_eq!(finished.outcome.limit, Some(limit), "{}", told(finished));
    let told_first = finished.events.iter().any(|event| event.kind == EventKind::Limit(limit));
    assert!(told_first, "no limit event: {:?}", finished.events);
}

const HOG: &str = "x = bytearray(300 << 20); print(len(x))";

pub(super) fn memory_is_bounded(scene: &Scene) {
    let sandbox = scene.sandbox().memory("100M");
    let free = scene.run(&scene.sandbox(), &["python3", "-c", HOG]);
    assert!(free.outcome.success(), "the control: {}", told(&free));
    if !scene.keeps(&sandbox, Guarantee::Memory) {
        let sandbox = sandbox.accept(Guarantee::Memory);
        let finished = scene.run(&sandbox, &["python3", "-c", HOG]);
        let bounded = !finished.outcome.success();
        let in_part = scene.keeps_in_part(&sandbox, Guarantee::Memory);
        assert_eq!(bounded, in_part, "an accepted gap keeps what can be kept: {}", told(&finished));
        return;
    }
    let finished = scene.run(&sandbox, &["python3", "-c", HOG]);
    assert!(!finished.outcome.success(), "{}", told(&finished));
    assert_reached(&finished, LimitKind::Memory);
    assert_eq!(finished.outcome.exit_code(), 137);
    let small = scene.run(&sandbox, &["true"]);
    assert!(small.outcome.success() && small.outcome.limit.is_none(), "{}", told(&small));
}

pub(super) fn memory_of_all_processes_is_bounded(scene: &Scene) {
    let sandbox = scene.sandbox().memory("200M");
    if !scene.keeps(&sandbox, Guarantee::Memory) {
        return;
    }
    // None of them is over the limit by itself; memory in /tmp counts as well.
    let script = "for i in 1 2 3 4; do python3 -c 'x = bytearray(90 << 20); import time; time.sleep(3)' & done; wait";
    assert_reached(&scene.sh(&sandbox, script), LimitKind::Memory);
    assert_reached(&scene.sh(&sandbox, "head -c 300M /dev/zero >/tmp/big"), LimitKind::Memory);
}

pub(super) fn cpu_time_is_bounded(scene: &Scene) {
    let sandbox = scene.sandbox().cpus("0.25");
    if !scene.keeps(&sandbox, Guarantee::Cpus) {
        return;
    }
    // Three quarters of a second of work by a quarter of a processor.
    let python = "import time\nwhile time.process_time() < 0.75: pass";
    let finished = scene.run(&sandbox, &["python3", "-c", python]);
    let usage = finished.outcome.usage;
    assert!(finished.outcome.success(), "{}", told(&finished));
    // Never too early, however slow the machine is.
    assert!(usage.wall >= usage.cpu * 2, "{usage:?}");
}

pub(super) fn processes_are_bounded(scene: &Scene) {
    let python = "import os,sys,time\n\
        n = 0\n\
        try:\n\
        \x20while n < 100:\n\
        \x20 if os.fork() == 0: time.sleep(60); os._exit(0)\n\
        \x20 n += 1\n\
        except OSError: pass\n\
        print(n); sys.stdout.flush(); os._exit(0)";
    let free = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    assert_eq!(free.stdout, b"100\n", "the control: {}", told(&free));
    let sandbox = scene.sandbox().pids("20");
    if !scene.keeps(&sandbox, Guarantee::Pids) {
        return;
    }
    let finished = scene.run(&sandbox, &["python3", "-c", python]);
    let made: u32 = String::from_utf8_lossy(&finished.stdout).trim().parse().expect("a number");
    assert!((10..20).contains(&made), "{made} processes beside the first: {}", told(&finished));
    if scene.is_silent_about(&sandbox, Guarantee::Pids) {
        assert_eq!(finished.outcome.limit, None, "what is not known must not be told: {}", told(&finished));
    } else {
        assert_reached(&finished, LimitKind::Pids);
    }
    // A limit of 20 is 20, also for many runs of one user at once.
    let finished = scene.run(&sandbox, &["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 5 & done; kill %1"]);
    assert!(finished.outcome.limit.is_none(), "{}", told(&finished));
}

pub(super) fn open_files_are_bounded(scene: &Scene) {
    let python = "import os\n\
        n = 0\n\
        try:\n\
        \x20while n < 200: os.dup(0); n += 1\n\
        except OSError as e: print(e.strerror)\n\
        print(n)";
    let free = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    assert_eq!(free.stdout, b"200\n", "the control: {}", told(&free));
    let sandbox = scene.sandbox().files("50");
    if !scene.keeps(&sandbox, Guarantee::Files) {
        return;
    }
    let finished = scene.run(&sandbox, &["python3", "-c", python]);
    assert!(finished.stdout.starts_with(b"Too many open files"), "{}", told(&finished));
    scene.fails(&sandbox, "ulimit -n 51");
}

pub(super) fn private_file_systems_are_bounded(scene: &Scene) {
    let fill = "head -c 20M /dev/zero >/tmp/big";
    let sandbox = scene.sandbox().disk("8M");
    if !scene.keeps(&sandbox, Guarantee::Disk) {
        return;
    }
    scene.says(&scene.sandbox(), fill);
    for fill in [fill, "head -c 20M /dev/zero >~/big", "head -c 20M /dev/zero >/dev/shm/big"] {
        let finished = scene.sh(&sandbox, fill);
        assert_eq!(finished.outcome.exit_code(), 1, "{}", told(&finished));
        assert!(String::from_utf8_lossy(&finished.stderr).contains("No space left"), "{}", told(&finished));
        assert_reached(&finished, LimitKind::Disk);
    }
    scene.fails(&sandbox, "head -c 5M /dev/zero >/tmp/big && head -c 5M /dev/zero >~/big");
    let small = scene.sh(&sandbox, "head -c 4M /dev/zero >/tmp/big");
    assert!(small.outcome.success() && small.outcome.limit.is_none(), "{}", told(&small));
}

pub(super) fn output_is_bounded(scene: &Scene) {
    let sandbox = scene.sandbox().output("1M");
    if !scene.keeps(&sandbox, Guarantee::Output) {
        return;
    }
    let finished = scene.sh(&sandbox, "yes");
    assert_eq!(finished.outcome.ending, Ending::LimitReached, "{:?}", finished.outcome);
    assert_reached(&Finished { stdout: Vec::new(), ..finished.clone() }, LimitKind::Output);
    assert_eq!(finished.stdout.len(), 1 << 20, "everything up to the limit");
    // Both streams count together, and exactly the limit is not too much.
    let finished = scene.sh(&sandbox, "head -c 600K /dev/zero; head -c 600K /dev/zero >&2; exec sleep 60");
    assert_eq!(finished.outcome.limit, Some(LimitKind::Output), "{:?}", finished.outcome);
    assert_eq!(finished.stdout.len() + finished.stderr.len(), 1 << 20);
    let finished = scene.sh(&sandbox, "head -c 1M /dev/zero");
    assert!(finished.outcome.success() && finished.outcome.limit.is_none(), "{:?}", finished.outcome);
}

pub(super) fn time_is_bounded(scene: &Scene) {
    let sandbox = scene.sandbox().timeout("300ms");
    if !scene.keeps(&sandbox, Guarantee::Timeout) {
        return;
    }
    let finished = scene.sh(&sandbox, "echo before; sleep 60; echo after");
    assert_eq!(finished.outcome.ending, Ending::TimedOut, "{}", told(&finished));
    assert_eq!(finished.outcome.exit_code(), 124);
    assert_eq!(finished.stdout, b"before\n");
    let quick = scene.run(&scene.sandbox().timeout("60s"), &["true"]);
    assert!(quick.outcome.success(), "{}", told(&quick));
}

pub(super) fn a_required_limit_that_is_not_set_is_refused(scene: &Scene) {
    let planned = scene.plan(&scene.sandbox().require(Guarantee::Memory), &["touch", "ran"]);
    match planned.report() {
        Report::Refused(Unfit::Refused(refused)) => {
            assert!(refused.to_string().contains("memory"), "{refused}");
        }
        other => panic!("not refused: {other}"),
    }
    assert!(planned.run().is_err() && !scene.work().join("ran").exists());
}
