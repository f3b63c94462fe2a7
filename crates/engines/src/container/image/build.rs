//! An image from a recipe, built once for the same content.

use super::super::api::{
    ApiError, Bases, BuildNetwork, BuildOptions, Client, Deadline, ImageFacts, ImageName, Progress,
};
use super::bases::{Base, bases};
use super::context::{Context, IGNORE_FILE};
use super::lock::BuildLock;
use super::prune;
use super::recipe::{self, Place, RECIPE_BYTES_MAX};
use super::stand::Stand;
use super::tag::{hex, tag};
use super::told::Told;
use super::{ImageError, Pull, Settings};
use polder_engine::Lookout;
use polder_facts::HostFacts;
use polder_plan::{MaskKind, Plan, Role};
use polder_policy::NetworkMode;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// The name of a recipe that came with the configuration, in the archive.
const INLINE_RECIPE: &str = ".polder.dockerfile";
/// How often a build is begun that failed because of another one.
const TRIES_MAX: u32 = 3;
/// What Podman and Docker say of a build that looked at an image which somebody removed at that moment. Docker asks every image
/// that was built on the same base whether it is what it is about to build.
const MET_ANOTHER: [&str; 2] = ["layer not known", "unable to find image \"sha256:"];
/// How many of its last lines a build shows that took too long.
const LATE_LINES: usize = 20;
/// What an image says about its own making.
const LABEL: &str = "polder.content";

pub(super) fn ready(
    client: &Client,
    plan: &Plan,
    host: &HostFacts,
    place: &Place,
    settings: &Settings,
    lookout: &mut dyn Lookout,
) -> Result<ImageFacts, ImageError> {
    let deadline = Deadline::after(settings.build_time);
    let root = &host.tree.root;
    let network = build_network(plan);
    let Prepared { context, recipe, bases } = prepare(root, &hidden(plan), place, network)?;
    let content = digest(&context, &recipe, network)?;
    let stand = Stand::look(client, &bases)?;
    judge_bases(&stand, &bases, network)?;
    if settings.pull == Pull::Never
        && let Some(base) = stand.missing(&bases)
    {
        // The daemon would get it by itself, whatever it is told.
        return Err(ImageError::Missing { name: base.written.clone() });
    }
    let name = tag(root, &stand.digest(&content));
    if settings.pull != Pull::Always
        && let Some(facts) = built(client, &name, &content)?
    {
        return Ok(facts);
    }
    let mut told = Told::new("build the image".to_owned(), lookout);
    let _turn = BuildLock::take(&name, host.user.uid, deadline, &mut || told.waiting()).map_err(|error| {
        match (error.kind(), told.interrupted()) {
            (io::ErrorKind::Interrupted, Some(signal)) => ImageError::Interrupted(signal),
            _ => ImageError::Lock(error),
        }
    })?;
    // Somebody else may have built it meanwhile.
    if settings.pull != Pull::Always
        && let Some(facts) = built(client, &name, &content)?
    {
        return Ok(facts);
    }
    let options = BuildOptions {
        tag: name.clone(),
        recipe,
        network,
        bases: if settings.pull == Pull::Always { Bases::Always } else { Bases::Missing },
        labels: BTreeMap::from([(LABEL.to_owned(), hex(&content)), prune::label(root, plan.sandbox.as_deref())]),
    };
    let mut tries = 1;
    loop {
        match build(client, &context, &options, deadline, settings, &mut told) {
            Err(ImageError::Failed { said, .. }) if tries < TRIES_MAX && met_another(&said) => tries += 1,
            answer => break answer?,
        }
    }
    if digest(&context, &options.recipe, network)? != content {
        client.remove_image(&name, Deadline::quick()).map_err(ImageError::Build)?;
        return Err(ImageError::Changed);
    }
    let now = Stand::look(client, &bases)?;
    // Those that the build had to get could not be judged before.
    if let Err(error) = judge_bases(&now, &bases, network) {
        client.remove_image(&name, Deadline::quick()).map_err(ImageError::Build)?;
        return Err(error);
    }
    let name = renamed(client, root, name, &content, &stand, &now, settings)?;
    prune::prune(client, root, plan.sandbox.as_deref(), &name, &mut told);
    client.inspect_image(&name, Deadline::quick()).map_err(ImageError::Build)
}

