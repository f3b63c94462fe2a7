//! Which changes are applied, and by which steps. Pure: everything that stands against a change was found out before.

use crate::change::{Change, Node, NodeKind, What};
use crate::digest::{ContentMark, ReviewDigest};
use crate::git::{ContainedPath, GitChange};
use crate::known::Stamp;
use crate::patterns::Patterns;
use crate::relative::Relative;
use crate::review::{Item, Review};
use crate::steps::{Act, Before, BeforeKind, Source, Step, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What a person wants of a layer.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Only paths that these patterns name; all, if there are none.
    pub paths: Vec<String>,
    /// These paths and nothing below them, beside what the patterns name: what somebody answered, one by one.
    pub exact: BTreeSet<Relative>,
    /// Of these files only these hunks, counted from 1.
    pub hunks: BTreeMap<Relative, BTreeSet<usize>>,
    /// Paths that are taken although the host would execute them.
    pub include_held: Vec<String>,
    /// Paths that are taken although the host changed them since.
    pub force: Vec<String>,
    /// The review that was looked at; every other one is refused before anything is touched.
    pub digest: Option<ReviewDigest>,
}

impl Choice {
    /// Everything against which nothing stands.
    pub fn everything() -> Self {
        let (paths, include_held, force) = (Vec::new(), Vec::new(), Vec::new());
        Self { paths, exact: BTreeSet::new(), hunks: BTreeMap::new(), include_held, force, digest: None }
    }
}

/// What becomes of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is applied.
    Taken,
    /// Nobody asked for it.
    NotChosen,
    /// The host would execute it.
    Held(String),
    /// The host changed it.
    Conflict(String),
    /// It cannot be applied.
    Refused(String),
}

/// The verdict on every item of a review, in the same order.
pub(crate) fn judge(review: &Review, choice: &Choice) -> io::Result<Vec<Verdict>> {
    let only = Patterns::new(&choice.paths)?;
    let (held, force) = (Patterns::new(&choice.include_held)?, Patterns::new(&choice.force)?);
    // A rename is taken by both its ends, is held at the ends that are, and is in conflict with its source.
    let taken = |item: &Item| item.held_at.iter().all(|path| held.has(path));
    let forced = |item: &Item| item.change.paths().last().is_some_and(|path| force.has(path));
    let stands = |item: &Item| against(item, taken(item), forced(item));
    let all = only.is_empty() && choice.exact.is_empty() && choice.hunks.is_empty();
    let mut verdicts: Vec<Verdict> = review
        .items
        .iter()
        .map(|item| {
            let path = &item.change.path;
            let one = choice.exact.contains(path) || choice.hunks.contains_key(path);
            let ends = || item.change.paths().map(|path| only.has(path));
            let chosen = all || one || ends().all(|end| end);
            match stands(item) {
                _ if !chosen && ends().any(|end| end) => Verdict::Refused(half(&item.change)),
                _ if !chosen => Verdict::NotChosen,
                Some(verdict) => verdict,
                None => Verdict::Taken,
            }
        })
        .collect();
    for change in &review.git {
        let members = members(review, change);
        let of_whole = whole(review, change, &members, &verdicts, &held, &force);
        members.iter().for_each(|index| verdicts[*index] = of_whole.clone());
    }
    take_parents(&review.items, &mut verdicts, stands);
    keep_full_directories(review, &mut verdicts);
    keep_what_is_not_replaced(&review.items, &mut verdicts);
    for change in &review.git {
        let members = members(review, change);
        let forced = members.iter().all(|index| force.has(&review.items[*index].change.path));
        if let Some(verdict) = torn(review, change, &members, &verdicts, forced) {
            members.iter().for_each(|index| verdicts[*index] = verdict.clone());
        }
    }
    keep_full_directories(review, &mut verdicts);
    Ok(verdicts)
}

/// The verdict on git's state in a repository: that of any of its parts.
pub(crate) fn git_verdict(review: &Review, change: &GitChange, verdicts: &[Verdict]) -> Verdict {
    members(review, change).first().map_or(Verdict::NotChosen, |index| verdicts[*index].clone())
}

