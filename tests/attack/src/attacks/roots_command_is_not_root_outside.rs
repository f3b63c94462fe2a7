//! The kernel tells a listener on the host who connects, in the host's own numbers.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder::Finished;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};

pub(crate) const ATTACK: Attack = Attack {
    id: "T206a",
    name: "roots_command_is_not_root_outside",
    holds: "a command of a root caller is an unprivileged user in the eyes of the host",
    bait: |stage| {
        if polder_sys::wait::effective_ids().0 != 0 {
            return Err(Missing::Lacking("an ordinary caller stays who it is".to_owned()));
        }
        let listener = UnixListener::bind(stage.workspace.join("socket"))?;
        listener.set_nonblocking(true)?;
        stage.tell("listener", std::os::fd::AsRawFd::as_raw_fd(&listener));
        std::fs::set_permissions(stage.workspace.join("socket"), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        stage.hold(listener);
        Ok(())
    },
    attempt,
    judge,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    match UnixStream::connect(field.workspace("socket")) {
        Ok(_) if field.is_control() => Answer::Reached("connected as root".to_owned()),
        // The judge asks the kernel who it was.
        Ok(_) => Answer::Blocked("connected".to_owned()),
        Err(error) => Answer::Broken(format!("connect: {error}")),
    }
}

fn judge(stage: &Stage, _: &Finished) -> Result<(), String> {
    let uid = stage
        .held(|listener: &UnixListener| listener.accept().and_then(|(peer, _)| polder_sys::peer_uid(peer.as_fd())));
    match uid {
        Some(Ok(0)) => Err("the host sees uid 0".to_owned()),
        Some(Ok(_)) => Ok(()),
        Some(Err(error)) => Err(format!("no connection came: {error}")),
        None => Err("no listener".to_owned()),
    }
}
