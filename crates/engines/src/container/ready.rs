//! The image that a container is made from, there and looked at.

use super::api::{Client, Deadline, ImageName};
use super::host_image;
use super::life::said;
use crate::shimmed::setup;
use polder_engine::LaunchError;
use polder_plan::Plan;
use polder_policy::Image;
use std::io;

/// An image that the daemon has.
pub(super) struct Ready {
    /// A name or an id by which it knows it.
    pub(super) name: String,
    /// The variables that it sets; absent for the image of nothing, in which the host's own programs are shown.
    pub(super) env: Option<Vec<String>>,
}

/// Sees to it that the plan's image is there.
pub(super) fn ready_image(client: &Client, plan: &Plan) -> Result<Ready, LaunchError> {
    let Some(image) = &plan.image else {
        host_image::make(client).map_err(|error| said("make the empty image", error))?;
        return Ok(Ready { name: host_image::NAME.to_owned(), env: None });
    };
    let text = match &image.value {
        Image::Named(text) => text,
        // The fit has refused these.
        Image::Recipe(_) | Image::Inline(_) | Image::Compose { .. } => {
            return Err(setup(io::Error::other("this kind of image is not in this build"), None));
        }
    };
    let name: ImageName = text.parse().map_err(|error| setup(error, None))?;
    let facts = client.inspect_image(&name, Deadline::quick()).map_err(|error| {
        let absent = error.is_absent();
        let mut failed = said(&format!("use the image `{name}` ({})", image.origin), error);
        if absent {
            failed.remedy = Some("images are not fetched in this build: pull or build it first".to_owned());
        }
        failed
    })?;
    // By its id: a name can mean another image a moment later.
    Ok(Ready { name: facts.id, env: Some(facts.env) })
}
