//! The list of engines. The one place, with the folders below, that knows their names.
#![forbid(unsafe_code)]

mod absent;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod container;
#[cfg(target_os = "linux")]
mod firejail;
mod in_place;
#[cfg(target_os = "linux")]
mod native;
mod none;
#[cfg(target_os = "linux")]
mod nsjail;
mod seatbelt;
#[cfg(target_os = "linux")]
mod shimmed;
#[cfg(test)]
mod testing;

use polder_engine::{Engine, EngineClass};
use polder_policy::{EngineName, Vocabulary};

/// Every engine that polder knows, in the order in which `auto` tries them; then those of other systems, those that
/// this build does not have, and the one that enforces nothing.
pub fn all() -> Vec<Box<dyn Engine>> {
    let mut engines = auto();
    engines.extend(foreign());
    engines.extend(absent::all());
    engines.push(Box::new(none::Unsandboxed));
    engines
}

/// The engines that `auto` may choose, in its order. None of them enforces nothing.
#[cfg(target_os = "linux")]
pub fn auto() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(native::Native),
        Box::new(bubblewrap::Bubblewrap),
        Box::new(container::Containers::PODMAN),
        Box::new(container::Containers::DOCKER),
    ]
}

/// The engines that `auto` may choose, in its order. None of them enforces nothing.
#[cfg(not(target_os = "linux"))]
pub fn auto() -> Vec<Box<dyn Engine>> {
    vec![Box::new(seatbelt::Seatbelt)]
}

/// Engines that `auto` does not choose: programs that a policy has to name, and those of other systems, which say so.
#[cfg(target_os = "linux")]
fn foreign() -> Vec<Box<dyn Engine>> {
    vec![Box::new(firejail::Firejail), Box::new(nsjail::Nsjail), Box::new(seatbelt::Seatbelt)]
}

/// Engines of other systems. The name of the system's own sandbox stands for the one that this system has.
#[cfg(not(target_os = "linux"))]
fn foreign() -> Vec<Box<dyn Engine>> {
    let only =
        |id, aliases: &'static [&'static str]| absent::linux_only(id, aliases, polder_engine::EngineClass::Namespace);
    let image = |id, aliases| absent::linux_only_with_images(id, aliases, polder_engine::EngineClass::Container);
    let mut engines = vec![only("bubblewrap", &["bwrap"]), only("firejail", &[]), only("nsjail", &[])];
    engines.extend([image("podman", &[]), image(absent::IMAGE_ENGINE, &["container"])]);
    engines
}

/// The engine with this name.
pub fn by_name(name: &str) -> Option<Box<dyn Engine>> {
    all().into_iter().find(|engine| engine.id() == name || engine.aliases().contains(&name))
}

/// The names that a configuration may use.
pub fn vocabulary() -> Vocabulary {
    let engines = all()
        .iter()
        .map(|engine| EngineName {
            id: engine.id(),
            aliases: engine.aliases(),
            takes_image: engine.takes_image(),
            strength: strength(engine.class()),
            unsandboxed: engine.class() == EngineClass::None,
        })
        .collect();
    let auto_strength = auto().first().map_or(0, |engine| strength(engine.class()));
    Vocabulary { engines, image_engine: absent::IMAGE_ENGINE, auto_strength }
}

/// The order of the classes, for a project's file that may not choose a weaker one. `wasm` stands aside
/// and counts as much as the class that `auto` begins with on Linux: a module has no ambient rights.
const fn strength(class: EngineClass) -> u8 {
    match class {
        EngineClass::None => 0,
        EngineClass::Policy => 1,
        EngineClass::Namespace | EngineClass::Wasm => 2,
        EngineClass::Container => 3,
        EngineClass::Vm => 4,
    }
}
