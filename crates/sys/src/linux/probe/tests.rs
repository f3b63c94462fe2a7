use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// A child of a process with many threads is a copy in which any lock may be held and any descriptor open for ever.
#[test]
fn many_threads_can_probe_at_once() {
    const PROBERS: usize = 16;
    const SECONDS_MAX: u64 = 60;
    let ending = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let ending = Arc::clone(&ending);
            std::thread::spawn(move || {
                while !ending.load(Ordering::Relaxed) {
                    drop(std::hint::black_box(vec![0u8; 4096]));
                }
            })
        })
        .collect();
    let (done, ended) = mpsc::channel();
    for _ in 0..PROBERS {
        let done = done.clone();
        std::thread::spawn(move || {
            for _ in 0..4 {
                let _ = machine(Path::new("/var/tmp"));
            }
            let _ = done.send(());
        });
    }
    for _ in 0..PROBERS {
        ended.recv_timeout(Duration::from_secs(SECONDS_MAX)).expect("every probe ends");
    }
    ending.store(true, Ordering::Relaxed);
    for thread in busy {
        thread.join().expect("a thread");
    }
}

#[test]
fn trial_whose_caller_is_gone_ends() {
    let (mut child, ours) = waiting_child(0, || Ok(())).expect("a child");
    // As the kernel does when the caller is killed.
    drop(ours);
    let patience = Some(Duration::from_secs(20));
    let ended = wait::readable(&[Some(child.pidfd.as_fd())], patience).expect("poll");
    assert_eq!(ended, [true], "the child waits for ever");
    assert_eq!(code_of(&mut child), Err(Errno(libc::EPIPE)));
}
