//! Choosing an engine, before anything starts. An engine asked for by name is never replaced.

use polder_engine::{Availability, Engine, Fitted, HeadStart, Refused};
use polder_facts::{Gap, HostFacts, Origin, Sourced};
use polder_plan::{Plan, World};
use polder_policy::{EngineChoice, Observe};
use std::fmt;
use std::sync::Arc;

/// Why an engine that nobody named was taken.
const AUTO: &str = "the first of auto that keeps every rule here";

/// An engine that may start the plan.
pub struct Chosen {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// The right to start.
    pub fitted: Fitted,
    /// Why this one, in a few words.
    pub reason: String,
    /// The engines that `auto` tried before this one, each with why it was not taken.
    pub passed_over: Vec<Unfit>,
    /// What was done before the plan was made, for people.
    pub notices: Vec<String>,
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

impl Unfit {
    /// Who and why, in one line: the first reason, and how many more there are.
    pub fn in_short(&self) -> String {
        match self {
            Self::Unknown(name) => format!("there is no engine `{name}`"),
            Self::Unavailable { engine, reason, .. } => format!("`{engine}` does not work here: {reason}"),
            Self::Refused(Refused { engine, refusals }) => {
                let more = match refusals.len() {
                    0 | 1 => String::new(),
                    count => format!(", and {} more", count - 1),
                };
                let first = refusals.first().map(|refusal| match refusal.guarantee {
                    Some(guarantee) => format!("{guarantee}: {}", refusal.reason),
                    None => refusal.reason.clone(),
                });
                format!("`{engine}` cannot enforce this policy: {}{more}", first.unwrap_or_default())
            }
            Self::NoneLeft(reasons) => reasons.iter().map(Self::in_short).collect::<Vec<_>>().join("; "),
        }
    }
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
    match &asked.value {
        EngineChoice::Named(name) => match polder_engines::by_name(name) {
            Some(engine) => choose_among(vec![engine], &format!("asked for by {}", asked.origin), host, plan_in),
            None => Ok((Arc::new(plan_in(World::Made)?), Err(Unfit::Unknown(name.clone())))),
        },
        EngineChoice::Auto => choose_among(polder_engines::auto(), AUTO, host, plan_in),
    }
}

/// The first of these that may start the plan.
fn choose_among<E>(
    engines: Vec<Box<dyn Engine>>,
    reason: &str,
    host: &Arc<HostFacts>,
    plan_in: impl Fn(World) -> Result<Plan, E>,
) -> Result<(Arc<Plan>, Result<Chosen, Unfit>), E> {
    let mut first: Option<Arc<Plan>> = None;
    let mut passed_over = Vec::new();
    for engine in engines {
        let plan = match &first {
            Some(plan) if plan.world == engine.world() => Arc::clone(plan),
            Some(_) | None => Arc::new(plan_in(engine.world())?),
        };
        match judge(engine.as_ref(), &plan, host) {
            Ok(fitted) => {
                let reasons = passed_over.iter().map(Unfit::in_short);
                let reason = std::iter::once(reason.to_owned()).chain(reasons).collect::<Vec<_>>().join("; ");
                return Ok((plan, Ok(Chosen { engine, fitted, reason, passed_over, notices: Vec::new() })));
            }
            Err(unfit) => passed_over.push(unfit),
        }
        first.get_or_insert(plan);
    }
    let plan = match first {
        Some(plan) => plan,
        None => Arc::new(plan_in(World::Made)?),
    };
    let unfit = if passed_over.len() == 1 { passed_over.remove(0) } else { Unfit::NoneLeft(passed_over) };
    Ok((plan, Err(unfit)))
}

/// Nobody who asked to be told what was denied is left without a word.
fn unobserved(engine: &dyn Engine, plan: &Plan) -> Option<Gap> {
    let Sourced { value, origin } = &plan.observe;
    (!engine.observes() && *value != Observe::Off && *origin != Origin::BuiltIn).then(|| Gap {
        reason: format!("{origin}: engine `{}` does not watch what is denied", engine.id()),
        remedy: Some("say `observe: off`, or choose an engine that does".to_owned()),
    })
}

/// A command whose services it cannot reach must not start.
fn unshared(engine: &dyn Engine, plan: &Plan) -> Option<Gap> {
    let Sourced { value: _, origin } = plan.beside.as_ref()?;
    engine.shared_network().is_none().then(|| Gap {
        reason: format!("{origin}: engine `{}` gives every command a network of its own", engine.id()),
        remedy: Some(
            "use `engine: native`, or a compose file: `compose` and `service` in the sandbox of the step".to_owned(),
        ),
    })
}

fn judge(engine: &dyn Engine, plan: &Arc<Plan>, host: &Arc<HostFacts>) -> Result<Fitted, Unfit> {
    // The fit comes first: an engine that is not in this build has more to say about the plan than its probe has.
    let mut fit = engine.fit(plan, host);
    fit.impossible.extend(unobserved(engine, plan));
    fit.impossible.extend(unshared(engine, plan));
    if fit.impossible.is_empty()
        && let Availability::Unavailable { reason, remedy } = engine.probe(host)
    {
        return Err(Unfit::Unavailable { engine: engine.id().to_owned(), reason, remedy });
    }
    fit.require(plan, host).map_err(Unfit::Refused)
}

#[cfg(test)]
mod tests;
