//! A workspace whose changes are kept apart: the steps that lay a private layer over the real tree. Pure.
//!
//! The layers are shown at places of our own, the kernel makes one tree of them, and the places go away again. So a layer
//! is opened as everything else that is shown, with its owners mapped where that is needed, the command never sees a
//! layer by itself, and no path of the host appears in its table of mounts. The same steps work wherever our code holds
//! the root: in the child, on a stage, and in the shim on a root that a program has made.

use super::c;
use super::run::setup;
use polder_engine::{LaunchError, Layers, Made, Promised};
use polder_facts::HostPath;
use polder_plan::Plan;
use polder_policy::WorkspaceMode;
use polder_sys::{Access, Source, Step};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Where the layers are for a moment, below the root that is built.
const PLACE: &str = "run/polder/layers";

/// How the layers come to their places, and so how they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    /// Below one mount, with which all of them go at once: the kernel waits for every processor each time that something is
    /// taken away.
    Together,
    /// One by one: by a program, or where they leave with the old root and nobody waits for each.
    Apart,
}

/// The layers that a plan asks for. A plan and its layers come from different hands: what does not go together does not
/// start, because the one mistake that must not happen is the real tree, writable.
pub(crate) fn layers_of<'a>(plan: &Plan, layers: Option<Promised<'a>>) -> Result<Option<Promised<'a>>, LaunchError> {
    let fault = |text: &str| Err(setup(std::io::Error::other(text.to_owned()), None));
    match (plan.workspace.value.mode, layers) {
        (WorkspaceMode::Direct, None) => Ok(None),
        (WorkspaceMode::Direct, Some(_)) => fault("layers were prepared for a workspace that is the real tree"),
        (WorkspaceMode::Cow | WorkspaceMode::Worktree, Some(layers)) => Ok(Some(layers)),
        (WorkspaceMode::Cow | WorkspaceMode::Worktree, None) => {
            fault("changes are to be kept apart, and nothing was prepared for them")
        }
    }
}

/// The same, made at once: the layers, and what is held open until nothing of the sandbox is left.
pub(crate) fn made_layers(
    plan: &Plan,
    layers: Option<Promised<'_>>,
) -> Result<(Option<Layers>, Option<OwnedFd>), LaunchError> {
    let made = layers_of(plan, layers)?.map(Promised::made).transpose()?;
    Ok(made.map(|Made { layers, kept }| (layers, kept)).unzip())
}

/// Lets the steps wait until the layers are there.
pub(crate) fn await_layers(steps: &mut Vec<Step>) {
    let is_first = |step: &Step| matches!(step, Step::Directory { at, .. } if at.as_bytes() == PLACE.as_bytes());
    if let Some(first) = steps.iter().position(is_first) {
        steps.insert(first, Step::Await {});
    }
}

/// Every layer with its place and whether it can be written, in the order of the places.
pub(crate) fn layer_places(layers: &Layers) -> Vec<(&HostPath, String, Access)> {
    let lower = layers.lower.iter().enumerate();
    let lower = lower.map(|(index, path)| (path, lower_place(index), Access::ReadOnly));
    lower.chain([(&layers.own, own_place(), Access::ReadWrite)]).collect()
}

/// Shows every layer at its place.
pub(crate) fn bring_layers(layers: &Layers, brought: Brought) -> Vec<Step> {
    let mut parent = vec![Step::Directory { at: c(PLACE), mode: 0o755 }];
    if brought == Brought::Together {
        parent.push(Step::Scratch { at: c(PLACE) });
    }
    let steps = layer_places(layers).into_iter().flat_map(|(path, place, access)| {
        let source = Source::Resolved { path: c(path.as_os_str()) };
        [Step::Directory { at: c(&place), mode: 0o755 }, Step::Bind { source, at: c(place), access }]
    });
    parent.into_iter().chain(steps).collect()
}

/// Lays what was brought over the place of the workspace, and takes the layers out of view.
pub(crate) fn lay_layers(layers: &Layers, at: &Path, access: polder_policy::Access, brought: Brought) -> Vec<Step> {
    let lower: Vec<String> = (0..layers.lower.len()).map(lower_place).collect();
    let access = match access {
        polder_policy::Access::ReadOnly => Access::ReadOnly,
        polder_policy::Access::ReadWrite => Access::ReadWrite,
    };
    let overlay = Step::Overlay {
        lower: c(lower.join(":")),
        upper: c(format!("{}/{}", own_place(), Layers::UPPER)),
        work: c(format!("{}/{}", own_place(), Layers::WORK)),
        at: c(at),
        access,
    };
    let places: Vec<_> = layer_places(layers).into_iter().map(|(_, place, _)| c(place)).collect();
    let withdrawn = match brought {
        Brought::Together => vec![c(PLACE)],
        Brought::Apart => places.clone(),
    };
    let withdrawn = withdrawn.into_iter().map(|at| Step::Withdraw { at });
    let removed = places.into_iter().chain([c(PLACE)]).map(|at| Step::Remove { at });
    std::iter::once(overlay).chain(withdrawn).chain(removed).collect()
}

fn lower_place(index: usize) -> String {
    format!("{PLACE}/lower-{index}")
}

fn own_place() -> String {
    format!("{PLACE}/own")
}
