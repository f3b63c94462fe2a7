//! The steps of all files together: merged by name, references checked.

use crate::document::StepDefinition;
use crate::fault::{Fault, Faults, nearest};
use crate::layers::Layers;
use crate::lower::NO_SANDBOX;
use crate::model::Step;
use crate::services;
use polder_facts::{Origin, Sourced};
use std::collections::{BTreeMap, BTreeSet};

/// The type of a step that runs.
const COMMAND: &str = "command";

/// Every step, in the order in which the files name them; a stronger file changes what it names and keeps the rest.
pub fn steps(layers: &Layers) -> Result<Vec<Step>, Faults> {
    let (steps, faults) = steps_with_faults(layers);
    Faults::check(steps, faults)
}

/// The same with what is wrong beside them, for looking on.
pub fn steps_with_faults(layers: &Layers) -> (Vec<Step>, Vec<Fault>) {
    let mut faults = references(layers);
    let steps: Vec<_> = merged(layers).into_iter().map(step).collect();
    faults.extend(programs(&steps, "step"));
    faults.extend(circle(&steps, "steps"));
    faults.sort_by(|a, b| a.origin.cmp(&b.origin));
    faults.dedup();
    (steps, faults)
}

/// What has nothing to run, or twice.
pub(crate) fn programs(steps: &[Step], word: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for step in steps.iter().filter(|step| step.kind.value == COMMAND) {
        if step.exec.is_none() && step.command.is_none() {
            faults.push(Fault::new(
                step.origin.clone(),
                format!("the {word} `{}` has no `exec` and no `command`", step.name),
            ));
        }
        if let (Some(exec), Some(command)) = (&step.exec, &step.command) {
            let message = format!("`exec` stands beside the `command` at {}", command.origin);
            faults.push(Fault::new(exec.origin.clone(), message).hint("give one"));
        }
    }
    faults
}

/// One step's definition, after every file has spoken.
pub(crate) fn definition(layers: &Layers, name: &str) -> Result<StepDefinition, Faults> {
    let steps = merged(layers);
    let near = nearest(name, steps.iter().map(|step| step.name.as_str()));
    steps
        .into_iter()
        .find(|step| step.name == name)
        .ok_or_else(|| Fault::new(Origin::Api, format!("there is no step `{name}`")).maybe_hint(near).into())
}

/// The most references that are reported; looking for the nearest word costs more than finding that there is none.
const REFERENCES_MAX: usize = 100;

/// References to sandboxes and steps that do not exist.
pub(crate) fn references(layers: &Layers) -> Vec<Fault> {
    let steps = merged(layers);
    let known: BTreeSet<_> = steps.iter().map(|step| step.name.as_str()).collect();
    let defaults = layers.chain().into_iter().filter_map(|document| document.default.as_ref());
    let named = steps
        .iter()
        .filter_map(|step| step.sandbox.as_ref())
        .filter(|name| name.value != NO_SANDBOX && !is_template(&name.value));
    let sandboxes = defaults.chain(named).filter_map(|name| layers.undefined(name));
    let dependencies = steps.iter().flat_map(|step| step.depends_on.iter().flatten()).flat_map(|dependency| {
        let missing = alternatives(dependency).filter(|name| !known.contains(name));
        missing.map(|name| {
            let message = format!("there is no step `{name}`");
            Fault::new(dependency.origin.clone(), message).maybe_hint(nearest(name, known.iter().copied()))
        })
    });
    let services = services::references(layers, &steps);
    sandboxes.take(REFERENCES_MAX).chain(dependencies.take(REFERENCES_MAX)).chain(services).collect()
}

/// A value that is known only when the step is about to run; whoever runs it puts the result here and checks it.
fn is_template(text: &str) -> bool {
    text.contains("{{")
}

/// `a|b` is either.
fn alternatives(dependency: &Sourced<String>) -> impl Iterator<Item = &str> {
    dependency.value.split('|').map(str::trim)
}

pub(crate) fn merged(layers: &Layers) -> Vec<StepDefinition> {
    merged_by_name(layers.chain().into_iter().flat_map(|document| &document.steps))
}

/// A stronger definition changes what it names and keeps the rest.
pub(crate) fn merged_by_name<'a>(definitions: impl Iterator<Item = &'a StepDefinition>) -> Vec<StepDefinition> {
    let mut steps: Vec<StepDefinition> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for step in definitions {
        match known.get(step.name.as_str()).and_then(|at| steps.get_mut(*at)) {
            Some(earlier) => merge(earlier, step),
            None => {
                known.insert(&step.name, steps.len());
                steps.push(step.clone());
            }
        }
    }
    steps
}

