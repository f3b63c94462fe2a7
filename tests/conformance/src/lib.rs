//! One case per guarantee and behaviour, written against the engine contract: every engine runs all of it.
//!
//! Engines come from [`polder::engines`] and are never named here. A case runs in a process of its own, so that what it
//! leaves behind can be seen (`residue`) and what hangs can be killed. What an engine does not keep, by its own report,
//! is checked the other way round: the run must be refused unless the gap is accepted. Every denial has a control that
//! shows the same action succeed without the sandbox.
//!
//! What the machine offers is declared with `POLDER_TEST_HAS`, a comma list of engines and mechanisms: declared and
//! missing fails, undeclared and missing is listed as ignored.
#![forbid(unsafe_code)]

mod aide;
mod cases;
mod declared;
mod harness;
mod model;
mod residue;
mod scene;

pub use cases::{Case, all};
pub use harness::main;
pub use scene::Scene;
