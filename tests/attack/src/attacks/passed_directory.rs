//! What the attacks by a passed directory share: a process of the host that hands out its home over a
//! socket in the workspace. No mount covers that handle.

use crate::answer::{Answer, DENIED};
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder_sys::attempt::{open_at, pass_descriptor, take_descriptor};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

const DOOR: &str = "door";

/// Hands the home directory to whichever process connects, until the stage ends.
pub(super) fn hand_out(stage: &mut Stage) -> Result<(), Missing> {
    stage.file("home/.ssh/id", "secret")?;
    fs::copy("/bin/true", stage.home.join("tool"))?;
    let directory = File::open(&stage.home)?;
    let door = stage.workspace.join(DOOR);
    let listener = UnixListener::bind(&door)?;
    // As root the command has another uid.
    fs::set_permissions(&door, Permissions::from_mode(0o777))?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = pass_descriptor(stream.as_fd(), directory.as_fd());
        }
    });
    Ok(())
}

/// The directory that the host hands out.
pub(super) fn take(field: &Field) -> io::Result<OwnedFd> {
    take_descriptor(UnixStream::connect(field.workspace(DOOR))?.as_fd())
}

/// Whether something below it can be opened.
pub(super) fn open(directory: &OwnedFd, what: &str, name: &str, flags: i32) -> Answer {
    Answer::of(what, open_at(directory.as_fd(), Path::new(name), flags, 0), DENIED)
}
