//! A file that runs as its owner on the host.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{chmod, chmod_at, chmod2, open, open2};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T024a",
    name: "no_file_comes_out_with_a_setid_bit",
    holds: "no file in the workspace can get a setuid or setgid bit, by any call",
    bait: |stage| {
        stage.file("ws/program", "#!/bin/sh\n")?;
        Ok(())
    },
    attempt,
    judge: |stage, _| {
        let entries = std::fs::read_dir(&stage.workspace).map_err(|error| error.to_string())?;
        for entry in entries.flatten() {
            let mode = entry.metadata().map_err(|error| error.to_string())?.permissions().mode();
            if mode & 0o6000 != 0 {
                return Err(format!("`{}` has mode {mode:o}", entry.path().display()));
            }
        }
        Ok(())
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let file = field.workspace("program");
    let flags = libc::O_CREAT | libc::O_WRONLY;
    let link = field.workspace("link");
    let linked = std::os::unix::fs::symlink("program", &link);
    let group = std::fs::Permissions::from_mode(0o2755);
    let mut answers = vec![
        Answer::of("chmod u+s", chmod(&file, 0o4755), NO_CALL),
        Answer::of("chmod g+s", chmod(&file, 0o2755), NO_CALL),
        Answer::of("chmod g+s of a link to it", linked.and_then(|()| chmod(&link, 0o2755)), NO_CALL),
        Answer::of("fchmod g+s", File::open(&file).and_then(|file| file.set_permissions(group.clone())), NO_CALL),
        Answer::of(
            "fchmodat g+s from its directory",
            File::open(field.workspace("")).and_then(|dir| chmod_at(dir.as_fd(), Path::new("program"), 0o2755)),
            NO_CALL,
        ),
        Answer::of("open with mode", open(&field.workspace("one"), flags, 0o4755), NO_CALL),
        Answer::of("openat2 with mode", open2(&field.workspace("two"), flags, 0o4755), NO_CALL),
        Answer::of(
            "mknod with mode",
            polder_sys::attempt::mknod(&field.workspace("three"), libc::S_IFREG | 0o4755, 0),
            NO_CALL,
        ),
        Answer::of(
            "O_TMPFILE with mode",
            open(&field.workspace(""), libc::O_TMPFILE | libc::O_WRONLY, 0o4755),
            NO_CALL,
        ),
    ];
    let newest = chmod2(&file, 0o4755).and_then(|()| chmod2(&file, 0o2755));
    // A kernel before 6.6 does not have it.
    if newest.as_ref().err().and_then(std::io::Error::raw_os_error) != Some(libc::ENOSYS) || !field.is_control() {
        answers.push(Answer::of("fchmodat2", newest, NO_CALL));
    }
    Answer::all(field, answers)
}
