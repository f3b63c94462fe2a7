//! The host itself. Restricts nothing, and therefore runs only where a user or system file permits it and the run asks
//! for it by name; see [`polder_engine::Fit::require`].
//!
//! What is left: the environment is the plan's, time and output are counted by polder, and what the command started
//! ends with it, as far as the system lets us find it.

mod fit;

use crate::in_place::{self, Started};
use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::HostFacts;
use polder_plan::{Plan, World};

/// No sandbox at all.
pub(crate) struct Unsandboxed;

impl Engine for Unsandboxed {
    fn id(&self) -> &'static str {
        "none"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["unsandboxed"]
    }

    fn class(&self) -> EngineClass {
        EngineClass::None
    }

    fn about(&self) -> About {
        About {
            summary: "the host itself: the environment is filtered, time and output are bounded, nothing else is kept",
            platform: "Linux and macOS",
            install: "a user or system file permits it with `allow_unsandboxed: true`, and the run asks for it by name",
        }
    }

    fn world(&self) -> World {
        World::Open
    }

    fn probe(&self, _: &HostFacts) -> Availability {
        Availability::Available { detail: "the host itself, where a user or system file permits it".to_owned() }
    }

    fn fit(&self, plan: &Plan, _: &HostFacts) -> Fit {
        fit::fit(self.id(), self.class(), plan)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        let plan = fitted.plan();
        let started = Started { candidates: plan.candidates(), argv: plan.command.clone(), env: plan.env.clone() };
        in_place::launch(plan, started, services, ())
    }
}

#[cfg(test)]
mod tests;
