//! Carrying a recipe out, and what runs afterwards. Thin: everything was decided before.

use super::lower::{Lowered, lower};
use super::network;
use crate::shimmed::{ShimmedRun, describe, layers_of, make_cgroup, setup, starved_or};
use polder_engine::{Fitted, HeadStart, LaunchError, Running, Services};
use polder_sys::cgroup::Cgroup;
use polder_sys::{NetNamespace, Recipe, Step};

pub(super) fn launch(fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, no_terminal: _, ahead, layers, lookout, session, record } = services;
    let layers = layers_of(fitted.plan(), layers)?;
    let Lowered { ground, inside } = lower(&fitted, layers.as_ref().map(|promised| &promised.layers), terminal);
    // The shim is one of those that are counted.
    let cgroup = make_cgroup(&fitted, 1)?;
    let entrance = cgroup.as_ref().map(Cgroup::entrance).transpose().map_err(|error| setup(error, None))?;
    let network = match ground.net {
        NetNamespace::Shared => Some(network::of(session.as_ref(), lookout, ground.identity)?),
        NetNamespace::Own | NetNamespace::Host => None,
    };
    let recipe = Recipe { ground, inside, cgroup: entrance, stdio, kept: record };
    // A run that was to have layers never goes without them.
    if recipe.ground.steps.contains(&Step::Await {}) != layers.is_some() {
        return Err(setup(std::io::Error::other("the layers have no place in what is to be built"), None));
    }
    // The layers are made while the child builds everything else, and waits for them last.
    let (mut layers, mut unmade) = (layers, None);
    let mut make = || match layers.take()?.made() {
        Ok(made) => Some(made.kept),
        Err(error) => {
            unmade = Some(error);
            None
        }
    };
    // On failure the cgroup is dropped after everything that was in it.
    let launched = match network {
        Some(network) => polder_sys::spawn_beside(&recipe, &network, &mut make),
        None => polder_sys::spawn(&recipe, ahead.and_then(HeadStart::claim), &mut make),
    };
    let launched = launched
        .map_err(|error| unmade.unwrap_or_else(|| starved_or(fitted.plan(), cgroup.as_ref(), describe(error))))?;
    Ok(Box::new(ShimmedRun::new(launched, cgroup, fitted.plan())))
}
