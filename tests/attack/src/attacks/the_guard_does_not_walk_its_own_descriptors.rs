//! The guard resolves paths for the command. `/proc/self` in such a path is the command's, however it is spelt, and
//! never leads to a descriptor of the guard's own process.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T034h",
    name: "the_guard_does_not_walk_its_own_descriptors",
    holds: "no path through /proc leads the guard to a descriptor of its own process",
    attempt,
    ..Attack::PLAIN
};

const DESCRIPTORS_MAX: i32 = 64;

fn attempt(field: &Field) -> Answer {
    let inner = field.workspace("inner");
    let made = fs::create_dir(&inner).and_then(|()| File::open(&inner)).and_then(|inner| {
        std::os::unix::fs::symlink("/proc/self", field.workspace("self"))?;
        std::os::unix::fs::symlink("/proc/self/fd", field.workspace("descriptors"))?;
        Ok(inner)
    });
    let inner = match made {
        Ok(inner) => inner,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    let (proc, me) = (File::open("/proc"), std::process::id());
    let Ok(proc) = proc else { return Answer::Broken("no /proc".to_owned()) };
    let spellings = [
        "/proc/self/fd".to_owned(),
        "/proc/./self/fd".to_owned(),
        "//proc/self/fd".to_owned(),
        "/proc/../proc/self/fd".to_owned(),
        "/proc/thread-self/fd".to_owned(),
        "/proc/./thread-self/fd".to_owned(),
        "/proc/self/task/../fd".to_owned(),
        "/dev/fd".to_owned(),
        "/dev/./fd".to_owned(),
        field.workspace("self/fd").display().to_string(),
        field.workspace("descriptors").display().to_string(),
        format!("/proc/{me}/fd/{}/self/fd", proc.as_raw_fd()),
        format!("/proc/self/root/proc/{me}/fd"),
    ];
    let walk = |spelling: &str, number: i32| format!("{spelling}/{number}/../made");
    let mut answers = Vec::new();
    for spelling in spellings {
        // The command's own descriptor is what is meant, and works.
        let own = fs::create_dir(walk(&spelling, inner.as_raw_fd()));
        let there = fs::remove_dir(field.workspace("made"));
        match (own.and(there), field.is_control()) {
            (Err(error), true) => return Answer::Broken(format!("{spelling} of the command itself: {error}")),
            (Err(error), false) => return Answer::Reached(format!("{spelling} is another process's: {error}")),
            (Ok(()), true) => answers.push(Answer::Reached(spelling)),
            (Ok(()), false) => answers.push(foreign(&spelling, walk)),
        }
    }
    if !field.is_control() {
        answers.extend(["/proc/1/fd", "/proc/1/task/1/fd"].map(|spelling| foreign(spelling, walk)));
        answers.push(Answer::of("/proc/1/cwd", fs::create_dir("/proc/1/cwd/made"), HIDDEN));
        let rooted = format!("/proc/1/root{}", field.workspace("made").display());
        answers.push(Answer::of("/proc/1/root", fs::create_dir(rooted), HIDDEN));
    }
    Answer::all(field, answers)
}

const HIDDEN: &[i32] = &[libc::ENOENT, libc::EACCES, libc::EPERM];

/// A number that is not open here must not be there for the guard either.
fn foreign(spelling: &str, walk: fn(&str, i32) -> String) -> Answer {
    let closed = |number: &i32| !Path::new(&format!("/proc/self/fd/{number}")).exists();
    for number in (0..DESCRIPTORS_MAX).filter(closed) {
        let path = walk(spelling, number);
        let refused = match fs::create_dir(&path) {
            Ok(()) => return Answer::Reached(path),
            Err(error) => error,
        };
        if !refused.raw_os_error().is_some_and(|errno| HIDDEN.contains(&errno)) {
            return Answer::Reached(format!("{path} leads to something: {refused}"));
        }
    }
    Answer::Blocked(io::Error::from_raw_os_error(libc::ENOENT).to_string())
}