/// Whether a build failed because of what somebody else did, and not of its recipe.
fn met_another(said: &str) -> bool {
    MET_ANOTHER.iter().any(|words| said.contains(words))
}

/// What an image adds to a build reaches no more than the recipe may.
fn judge_bases(stand: &Stand, bases: &[Base], network: BuildNetwork) -> Result<(), ImageError> {
    match network {
        BuildNetwork::None => stand.reaches_nothing(bases),
        BuildNetwork::Usual => Ok(()),
    }
}

/// The name of what was built, by what it was built on: images that the build had to get were not there to be named.
fn renamed(
    client: &Client,
    root: &Path,
    name: ImageName,
    content: &[u8; 32],
    before: &Stand,
    now: &Stand,
    settings: &Settings,
) -> Result<ImageName, ImageError> {
    if before == now {
        return Ok(name);
    }
    let renamed = if settings.pull == Pull::Always || now.came_from(before) {
        let new = tag(root, &now.digest(content));
        client.tag_image(&name, &new, Deadline::quick()).map(|()| Ok(new))
    } else {
        // Somebody else gave a name to another image meanwhile, before the build looked or after.
        Ok(Err(ImageError::Changed))
    };
    client.remove_image(&name, Deadline::quick()).map_err(ImageError::Build)?;
    renamed.map_err(ImageError::Build)?
}

/// A build reaches no more than the command will.
fn build_network(plan: &Plan) -> BuildNetwork {
    match plan.network.value.mode {
        NetworkMode::None | NetworkMode::Restricted => BuildNetwork::None,
        NetworkMode::Full => BuildNetwork::Usual,
    }
}

/// The paths in the workspace that nobody may read.
pub(in crate::container) fn hidden(plan: &Plan) -> BTreeSet<PathBuf> {
    let workspace = plan.files.shown.iter().find(|shown| shown.role == Role::Workspace);
    let Some(workspace) = workspace else { return BTreeSet::new() };
    let masks = plan.files.masks.iter().filter(|mask| mask.kind == MaskKind::Hide);
    let below = masks.filter_map(|mask| mask.path.as_path().strip_prefix(workspace.guest.as_path()).ok());
    below.map(Path::to_owned).collect()
}

/// What the build gets. The recipe was read and judged.
struct Prepared {
    context: Context,
    /// The recipe's name in it.
    recipe: String,
    /// The images that it names.
    bases: Vec<Base>,
}

fn prepare(
    root: &Path,
    hidden: &BTreeSet<PathBuf>,
    place: &Place,
    network: BuildNetwork,
) -> Result<Prepared, ImageError> {
    let judge = |text: &str| {
        if !recipe::has_from(text) {
            return Err(ImageError::NoFrom);
        }
        match network {
            BuildNetwork::None => recipe::reaches_nothing(text),
            BuildNetwork::Usual => Ok(()),
        }
    };
    match place {
        Place::Inline(text) => {
            judge(text)?;
            let mut context = Context::gather(root, hidden, None)?;
            // Neither is part of the workspace, so no `COPY .` takes them along.
            let list = Path::new(IGNORE_FILE);
            let mut ignored = match context.read(list, RECIPE_BYTES_MAX) {
                Ok(own) => own,
                Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{IGNORE_FILE}\n").into_bytes(),
                Err(source) => return Err(ImageError::Context { path: list.to_owned(), source }),
            };
            ignored.extend_from_slice(format!("\n{INLINE_RECIPE}\n").as_bytes());
            context.write(list.to_owned(), ignored);
            context.write(INLINE_RECIPE.into(), text.clone().into_bytes());
            Ok(Prepared { context, recipe: INLINE_RECIPE.to_owned(), bases: bases(text) })
        }
        Place::File(path) => {
            let outside = || ImageError::Outside { path: path.clone() };
            let below = &below(root, path).ok_or_else(outside)?;
            let name = below.to_str().filter(|name| !name.is_empty()).ok_or_else(outside)?.to_owned();
            // What is hidden is hidden from a build too, above all as its recipe.
            if hidden.iter().any(|hidden| below.starts_with(hidden)) {
                return Err(outside());
            }
            let mut context = Context::gather(root, hidden, Some(below))?;
            let unreadable = |source| ImageError::Recipe { path: path.clone(), source };
            let content = context.read(below, RECIPE_BYTES_MAX).map_err(unreadable)?;
            let text = String::from_utf8(content)
                .map_err(|_| unreadable(io::Error::new(io::ErrorKind::InvalidData, "it is not text")))?;
            judge(&text)?;
            let bases = bases(&text);
            // Sent as it was judged, whatever stands there by then.
            context.write(below.to_owned(), text.into_bytes());
            Ok(Prepared { context, recipe: name, bases })
        }
    }
}

