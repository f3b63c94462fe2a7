//! Steps: what runs after what, with which values, and what stops whom.
//!
//! The way of a step: [`Step`](polder_policy::Step) → [`Work`] (its texts parsed, every name in them known) → a place in
//! the [`Graph`] → started by the [`Schedule`] → rendered with the values of its time → a [`Status`]. All of it is pure;
//! [`go`] alone starts threads, and what a thread does is the caller's.
//!
//! A value never becomes a part of a shell's program: it enters as a variable, and the text only names it.
#![forbid(unsafe_code)]

mod expression;
mod go;
mod graph;
mod schedule;
mod scope;
mod shell;
mod status;
mod template;
mod work;

pub use go::{Crew, Doing, StepLink, Task, Told, go};
pub use graph::{Graph, Node};
pub use schedule::{Decision, Schedule};
pub use scope::{Output, Scope, ValueError, output_value};
pub use status::{Skip, Status, exit_code};
pub use work::{Rendered, Work, check, works};
