//! A small client for the HTTP interface that container daemons share.
//!
//! Blocking, one connection per request, over a socket of this machine. The daemon's answer is somebody else's text:
//! head, lines and bodies have sizes, and a [`Deadline`] over the whole request cannot be put off by a daemon that keeps
//! talking. What goes into a request line is escaped or is a type that needs no escape, so that no name can say anything
//! but a name.
//!
//! `connection` is bytes with a deadline, `target` the request line, `head` and `body` the answer, `client` one request
//! from end to end; the others hold the calls, one file per kind of thing.

mod body;
mod client;
mod connection;
mod containers;
mod deadline;
mod error;
mod exec;
mod head;
mod images;
mod names;
mod networks;
mod progress;
mod stream;
mod system;
mod target;
#[cfg(test)]
mod testing;
mod volumes;

pub(crate) use client::{Client, Dialect};
pub(crate) use containers::{ContainerState, Created, Health, Inspected, Listed, Logs, Mounted, WaitFor, Waited};
pub(crate) use deadline::Deadline;
pub(crate) use error::{ApiError, readable};
pub(crate) use exec::ExecState;
pub(crate) use images::{BaseFacts, Bases, BuildNetwork, BuildOptions, ImageFacts, ListedImage};
pub(crate) use names::{ImageName, NameError, ObjectName};
pub(crate) use networks::{NetworkFacts, Reach};
pub(crate) use progress::{Hearing, Progress};
pub(crate) use stream::{Attached, AttachedInput, Channel, Demux};
pub(crate) use system::{ApiVersion, DaemonFacts, Ping};
pub(crate) use volumes::VolumeFacts;
