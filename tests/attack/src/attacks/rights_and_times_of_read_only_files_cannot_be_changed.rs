//! Landlock alone does not stop chmod, utime and setxattr.

use crate::answer::{Answer, READ_ONLY};
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{File, FileTimes};
use std::time::SystemTime;

pub(crate) const ATTACK: Attack = Attack {
    id: "T017",
    name: "rights_and_times_of_read_only_files_cannot_be_changed",
    holds: "mode, times and attributes of a file in a read-only bind cannot be changed",
    bait: |stage| {
        let path = stage.file("lib/file", "library")?;
        stage.tell("file", path.display());
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.bind(stage.root.join("lib").display().to_string()),
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let path = field.path("file");
    let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
    let touched = File::open(&path).and_then(|file| file.set_times(times));
    let mut answers = vec![
        Answer::of("chmod", polder_sys::attempt::chmod(&path, 0o777), READ_ONLY),
        Answer::of("utimes", touched, READ_ONLY),
    ];
    let attribute = polder_sys::attempt::set_attribute(&path, c"user.x", b"1");
    // Not every file system has them.
    if attribute.as_ref().err().and_then(std::io::Error::raw_os_error) != Some(libc::ENOTSUP) {
        answers.push(Answer::of("setxattr", attribute, READ_ONLY));
    }
    Answer::all(field, answers)
}
