//! Run a command in the strongest sandbox that this machine offers.
//!
//! Say what a command may do, look at what will happen, and let it happen. Nothing is granted that was not said, and
//! what cannot be enforced does not start.
//!
//! ```
//! use polder::Sandbox;
//!
//! # fn main() -> Result<(), polder::Error> {
//! # let directory = std::env::temp_dir().join(format!("polder-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! let planned = Sandbox::in_directory(&directory)
//!     .read_only()
//!     .timeout("10s")
//!     .plan(["sh", "-c", "echo hello; cat ~/.ssh/id_ed25519"])?;
//! println!("{}", planned.plan());
//! println!("{}", planned.report());
//!
//! let finished = planned.run()?;
//! assert_eq!(finished.stdout, b"hello\n");
//! assert_ne!(finished.outcome.exit_code(), 0); // the home directory inside is an empty one
//! # std::fs::remove_dir_all(&directory).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! What happens can be followed while it happens, with as much memory as a few events take:
//!
//! ```
//! # use polder::{EventKind, Sandbox};
//! # fn main() -> Result<(), polder::Error> {
//! # let directory = std::env::temp_dir().join(format!("polder-doc-events-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory).unwrap();
//! for event in Sandbox::in_directory(&directory).plan(["sh", "-c", "mkdir /opt/x; echo done"])?.events()? {
//!     match event.kind {
//!         EventKind::Output(stream, bytes) => println!("{stream:?}: {}", String::from_utf8_lossy(&bytes)),
//!         EventKind::Violation(violation) => println!("denied {}; ask for {:?}", violation.target, violation.grant),
//!         EventKind::Exit(outcome) => assert!(outcome.success()),
//!         _ => {}
//!     }
//! }
//! # std::fs::remove_dir_all(&directory).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! The same without blocking, on any executor ([`Events::next_event`] waits for one event in the same way):
//!
//! ```
//! # use polder::Sandbox;
//! # async fn example(directory: &std::path::Path) -> Result<(), polder::Error> {
//! let finished = Sandbox::in_directory(directory).plan(["true"])?.run_async().await?;
//! assert!(finished.outcome.success());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod audit;
pub mod caches;
pub mod config;
mod credentials;
pub mod deeds;
mod error;
mod events;
pub mod json;
pub mod last;
mod leftovers;
mod missing;
mod noting;
mod planned;
pub mod records;
mod sandbox;
mod service;
mod session;
mod shim;
mod steps;
mod survey;
pub mod trust;
mod warnings;

pub use credentials::{Redaction, Secrets};
pub use error::Error;
pub use events::{Events, NextEvent};
pub use missing::{MissingProgram, ProgramSearch};
pub use noting::Noting;
pub use planned::{Begun, Finished, Planned, Report, RunFuture};
pub use sandbox::{Loan, Sandbox};
pub use service::{NoState, ServiceName, ServiceNameError};
pub use session::Session;
pub use shim::become_shim_if_asked;
pub use steps::{PlannedService, PlannedStep, PlannedSteps, StepEvent, StepResult, StepsAsked};
pub use survey::{Surveyed, reference, survey};

pub use polder_engine::{About, Accepted, Availability, Engine, EngineClass, Fit, Refusal, Refused, Verdict};
pub use polder_engines::{all as engines, vocabulary};
pub use polder_facts::{
    Action, Ending, Event, EventKind, Gap, Grant, Guarantee, HostFacts, LimitKind, Mechanism, Origin, Outcome, Output,
    Probe, Progress, RunId, Span, Usage, Violation,
};
pub use polder_plan::{
    ALLOWANCE, Allowance, Configuration, MOUNTS, Plan, Says, Sensitive, Standing, Way, Wish, World, is_never_offered,
    risk,
};
pub use polder_policy::{CallerTerminal, Observe, Overrides, Policy};
pub use polder_run::{Next, Patience, Restart, RunError, Streams, Supervision, Unfit};
pub use polder_steps::{Skip, Status, exit_code as steps_exit_code};
