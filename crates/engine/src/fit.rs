//! An engine's answer to a plan, and the step from an answer to the right to start.

use polder_facts::{Gap, Guarantee, HostFacts, Origin};
use polder_plan::Plan;
use polder_policy::EngineChoice;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How strong the wall is, weakest first; `wasm` stands aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineClass {
    /// Nothing is enforced.
    None,
    /// Kernel rules over the host's own file system.
    Policy,
    /// Namespaces.
    Namespace,
    /// A container with a file system of its own.
    Container,
    /// A kernel of its own.
    Vm,
    /// Capabilities only, no system calls.
    Wasm,
}

impl EngineClass {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Policy => "policy",
            Self::Namespace => "namespace",
            Self::Container => "container",
            Self::Vm => "vm",
            Self::Wasm => "wasm",
        }
    }
}

/// What an engine says about one guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It keeps it, by this.
    Enforced {
        /// The mechanism, in a few words.
        by: String,
    },
    /// It keeps it in part.
    Weaker {
        /// The mechanism, in a few words.
        by: String,
        /// What is missing.
        gap: Gap,
    },
    /// It does not keep it.
    Cannot {
        /// Why.
        gap: Gap,
    },
}

/// An engine's answer to a plan: one verdict for each guarantee that the plan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The engine's id.
    pub engine: &'static str,
    /// How strong it is.
    pub class: EngineClass,
    /// The verdicts. A guarantee that the plan does not ask for, such as a limit that was not set, is absent.
    pub verdicts: BTreeMap<Guarantee, Verdict>,
    /// What the engine cannot do at all with this plan, whatever is accepted.
    pub impossible: Vec<Gap>,
}

/// A plan that an engine may start: every gap is enforced or accepted. Only [`Fit::require`] makes one.
#[derive(Clone, Debug)]
pub struct Fitted {
    plan: Arc<Plan>,
    host: Arc<HostFacts>,
    fit: Fit,
    accepted: Vec<Accepted>,
}

/// A gap that the policy accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Which guarantee.
    pub guarantee: Guarantee,
    /// What is missing.
    pub gap: Gap,
    /// Who accepted it.
    pub origin: Origin,
}

/// Why an engine may not start a plan: every reason at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The engine's id.
    pub engine: &'static str,
    /// The reasons, at least one.
    pub refusals: Vec<Refusal>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The guarantee that is not kept; absent when the engine cannot do the plan at all.
    pub guarantee: Option<Guarantee>,
    /// Why.
    pub reason: String,
    /// What to do, other than accepting it.
    pub remedy: Option<String>,
    /// Whether accepting it would help.
    pub acceptable: bool,
}

impl Fit {
    /// The right to start, if every guarantee is enforced, or weaker and accepted by the plan.
    ///
    /// An engine that enforces nothing starts only where a policy permits it and the run asks for it by name; that
    /// permission is then who accepts the gaps. What is required stays required.
    pub fn require(self, plan: &Arc<Plan>, host: &Arc<HostFacts>) -> Result<Fitted, Refused> {
        let permission = if self.class == EngineClass::None { Some(self.permission(plan)?) } else { None };
        let mut refusals: Vec<Refusal> = self
            .impossible
            .iter()
            .map(|gap| Refusal {
                guarantee: None,
                reason: gap.reason.clone(),
                remedy: gap.remedy.clone(),
                acceptable: false,
            })
            .collect();
        let mut accepted = Vec::new();
        for (&guarantee, verdict) in &self.verdicts {
            let gap = match verdict {
                Verdict::Enforced { .. } => continue,
                Verdict::Weaker { gap, .. } | Verdict::Cannot { gap } => gap,
            };
            let required = plan.require.iter().find(|said| said.value == guarantee);
            let accept = plan.accept.iter().find(|said| said.value == guarantee).map(|said| &said.origin);
            match (required, accept.or(permission.as_ref())) {
                (None, Some(origin)) => {
                    accepted.push(Accepted { guarantee, gap: gap.clone(), origin: origin.clone() });
                }
                (Some(said), _) => refusals.push(Refusal {
                    guarantee: Some(guarantee),
                    reason: format!("{} (required by {})", gap.reason, said.origin),
                    remedy: gap.remedy.clone(),
                    acceptable: false,
                }),
                (None, None) => refusals.push(Refusal {
                    guarantee: Some(guarantee),
                    reason: gap.reason.clone(),
                    remedy: gap.remedy.clone(),
                    acceptable: true,
                }),
            }
        }
        for said in &plan.require {
            if !self.verdicts.contains_key(&said.value) {
                refusals.push(Refusal {
                    guarantee: Some(said.value),
                    reason: format!("required by {}, and the policy sets no such limit", said.origin),
                    remedy: Some(format!("set `limits.{}`", said.value)),
                    acceptable: false,
                });
            }
        }
        if refusals.is_empty() {
            Ok(Fitted { plan: Arc::clone(plan), host: Arc::clone(host), fit: self, accepted })
        } else {
            Err(Refused { engine: self.engine, refusals })
        }
    }
}