/// The part of a path that lies in the workspace, by whatever name the way to the workspace is known.
pub(in crate::container) fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let above =
        path.ancestors().find(|above| *above == root || above.canonicalize().is_ok_and(|real| real == *root))?;
    path.strip_prefix(above).ok().map(Path::to_owned)
}

/// Everything that decides about an image, but for the images that it stands on.
fn digest(context: &Context, recipe: &str, network: BuildNetwork) -> Result<[u8; 32], ImageError> {
    let unreadable = |source| ImageError::Context { path: PathBuf::from("."), source };
    let files = context.packed().digest().map_err(unreadable)?;
    let mut digest = Sha256::new();
    digest.update(b"polder image 2\0");
    digest.update(match network {
        BuildNetwork::None => b"none\0".as_slice(),
        BuildNetwork::Usual => b"usual\0",
    });
    digest.update(recipe.as_bytes());
    digest.update([0]);
    digest.update(files);
    Ok(digest.finalize().into())
}

/// The image of this name, if it is there and says itself that it has this content.
fn built(client: &Client, name: &ImageName, content: &[u8; 32]) -> Result<Option<ImageFacts>, ImageError> {
    match client.inspect_image(name, Deadline::quick()) {
        Ok(facts) if facts.labels.get(LABEL) == Some(&hex(content)) => Ok(Some(facts)),
        Ok(_) => Ok(None),
        Err(error) if error.is_absent() => Ok(None),
        Err(source) => Err(ImageError::Ask { name: name.to_string(), source }),
    }
}

fn build(
    client: &Client,
    context: &Context,
    options: &BuildOptions,
    deadline: Deadline,
    settings: &Settings,
    told: &mut Told<'_>,
) -> Result<(), ImageError> {
    let mut layers = Vec::new();
    let mut last = VecDeque::new();
    let answer = client.build_image(options, &mut context.packed(), deadline, &mut |said| {
        if let Some(Progress::Line(line)) = &said {
            layers.extend(layer(line));
            last.push_back(line.clone());
            last.drain(..last.len().saturating_sub(LATE_LINES));
        }
        told.hear(said.as_ref())
    });
    let error = match answer {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    // What the steps before the failing one left has no name and is of no use to anybody.
    for layer in layers.iter().rev() {
        match client.remove_unnamed_image(layer, Deadline::quick()) {
            Ok(()) => {}
            // Gone already, or below an image that somebody uses.
            Err(error) if error.is_absent() || error.is_conflict() => {}
            Err(error) => told.warn(format!("what a failed build left could not be removed: {error}")),
        }
    }
    Err(match (error, told.interrupted()) {
        (ApiError::GivenUp { .. }, Some(signal)) => ImageError::Interrupted(signal),
        (ApiError::Late { .. }, _) => {
            ImageError::BuildLate { time: settings.build_time, last_lines: last.into_iter().collect() }
        }
        (ApiError::Failed { said, last_lines }, _) => ImageError::Failed { said, last_lines },
        (ApiError::Source { source, .. }, _) => ImageError::Context { path: PathBuf::from("."), source },
        (other, _) => ImageError::Build(other),
    })
}

/// The id in a line such as ` ---> 0123456789ab`, which says what a step made.
fn layer(line: &str) -> Option<String> {
    let id = line.trim().strip_prefix("--")?.trim_start_matches('-').strip_prefix("> ")?;
    let digits = id.len() >= 11 && id.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    digits.then(|| id.to_owned())
}

#[cfg(test)]
mod tests;
