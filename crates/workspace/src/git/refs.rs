//! Which refs a layer moves, from the files that hold them (gitrepository-layout(5)).

use super::places::GitDirPlace;
use super::view::{TwoViews, When};
use crate::relative::Relative;
use crate::worktree::{is_object, is_ref_name};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

const REF_BYTES_MAX: u64 = 4 << 10;
const PACKED_BYTES_MAX: u64 = 64 << 20;
/// Refs of the host that bound a walk of new commits. More make the walk longer, not wrong.
const BOUNDS_MAX: usize = 4096;

/// What a ref says: an object id, `ref: NAME`, or nothing.
pub(crate) type RefValue = Option<String>;

/// A ref with two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedRef {
    pub(crate) before: RefValue,
    pub(crate) after: RefValue,
}

/// The refs of a git dir that an apply would move, by name. `HEAD` is among them.
pub(crate) fn moved_refs(views: &TwoViews<'_>, place: &GitDirPlace) -> io::Result<BTreeMap<String, MovedRef>> {
    let packed = [When::Before, When::After].map(|when| packed_refs(views, place, when));
    let [packed_before, packed_after] = packed;
    let (packed_before, packed_after) = (packed_before?, packed_after?);
    let mut names: BTreeSet<String> = BTreeSet::new();
    for (name, id) in packed_before.iter().chain(&packed_after) {
        if packed_before.get(name) != packed_after.get(name) {
            names.insert(name.clone());
            debug_assert!(!id.is_empty(), "a packed ref has an id");
        }
    }
    for change in views.within(&place.join("refs")) {
        let below = change.path.as_path().strip_prefix(&place.path).ok().and_then(Path::to_str);
        names.extend(below.filter(|name| is_ref_name(name)).map(str::to_owned));
    }
    if views.change(&place.join("HEAD")).is_some() {
        names.insert("HEAD".to_owned());
    }
    let mut moved = BTreeMap::new();
    for name in names {
        let value = |when: When, packed: &BTreeMap<String, String>| -> io::Result<RefValue> {
            Ok(loose(views, place, &name, when)?.or_else(|| packed.get(&name).cloned()))
        };
        let (before, after) = (value(When::Before, &packed_before)?, value(When::After, &packed_after)?);
        if before != after {
            moved.insert(name, MovedRef { before, after });
        }
    }
    Ok(moved)
}

/// The value of a ref on the host.
pub(crate) fn host_value(views: &TwoViews<'_>, place: &GitDirPlace, name: &str) -> io::Result<RefValue> {
    match loose(views, place, name, When::Before)? {
        Some(value) => Ok(Some(value)),
        None => Ok(packed_refs(views, place, When::Before)?.remove(name)),
    }
}

/// The commit that a value stands for.
pub(crate) fn resolved(
    views: &TwoViews<'_>,
    place: &GitDirPlace,
    value: Option<&str>,
    when: When,
) -> io::Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let Some(name) = value.strip_prefix("ref:").map(str::trim) else {
        return Ok(Some(value.to_owned()).filter(|id| is_object(id)));
    };
    if !is_ref_name(name) {
        return Ok(None);
    }
    let common = place.common();
    let direct = match loose(views, &common, name, when)? {
        Some(direct) => Some(direct),
        None => packed_refs(views, &common, when)?.remove(name),
    };
    Ok(direct.filter(|id| is_object(id)))
}

/// Object ids that the host has refs to: what is reachable from them is not new.
pub(crate) fn host_bounds(views: &TwoViews<'_>, place: &GitDirPlace) -> io::Result<BTreeSet<String>> {
    let mut bounds: BTreeSet<String> = packed_refs(views, place, When::Before)?.into_values().collect();
    let mut open: Vec<PathBuf> = vec![PathBuf::from("refs")];
    while let Some(below) = open.pop() {
        for name in views.host_names(&place.join(&below))? {
            if bounds.len() >= BOUNDS_MAX {
                return Ok(bounds);
            }
            let below = below.join(name);
            if views.is_directory(&place.join(&below), When::Before)? {
                open.push(below);
            } else if let Some(id) = below.to_str().map(|name| loose(views, place, name, When::Before)).transpose()? {
                bounds.extend(id.filter(|id| is_object(id)));
            }
        }
    }
    if let Some(head) = loose(views, place, "HEAD", When::Before)? {
        bounds.extend(Some(head).filter(|id| is_object(id)));
    }
    bounds.retain(|id| is_object(id));
    Ok(bounds)
}

fn loose(views: &TwoViews<'_>, place: &GitDirPlace, name: &str, when: When) -> io::Result<RefValue> {
    let Ok(path) = Relative::new(&place.path.join(name)) else { return Ok(None) };
    let text = views.read(&path, when, REF_BYTES_MAX)?;
    let text = text.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned());
    Ok(text.filter(|text| !text.is_empty()))
}

fn packed_refs(views: &TwoViews<'_>, place: &GitDirPlace, when: When) -> io::Result<BTreeMap<String, String>> {
    let Some(text) = views.read(&place.join("packed-refs"), when, PACKED_BYTES_MAX)? else {
        return Ok(BTreeMap::new());
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let refs = lines.filter(|(id, name)| is_object(id) && is_ref_name(name));
    Ok(refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect())
}
