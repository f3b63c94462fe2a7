//! From the text of a compose file to what a run needs of it, or to everything that is wrong with it. Pure.
//!
//! Every key is in a list of those that are understood; a key that is not is refused, never left out. All faults come at
//! once, each with its line.

mod service;
#[cfg(test)]
mod tests;

use super::model::{Need, Project, Service};
use super::value::{is_name, literal};
use super::{keys, order};
use polder_facts::Origin;
use polder_policy::tree::{Entry, Node, Value};
use polder_policy::{Fault, Faults, nearest, read_tree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most services in a file.
const SERVICES_MAX: usize = 32;

/// Reads a file for the run of one of its services.
pub(super) fn judge(path: &Path, bytes: &[u8], own: &str) -> Result<Project, Faults> {
    let mut tree = read_tree(path, bytes)?;
    let mut judge = Judge { path, faults: Vec::new(), volumes: BTreeSet::new() };
    judge.literals(&mut tree);
    let services = judge.file(&tree, own);
    judge.needs(&services);
    let others = match order::order(&services, own) {
        Ok(others) => others,
        Err(circle) => {
            let line = services.get(&circle[0]).map_or(1, |service| service.line);
            judge.fault(line, format!("these services wait for each other: {}", circle.join(" → ")));
            Vec::new()
        }
    };
    let mut faults = judge.faults;
    faults.sort_by(|a, b| a.origin.cmp(&b.origin));
    let mut services = services;
    let found = services.remove(own).filter(|_| faults.is_empty());
    let Some(own) = found else { return Err(Faults(faults)) };
    Ok(Project { own, others: others.iter().filter_map(|name| services.remove(name)).collect() })
}

/// What is wrong so far.
struct Judge<'a> {
    path: &'a Path,
    faults: Vec<Fault>,
    /// The volumes that the file defines.
    volumes: BTreeSet<String>,
}

impl Judge<'_> {
    fn fault(&mut self, line: u32, message: impl Into<String>) {
        self.fault_with(line, message, None);
    }

    fn fault_with(&mut self, line: u32, message: impl Into<String>, hint: Option<String>) {
        let origin = Origin::File { path: self.path.to_owned(), line };
        self.faults.push(Fault::new(origin, message).maybe_hint(hint));
    }

    /// What a value is, or nothing and a fault.
    fn keep<T>(&mut self, line: u32, what: &str, value: Result<T, &'static str>) -> Option<T> {
        value.map_err(|why| self.fault(line, format!("`{what}`: {why}"))).ok()
    }

    /// Reads every text as it is meant, and refuses variables.
    fn literals(&mut self, node: &mut Node) {
        let line = node.line;
        match &mut node.value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Text(text) => match literal(text) {
                Ok(read) => *text = read,
                Err(why) => self.fault(line, format!("`{}`: {why}", shortened(text))),
            },
            Value::List(items) => items.iter_mut().for_each(|item| self.literals(item)),
            Value::Map(entries) => entries.iter_mut().for_each(|entry| self.literals(&mut entry.node)),
        }
    }

    fn file(&mut self, tree: &Node, own: &str) -> BTreeMap<String, Service> {
        for entry in self.map(tree, "the file") {
            match entry.key.as_str() {
                // Texts that say nothing to us: what they name is named by polder.
                "version" | "name" | "services" => {}
                "volumes" => self.named_volumes(&entry.node),
                "networks" => self.default_only(&entry.node),
                key if key.starts_with("x-") => {}
                key => self.unknown(key, entry.line, &keys::FILE),
            }
        }
        let mut services = BTreeMap::new();
        for entry in tree.get("services").map(|node| self.map(node, "`services`")).unwrap_or_default() {
            if !is_name(&entry.key) {
                self.fault(entry.line, format!("`{}` is not the name of a service", shortened(&entry.key)));
                continue;
            }
            let service = self.service(entry, entry.key == own);
            services.insert(entry.key.clone(), service);
        }
        if services.len() > SERVICES_MAX {
            self.fault(1, format!("the file has more than {SERVICES_MAX} services"));
        }
        if !services.contains_key(own) {
            let known: Vec<String> = services.keys().map(|name| format!("`{name}`")).collect();
            let hint = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
            self.fault_with(1, format!("the file has no service `{}`", shortened(own)), Some(hint));
        }
        services
    }

    fn named_volumes(&mut self, node: &Node) {
        for entry in self.map(node, "`volumes`") {
            if !is_name(&entry.key) {
                self.fault(entry.line, format!("`{}` is not the name of a volume", shortened(&entry.key)));
            }
            for option in self.map(&entry.node, "a volume") {
                let why = "a volume is the run's own, and has no options";
                self.fault(option.line, format!("`{}`: {why}", shortened(&option.key)));
            }
            self.volumes.insert(entry.key.clone());
        }
    }

    /// Networks, as long as they are the one that there is.
    fn default_only(&mut self, node: &Node) {
        let why = "services share the command's network, which is a loopback and nothing else";
        let mut other = |line, name: &str| self.fault(line, format!("network `{}`: {why}", shortened(name)));
        match &node.value {
            Value::Null => {}
            Value::List(items) => {
                for item in items {
                    let name = item.text().unwrap_or("…");
                    if name != "default" {
                        other(item.line, name);
                    }
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    if entry.key != "default" || !is_empty(&entry.node) {
                        other(entry.line, &entry.key);
                    }
                }
            }
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => other(node.line, "…"),
        }
    }

    /// What is depended on must be there, and be able to say that it is well where somebody waits for that.
    fn needs(&mut self, services: &BTreeMap<String, Service>) {
        for service in services.values() {
            for Need { name, line, healthy } in &service.needs {
                match services.get(name) {
                    None => {
                        let hint = nearest(name, services.keys().map(String::as_str));
                        self.fault_with(*line, format!("there is no service `{}`", shortened(name)), hint);
                    }
                    Some(needed) if *healthy && needed.check.is_none() => {
                        let hint = Some("give it one, or use `condition: service_started`".to_owned());
                        self.fault_with(*line, format!("service `{name}` has no `healthcheck`"), hint);
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// A key that is not in the list.
    fn unknown(&mut self, key: &str, line: u32, known: &[&str]) {
        match keys::refused(key) {
            Some(why) => self.fault(line, format!("`{key}`: {why}")),
            None => {
                let hint = nearest(key, known.iter().copied());
                self.fault_with(line, format!("the key `{}` is not understood", shortened(key)), hint);
            }
        }
    }

    /// The entries of a map; nothing counts as an empty one.
    fn map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        if !matches!(node.value, Value::Map(_) | Value::Null) {
            self.fault(node.line, format!("{what} must be a map, not {}", node.kind()));
        }
        node.entries()
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

/// A word of the file's, not longer than a line of ours.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST { text.to_owned() } else { text.chars().take(LONGEST).chain(['…']).collect() }
}
