//! Putting everything in place. Each step looks at what is there first: taken twice, it is taken once.

use super::Watch;
use super::ground::Ground;
use super::stage::{at, change_mode, changed, split};
use crate::journal::Record;
use crate::steps::{Act, BeforeKind, Step};
use polder_sys::tree::{self, Replace, Stat};
use std::io;
use std::os::fd::AsFd;

pub(super) fn commit(ground: &mut Ground, record: &Record, watch: &mut dyn Watch) -> io::Result<()> {
    let steps = &record.steps;
    for (index, step) in steps.steps.iter().enumerate() {
        match &step.act {
            Act::Remove | Act::RemoveDirectory => remove(ground, record, step, watch)?,
            Act::Mode { mode, early: false } => {
                watch.step("set permission bits")?;
                change_mode(ground, step, *mode).map_err(at(step))?;
            }
            Act::Mode { early: true, .. } => {}
            Act::Make { .. } | Act::Put { .. } | Act::Link { .. } => {
                if steps.is_placed(index) {
                    place(ground, record, index, watch)?;
                }
            }
        }
    }
    Ok(())
}

fn remove(ground: &mut Ground, record: &Record, step: &Step, watch: &mut dyn Watch) -> io::Result<()> {
    let Some(found) = ground.stat(step.path.as_path())? else { return Ok(()) };
    if !is_as_before(step, &found) {
        // What takes its place may be there already, when this is gone through for the second time.
        let mut ours = record.steps.steps.iter().zip(&record.ready);
        let replaced =
            ours.any(|(other, ready)| other.path == step.path && ready.is_some_and(|it| it.inode == found.inode));
        return if replaced { Ok(()) } else { Err(changed(step)) };
    }
    watch.step("remove a path")?;
    let directory = ground.tree(step.path.parent())?;
    match step.act {
        Act::RemoveDirectory => {
            // It may be among those that are held open.
            ground.forget_directories();
            tree::remove_directory((*directory).as_fd(), step.path.name())
        }
        Act::Remove | Act::Make { .. } | Act::Put { .. } | Act::Link { .. } | Act::Mode { .. } => {
            tree::remove_file((*directory).as_fd(), step.path.name())
        }
    }
    .map_err(at(step))
}

fn place(ground: &mut Ground, record: &Record, index: usize, watch: &mut dyn Watch) -> io::Result<()> {
    let steps = &record.steps;
    let step = &steps.steps[index];
    let aside = steps.aside(index);
    if ground.stat(&aside)?.is_none() {
        // Everything was ready, so it is in place already; unless somebody moved the directory away.
        let found = ground.stat(step.path.as_path())?;
        let ready = record.ready.get(index).copied().flatten();
        let placed = found.is_some_and(|found| ready.is_some_and(|ready| ready.inode == found.inode));
        return if placed { Ok(()) } else { Err(changed(step)) };
    }
    let replace = match &step.before {
        Some(_) => {
            let found = ground.stat(step.path.as_path())?;
            if !found.is_some_and(|found| is_as_before(step, &found)) {
                return Err(changed(step));
            }
            Replace::Existing
        }
        None => Replace::Nothing,
    };
    watch.step("put a path in place")?;
    let (parent, name) = split(&aside)?;
    let directory = ground.tree(parent)?;
    let directory = (*directory).as_fd();
    tree::rename(directory, name, directory, step.path.name(), replace).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => changed(step),
        _ => at(step)(error),
    })
}

/// Keeping an old file gave it a second name and with it another stamp, so what counts is the file and its content.
pub(super) fn is_as_before(step: &Step, found: &Stat) -> bool {
    step.before.as_ref().is_some_and(|before| match before.kind {
        BeforeKind::Directory => before.stamp.inode == found.inode,
        BeforeKind::File { .. } | BeforeKind::Symlink { .. } => before.stamp.is_content_of(found),
    })
}
