//! What a build stands on: the images that its recipe names, as the daemon has them at this moment.

use super::super::api::{BaseFacts, Client, Deadline, ImageName};
use super::ImageError;
use super::bases::Base;
use super::recipe::reaches_nothing;
use sha2::{Digest, Sha256};

/// What was found, in the order of the recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stand(Vec<Option<Found>>);

/// An image that a build would take.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    id: String,
    /// The instructions that it adds to every build that begins with it.
    triggers: Vec<String>,
}

impl Stand {
    /// Asks for each of them.
    pub(super) fn look(client: &Client, bases: &[Base]) -> Result<Self, ImageError> {
        bases.iter().map(|base| found(client, base)).collect::<Result<_, _>>().map(Self)
    }

    /// Refuses images whose own instructions reach a network: they are done as if the recipe had them.
    pub(super) fn reaches_nothing(&self, bases: &[Base]) -> Result<(), ImageError> {
        for (base, found) in bases.iter().zip(&self.0) {
            for trigger in found.iter().flat_map(|found| &found.triggers) {
                if let Err(ImageError::Reaches { what, .. }) = reaches_nothing(trigger) {
                    return Err(ImageError::Trigger { base: base.written.clone(), what });
                }
            }
        }
        Ok(())
    }

    /// The first one that a build would have to get.
    pub(super) fn missing<'a>(&self, bases: &'a [Base]) -> Option<&'a Base> {
        bases.iter().zip(&self.0).find(|(_, id)| id.is_none()).map(|(base, _)| base)
    }

    /// Whether this is the same, but for what had to be got in between.
    pub(super) fn came_from(&self, before: &Self) -> bool {
        self.0.iter().zip(&before.0).all(|(now, before)| before.is_none() || now == before)
    }

    /// The name of everything that decides about an image: these, and what else went into it.
    pub(super) fn digest(&self, content: &[u8; 32]) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(content);
        for id in &self.0 {
            digest.update(id.as_ref().map_or("", |found| &found.id));
            digest.update([0]);
        }
        digest.finalize().into()
    }
}

/// The image that a build would take, if it is there.
fn found(client: &Client, base: &Base) -> Result<Option<Found>, ImageError> {
    // A name that only the daemon can read, or one that it would not take, is for the build to fail at.
    let Some(name) = base.name.as_deref().and_then(|name| name.parse::<ImageName>().ok()) else { return Ok(None) };
    let found = client.find_base(&name, Deadline::quick());
    let found = found.map_err(|source| ImageError::Ask { name: name.to_string(), source })?;
    // One for other machines than was asked for does not count: the daemon would look for the right one.
    let fits = |platform: &str| {
        let wanted = base.platform.as_deref().unwrap_or(platform);
        wanted == platform || wanted.starts_with(&format!("{platform}/"))
    };
    let found = found.filter(|found| fits(&found.platform));
    Ok(found.map(|BaseFacts { id, triggers, .. }| Found { id, triggers }))
}
