//! A process on the host can pass a directory over a socket in the workspace: no mount covers that handle.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::{execute_at, open_at, pass_descriptor, take_descriptor};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

pub(crate) const ATTACK: Attack = Attack {
    id: "T208",
    name: "a_directory_passed_in_opens_nothing",
    holds: "a directory handle from the host does not let the command read, list or execute below it",
    bait: |stage| {
        stage.file("home/.ssh/id", "secret")?;
        fs::copy("/bin/true", stage.home.join("tool"))?;
        let directory = File::open(&stage.home)?;
        let listener = UnixListener::bind(stage.workspace.join("door"))?;
        // As root the command has another uid.
        fs::set_permissions(stage.workspace.join("door"), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        // It ends with the stage.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = pass_descriptor(stream.as_fd(), directory.as_fd());
            }
        });
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let door = UnixStream::connect(field.workspace("door"));
    let passed = match door.and_then(|door| take_descriptor(door.as_fd())) {
        Ok(passed) => passed,
        Err(error) => return Answer::Broken(format!("nothing was passed: {error}")),
    };
    let open = |name: &str, flags| open_at(passed.as_fd(), Path::new(name), flags, 0);
    let ways = [
        Answer::of("read", open(".ssh/id", libc::O_RDONLY), DENIED),
        Answer::of("list", open(".ssh", libc::O_RDONLY | libc::O_DIRECTORY), DENIED),
        Answer::of("execute", execute_at(passed.as_fd(), c"tool"), DENIED),
    ];
    Answer::all(field, ways)
}
