//! A second thread turns a directory into a link to the hooks and back while the first one writes.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: usize = 1500;

pub(crate) const ATTACK: Attack = Attack {
    id: "T006b",
    name: "a_symlink_swap_does_not_write_a_hook",
    holds: "swapping a directory for a link while writing below it does not write a protected path",
    bait: |stage| Ok(stage.repository()?),
    attempt,
    judge: |stage, _| stage.must_not_exist("ws/.git/hooks/pre-commit"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let (place, aside, dir) = (field.workspace("place"), field.workspace("aside"), field.workspace("dir"));
    let (hook, stop) = (field.workspace(".git/hooks/pre-commit"), AtomicBool::new(false));
    if std::fs::create_dir(&dir).is_err() || symlink(".git/hooks", &aside).is_err() || symlink("dir", &place).is_err() {
        return Answer::Broken("cannot prepare the links".to_owned());
    }
    let mut wrote = 0;
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = polder_sys::attempt::rename(&place, &aside, polder_sys::attempt::EXCHANGE);
            }
        });
        let mut reached = false;
        for _ in 0..ROUNDS {
            wrote += usize::from(std::fs::write(place.join("pre-commit"), "#!/bin/sh\n").is_ok());
            if hook.exists() {
                reached = true;
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        reached
    });
    match (reached, wrote) {
        (true, _) => Answer::Reached("the hook was written".to_owned()),
        (false, 0) => Answer::Broken("not even the ordinary directory could be written".to_owned()),
        (false, _) => {
            Answer::Blocked(format!("{wrote} of {ROUNDS} writes went to the ordinary directory, none to the hooks"))
        }
    }
}
