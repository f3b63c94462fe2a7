//! Making everything ready: old contents are kept, new ones lie beside their places. Nothing that has a name of the user's
//! changes, except permission bits without which nothing could be written.

use super::Watch;
use super::commit::is_as_before;
use super::ground::{Ground, made_name};
use crate::content::content_mark;
use crate::known::Stamp;
use crate::read::{look_into_own_file, open_host_file};
use crate::steps::{Act, Before, BeforeKind, Source, Step, Steps};
use polder_sys::tree::{self, Stat, copy_data};
use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns what each step has ready, if anything.
pub(super) fn stage(ground: &mut Ground, steps: &Steps, watch: &mut dyn Watch) -> io::Result<Vec<Option<Stamp>>> {
    let mut all = Vec::with_capacity(steps.steps.len());
    for (index, step) in steps.steps.iter().enumerate() {
        expect(ground, step).map_err(at(step))?;
        if let Act::Mode { mode, early: true } = step.act {
            watch.step("open a directory")?;
            change_mode(ground, step, mode).map_err(at(step))?;
        }
        if let (Some(before), false) = (&step.before, matches!(step.act, Act::Mode { .. })) {
            watch.step("keep what was there")?;
            keep(ground, step, before, index).map_err(at(step))?;
        }
        if let Some(what) = makes(&step.act) {
            watch.step(what)?;
        }
        all.push(ready(ground, steps, index).map_err(at(step))?);
    }
    // A directory gets its own bits when everything is in it.
    for (index, step) in steps.steps.iter().enumerate().rev() {
        if let Act::Make { mode } = step.act {
            watch.step("close a directory")?;
            let aside = steps.aside(index);
            let (parent, name) = split(&aside)?;
            let directory = ground.tree(parent)?;
            // A group bit that came from the directory above stays.
            let inherited = tree::stat((*directory).as_fd(), name)?.mode & 0o2000;
            tree::change_mode((*directory).as_fd(), name, mode & 0o777 | inherited)?;
        }
    }
    ground.forget_directories();
    Ok(all)
}

/// What must be at the path is there, and nobody has touched it since it was compared.
fn expect(ground: &mut Ground, step: &Step) -> io::Result<()> {
    if step.within.is_some() {
        return Ok(());
    }
    let found = ground.stat(step.path.as_path())?;
    match (&step.before, found) {
        (Some(_), Some(stat)) if is_as_before(step, &stat) => Ok(()),
        (None, None) => Ok(()),
        // A file gives way to a directory, or the other way round: the step that removes it comes first.
        (None, Some(_)) if matches!(step.act, Act::Make { .. } | Act::Put { .. } | Act::Link { .. }) => Ok(()),
        _ => Err(changed(step)),
    }
}

/// A path that an apply could not change, with what helps.
#[derive(Debug, thiserror::Error)]
#[error("cannot change `{path}`{remedy}")]
struct Unchanged {
    path: String,
    remedy: &'static str,
    source: io::Error,
}

/// Says at which path something failed. What says so already stays as it is.
pub(super) fn at(step: &Step) -> impl FnOnce(io::Error) -> io::Error {
    let path = crate::visible_name(step.path.as_path().as_os_str().as_encoded_bytes());
    move |source| {
        let remedy = match source.kind() {
            _ if source.raw_os_error().is_none() => return source,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "; let yourself write to it and to the directory that it lies in, or name the other paths by --path"
            }
            _ => "",
        };
        io::Error::new(source.kind(), Unchanged { path, remedy, source })
    }
}

pub(super) fn changed(step: &Step) -> io::Error {
    let shown = crate::visible_name(step.path.as_path().as_os_str().as_encoded_bytes());
    io::Error::other(format!("`{shown}` changed while it was applied"))
}

/// Keeps an old file: by a second name where that is possible, else as a copy. Links and directories are in the journal.
fn keep(ground: &mut Ground, step: &Step, before: &Before, index: usize) -> io::Result<()> {
    let BeforeKind::File { .. } = before.kind else { return Ok(()) };
    let parent = ground.tree(step.path.parent())?;
    let (directory, name) = ((*parent).as_fd(), step.path.name());
    let kept = index.to_string();
    let kept = OsStr::new(&kept);
    let old = tree::stat(directory, name)?;
    // A file that has another name already could be changed through it.
    if ground.undo_device == ground.device
        && old.links == 1
        && tree::link(directory, name, ground.undo.as_fd(), kept).is_ok()
    {
        return Ok(());
    }
    let from = open_host_file(directory, name)?;
    let to = tree::create_file(ground.undo.as_fd(), kept, 0o600)?;
    copy_data(&from, &to, old.size)?;
    tree::set_modified(ground.undo.as_fd(), kept, old.modified)
}

/// What a step makes aside, if anything.
fn makes(act: &Act) -> Option<&'static str> {
    match act {
        Act::Make { .. } => Some("make a directory aside"),
        Act::Link { .. } => Some("make a link aside"),
        Act::Put { .. } => Some("write a file aside"),
        Act::Remove | Act::RemoveDirectory | Act::Mode { .. } => None,
    }
}

