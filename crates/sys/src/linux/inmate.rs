//! The first process of a container whose runtime has a kernel of its own.
//!
//! No descriptor of the host's can go into such a container, and our own sandbox cannot be made in it: the wall is the
//! runtime's kernel, and what is shown or hidden the container's own mounts say. So there is no porter but an inmate. It
//! speaks by its input and output, in frames; says what it finds around it, which the caller judges; does its one errand,
//! hands the streams through, and ends, which ends the container with everything in it.
//!
//! Nothing that the caller must be sure of rests on its word: the command could take its place and would gain nothing.

mod frame;
mod words;
mod work;

pub use frame::{Frame, Tag, Window, receive, send};
pub use words::{Done, Errand, FileSeen, Look, Seen};

pub(crate) use work::live;

/// The first argument of a program that is asked to be the inmate.
pub const ARGUMENT: &str = "polder-inmate";

#[cfg(test)]
mod tests;
