//! An image by name: there already, or got from where it is published.

use super::super::api::{Client, Deadline, ImageFacts, ImageName};
use super::{ImageError, Pull, Settings};

pub(super) fn ready(client: &Client, text: &str, settings: &Settings) -> Result<ImageFacts, ImageError> {
    let name: ImageName = text.parse()?;
    if settings.pull == Pull::Always {
        get(client, &name, settings)?;
    }
    let ask = |source| ImageError::Ask { name: name.to_string(), source };
    match client.inspect_image(&name, Deadline::quick()) {
        Err(error) if error.is_absent() => {}
        answer => return answer.map_err(ask),
    }
    match settings.pull {
        Pull::Never => return Err(ImageError::Missing { name: name.to_string() }),
        Pull::Missing => get(client, &name, settings)?,
        Pull::Always => {}
    }
    client.inspect_image(&name, Deadline::quick()).map_err(ask)
}

fn get(client: &Client, name: &ImageName, settings: &Settings) -> Result<(), ImageError> {
    let answer = client.pull_image(name, Deadline::after(settings.pull_time), &mut |_| ());
    answer.map_err(|source| ImageError::Pull { name: name.to_string(), source })
}