/// Makes what a step puts in place, aside.
fn ready(ground: &mut Ground, steps: &Steps, index: usize) -> io::Result<Option<Stamp>> {
    let step = &steps.steps[index];
    let aside = steps.aside(index);
    let (parent, name) = split(&aside)?;
    match &step.act {
        Act::Remove | Act::RemoveDirectory | Act::Mode { .. } => return Ok(None),
        Act::Make { .. } => {
            let directory = ground.tree(parent)?;
            tree::make_directory((*directory).as_fd(), name, 0o700)?;
        }
        Act::Link { target } => {
            let directory = ground.tree(parent)?;
            tree::make_symlink((*directory).as_fd(), name, &target.0)?;
        }
        Act::Put { source, mode, allocated: _, content } => {
            let (from, stat) = match source {
                Source::Layer => {
                    let layer = ground.layer(step.path.parent())?;
                    look_into_own_file((*layer).as_fd(), step.path.name())?
                }
                Source::Made => {
                    let file = tree::open_file(ground.undo.as_fd(), OsStr::new(&made_name(index)))?;
                    let stat = tree::stat_of(file.as_fd())?;
                    (file, stat)
                }
            };
            let directory = ground.tree(parent)?;
            let directory = (*directory).as_fd();
            // Whoever may read the file when it is done may read it before, if nobody gives it to another user or group then.
            let is_ours = step.before.is_none() && steps.owner.is_none();
            let to = tree::create_file(directory, name, if is_ours { mode & 0o777 } else { 0o600 })?;
            copy_data(&from, &to, stat.size)?;
            // The copy is compared, not the layer: nothing of the command's can change it any more.
            if let Some(reviewed) = content
                && content_mark(&to)? != *reviewed
            {
                return Err(changed(step));
            }
            if step.before.is_some() {
                keep_attributes(ground, step, parent, name)?;
            }
            let made = tree::stat_of(to.as_fd())?;
            own(ground, steps, step, &aside, &made)?;
            // Mostly the mask of the process takes nothing away, and what a change of the owner clears is not set.
            if !is_ours || made.mode != *mode {
                to.set_permissions(Permissions::from_mode(*mode))?;
            }
            tree::set_modified(directory, name, stat.modified)?;
            return Ok(Some(Stamp::of(&tree::stat_of(to.as_fd())?)));
        }
    }
    let directory = ground.tree(parent)?;
    let made = tree::stat((*directory).as_fd(), name)?;
    own(ground, steps, step, &aside, &made)?;
    Ok(Some(Stamp::of(&made)))
}

/// For a root caller: a replaced file keeps its owner if the command's has the same, so that nobody's content becomes root's;
/// everything else belongs to the owner of the tree.
fn own(ground: &mut Ground, steps: &Steps, step: &Step, aside: &Path, made: &Stat) -> io::Result<()> {
    let Some(owner) = steps.owner else { return Ok(()) };
    let (uid, gid) = match &step.before {
        None => owner,
        Some(before) => {
            let layer = ground.layer(step.path.parent())?;
            let theirs = tree::stat((*layer).as_fd(), step.path.name())?;
            Some((before.uid, before.gid)).filter(|before| *before == (theirs.uid, theirs.gid)).unwrap_or(owner)
        }
    };
    // Most of what root makes for itself is root's already.
    if (made.uid, made.gid) == (uid, gid) {
        return Ok(());
    }
    let (parent, name) = split(aside)?;
    let directory = ground.tree(parent)?;
    tree::change_owner((*directory).as_fd(), name, uid, gid)
}

/// A replaced file keeps the extended attributes that it had, but for those that give rights; the layer's are a stranger's.
fn keep_attributes(ground: &mut Ground, step: &Step, parent: &Path, name: &OsStr) -> io::Result<()> {
    let old = ground.tree(step.path.parent())?;
    let old = (*old).as_fd();
    for attribute in tree::attributes(old, step.path.name())? {
        if attribute == "security.capability" {
            continue;
        }
        if let Some(value) = tree::attribute(old, step.path.name(), &attribute)? {
            let new = ground.tree(parent)?;
            match tree::set_attribute((*new).as_fd(), name, &attribute, &value) {
                // Labels of a security module are the system's to give.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                other => other?,
            }
        }
    }
    Ok(())
}

pub(super) fn change_mode(ground: &mut Ground, step: &Step, mode: u32) -> io::Result<()> {
    let directory = ground.tree(step.path.parent())?;
    tree::change_mode((*directory).as_fd(), step.path.name(), mode)?;
    ground.forget_directories();
    Ok(())
}

pub(super) fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

#[cfg(test)]
mod tests {
    use super::at;
    use crate::relative::Relative;
    use crate::steps::{Act, Step};
    use std::error::Error;
    use std::io;
    use std::path::Path;

    #[test]
    fn a_failure_says_where_it_was_and_what_helps() {
        const EACCES: i32 = 13;
        let path = Relative::new(Path::new("dir/file")).unwrap();
        let step = Step { path, act: Act::Remove, before: None, within: None };
        let error = at(&step)(io::Error::from_raw_os_error(EACCES));
        assert!(error.to_string().starts_with("cannot change `dir/file`; let yourself write"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.source().is_some_and(|cause| cause.to_string().contains("Permission denied")), "{error:?}");
        assert_eq!(at(&step)(io::Error::other("told")).to_string(), "told");
    }
}
