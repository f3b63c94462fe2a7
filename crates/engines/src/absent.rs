//! Engines that the configuration knows and this build does not have.
//!
//! Their names and fields are checked like all others, so that a configuration is never half understood; a run that
//! asks for one is refused by name.

use polder_engine::{
    About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, LaunchFailure, Running, Services,
};
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
    why: &'static str,
}

/// Why an engine that some build has is not in this one.
const NOT_BUILT: &str = "not in this build";

/// An engine of Linux, on another system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn linux_only(id: &'static str, aliases: &'static [&'static str], class: EngineClass) -> Box<dyn Engine> {
    Box::new(Absent { id, aliases, class, takes_image: false, why: "only for Linux" })
}

/// The same for one that takes images.
#[cfg(not(target_os = "linux"))]
pub(crate) fn linux_only_with_images(
    id: &'static str,
    aliases: &'static [&'static str],
    class: EngineClass,
) -> Box<dyn Engine> {
    Box::new(Absent { id, aliases, class, takes_image: true, why: "only for Linux" })
}

pub(crate) fn all() -> impl Iterator<Item = Box<dyn Engine>> {
    let engine = |id, aliases, class| Absent { id, aliases, class, takes_image: false, why: NOT_BUILT };
    let image = |id, aliases, class| Absent { id, aliases, class, takes_image: true, why: NOT_BUILT };
    let engines = [
        image("vm", &[], EngineClass::Vm),
        engine("wasi", &[], EngineClass::Wasm),
        engine("hyperlight", &[], EngineClass::Vm),
        image("kubernetes", &[], EngineClass::Container),
    ];
    engines.into_iter().map(|engine| Box::new(engine) as Box<dyn Engine>)
}

impl Absent {
    fn reason(&self) -> String {
        format!("engine `{}` is {}", self.id, self.why)
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

    fn about(&self) -> About {
        About {
            summary: "a name that configurations may use; a run that asks for it is refused",
            platform: "none",
            install: "not in this build",
        }
    }

    fn takes_image(&self) -> bool {
        self.takes_image
    }

    fn probe(&self, _: &HostFacts) -> Availability {
        Availability::Unavailable { reason: self.why.to_owned(), remedy: Self::remedy() }
    }

    fn fit(&self, _: &Plan, _: &HostFacts) -> Fit {
        let gap = Gap { reason: self.reason(), remedy: Some(Self::remedy()) };
        Fit { engine: self.id, class: self.class, verdicts: BTreeMap::new(), impossible: vec![gap] }
    }

    fn launch(&self, _: Fitted, _: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        // Cannot be reached: its fit never becomes a `Fitted`. Refusing is right all the same.
        Err(LaunchError { failure: LaunchFailure::Setup(self.reason().into()), remedy: Some(Self::remedy()) })
    }
}