/// The items that are parts of git's state in a repository.
fn members(review: &Review, change: &GitChange) -> Vec<usize> {
    let is_member = |item: &Item| item.git.as_ref().is_some_and(|member| member.repository == change.repository);
    let numbered = review.items.iter().enumerate();
    numbered.filter(|(_, item)| is_member(item)).map(|(index, _)| index).collect()
}

/// What becomes of git's state as a whole, before other changes are looked at.
fn whole(
    review: &Review,
    change: &GitChange,
    members: &[usize],
    verdicts: &[Verdict],
    held: &Patterns,
    force: &Patterns,
) -> Verdict {
    let path = |index: &usize| &review.items[*index].change.path;
    if let Some(Verdict::Refused(why)) =
        members.iter().map(|index| &verdicts[*index]).find(|verdict| matches!(verdict, Verdict::Refused(_)))
    {
        return Verdict::Refused(why.clone());
    }
    let chosen = members.iter().filter(|index| verdicts[**index] != Verdict::NotChosen).count();
    if chosen == 0 {
        return Verdict::NotChosen;
    }
    let shown = crate::visible_name(change.repository.as_os_str().as_encoded_bytes());
    if chosen < members.len() {
        return Verdict::Refused(format!("git's state is applied as a whole: name `{shown}`"));
    }
    if let Some(why) = &change.refused {
        return Verdict::Refused(why.clone());
    }
    if let Some(why) = change.conflict.as_ref().filter(|_| !members.iter().all(|index| force.has(path(index)))) {
        return Verdict::Conflict(why.clone());
    }
    if let Some(why) = change.held.as_ref().filter(|_| !members.iter().all(|index| held.has(path(index)))) {
        return Verdict::Held(why.clone());
    }
    let contained: Vec<&ContainedPath> = change.contained.iter().filter(|one| !held.has(&one.path)).collect();
    match contained.first() {
        None => Verdict::Taken,
        Some(ContainedPath { path, why }) => {
            let path = crate::visible_name(path.as_path().as_os_str().as_encoded_bytes());
            let more = match contained.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Verdict::Held(format!("the commits contain `{path}`{more}, which is held back: {why}"))
        }
    }
}

/// Why git's state is not taken although nothing stands against it: its commits change a path of the tree
/// that is not applied, and the tree would look as if the user had taken the change back.
fn torn(review: &Review, change: &GitChange, members: &[usize], verdicts: &[Verdict], forced: bool) -> Option<Verdict> {
    let own = members.iter().map(|index| &verdicts[*index]).find(|verdict| **verdict != Verdict::Taken);
    if let Some(verdict) = own {
        return Some(verdict.clone());
    }
    let tracked = |item: &Item| item.git.is_none() && item.change.paths().any(|path| change.tracked.contains(path));
    let mut left =
        review.items.iter().zip(verdicts).filter(|(item, verdict)| tracked(item) && **verdict != Verdict::Taken);
    let (item, verdict) = left.next().filter(|_| !forced)?;
    let path = crate::visible_name(item.change.path.as_path().as_os_str().as_encoded_bytes());
    Some(match verdict {
        Verdict::Held(why) => Verdict::Held(format!("the commits contain `{path}`, which is held back: {why}")),
        Verdict::Taken | Verdict::NotChosen | Verdict::Conflict(_) | Verdict::Refused(_) => {
            Verdict::Conflict(format!("the commits contain `{path}`, which is not applied"))
        }
    })
}

/// Why a rename is not taken of which one end was asked for.
fn half(change: &Change) -> String {
    let shown: Vec<_> = change
        .paths()
        .map(|path| format!("`{}`", crate::visible_name(path.as_path().as_os_str().as_encoded_bytes())))
        .collect();
    format!("it is a rename, which changes both {}; name both", shown.join(" and "))
}

