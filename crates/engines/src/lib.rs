//! The list of engines. The one place, with the folders below, that knows their names.
#![forbid(unsafe_code)]

mod absent;
mod native;

use polder_engine::Engine;
use polder_policy::{EngineName, Vocabulary};

/// Every engine that polder knows, in the order in which `auto` tries them; those that this build does not have come
/// last and say so.
pub fn all() -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(native::Native)];
    engines.extend(absent::all());
    engines
}

/// The engines that `auto` may choose, in its order.
pub fn auto() -> Vec<Box<dyn Engine>> {
    vec![Box::new(native::Native)]
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
            unsandboxed: engine.class() == polder_engine::EngineClass::None,
        })
        .collect();
    Vocabulary { engines, image_engine: absent::IMAGE_ENGINE }
}
