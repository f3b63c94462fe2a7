//! A command can restrict itself by Landlock, as programs with a sandbox of their own do, and keeps to it.
//!
//! The control makes the names without a restriction, after a copy has shown that Landlock works here.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{Ended, bind_unix, forbid_names, in_copy, mknod, open};
use std::fs;
use std::io;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T036d",
    name: "a_nested_landlock_domain_is_not_void",
    holds: "a command can forbid itself to make names by Landlock, and makes none then",
    attempt,
    ..Attack::PLAIN
};

/// The code of a copy that could not restrict itself.
const NOT_RESTRICTED: i32 = 250;

type Make = fn(&Path, &Path) -> io::Result<()>;

/// Each makes the first path; the second is a file that is there.
const WAYS: [(&str, Make); 7] = [
    ("mkdir", |new, _| fs::create_dir(new)),
    ("open", |new, _| open(new, libc::O_CREAT | libc::O_WRONLY, 0o600).map(drop)),
    ("symlink", |new, _| std::os::unix::fs::symlink("/tmp", new)),
    ("link", |new, donor| fs::hard_link(donor, new)),
    ("rename", |new, donor| fs::rename(donor, new)),
    ("mknod", |new, _| mknod(new, libc::S_IFIFO | 0o600, 0)),
    ("bind", |new, _| bind_unix(new).map(drop)),
];

fn attempt(field: &Field) -> Answer {
    let tried = |(name, make): (&'static str, Make)| {
        let (new, donor) = (field.workspace(&format!("new-{name}")), field.workspace("donor"));
        if let Err(error) = fs::write(&donor, "x") {
            return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
        }
        let made = |restricts: bool| {
            let ended = in_copy(|| {
                if restricts && forbid_names().is_err() {
                    return NOT_RESTRICTED;
                }
                make(&new, &donor).err().and_then(|error| error.raw_os_error()).unwrap_or(0)
            });
            match ended {
                Ok(Ended::Exited(code)) => Ok(code),
                other => Err(format!("{name}: {other:?}")),
            }
        };
        match (made(true), field.is_control()) {
            (Err(text), _) => Answer::Broken(text),
            (Ok(NOT_RESTRICTED), true) => Answer::Lacking("no Landlock here".to_owned()),
            (Ok(NOT_RESTRICTED), false) => Answer::Reached(format!("{name}: the restriction is refused")),
            (Ok(libc::EACCES), false) => Answer::Blocked(format!("{name}: the restriction holds")),
            (Ok(libc::EACCES), true) => match made(false) {
                Ok(0) => Answer::Reached(name.to_owned()),
                other => Answer::Broken(format!("{name} without a restriction: {other:?}")),
            },
            (Ok(0), _) => Answer::Reached(format!("{name} in spite of the command's own Landlock domain")),
            (Ok(errno), _) => Answer::Broken(format!("{name}: {}", io::Error::from_raw_os_error(errno))),
        }
    };
    Answer::all(field, WAYS.map(tried))
}