/// What stands against an item that was asked for.
fn against(item: &Item, include_held: bool, force: bool) -> Option<Verdict> {
    if let Some(why) = &item.refused {
        return Some(Verdict::Refused(why.clone()));
    }
    if let Some(why) = item.conflict.as_ref().filter(|_| !force) {
        return Some(Verdict::Conflict(why.clone()));
    }
    item.held.as_ref().filter(|_| !include_held).map(|why| Verdict::Held(why.clone()))
}

/// A new file needs the new directories above it; where one of them is not taken, neither is the file.
fn take_parents(items: &[Item], verdicts: &mut [Verdict], against: impl Fn(&Item) -> Option<Verdict>) {
    let directories: BTreeMap<&Relative, usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| makes_directory(&item.change))
        .map(|(index, item)| (&item.change.path, index))
        .collect();
    for index in 0..items.len() {
        if verdicts[index] != Verdict::Taken {
            continue;
        }
        let mut above = Vec::new();
        let mut at = items[index].change.path.parent_below_root();
        while let Some(path) = at {
            above.extend(directories.get(&path).copied());
            at = path.parent_below_root();
        }
        for parent in above.into_iter().rev() {
            // What is not taken needs nothing.
            if verdicts[index] != Verdict::Taken {
                break;
            }
            let shown = crate::visible_name(items[parent].change.path.as_path().as_os_str().as_encoded_bytes());
            match &verdicts[parent] {
                Verdict::Taken => {}
                Verdict::NotChosen => match against(&items[parent]) {
                    None => verdicts[parent] = Verdict::Taken,
                    Some(_) => {
                        verdicts[index] = Verdict::Refused(format!("the new directory `{shown}` is not applied"))
                    }
                },
                Verdict::Held(why) => verdicts[index] = Verdict::Held(format!("it lies in `{shown}`: {why}")),
                Verdict::Conflict(why) => verdicts[index] = Verdict::Conflict(format!("it lies in `{shown}`: {why}")),
                Verdict::Refused(_) => {
                    verdicts[index] = Verdict::Refused(format!("the new directory `{shown}` is not applied"));
                }
            }
        }
    }
}

fn makes_directory(change: &Change) -> bool {
    let is_directory = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
    is_directory(&change.after) && !is_directory(&change.before)
}

fn removes_directory(change: &Change) -> bool {
    let is_directory = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == NodeKind::Directory);
    is_directory(&change.before) && !is_directory(&change.after)
}

/// A directory goes only with everything in it.
fn keep_full_directories(review: &Review, verdicts: &mut [Verdict]) {
    let items = &review.items;
    let mut stays: BTreeSet<Relative> = review.forged.iter().map(|forged| forged.path.clone()).collect();
    for (item, verdict) in items.iter().zip(verdicts.iter()) {
        let removed = match &item.change.what {
            What::Renamed { from } => Some(from),
            What::Deleted => Some(&item.change.path),
            What::Added | What::Modified | What::Mode | What::Type | What::Target => None,
        };
        if let Some(removed) = removed.filter(|_| *verdict != Verdict::Taken) {
            stays.insert(removed.clone());
        }
    }
    // Deepest first, so that a directory that stays keeps those above it.
    for index in (0..items.len()).rev() {
        let change = &items[index].change;
        if verdicts[index] != Verdict::Taken || !removes_directory(change) {
            continue;
        }
        let inside = stays.range(change.path.clone()..).take_while(|path| path.is_within(&change.path));
        if let Some(reason) = inside.into_iter().next() {
            let shown = crate::visible_name(reason.as_path().as_os_str().as_encoded_bytes());
            verdicts[index] = Verdict::Conflict(format!("`{shown}` in it is not applied"));
            stays.insert(change.path.clone());
        }
    }
}

