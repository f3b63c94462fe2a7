//! Choosing an engine, before anything starts. An engine asked for by name is never replaced.

use polder_engine::{Availability, Engine, Fitted, HeadStart, Refused};
use polder_facts::{HostFacts, Sourced};
use polder_plan::{Plan, World};
use polder_policy::EngineChoice;
use std::fmt;
use std::sync::Arc;

/// An engine that may start the plan.
pub struct Chosen {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// The right to start.
    pub fitted: Fitted,
    /// Why this one, in a few words.
    pub reason: String,
}

/// Why no engine may start the plan.
#[derive(Debug)]
pub enum Unfit {
    /// There is no engine of that name.
    Unknown(String),
    /// It does not work here.
    Unavailable {
        /// Its id.
        engine: String,
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// It cannot keep the policy.
    Refused(Refused),
    /// None of those that `auto` may choose can be used; each with its reason.
    NoneLeft(Vec<Unfit>),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "there is no engine `{name}`"),
            Self::Unavailable { engine, reason, remedy } => {
                write!(f, "engine `{engine}` does not work here: {reason}\n  remedy: {remedy}")
            }
            Self::Refused(refused) => refused.fmt(f),
            Self::NoneLeft(reasons) => {
                f.write_str("no engine can contain this command here")?;
                for reason in reasons {
                    write!(f, "\n{reason}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// What can be done for a run of which nothing is known but, perhaps, the engine that the caller asks for. Only saves
/// time: a run that turns out to go elsewhere drops it.
pub fn begin(engine: Option<&str>) -> Option<HeadStart> {
    let engine = match engine.filter(|name| *name != "auto") {
        Some(name) => polder_engines::by_name(name),
        None => polder_engines::auto().into_iter().next(),
    };
    engine?.begin()
}

/// The engine that the policy names, or the first of `auto` that can keep every rule; with the plan for its world, or
/// for that of the first one where none fits.
pub(crate) fn choose<E>(
    asked: &Sourced<EngineChoice>,
    host: &Arc<HostFacts>,
    plan_in: impl Fn(World) -> Result<Plan, E>,
) -> Result<(Arc<Plan>, Result<Chosen, Unfit>), E> {
    let (engines, reason) = match &asked.value {
        EngineChoice::Named(name) => match polder_engines::by_name(name) {
            Some(engine) => (vec![engine], format!("asked for by {}", asked.origin)),
            None => return Ok((Arc::new(plan_in(World::Made)?), Err(Unfit::Unknown(name.clone())))),
        },
        EngineChoice::Auto => (polder_engines::auto(), "the first of auto that keeps every rule here".to_owned()),
    };
    let mut first: Option<Arc<Plan>> = None;
    let mut reasons = Vec::new();
    for engine in engines {
        let plan = match &first {
            Some(plan) if plan.world == engine.world() => Arc::clone(plan),
            Some(_) | None => Arc::new(plan_in(engine.world())?),
        };
        match judge(engine, &plan, host, &reason) {
            Ok(chosen) => return Ok((plan, Ok(chosen))),
            Err(reason) => reasons.push(reason),
        }
        first.get_or_insert(plan);
    }
    let plan = match first {
        Some(plan) => plan,
        None => Arc::new(plan_in(World::Made)?),
    };
    let unfit = if reasons.len() == 1 { reasons.remove(0) } else { Unfit::NoneLeft(reasons) };
    Ok((plan, Err(unfit)))
}

fn judge(engine: Box<dyn Engine>, plan: &Arc<Plan>, host: &Arc<HostFacts>, reason: &str) -> Result<Chosen, Unfit> {
    // The fit comes first: an engine that is not in this build has more to say about the plan than its probe has.
    let fit = engine.fit(plan, host);
    if fit.impossible.is_empty()
        && let Availability::Unavailable { reason, remedy } = engine.probe(host)
    {
        return Err(Unfit::Unavailable { engine: engine.id().to_owned(), reason, remedy });
    }
    let fitted = fit.require(plan, host).map_err(Unfit::Refused)?;
    Ok(Chosen { engine, fitted, reason: reason.to_owned() })
}
