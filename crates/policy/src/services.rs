//! The services of all files together: merged by name, references checked, in the order in which they start.

use crate::document::StepDefinition;
use crate::fault::{Fault, Faults, nearest};
use crate::layers::Layers;
use crate::lower::NO_SANDBOX;
use crate::model::{ReadyBy, Step, StepService};
use crate::steps;
use polder_facts::{Origin, Sourced};
use std::collections::{BTreeMap, BTreeSet};

/// The most references that are reported.
const REFERENCES_MAX: usize = 100;

/// The services of a step and those that they depend on, in the order in which they start.
pub fn services(layers: &Layers, step: &Step) -> Result<Vec<StepService>, Faults> {
    if step.services.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<(Step, Option<_>)> = merged(layers)
        .into_iter()
        .map(|mut known| (known.ready.take(), known))
        .map(|(ready, known)| (steps::step(known), ready))
        .collect();
    let known: Vec<Step> = all.iter().map(|(step, _)| step.clone()).collect();
    let mut faults = steps::programs(&known, "service");
    faults.extend(steps::circle(&known, "services"));
    faults.extend(unready(&all));
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    let by_name: BTreeMap<&str, &(Step, Option<_>)> = all.iter().map(|one| (one.0.name.as_str(), one)).collect();
    let (mut placed, mut order) = (BTreeSet::new(), Vec::new());
    for name in &step.services {
        place(&name.value, &by_name, &mut placed, &mut order);
    }
    let found: Vec<StepService> = order
        .into_iter()
        .filter_map(|(step, ready): &(Step, Option<_>)| Some(StepService { step: step.clone(), ready: ready.clone()? }))
        .collect();
    let faults = clashes(step, &found);
    Faults::check(found, faults)
}

/// One service's definition, after every file has spoken.
pub(crate) fn definition(layers: &Layers, name: &str) -> Result<StepDefinition, Faults> {
    let known = merged(layers).into_iter().find(|service| service.name == name);
    known.ok_or_else(|| Fault::new(Origin::Api, format!("there is no service `{name}`")).into())
}

/// References to services and sandboxes that do not exist, and one that no service can have.
pub(crate) fn references(layers: &Layers, steps: &[StepDefinition]) -> Vec<Fault> {
    let services = merged(layers);
    let known: BTreeSet<_> = services.iter().map(|service| service.name.as_str()).collect();
    let named = steps.iter().flat_map(|step| step.services.iter().flatten());
    let named = named.chain(services.iter().flat_map(|service| service.depends_on.iter().flatten()));
    let missing = named.filter(|name| !known.contains(name.value.as_str())).map(|name| {
        let hint = nearest(&name.value, known.iter().copied());
        Fault::new(name.origin.clone(), format!("there is no service `{}`", name.value)).maybe_hint(hint)
    });
    let sandboxes = services.iter().filter_map(|service| service.sandbox.as_ref()).filter_map(|name| {
        if name.value == NO_SANDBOX {
            Some(Fault::new(
                name.origin.clone(),
                "a service cannot go without a sandbox: it would have the host's network",
            ))
        } else {
            layers.undefined(name)
        }
    });
    missing.take(REFERENCES_MAX).chain(sandboxes.take(REFERENCES_MAX)).collect()
}

pub(crate) fn merged(layers: &Layers) -> Vec<StepDefinition> {
    steps::merged_by_name(layers.chain().into_iter().flat_map(|document| &document.services))
}

/// A service of which nobody could say when it can be used.
fn unready<R>(all: &[(Step, Option<R>)]) -> Vec<Fault> {
    let unready = all.iter().filter(|(_, ready)| ready.is_none());
    unready
        .map(|(step, _)| Fault::new(step.origin.clone(), format!("the service `{}` has no `ready`", step.name)))
        .collect()
}

/// Puts a service behind those that it depends on. There are no circles any more.
fn place<'a, T>(
    name: &str,
    by_name: &BTreeMap<&str, &'a (Step, T)>,
    placed: &mut BTreeSet<String>,
    order: &mut Vec<&'a (Step, T)>,
) {
    let Some(found) = by_name.get(name) else { return };
    if !placed.insert(name.to_owned()) {
        return;
    }
    for before in &found.0.depends_on {
        place(&before.value, by_name, placed, order);
    }
    order.push(found);
}

/// Two services of one step cannot listen on one port: they share a loopback.
fn clashes(step: &Step, services: &[StepService]) -> Vec<Fault> {
    let mut taken: BTreeMap<u16, &str> = BTreeMap::new();
    let mut faults = Vec::new();
    for StepService { step: service, ready: Sourced { value, origin } } in services {
        let ReadyBy::Port(port) = value.by else { continue };
        if let Some(other) = taken.insert(port, &service.name) {
            let message = format!(
                "the services `{other}` and `{}` of the step `{}` both listen on port {port}",
                service.name, step.name
            );
            faults
                .push(Fault::new(origin.clone(), message).hint("they share a loopback; give one of them another port"));
        }
    }
    faults
}

#[cfg(test)]
mod tests;
