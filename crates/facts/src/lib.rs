//! The nouns that every part of polder shares.
//!
//! Plain data: nothing here opens a file, asks the clock or starts a process. A noun stands here when two crates
//! that do not know each other have to speak about the same thing.
#![forbid(unsafe_code)]

mod event;
pub mod git;
mod grant;
mod guarantee;
mod host;
mod origin;
mod outcome;
mod path;
mod size;
mod violation;

pub use event::{Event, EventKind, Output, Progress, RunId};
pub use grant::{Grant, GrantError};
pub use guarantee::{Gap, Guarantee, UnknownGuarantee};
pub use host::{
    CacheFacts, CapturedFacts, CgroupFacts, CgroupVersion, EnclosingFacts, Entry, HardLinked, HostFacts, Mechanism,
    OtherLink, OtherNames, Probe, Resolved, SystemPath, TreeFacts, TwinMount, UserFacts, WorktreeFacts,
};
pub use origin::{Origin, Sourced};
pub use outcome::{Ending, LimitKind, Outcome, Usage};
pub use path::{GuestPath, GuestPathError, HostPath, HostPathError};
pub use size::{ByteSize, Span, UnitError};
pub use violation::{Action, Violation};
