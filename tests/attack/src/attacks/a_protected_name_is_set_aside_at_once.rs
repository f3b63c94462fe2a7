//! A mask needs something to be mounted on. A protected name that does not exist yet is watched for, by whatever call
//! it comes into being, and is set aside while the command still runs.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{bind_unix, link_descriptor, mkdir_at, mknod, open, open_at};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const ATTACK: Attack = Attack {
    id: "T018a",
    name: "a_protected_name_is_set_aside_at_once",
    holds: "a protected name that did not exist is set aside during the run, by whatever call it was made",
    bait: |stage| {
        let names: Vec<String> = WAYS.iter().map(|(name, _)| format!("new-{name}")).collect();
        let policy = format!("sandboxes: {{a: {{protect: [{}]}}}}\nsandbox: a\n", names.join(", "));
        stage.file("protect.yaml", &policy)?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("protect.yaml")),
    attempt,
    judge: |stage, _| {
        let mut names = WAYS.iter().map(|(name, _)| format!("ws/new-{name}"));
        names.try_for_each(|name| stage.must_not_exist(&name))
    },
    ..Attack::PLAIN
};

/// How long a name may stay; a machine is busy at times.
const ANSWER_MAX: Duration = Duration::from_secs(20);

type Make = fn(&Field, &Path) -> io::Result<()>;

const WAYS: [(&str, Make); 11] = [
    ("file", |_, new| fs::write(new, "x")),
    ("directory", |_, new| fs::create_dir(new)),
    ("symlink", |_, new| symlink("/etc/passwd", new)),
    ("link", |field, new| fs::hard_link(field.workspace("donor"), new)),
    ("rename", |field, new| {
        fs::write(field.workspace("other"), "x")?;
        fs::rename(field.workspace("other"), new)
    }),
    ("nameless", |field, new| {
        let nameless = open(&field.workspace(""), libc::O_TMPFILE | libc::O_WRONLY, 0o644)?;
        link_descriptor(nameless.as_fd(), new)
    }),
    ("openat", |field, new| {
        let top = File::open(field.workspace(""))?;
        let name = Path::new(new.file_name().unwrap_or_default());
        open_at(top.as_fd(), name, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 0o644).map(drop)
    }),
    ("mkdirat", |field, new| {
        let top = File::open(field.workspace(""))?;
        mkdir_at(top.as_fd(), Path::new(new.file_name().unwrap_or_default()))
    }),
    ("dangling", |field, new| {
        symlink(new, field.workspace("dangling"))?;
        fs::write(field.workspace("dangling"), "x")
    }),
    ("pipe", |_, new| mknod(new, libc::S_IFIFO | 0o600, 0)),
    ("socket", |_, new| bind_unix(new).map(drop)),
];

fn attempt(field: &Field) -> Answer {
    if let Err(error) = fs::write(field.workspace("donor"), "x") {
        return Answer::Broken(format!("cannot even make an ordinary file: {error}"));
    }
    let mut answers = Vec::new();
    for (name, make) in WAYS {
        let new = field.workspace(&format!("new-{name}"));
        if let Err(error) = make(field, &new) {
            return Answer::Broken(format!("{name}: {error}"));
        }
        let is_there = || fs::symlink_metadata(&new).is_ok();
        let until = Instant::now() + ANSWER_MAX;
        while !field.is_control() && is_there() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let stays = is_there();
        answers.push(match stays {
            true => Answer::Reached(format!("{name}: it stays")),
            false => Answer::Blocked(format!("{name}: it is gone")),
        });
        if stays && !field.is_control() {
            break;
        }
    }
    Answer::all(field, answers)
}
