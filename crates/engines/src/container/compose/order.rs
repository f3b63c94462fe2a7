//! Who starts when: what a service depends on, before it. Pure.

use super::model::Service;
use std::collections::{BTreeMap, BTreeSet};

/// What the service needs, each after what it needs itself; or the circle in which they wait for each other. Services that
/// are not defined were reported before.
pub(super) fn order(services: &BTreeMap<String, Service>, first: &str) -> Result<Vec<String>, Vec<String>> {
    let (mut done, mut path, mut out) = (BTreeSet::new(), Vec::new(), Vec::new());
    visit(services, first, &mut done, &mut path, &mut out)?;
    out.pop();
    Ok(out)
}

fn visit<'a>(
    services: &'a BTreeMap<String, Service>,
    name: &'a str,
    done: &mut BTreeSet<&'a str>,
    path: &mut Vec<&'a str>,
    out: &mut Vec<String>,
) -> Result<(), Vec<String>> {
    if done.contains(name) {
        return Ok(());
    }
    if let Some(at) = path.iter().position(|above| *above == name) {
        return Err(path[at..].iter().chain([&name]).map(|name| (*name).to_owned()).collect());
    }
    let Some(service) = services.get(name) else { return Ok(()) };
    path.push(name);
    for need in &service.needs {
        visit(services, &need.name, done, path, out)?;
    }
    path.pop();
    done.insert(name);
    out.push(name.to_owned());
    Ok(())
}
