//! A text's change in pieces that can be shown, numbered and taken one by one.

use crate::lines::{Region, regions, split};
use std::collections::BTreeSet;
use std::ops::Range;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// A file with a NUL byte this early is no text; git draws the line at the same place.
const LOOKED_AT_BYTES: usize = 8000;

/// Changes that lie close together, with what is around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The old lines that it covers, counted from 0.
    pub old: Range<usize>,
    /// The new lines that it covers, counted from 0.
    pub new: Range<usize>,
    /// What is shown.
    pub lines: Vec<Line>,
    regions: Vec<Region>,
}

/// One line of a hunk, with its line break if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// In both.
    Same(Vec<u8>),
    /// In the old text only.
    Removed(Vec<u8>),
    /// In the new text only.
    Added(Vec<u8>),
}

/// Whether the content is anything but text.
pub fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(LOOKED_AT_BYTES)].contains(&0)
}

/// The pieces in which two texts differ.
pub fn hunks(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    let (old, new) = (split(old), split(new));
    let mut groups: Vec<Vec<Region>> = Vec::new();
    for region in regions(&old, &new) {
        let near =
            |group: &Vec<Region>| group.last().is_some_and(|last| region.old.start - last.old.end <= 2 * CONTEXT);
        match groups.last_mut().filter(|group| near(group)) {
            Some(group) => group.push(region),
            None => groups.push(vec![region]),
        }
    }
    groups.into_iter().map(|regions| hunk(&old, &new, regions)).collect()
}

fn hunk(old: &[&[u8]], new: &[&[u8]], regions: Vec<Region>) -> Hunk {
    let first = regions.first().expect("invariant: a group has a region");
    let last = regions.last().expect("invariant: a group has a region");
    let lead = first.old.start.min(first.new.start).min(CONTEXT);
    let trail = (old.len() - last.old.end).min(CONTEXT);
    let covered = (first.old.start - lead..last.old.end + trail, first.new.start - lead..last.new.end + trail);
    let mut lines = Vec::new();
    let mut at = covered.0.start;
    for region in &regions {
        lines.extend(old[at..region.old.start].iter().map(|line| Line::Same(line.to_vec())));
        lines.extend(old[region.old.clone()].iter().map(|line| Line::Removed(line.to_vec())));
        lines.extend(new[region.new.clone()].iter().map(|line| Line::Added(line.to_vec())));
        at = region.old.end;
    }
    lines.extend(old[at..covered.0.end].iter().map(|line| Line::Same(line.to_vec())));
    Hunk { old: covered.0, new: covered.1, lines, regions }
}

/// The old text with only some of the hunks, counted from 1.
pub fn taken(old: &[u8], new: &[u8], chosen: &BTreeSet<usize>) -> Vec<u8> {
    let hunks = hunks(old, new);
    let (old, new) = (split(old), split(new));
    let mut text = Vec::new();
    let mut at = 0;
    let chosen = hunks.iter().enumerate().filter(|(index, _)| chosen.contains(&(index + 1)));
    for region in chosen.flat_map(|(_, hunk)| &hunk.regions) {
        text.extend(old[at..region.old.start].concat());
        text.extend(new[region.new.clone()].concat());
        at = region.old.end;
    }
    text.extend(old[at..].concat());
    text
}

#[cfg(test)]
mod tests;
