//! Our own engine: namespaces, mounts, Landlock, seccomp and cgroups, with nothing to install.
//!
//! `fit` judges a plan, `lower` turns it into a recipe, `launch` carries the recipe out. The first two are pure.

mod fit;
mod launch;
mod lower;
mod network;

use crate::shimmed;
use polder_engine::{
    About, Availability, Engine, EngineClass, Fit, Fitted, HeadStart, LaunchError, Running, Services, SharesNetwork,
};
use polder_facts::{HostFacts, Mechanism, Probe, Violation};
use polder_plan::Plan;
use polder_sys::{Cell, NetNamespace};

/// The embedded default on Linux.
pub(crate) struct Native;

/// Without these there is no sandbox at all.
const NEEDED: [Mechanism; 2] = [Mechanism::Namespaces, Mechanism::MountRoot];

impl Engine for Native {
    fn id(&self) -> &'static str {
        "native"
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

    fn shared_network(&self) -> Option<&dyn SharesNetwork> {
        Some(self)
    }

    fn about(&self) -> About {
        About {
            summary: "namespaces, a new root, Landlock, a seccomp allow-list and cgroups, all made by polder itself",
            platform: "Linux 5.12 or newer with user namespaces, or as root",
            install: "nothing to install, it is in the binary",
        }
    }

    fn probe(&self, host: &HostFacts) -> Availability {
        for mechanism in NEEDED {
            if let Some(Probe::Fails { reason, remedy }) = host.mechanisms.get(&mechanism) {
                return Availability::Unavailable {
                    reason: format!("{}: {reason}", mechanism.name()),
                    remedy: remedy.clone(),
                };
            }
        }
        let works = |mechanism| host.mechanisms.get(&mechanism).is_some_and(Probe::works);
        let mut layers = vec!["namespaces"];
        for (mechanism, name) in [(Mechanism::Landlock, "Landlock"), (Mechanism::Seccomp, "seccomp")] {
            if works(mechanism) {
                layers.push(name);
            }
        }
        if host.cgroup.is_some() {
            layers.push("cgroups");
        }
        Availability::Available { detail: layers.join(", ") }
    }

    fn fit(&self, plan: &Plan, host: &HostFacts) -> Fit {
        fit::fit(self.id(), self.class(), plan, host)
    }

    fn begin(&self) -> Option<HeadStart> {
        // Most runs have no network; one that has does not use the cell.
        Cell::open_ahead(NetNamespace::Own).ok().map(HeadStart::new)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        launch::launch(fitted, services)
    }
}
