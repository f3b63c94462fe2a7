//! Which steps take part, and in which order they are told: after what they wait for, else as the files name them.

use polder_facts::Origin;
use polder_policy::{Fault, Faults, Step, defined};
use std::collections::{BTreeMap, BTreeSet};

/// The steps of a run. Circles were refused when the configuration was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// In order; what a step waits for stands before it.
    pub nodes: Vec<Node>,
}

/// One step's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its place among all steps of the configuration.
    pub step: usize,
    /// What it waits for, as places in this graph: of each group, one has to let it run.
    pub waits_for: Vec<Vec<usize>>,
    /// Whether its failure lets others run.
    pub continues: bool,
}

impl Graph {
    /// These steps and everything that they wait for; all of them when none is named.
    pub fn of(steps: &[Step], wanted: &[String]) -> Result<Self, Faults> {
        let places: BTreeMap<&str, usize> =
            steps.iter().enumerate().map(|(place, step)| (step.name.as_str(), place)).collect();
        let known: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        let unknown = wanted.iter().filter(|name| !places.contains_key(name.as_str()));
        let faults: Vec<Fault> = unknown
            .map(|name| Fault {
                origin: Origin::Flag("NAME".to_owned()),
                message: format!("there is no step `{name}`"),
                hint: Some(defined(name, &known)),
            })
            .collect();
        if !faults.is_empty() {
            return Err(Faults(faults));
        }
        let groups = |step: usize| -> Vec<Vec<usize>> {
            let group = |text: &str| text.split('|').filter_map(|name| places.get(name.trim()).copied()).collect();
            steps[step].depends_on.iter().map(|dependency| group(&dependency.value)).collect()
        };
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = if wanted.is_empty() {
            (0..steps.len()).collect()
        } else {
            wanted.iter().filter_map(|name| places.get(name.as_str()).copied()).collect()
        };
        while let Some(step) = open.pop() {
            if taken.insert(step) {
                open.extend(groups(step).into_iter().flatten());
            }
        }
        Ok(Self { nodes: ordered(steps, &taken, groups) })
    }

    /// The names of everything that a step waits for, directly or not.
    pub fn before(&self, place: usize) -> BTreeSet<&str> {
        let (mut names, mut open) = (BTreeSet::new(), vec![place]);
        while let Some(place) = open.pop() {
            for before in self.nodes[place].waits_for.iter().flatten() {
                if names.insert(self.nodes[*before].name.as_str()) {
                    open.push(*before);
                }
            }
        }
        names
    }
}

/// The first step that waits for nobody left, again and again.
fn ordered(steps: &[Step], taken: &BTreeSet<usize>, groups: impl Fn(usize) -> Vec<Vec<usize>>) -> Vec<Node> {
    let mut left: BTreeMap<usize, BTreeSet<usize>> =
        taken.iter().map(|step| (*step, groups(*step).into_iter().flatten().collect())).collect();
    let mut followers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (step, before) in &left {
        before.iter().for_each(|before| followers.entry(*before).or_default().push(*step));
    }
    let mut ready: BTreeSet<usize> =
        left.iter().filter(|(_, before)| before.is_empty()).map(|(step, _)| *step).collect();
    let mut place_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut nodes = Vec::new();
    while let Some(step) = ready.pop_first() {
        place_of.insert(step, nodes.len());
        let placed = |group: Vec<usize>| group.iter().filter_map(|before| place_of.get(before).copied()).collect();
        nodes.push(Node {
            name: steps[step].name.clone(),
            step,
            waits_for: groups(step).into_iter().map(placed).collect(),
            continues: steps[step].continue_on_failure,
        });
        for follower in followers.remove(&step).unwrap_or_default() {
            if let Some(before) = left.get_mut(&follower) {
                before.remove(&step);
                if before.is_empty() {
                    ready.insert(follower);
                }
            }
        }
    }
    nodes
}

#[cfg(test)]
pub(crate) mod tests;
