//! Back to how it was: after a failure, after an interruption, or because somebody asks for it later.
//!
//! Steps are taken back in reverse. What is there decides what is to be done, so that going back can itself be interrupted.

use super::Watch;
use super::ground::{Ground, is_unreachable};
use super::left::is_ours;
use super::stage::split;
use crate::journal::{Record, Stage};
use crate::known::{Known, Stamp};
use crate::relative::Relative;
use crate::remove::remove_below;
use crate::steps::{Act, Before, BeforeKind, Step, Steps};
use polder_sys::tree::{self, Kind, Replace, Stat, copy_data};
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

/// What the owner of a directory needs to work in it.
const OPEN: u32 = 0o700;

/// Takes every step back that was taken. Returns the paths that somebody else changed since, which stay as they are.
pub(super) fn undo(ground: &mut Ground, record: &Record, watch: &mut dyn Watch) -> io::Result<Vec<Relative>> {
    ground.forget_directories();
    let mut refused = Vec::new();
    let left: Known = match record.stage {
        Stage::Reverting => record.left.iter().cloned().collect(),
        Stage::Planned | Stage::Staged | Stage::Applied => Known::new(),
    };
    // What lies ready goes first: the bits that let it be written are taken back at the end.
    clear_aside(ground, &record.steps)?;
    open_directories(ground, record)?;
    let giving_way = record.steps.giving_way();
    for index in (0..record.steps.steps.len()).rev() {
        let step = &record.steps.steps[index];
        if record.taken_back.contains(&step.path) {
            continue;
        }
        if record.blocked.contains(&step.path) {
            refused.push(step.path.clone());
            continue;
        }
        // What gives way to something else has a step of its own, which looks at what is there.
        let told_elsewhere = step.before.is_none() && giving_way.contains(&step.path);
        if !take_back(ground, record, index, left.get(&step.path), watch)? && !told_elsewhere {
            refused.push(step.path.clone());
        }
    }
    close_directories(ground, &record.steps)?;
    refused.sort();
    refused.dedup();
    Ok(refused)
}

/// Removes what lies ready beside its place.
pub(super) fn clear_aside(ground: &mut Ground, steps: &Steps) -> io::Result<()> {
    ground.forget_directories();
    for index in (0..steps.steps.len()).filter(|index| steps.steps[*index].within.is_none()) {
        let aside = steps.aside(index);
        if ground.stat(&aside)?.is_some() {
            let (parent, name) = split(&aside)?;
            let directory = ground.tree(parent)?;
            remove_below((*directory).as_fd(), name)?;
        }
    }
    Ok(())
}

/// New directories that their owner cannot work in: what is in them could not be removed.
fn open_directories(ground: &mut Ground, record: &Record) -> io::Result<()> {
    for (step, ready) in record.steps.steps.iter().zip(&record.ready) {
        let is_ours = |found: &Stat| ready.is_some_and(|ready| ready.inode == found.inode);
        if let Act::Make { mode } = step.act
            && mode & OPEN != OPEN
            && ground.stat(step.path.as_path())?.is_some_and(|found| is_ours(&found) && found.mode == mode)
        {
            super::stage::change_mode(ground, step, mode | OPEN)?;
        }
    }
    Ok(())
}

/// A directory that came back gets its bits when everything is in it again; so does a new one that stays, because somebody
/// else put something into it.
fn close_directories(ground: &mut Ground, steps: &Steps) -> io::Result<()> {
    for step in steps.steps.iter().rev() {
        let closed = match (&step.act, &step.before) {
            (Act::RemoveDirectory, Some(before)) => before.mode,
            (Act::Make { mode }, _) => *mode,
            _ => continue,
        };
        let opened = closed | OPEN;
        let is_open = |found: Stat| found.kind == Kind::Directory && found.mode == opened;
        if closed != opened && ground.stat(step.path.as_path())?.is_some_and(is_open) {
            super::stage::change_mode(ground, step, closed)?;
        }
    }
    Ok(())
}

/// Forgets what was kept for an apply that is begun again; what was made of hunks stays.
pub(super) fn clear_kept(ground: &Ground, steps: &Steps) -> io::Result<()> {
    // One that begins for the first time has nothing there, however many steps it has.
    if tree::names(ground.undo.as_fd())?.is_empty() {
        return Ok(());
    }
    for index in 0..steps.steps.len() {
        forget_kept(ground, index)?;
    }
    Ok(())
}

/// Forgets what was kept of paths that have it back: a second name would let a change of one be a change of the other.
/// Says whether anything is left of those that have not.
pub(super) fn forget_restored(ground: &Ground, steps: &Steps, refused: &[Relative]) -> io::Result<bool> {
    let mut left = false;
    for (index, step) in steps.steps.iter().enumerate() {
        if refused.contains(&step.path) {
            left |= tree::stat(ground.undo.as_fd(), OsStr::new(&index.to_string())).is_ok();
        } else {
            forget_kept(ground, index)?;
        }
    }
    Ok(left)
}

