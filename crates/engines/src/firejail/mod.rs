//! firejail: a setuid program that makes namespaces and mounts over the host's own root; our shim, which it starts,
//! does the rest.
//!
//! The root stays the host's: paths are where they are, and what is not allowed cannot be opened, by Landlock. Names
//! stay visible. No profile of the system or the user is read: everything is said by arguments. `words` knows which
//! paths can be said, `lower` turns a plan into arguments, `fit` judges a plan, `launch` carries it out. All but the
//! last are pure.

mod fit;
mod launch;
mod lower;
mod words;

use crate::shimmed;
use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::{HostFacts, Violation};
use polder_plan::{Plan, World};

/// The engine.
pub(crate) struct Firejail;

/// The program.
const PROGRAM: &str = "firejail";

impl Engine for Firejail {
    fn id(&self) -> &'static str {
        "firejail"
    }

    fn class(&self) -> EngineClass {
        EngineClass::Namespace
    }

    fn world(&self) -> World {
        World::Ruled
    }

    fn observes(&self) -> bool {
        true
    }

    fn not_executed(&self, plan: &Plan) -> Option<Violation> {
        shimmed::not_executed(plan)
    }

    fn about(&self) -> About {
        About {
            summary: "`firejail` makes namespaces over the host's own root; Landlock and polder's shim close what they can",
            platform: "Linux",
            install: "the package `firejail`, which installs a setuid program",
        }
    }

    fn probe(&self, host: &HostFacts) -> Availability {
        launch::probe(host)
    }

    fn fit(&self, plan: &Plan, host: &HostFacts) -> Fit {
        fit::fit(self.id(), self.class(), plan, host)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        launch::launch(&fitted, services)
    }
}
