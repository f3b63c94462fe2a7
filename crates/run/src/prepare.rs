//! Everything that is decided before a run: facts, plan, engine.

use crate::choose::{Chosen, Unfit, choose};
use crate::facts::{FactsError, gather};
use crate::projects;
use crate::runner;
use polder_facts::HostFacts;
use polder_plan::{Faults, Plan, compile_in};
use polder_policy::Policy;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// A plan, and the engine's judgement of it, whichever way it went.
pub struct Prepared {
    /// What would happen.
    pub plan: Arc<Plan>,
    /// The facts that it stands on.
    pub host: Arc<HostFacts>,
    /// Who would do it, or why nobody may.
    pub chosen: Result<Chosen, Unfit>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The facts could not be gathered.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The policy and the facts do not go together.
    #[error(transparent)]
    Plan(#[from] Faults),
}

/// Decides everything about a run and starts nothing. The command starts in `start`, which lies in the workspace.
pub fn prepare(
    policy: &Policy,
    command: &[OsString],
    workspace: &Path,
    start: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> Result<Prepared, PrepareError> {
    let policy = &*runner::shown(policy);
    let spread = spread(policy, workspace)?;
    let policy = &*spread;
    let host = Arc::new(gather(policy, workspace, start, environment)?);
    let (plan, chosen) = choose(&policy.engine, &host, |world| compile_in(world, policy, &host, command))?;
    Ok(Prepared { plan, host, chosen })
}

/// The policy as it is meant for several repositories.
fn spread<'a>(policy: &'a Policy, workspace: &Path) -> Result<Cow<'a, Policy>, FactsError> {
    if policy.workspace.value.projects.is_empty() {
        return Ok(Cow::Borrowed(policy));
    }
    let root = polder_sys::facts::resolve(workspace)
        .map_err(|source| FactsError::Workspace { path: workspace.to_owned(), source })?;
    Ok(projects::spread(policy, &root)?)
}