/// What is in a directory goes because something else takes the directory's place: where that does not, nothing goes.
fn keep_what_is_not_replaced(items: &[Item], verdicts: &mut [Verdict]) {
    let replaces = |item: &Item| item.change.after.is_some() && removes_directory(&item.change);
    let instead = |(item, verdict): (&Item, &Verdict)| {
        let path = item.change.path.clone();
        let shown = crate::visible_name(path.as_path().as_os_str().as_encoded_bytes());
        match verdict {
            // Somebody named what is in it, and not the whole.
            Verdict::Taken | Verdict::NotChosen => None,
            Verdict::Held(why) => Some((path, Verdict::Held(format!("it lies in `{shown}`: {why}")))),
            Verdict::Conflict(why) => Some((path, Verdict::Conflict(format!("it lies in `{shown}`: {why}")))),
            Verdict::Refused(_) => {
                Some((path, Verdict::Refused(format!("what takes the place of `{shown}` is not applied"))))
            }
        }
    };
    let judged = items.iter().zip(verdicts.iter());
    let staying: BTreeMap<Relative, Verdict> = judged.filter(|(item, _)| replaces(item)).filter_map(instead).collect();
    for (item, verdict) in items.iter().zip(verdicts.iter_mut()) {
        let going = match &item.change.what {
            What::Renamed { from } => Some(from),
            What::Deleted => Some(&item.change.path),
            What::Added | What::Modified | What::Mode | What::Type | What::Target => None,
        };
        let mut above = going.filter(|_| *verdict == Verdict::Taken).and_then(Relative::parent_below_root);
        while let Some(directory) = above {
            if let Some(instead) = staying.get(&directory) {
                *verdict = instead.clone();
                break;
            }
            above = directory.parent_below_root();
        }
    }
}

/// The steps that do what was chosen: first what goes, from the leaves up; then what comes, from the root down.
/// A file for which there is a mark is put in place only with the content that has it.
pub(crate) fn steps(
    review: &Review,
    verdicts: &[Verdict],
    partial: &BTreeMap<Relative, u64>,
    marks: &BTreeMap<Relative, ContentMark>,
) -> Vec<Step> {
    let taken =
        || review.items.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Taken).map(|(item, _)| item);
    let (mut gone, mut come, mut early, mut late) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for item in taken() {
        let Change { path, what, before, after, copied_from_tree: _ } = &item.change;
        let stripped = item.stripped.unwrap_or(0);
        let from = match what {
            What::Renamed { from } => from,
            What::Added | What::Deleted | What::Modified | What::Mode | What::Type | What::Target => path,
        };
        let was = before.as_ref().map(described);
        let goes = matches!(what, What::Deleted | What::Renamed { .. })
            || makes_directory(&item.change)
            || removes_directory(&item.change);
        if let (Some(was), true) = (&was, goes) {
            let act = match was.kind {
                BeforeKind::Directory => Act::RemoveDirectory,
                BeforeKind::File { .. } | BeforeKind::Symlink { .. } => Act::Remove,
            };
            gone.push(Step { path: from.clone(), act, before: Some(was.clone()), within: None });
        }
        let replaced = was.filter(|_| !goes);
        let Some(after) = after else { continue };
        // Some hunks of a file are some of its content, and nothing of its bits.
        let of_hunks = before.as_ref().filter(|_| partial.contains_key(path));
        let mode = of_hunks.map_or(after.stat.mode & !stripped, |before| before.stat.mode);
        let act = match (&after.kind, what) {
            (_, What::Mode) => {
                let old = before.as_ref().map_or(0, |node| node.stat.mode);
                let is_early = after.kind == NodeKind::Directory && mode & !old & 0o700 != 0;
                let step = Step {
                    path: path.clone(),
                    act: Act::Mode { mode, early: is_early },
                    before: replaced,
                    within: None,
                };
                if mode != old {
                    if is_early { early.push(step) } else { late.push(step) }
                }
                continue;
            }
            (NodeKind::Directory, _) => Act::Make { mode },
            (NodeKind::Symlink(target), _) => Act::Link { target: Target(target.clone()) },
            (NodeKind::File, _) => match partial.get(path) {
                Some(size) => Act::Put { source: Source::Made, mode, allocated: *size, content: None },
                None => {
                    let content = marks.get(path).copied();
                    Act::Put { source: Source::Layer, mode, allocated: after.stat.allocated, content }
                }
            },
            (NodeKind::Special(_), _) => continue,
        };
        come.push(Step { path: path.clone(), act, before: replaced, within: None });
    }
    gone.sort_by(|a, b| b.path.cmp(&a.path));
    late.reverse();
    let ranks: BTreeMap<Relative, GitRank> =
        taken().filter_map(|item| Some((item.change.path.clone(), git_rank(item)?))).collect();
    // What git's refs still need goes last, unless something takes its place.
    let makes_way = |step: &Step| come.iter().any(|other: &Step| other.path.is_within(&step.path));
    let (gone, of_git): (Vec<Step>, Vec<Step>) =
        gone.into_iter().partition(|step| !ranks.contains_key(&step.path) || makes_way(step));
    let mut steps = early;
    steps.extend(gone);
    let first = steps.len();
    steps.extend(come);
    nest(&mut steps, first);
    in_order_of_git(&mut steps, first, &ranks);
    steps.extend(of_git);
    steps.extend(late);
    steps
}

