//! What the attacks on local sockets share.

use crate::answer::Answer;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// A host program that listens at a path below the stage.
pub(super) fn listener(stage: &mut Stage, below: &str) -> Result<(), Missing> {
    let path = stage.root.join(below);
    stage.hold(UnixListener::bind(&path)?);
    let link = stage.workspace.join("link");
    std::os::unix::fs::symlink(&path, link)?;
    stage.tell("socket", path.display());
    Ok(())
}

/// Connects to it by its path and by a link in the workspace.
pub(super) fn connect_path(field: &Field) -> Answer {
    let none = &[libc::ENOENT, libc::EACCES, libc::EPERM];
    Answer::all(
        field,
        [field.path("socket"), field.workspace("link")]
            .map(|path| Answer::of(&path.display().to_string(), UnixStream::connect(&path), none)),
    )
}

/// A host program that listens at an abstract name.
pub(super) fn abstract_listener(stage: &mut Stage) -> Result<(), Missing> {
    let name = format!("polder-attack-{}", std::process::id());
    let held = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?);
    match held {
        Ok(listener) => stage.hold(listener),
        Err(error) => return Err(error.into()),
    }
    stage.tell("name", name);
    Ok(())
}

/// Connects to it.
pub(super) fn connect_abstract(field: &Field) -> Answer {
    let reached =
        SocketAddr::from_abstract_name(field.word("name")).and_then(|address| UnixStream::connect_addr(&address));
    Answer::of("connect", reached, &[libc::ECONNREFUSED, libc::EPERM, libc::EACCES])
}
