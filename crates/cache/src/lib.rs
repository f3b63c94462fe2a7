//! The store of directories that are kept between runs. What a run may have of it is decided in the plan; here it is
//! made, held while it is used, and removed when nobody wants it any more.
//!
//! ```text
//! STORE/                      0700, the caller's
//!   FAMILY/                   one repository and one sandbox
//!     manifest.json           which ones, in plain
//!     lock                    held by whoever makes or removes something in the family
//!     SCOPE.lock              held, shared, by every run that uses the scope
//!     SCOPE/                  one prefix
//!       manifest.json         which one
//!       used                  its time is that of the last use
//!       KEPT.json, KEPT/      a path inside, and the directory that appears there
//!     aside-…, gone-…         a copy that is not whole yet, a scope that is being removed: left overs of nobody
//! ```
//!
//! Beside the store, `services/NAME` is what one service keeps; nothing in it is ever removed.
//!
//! A directory under its own name is whole: it is made aside and renamed. Everything is reached by descriptors, name by
//! name, and nothing is followed: what is in a kept directory was written by a command.
#![forbid(unsafe_code)]

mod claim;
mod copy;
mod discard;
mod evict;
mod family;
mod listing;
mod manifest;
mod state;
mod store;

pub use claim::{Claim, ClaimError, Owner, claim};
pub use listing::{Cleared, Listed, clear, list};
pub use state::{StateError, state, state_path};
pub use store::{StoreError, place, resolved};
