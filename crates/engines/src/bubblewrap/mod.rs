//! bubblewrap: `bwrap` makes the namespaces and the mounts, our shim does the rest inside.
//!
//! `find` looks for the program where only its owner and root can have put it, `trial` tries it, `fit` judges a plan,
//! `lower` turns it into an argument list and into what the shim finishes, `launch` carries both out. `fit` and `lower`
//! are pure.
//!
//! What bwrap is not asked to do: lay a mount below anything that a command could have written. Versions before 0.12
//! follow symbolic links there, out of the sandbox, and make what is missing. The shim lays those, by descriptor.

mod find;
mod fit;
mod launch;
mod lower;
mod trial;

use crate::shimmed;
use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::{HostFacts, Violation};
use polder_plan::Plan;

/// Namespaces by a program that most distributions have.
pub(crate) struct Bubblewrap;

impl Engine for Bubblewrap {
    fn id(&self) -> &'static str {
        "bubblewrap"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["bwrap"]
    }

    fn span_word(&self) -> &'static str {
        "bwrap"
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
            summary: "`bwrap` makes the namespaces and the mounts; polder checks them, lays every mask and does the rest inside",
            platform: "Linux with user namespaces, or as root",
            install: "the package `bubblewrap`, 0.5 or newer",
        }
    }

    fn probe(&self, host: &HostFacts) -> Availability {
        trial::probe(host)
    }

    fn fit(&self, plan: &Plan, host: &HostFacts) -> Fit {
        fit::fit(self.id(), self.class(), plan, host)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        launch::launch(fitted, services)
    }
}
