//! Engines that the configuration knows and this build or this system does not have.
//!
//! Their names and fields are checked like all others, so that a configuration is never half understood; a run that
//! asks for one is refused by name.

use polder_engine::{Availability, Engine, EngineClass, Fit, Fitted, LaunchError, LaunchFailure, Running, Services};
use polder_facts::{Gap, HostFacts};
use polder_plan::Plan;
use std::collections::BTreeMap;

/// The engine that is meant when a configuration names an image and no engine.
pub(crate) const IMAGE_ENGINE: &str = "docker";

/// An engine that this build does not have.
struct Absent {
    id: &'static str,
    aliases: &'static [&'static str],
    class: EngineClass,
    takes_image: bool,
    reason: &'static str,
}

const NOT_IN_BUILD: &str = "is not in this build";

/// Engines of Linux, where there is another system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_linux() -> impl Iterator<Item = Box<dyn Engine>> {
    let reason = "is a program of Linux and works nowhere else";
    let class = EngineClass::Namespace;
    let engines = ["firejail", "nsjail"].map(|id| Absent { id, aliases: &[], class, takes_image: false, reason });
    engines.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>)
}

pub(crate) fn all() -> impl Iterator<Item = Box<dyn Engine>> {
    let engine = |id, aliases, class| Absent { id, aliases, class, takes_image: false, reason: NOT_IN_BUILD };
    let image = |id, aliases, class| Absent { id, aliases, class, takes_image: true, reason: NOT_IN_BUILD };
    let engines = [
        engine("bubblewrap", &["bwrap"], EngineClass::Namespace),
        image("podman", &[], EngineClass::Container),
        image(IMAGE_ENGINE, &["container"], EngineClass::Container),
        image("vm", &[], EngineClass::Vm),
        engine("wasi", &[], EngineClass::Wasm),
        engine("hyperlight", &[], EngineClass::Vm),
        image("kubernetes", &[], EngineClass::Container),
    ];
    engines.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>)
}

impl Absent {
    fn reason(&self) -> String {
        format!("engine `{}` {}", self.id, self.reason)
    }

    fn remedy() -> String {
        "use engine `native` or `auto`".to_owned()
    }
}

impl Engine for Absent {
    fn id(&self) -> &'static str {
        self.id
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn class(&self) -> EngineClass {
        self.class
    }

    fn takes_image(&self) -> bool {
        self.takes_image
    }

    fn probe(&self, _: &HostFacts) -> Availability {
        Availability::Unavailable { reason: self.reason.trim_start_matches("is ").to_owned(), remedy: Self::remedy() }
    }

    fn fit(&self, _: &Plan, _: &HostFacts) -> Fit {
        let gap = Gap { reason: self.reason(), remedy: Some(Self::remedy()) };
        Fit { engine: self.id, class: self.class, verdicts: BTreeMap::new(), impossible: vec![gap] }
    }

    fn launch(&self, _: Fitted, _: Services) -> Result<Box<dyn Running>, LaunchError> {
        // Cannot be reached: its fit never becomes a `Fitted`. Refusing is right all the same.
        Err(LaunchError { failure: LaunchFailure::Setup(self.reason().into()), remedy: Some(Self::remedy()) })
    }
}
