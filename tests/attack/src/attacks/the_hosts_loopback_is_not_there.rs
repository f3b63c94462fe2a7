//! Databases, debuggers and editors listen on the loopback and trust it.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::net::{TcpListener, TcpStream};

pub(crate) const ATTACK: Attack = Attack {
    id: "T054a",
    name: "the_hosts_loopback_is_not_there",
    holds: "without network a port of the host's loopback cannot be reached, by any of its names",
    bait: |stage| {
        let listener = TcpListener::bind("0.0.0.0:0")?;
        stage.tell("port", listener.local_addr()?.port());
        stage.hold(listener);
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let port = field.word("port");
    let none = &[libc::ECONNREFUSED, libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EPERM, libc::EACCES];
    Answer::all(
        field,
        ["127.0.0.1", "127.1.2.3", "0.0.0.0"]
            .map(|address| Answer::of(address, TcpStream::connect(format!("{address}:{port}")), none)),
    )
}
