//! An image by name: there already, or got from where it is published.

use super::super::api::{ApiError, Client, Deadline, ImageFacts, ImageName};
use super::told::Told;
use super::{ImageError, Pull, Settings};
use polder_engine::Lookout;

pub(super) fn ready(
    client: &Client,
    text: &str,
    settings: &Settings,
    lookout: &mut dyn Lookout,
) -> Result<ImageFacts, ImageError> {
    let name: ImageName = text.parse()?;
    if settings.pull == Pull::Always {
        get(client, &name, settings, lookout)?;
    }
    let ask = |source| ImageError::Ask { name: name.to_string(), source };
    match client.inspect_image(&name, Deadline::quick()) {
        Err(error) if error.is_absent() => {}
        answer => return answer.map_err(ask),
    }
    match settings.pull {
        Pull::Never => return Err(ImageError::Missing { name: name.to_string() }),
        Pull::Missing => get(client, &name, settings, lookout)?,
        Pull::Always => {}
    }
    client.inspect_image(&name, Deadline::quick()).map_err(ask)
}

fn get(client: &Client, name: &ImageName, settings: &Settings, lookout: &mut dyn Lookout) -> Result<(), ImageError> {
    let mut told = Told::new(format!("pull {name}"), lookout);
    let deadline = Deadline::after(settings.pull_time);
    let answer = client.pull_image(name, deadline, &mut |said| told.hear(said.as_ref()));
    answer.map_err(|source| match (source, told.interrupted()) {
        (ApiError::GivenUp { .. }, Some(signal)) => ImageError::Interrupted(signal),
        (ApiError::Late { .. }, _) => ImageError::PullLate { name: name.to_string(), time: settings.pull_time },
        (source, _) => ImageError::Pull { name: name.to_string(), source },
    })
}
