//! Attacks on every engine, each with its control; also what `polder doctor --attack` runs.
//!
//! An attack lays out a bait on the host and tries to reach it twice with the same code: once without a sandbox, where
//! it must succeed (the control), and once inside, where it must not. So no attack can pass because the bait was
//! missing or the attempt was wrong. Each attack is a process of its own (the stage), which starts the attempts as
//! further processes; all of them are the same executable with a hidden first argument.
#![forbid(unsafe_code)]

mod answer;
mod attack;
mod attacks;
mod field;
mod hidden;
#[cfg(feature = "mutate")]
pub mod layers;
mod run;
mod stage;

pub use hidden::{HIDDEN_ARGUMENT, hidden};
pub use run::{Listed, Outcome, Verdict, available_engines, list, run_all, run_observed, run_one};
