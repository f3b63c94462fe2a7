//! Services of a compose file beside a command, without a compose tool.
//!
//! A compose file is somebody's text, and every tool reads it in its own way. Here there is one reader, ours: what it does
//! not know is refused with its place, and what it knows becomes requests to the daemon. The service that the
//! configuration names becomes the run's own container, with the run's command; what it depends on runs beside it, in its
//! network, which is a loopback and nothing else.
//!
//! `judge` reads the text (`keys` says which words are refused and why, `value` reads what stands behind them), `order` says
//! who starts when, `request` what the daemon is asked for, `up` does it, and `health` waits.

mod health;
mod judge;
mod keys;
mod model;
mod order;
mod read;
mod request;
mod up;
mod value;

pub(super) use model::Project;
pub(super) use read::read;
pub(super) use up::Beside;
