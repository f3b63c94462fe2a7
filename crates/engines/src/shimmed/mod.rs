//! What the Linux engines share: the shim inside, and a run that it watches over. Knows no engine.

mod inside;
mod judge;
mod run;

pub(crate) use inside::{c, inside};
pub(crate) use judge::{Judge, enforced};
pub(crate) use run::{ShimmedRun, describe, setup};
