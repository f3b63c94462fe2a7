//! The image that a container is made from, there and looked at, and what is to start it.

use super::api::{Client, Deadline};
use super::compose::Project;
use super::home::home;
use super::kind::Kind;
use super::life::said;
use super::options::Options;
use super::{host_image, image};
use crate::shimmed::setup;
use polder_engine::{Fitted, LaunchError, Lookout};
use polder_plan::MaskKind;

/// An image that the daemon has.
pub(super) struct Ready {
    /// A name or an id by which it knows it.
    pub(super) name: String,
    /// The variables that it sets, its home among them; absent for the image of nothing, in which the host's own programs are shown.
    pub(super) env: Option<Vec<String>>,
    /// The runtime that was asked for by name, which the daemon has.
    pub(super) runtime: Option<String>,
    /// Whether that has a kernel of its own.
    pub(super) is_apart: bool,
    /// Whether it wants places that can be written and that no run makes for itself.
    pub(super) has_volumes: bool,
}

impl Ready {
    /// The runtime, if it has a kernel of its own.
    pub(super) fn apart(&self) -> Option<&str> {
        self.runtime.as_deref().filter(|_| self.is_apart)
    }
}

/// Everything that decides about the image of a plan.
pub(super) fn image_key(client: &Client, kind: Kind, fitted: &Fitted, project: Option<&Project>) -> String {
    let plan = fitted.plan();
    let image = plan.image.as_ref().map(|image| &image.value);
    let table = plan.engine_options.get(kind.id()).map(|table| &table.value);
    let hidden = plan.files.masks.iter().filter(|mask| mask.kind == MaskKind::Hide).map(|mask| &mask.path);
    let hidden: Vec<_> = hidden.collect();
    let (socket, root, network) = (client.socket(), &fitted.host().tree.root, plan.network.value.mode);
    let own = project.map(|project| &project.own);
    format!("{socket:?} {image:?} {own:?} {table:?} {root:?} {network:?} {hidden:?}")
}

/// Sees to it that the plan's image is there, or the one of the service that the command takes the place of.
pub(super) fn ready_image(
    client: &Client,
    kind: Kind,
    fitted: &Fitted,
    project: Option<&Project>,
    lookout: &mut dyn Lookout,
) -> Result<Ready, LaunchError> {
    let plan = fitted.plan();
    let options = Options::of(kind, plan).map_err(|reason| setup(std::io::Error::other(reason), None))?;
    let is_apart = options.apart().is_some();
    if let Some(runtime) = &options.runtime {
        knows(client, kind, runtime)?;
    }
    let facts = match project {
        Some(Project { own, .. }) => image::named(client, &own.image, &options.images(), lookout).map(|mut facts| {
            // Later ones win.
            facts.env.extend(own.env.iter().map(|(name, value)| format!("{name}={value}")));
            Some(facts)
        }),
        None => image::ready(client, plan, fitted.host(), &options.images(), lookout),
    };
    match facts? {
        // By its id: a name can mean another image a moment later.
        Some(mut facts) => {
            let home = home(client, kind, &facts, fitted.host().user.uid)?;
            facts.env.extend(home.map(|home| format!("HOME={home}")));
            let has_volumes = !facts.volumes.is_empty();
            Ok(Ready { name: facts.id, env: Some(facts.env), runtime: options.runtime, is_apart, has_volumes })
        }
        None => {
            host_image::make(client).map_err(|error| said("make the empty image", error))?;
            let name = host_image::NAME.to_owned();
            Ok(Ready { name, env: None, runtime: options.runtime, is_apart, has_volumes: false })
        }
    }
}

/// Refuses a runtime that the daemon does not have, or would not use, and says which it has.
fn knows(client: &Client, kind: Kind, runtime: &str) -> Result<(), LaunchError> {
    let facts = client.facts(Deadline::quick()).map_err(|error| said("ask the daemon for its runtimes", error))?;
    let (reason, remedy) = match kind {
        Kind::Docker if facts.runtimes.iter().any(|known| known == runtime) => return Ok(()),
        Kind::Docker => (
            format!("the daemon has no runtime `{runtime}`"),
            format!("it has {}; others are added in its own configuration", facts.runtimes.join(", ")),
        ),
        Kind::Podman if facts.default_runtime == runtime => return Ok(()),
        // It takes the word for a single container and leaves it out.
        Kind::Podman => (
            format!("the daemon starts every container by `{}`, not by `{runtime}`", facts.default_runtime),
            "set `runtime` in the `[engine]` table of its `containers.conf`".to_owned(),
        ),
    };
    Err(setup(std::io::Error::other(reason), Some(remedy)))
}
