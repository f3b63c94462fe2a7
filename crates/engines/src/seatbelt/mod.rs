//! The sandbox that macOS brings itself: `sandbox-exec` with a profile that denies everything and allows what the plan
//! says.
//!
//! There is no mount namespace: the command sees the host's own paths, and rules decide which of them it can open.
//! `sbpl` writes the profile language, `profile` turns a plan into a profile, `fit` judges a plan, `launch` carries it
//! out. All but the last are pure and the same on every system, so that they are tested on every system.

mod fit;
mod launch;
mod profile;
mod sbpl;

use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::HostFacts;
use polder_plan::{Plan, World};
use std::collections::BTreeMap;

/// The default on macOS.
pub(crate) struct Seatbelt;

/// Whether this system has it.
const HERE: bool = cfg!(target_os = "macos");

impl Engine for Seatbelt {
    fn id(&self) -> &'static str {
        "seatbelt"
    }

    fn aliases(&self) -> &'static [&'static str] {
        // The system's own sandbox, as configurations for several systems call it.
        if HERE { &["native"] } else { &[] }
    }

    fn class(&self) -> EngineClass {
        EngineClass::Policy
    }

    fn about(&self) -> About {
        About {
            summary: "`sandbox-exec` with a generated profile that denies by default; the command sees the host's paths",
            platform: "macOS 12 or newer",
            install: "nothing to install, it is part of the system",
        }
    }

    fn world(&self) -> World {
        World::Ruled
    }

    fn probe(&self, _: &HostFacts) -> Availability {
        if HERE {
            Availability::Available { detail: format!("{} with a profile that denies by default", launch::PROGRAM) }
        } else {
            Availability::Unavailable {
                reason: "it is part of macOS and works nowhere else".to_owned(),
                remedy: "use engine `native` or `auto`".to_owned(),
            }
        }
    }

    fn fit(&self, plan: &Plan, _: &HostFacts) -> Fit {
        if HERE {
            return fit::fit(self.id(), self.class(), plan);
        }
        // Elsewhere the probe has the one thing to say that matters.
        Fit { engine: self.id(), class: self.class(), verdicts: BTreeMap::new(), impossible: Vec::new() }
    }

    fn fit_at_home(&self, plan: &Plan, _: &HostFacts) -> Fit {
        fit::fit(self.id(), self.class(), plan)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        launch::launch(&fitted, services)
    }
}

#[cfg(test)]
mod tests;
