//! Intent: what a command may do, read from files, variables and flags.
//!
//! The way of a configuration: bytes → tree (`notation`) → checked against the one table of keys (`shape`, `check`) →
//! [`Document`] (`lower`) → [`Policy`] ([`resolve`]). Everything but `load` is pure. No engine is known here: the
//! caller passes their names as a [`Vocabulary`].
#![forbid(unsafe_code)]

mod builtin;
mod check;
mod dialect;
mod document;
mod draft;
mod enforce;
mod fault;
mod foreign;
mod layers;
mod load;
mod lower;
mod model;
mod notation;
mod overlap;
mod overrides;
mod profiles;
mod rules;
mod said;
mod schema;
mod services;
mod shape;
mod show;
mod steps;
pub mod tree;
mod trust;
mod vocabulary;

pub use builtin::{DISK_DEFAULT, DISK_SMALL, STEPS_AT_ONCE, built_in};
pub use dialect::Dialect;
pub use document::{Document, Level, Source, SpecRoot, faults, parse};
pub use fault::{Fault, Faults, defined, nearest, nearest_name};
pub use layers::{Layers, ResolveError, asks, resolve, resolve_service, resolve_step};
pub use load::{Found, OWN_NAMES, PROJECT_NAMES, find_in, find_project, load, seal};
pub use model::{
    Access, AuditMode, Beside, Bind, Cache, CachePath, Credential, EngineChoice, EnvPattern, EnvRules, GitIdentityUse,
    Image, Limits, Network, NetworkMode, Observe, PathPattern, Policy, Project, Ready, ReadyBy, SandboxScope, Service,
    Step, StepService, Via, Workdir, Workspace, WorkspaceMode,
};
pub use notation::{FILE_BYTES_MAX, read_tree};
pub use overrides::{CallerTerminal, Overrides};
pub use profiles::{PROFILE_NAMES, ToolProfile, tool_profiles};
pub use said::Scope;
pub use schema::schema;
pub use services::services;
pub use show::{show, to_json};
pub use steps::{steps, steps_with_faults};
pub use trust::{Ask, Trust, fingerprint};
pub use vocabulary::{EngineName, Vocabulary};

#[cfg(test)]
mod testing;