fn merge(old: &mut StepDefinition, new: &StepDefinition) {
    let StepDefinition {
        name: _,
        origin,
        kind,
        exec,
        command,
        sandbox,
        depends_on,
        continue_on_failure,
        condition,
        stdin,
        services,
        ready,
        unread,
        changes,
    } = new.clone();
    old.origin = origin;
    old.kind = kind.or_else(|| old.kind.take());
    // The two are one thing in two spellings, so the newer one replaces both.
    if exec.is_some() || command.is_some() {
        (old.exec, old.command) = (exec, command);
    }
    old.sandbox = sandbox.or_else(|| old.sandbox.take());
    old.depends_on = depends_on.or_else(|| old.depends_on.take());
    old.continue_on_failure = continue_on_failure.or(old.continue_on_failure);
    old.condition = condition.or_else(|| old.condition.take());
    old.stdin = stdin.or_else(|| old.stdin.take());
    old.services = services.or_else(|| old.services.take());
    old.ready = ready.or_else(|| old.ready.take());
    old.unread.extend(unread);
    old.changes.network = changes.network.or_else(|| old.changes.network.take());
    old.changes.access = changes.access.or_else(|| old.changes.access.take());
    old.changes.env_set.extend(changes.env_set);
    old.changes.limits.replace(&changes.limits);
}

pub(crate) fn step(definition: StepDefinition) -> Step {
    let StepDefinition {
        name,
        origin,
        kind,
        exec,
        command,
        sandbox,
        depends_on,
        continue_on_failure,
        condition,
        stdin,
        services,
        ready: _,
        unread,
        changes,
    } = definition;
    Step {
        kind: kind.unwrap_or_else(|| Sourced::new(COMMAND.to_owned(), origin.clone())),
        name,
        origin,
        exec,
        command,
        sandbox,
        depends_on: depends_on.unwrap_or_default(),
        continue_on_failure: continue_on_failure.unwrap_or(false),
        condition,
        stdin,
        services: services.unwrap_or_default(),
        env: changes.env_set,
        unread,
    }
}

/// Steps that wait for each other.
pub(crate) fn circle(steps: &[Step], word: &str) -> Option<Fault> {
    let mut waits: BTreeMap<&str, usize> = steps.iter().map(|step| (step.name.as_str(), 0)).collect();
    let mut followers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let known: BTreeSet<_> = waits.keys().copied().collect();
    for step in steps {
        for before in step.depends_on.iter().flat_map(alternatives).filter(|name| known.contains(name)) {
            *waits.entry(&step.name).or_default() += 1;
            followers.entry(before).or_default().push(&step.name);
        }
    }
    // A step that waits for nothing is done, and its followers wait for one less; what stays goes in circles.
    let mut done: Vec<_> = waits.iter().filter(|(_, waits)| **waits == 0).map(|(name, _)| *name).collect();
    while let Some(name) = done.pop() {
        for follower in followers.remove(name).unwrap_or_default() {
            if let Some(left) = waits.get_mut(follower) {
                *left -= 1;
                if *left == 0 {
                    done.push(follower);
                }
            }
        }
    }
    // Whoever is stuck waits for somebody who is stuck, so following that from anyone ends in a circle.
    let stuck = |name: &str| waits.get(name).is_some_and(|left| *left > 0);
    let by_name: BTreeMap<_, _> = steps.iter().map(|step| (step.name.as_str(), step)).collect();
    let mut way = vec![steps.iter().find(|step| stuck(&step.name))?];
    loop {
        let last = way.last()?;
        let next = last.depends_on.iter().flat_map(alternatives).find(|name| stuck(name))?;
        let next = *by_name.get(next)?;
        if let Some(begin) = way.iter().position(|step| step.name == next.name) {
            let mut circle = way.split_off(begin);
            // The circle begins with whom the files name first, wherever it was entered.
            let places = circle.iter().map(|step| steps.iter().position(|other| other.name == step.name));
            let first = places.enumerate().min_by_key(|(_, place)| *place).map_or(0, |(index, _)| index);
            circle.rotate_left(first);
            let names: Vec<_> = circle.iter().chain(circle.first()).map(|step| format!("`{}`", step.name)).collect();
            let message = format!("the {word} wait for each other: {}", names.join(" waits for "));
            return circle.first().map(|step| Fault::new(step.origin.clone(), message));
        }
        way.push(next);
    }
}

#[cfg(test)]
mod tests;