fn forget_kept(ground: &Ground, index: usize) -> io::Result<()> {
    match tree::remove_file(ground.undo.as_fd(), OsStr::new(&index.to_string())) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Takes one step back. Says `false` where somebody else changed the path since.
fn take_back(
    ground: &mut Ground,
    record: &Record,
    index: usize,
    left: Option<&Option<Stamp>>,
    watch: &mut dyn Watch,
) -> io::Result<bool> {
    let step = &record.steps.steps[index];
    let ours = record.ready.get(index).copied().flatten();
    let found = ground.stat(step.path.as_path())?;
    match (&step.act, found) {
        (Act::Mode { mode, .. }, Some(found)) => {
            let Some(before) = step.before.as_ref().filter(|before| is_ours(&before.stamp, &found)) else {
                return Ok(false);
            };
            if found.mode == *mode && before.mode != *mode {
                watch.step("set permission bits back")?;
                super::stage::change_mode(ground, step, before.mode)?;
            }
            Ok(found.mode == *mode || found.mode == before.mode)
        }
        (Act::Mode { .. }, None) => Ok(false),
        (Act::Remove | Act::RemoveDirectory, None) => {
            let Some(before) = &step.before else { return Ok(false) };
            watch.step("bring a path back")?;
            bring_back(ground, &record.steps, index, before, Replace::Nothing)
        }
        // Not removed yet, or something new is there.
        (Act::Remove | Act::RemoveDirectory, Some(found)) => {
            Ok(super::commit::is_as_before(step, &found) || is_before(ground, step, &found)?)
        }
        (Act::Make { .. } | Act::Put { .. } | Act::Link { .. }, None) => match &step.before {
            None => Ok(true),
            // Whoever removed the new one does not lose it when the old one comes back.
            Some(before) => {
                watch.step("bring a path back")?;
                bring_back(ground, &record.steps, index, before, Replace::Nothing)
            }
        },
        (Act::Make { .. } | Act::Put { .. } | Act::Link { .. }, Some(found)) => {
            let Some(ours) = ours.filter(|ours| ours.inode == found.inode) else {
                // Not put in place yet, put back already, or something else is there.
                return match &step.before {
                    Some(_) => is_before(ground, step, &found),
                    None => Ok(ours.is_none()),
                };
            };
            let untouched = match left {
                Some(stamp) => *stamp == Some(Stamp::of(&found)),
                None => is_ours(&ours, &found),
            };
            if found.kind != Kind::Directory && !untouched {
                return Ok(false);
            }
            match &step.before {
                Some(before) => {
                    watch.step("put an old file back")?;
                    bring_back(ground, &record.steps, index, before, Replace::Existing)
                }
                None => {
                    watch.step("remove a new path")?;
                    remove_new(ground, step, &found)
                }
            }
        }
    }
}

/// Whether what is there has the content and kind of what was there; brought back by copying, it is another file.
pub(super) fn is_before(ground: &mut Ground, step: &Step, found: &Stat) -> io::Result<bool> {
    let Some(before) = &step.before else { return Ok(false) };
    Ok(match &before.kind {
        BeforeKind::Directory => found.kind == Kind::Directory,
        BeforeKind::File { .. } => found.kind == Kind::File && before.stamp.is_modified_as(found),
        BeforeKind::Symlink { target } => {
            found.kind == Kind::Symlink && ground.target(step.path.as_path())? == target.0
        }
    })
}

fn remove_new(ground: &mut Ground, step: &Step, found: &Stat) -> io::Result<bool> {
    let directory = ground.tree(step.path.parent())?;
    if found.kind != Kind::Directory {
        tree::remove_file((*directory).as_fd(), step.path.name())?;
        return Ok(true);
    }
    ground.forget_directories();
    match tree::remove_directory((*directory).as_fd(), step.path.name()) {
        // Somebody put something into it.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
    }
}

/// Puts back what was at a path, from the journal or from what was kept. Says `false` where there is no place for it any
/// more, because somebody removed or replaced the directory that it was in.
fn bring_back(ground: &mut Ground, steps: &Steps, index: usize, before: &Before, replace: Replace) -> io::Result<bool> {
    let step = &steps.steps[index];
    let directory = match ground.tree(step.path.parent()) {
        Err(error) if is_unreachable(&error) => return Ok(false),
        other => other?,
    };
    let directory = (*directory).as_fd();
    if let BeforeKind::Directory = before.kind {
        tree::make_directory(directory, step.path.name(), 0o700)?;
        if steps.owner.is_some() {
            tree::change_owner(directory, step.path.name(), before.uid, before.gid)?;
        }
        // What was in it comes back first; then it is closed.
        tree::change_mode(directory, step.path.name(), before.mode | OPEN)?;
        return Ok(true);
    }
    let aside = steps.aside_name(index);
    let aside = OsStr::new(&aside);
    match tree::remove_file(directory, aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match &before.kind {
        BeforeKind::Symlink { target } => tree::make_symlink(directory, aside, &target.0)?,
        BeforeKind::File { .. } | BeforeKind::Directory => {
            let kept = index.to_string();
            let kept = OsStr::new(&kept);
            if ground.undo_device != ground.device || tree::link(ground.undo.as_fd(), kept, directory, aside).is_err() {
                let from = match tree::open_file(ground.undo.as_fd(), kept) {
                    // An earlier revert put it back already, and somebody removed it since.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                    other => other?,
                };
                let stat = tree::stat_of(from.as_fd())?;
                let to = tree::create_file(directory, aside, 0o600)?;
                copy_data(&from, &to, stat.size)?;
                tree::set_modified(directory, aside, stat.modified)?;
            }
            if steps.owner.is_some() {
                tree::change_owner(directory, aside, before.uid, before.gid)?;
            }
            tree::change_mode(directory, aside, before.mode)?;
        }
    }
    tree::rename(directory, aside, directory, step.path.name(), replace)?;
    Ok(true)
}