impl Fit {
    /// Who permits this plan to run without a sandbox.
    fn permission(&self, plan: &Plan) -> Result<Origin, Refused> {
        let refused = |reason: &str, remedy: &str| Refused {
            engine: self.engine,
            refusals: vec![Refusal {
                guarantee: None,
                reason: reason.to_owned(),
                remedy: Some(remedy.to_owned()),
                acceptable: false,
            }],
        };
        if !matches!(&plan.engine.value, EngineChoice::Named(id) if id == self.engine) {
            return Err(refused("it enforces nothing and was not asked for by name", "ask for it by name"));
        }
        plan.unsandboxed_permitted.clone().ok_or_else(|| {
            refused(
                "it enforces nothing and is not permitted",
                "a user or system file permits it with `allow_unsandboxed: true`",
            )
        })
    }
}

impl Fitted {
    /// What will happen.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The same plan with this variable: one that tells the run from others, so that it is no part of what was decided and
    /// is in no hash. Only for what grants nothing.
    pub fn telling(mut self, name: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.plan).env.insert(name.into(), value.into());
        self
    }

    /// The facts that the judgement stands on.
    pub fn host(&self) -> &Arc<HostFacts> {
        &self.host
    }

    /// The enforcement report.
    pub fn report(&self) -> &Fit {
        &self.fit
    }

    /// The gaps that the policy accepts.
    pub fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }

    /// Whether the gap of a guarantee was accepted.
    pub fn accepts(&self, guarantee: Guarantee) -> bool {
        self.accepted.iter().any(|accepted| accepted.guarantee == guarantee)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine `{}` cannot enforce this policy here", self.engine)?;
        for Refusal { guarantee, reason, remedy, acceptable } in &self.refusals {
            match guarantee {
                Some(guarantee) => write!(f, "\n  {guarantee}: {reason}")?,
                None => write!(f, "\n  {reason}")?,
            }
            if let Some(remedy) = remedy {
                write!(f, "\n    remedy: {remedy}")?;
            }
            if let (true, Some(guarantee)) = (acceptable, guarantee) {
                write!(f, "\n    or go on without it: --accept {guarantee}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

impl fmt::Display for Fit {
    /// The enforcement report: one line per guarantee.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (guarantee, verdict) in &self.verdicts {
            match verdict {
                Verdict::Enforced { by } => writeln!(f, "{guarantee:<14}enforced by {by}")?,
                Verdict::Weaker { by, gap } => writeln!(f, "{guarantee:<14}weaker: {by}, but {}", gap.reason)?,
                Verdict::Cannot { gap } => writeln!(f, "{guarantee:<14}cannot: {}", gap.reason)?,
            }
        }
        for gap in &self.impossible {
            writeln!(f, "{:<14}{}", "impossible", gap.reason)?;
        }
        Ok(())
    }
}
