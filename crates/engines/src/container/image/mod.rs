//! The image that a container is made from: there, got or built.
//!
//! `recipe` reads what a build would do and refuses what would reach further than the policy; `ignore` is the list of what
//! a build does not get; `context` gathers what it gets, by descriptor, and `tar` packs it; `tag` names the result after
//! everything that went into it, so that the same content is built once; `bases` is which images a recipe names, and `stand`
//! which the daemon has of them; `build` and `pull` ask the daemon. All but `context`, `stand`, `build` and `pull` are pure.

mod bases;
mod build;
mod context;
mod error;
mod ignore;
mod lock;
mod prune;
mod pull;
mod recipe;
mod settings;
mod stand;
mod tag;
mod tar;
mod told;

pub(super) use build::{below, hidden};
pub(super) use context::read_below;
pub(super) use error::ImageError;
pub(super) use lock::sweep;
pub(super) use settings::{Pull, Settings};
pub(super) use told::Told;

use super::api::{Client, ImageFacts};
use polder_engine::Lookout;
use polder_facts::HostFacts;
use polder_plan::Plan;
use polder_policy::Image;

/// Sees to it that the daemon has the plan's image, and says what it knows of it; nothing for a plan without one.
pub(super) fn ready(
    client: &Client,
    plan: &Plan,
    host: &HostFacts,
    settings: &Settings,
    lookout: &mut dyn Lookout,
) -> Result<Option<ImageFacts>, ImageError> {
    let Some(image) = &plan.image else { return Ok(None) };
    let facts = match &image.value {
        Image::Named(text) => return named(client, text, settings, lookout).map(Some),
        Image::Recipe(path) => build::ready(client, plan, host, &recipe::Place::File(path.into()), settings, lookout)?,
        Image::Inline(text) => {
            build::ready(client, plan, host, &recipe::Place::Inline(text.clone()), settings, lookout)?
        }
        Image::Compose { .. } => return Err(ImageError::Compose),
    };
    of_linux(facts).map(Some)
}

/// Sees to it that the daemon has an image of this name.
pub(super) fn named(
    client: &Client,
    name: &str,
    settings: &Settings,
    lookout: &mut dyn Lookout,
) -> Result<ImageFacts, ImageError> {
    of_linux(pull::ready(client, name, settings, lookout)?)
}

fn of_linux(facts: ImageFacts) -> Result<ImageFacts, ImageError> {
    if facts.system != "linux" && !facts.system.is_empty() {
        return Err(ImageError::OtherSystem { system: facts.system });
    }
    Ok(facts)
}