/// In which order parts of git's state are put in place: each needs those before it, so that a kill at
/// any step leaves a repository whose refs and index have their objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GitRank {
    Objects,
    /// A pack is found by its index.
    PackIndex,
    Other,
    Refs,
    Index,
    Head,
}

fn git_rank(item: &Item) -> Option<GitRank> {
    let member = item.git.as_ref()?;
    let below = item.change.path.as_path().strip_prefix(&member.repository).ok()?;
    let has = |name: &str| below.iter().any(|part| part == name);
    let name = item.change.path.name();
    Some(match below.iter().next() {
        _ if has("objects") && name.as_encoded_bytes().ends_with(b".idx") => GitRank::PackIndex,
        _ if has("objects") => GitRank::Objects,
        _ if has("refs") && !has("logs") || name == "packed-refs" => GitRank::Refs,
        _ if name == "index" => GitRank::Index,
        _ if name == "HEAD" && !has("logs") => GitRank::Head,
        _ => GitRank::Other,
    })
}

/// Brings steps from `first` on into the order of git's parts, behind all other files. What lies in a new
/// directory stays with it.
fn in_order_of_git(steps: &mut Vec<Step>, first: usize, ranks: &BTreeMap<Relative, GitRank>) {
    let top = |step: &Step, index: usize| step.within.unwrap_or(index);
    let mut order: Vec<usize> = (first..steps.len()).collect();
    order.sort_by_key(|index| {
        let top = top(&steps[*index], *index);
        (ranks.get(&steps[top].path).copied(), *index)
    });
    let place: BTreeMap<usize, usize> =
        order.iter().enumerate().map(|(position, index)| (*index, first + position)).collect();
    let mut sorted: Vec<Step> = order.iter().map(|index| steps[*index].clone()).collect();
    for step in &mut sorted {
        step.within = step.within.map(|top| place[&top]);
    }
    steps.splice(first.., sorted);
}

/// What lies in a new directory is made in it before the directory is put in place.
fn nest(steps: &mut [Step], first: usize) {
    let mut top: Option<usize> = None;
    for index in first..steps.len() {
        let path = steps[index].path.clone();
        match top.filter(|top| path.is_within(&steps[*top].path)) {
            Some(top) => steps[index].within = Some(top),
            None => top = matches!(steps[index].act, Act::Make { .. }).then_some(index),
        }
    }
}

fn described(node: &Node) -> Before {
    let stat = &node.stat;
    let kind = match &node.kind {
        NodeKind::Directory => BeforeKind::Directory,
        NodeKind::Symlink(target) => BeforeKind::Symlink { target: Target(target.clone()) },
        // A pipe of the tree can be removed; what is kept of it for a revert is an empty file.
        NodeKind::File | NodeKind::Special(_) => BeforeKind::File { allocated: stat.allocated },
    };
    Before { stamp: Stamp::of(stat), mode: stat.mode, uid: stat.uid, gid: stat.gid, kind }
}
