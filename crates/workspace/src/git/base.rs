//! What the host's repository had when the command worked on it: refs, the index without what `stat`
//! said, and configurations. A ref that is another one by the time of a review is a conflict; a file of
//! git that was only written anew is none.
//!
//! It is noted when a run has ended, for what the layer changes, as far as the host's files are older
//! than the run. The first note counts, until an apply or a revert changes the host's side.

use super::places::{GitDirPlace, GitPlaces};
use super::refs::{RefValue, host_value, moved_refs};
use super::view::{TwoViews, When};
use crate::change::Change;
use crate::compare::{self, Repository};
use crate::content::content_mark_of;
use crate::read::is_absent;
use crate::relative::Relative;
use crate::sides::Sides;
use crate::worktree::is_ref_name;
use polder_facts::git::index_entries;
use polder_sys::tree::{self, Moment};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

const FILE: &str = "git.json";
const GIT: &str = ".git";
const INDEX_BYTES_MAX: u64 = 512 << 20;
pub(crate) const CONFIG_BYTES_MAX: u64 = 256 << 10;
const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// The lengths of object ids, and so of the checksum of an index.
const ID_BYTES: [usize; 2] = [20, 32];

/// What the host had at a ref.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BaseValue {
    Known(RefValue),
    /// The host changed it while the command ran.
    Unknown,
}

/// The note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitBase {
    pub(crate) refs: BTreeMap<(Relative, String), BaseValue>,
    /// Marks of the contents of indexes.
    pub(crate) indexes: BTreeMap<Relative, String>,
    pub(crate) configs: BTreeMap<Relative, String>,
}

#[derive(Serialize, Deserialize)]
struct GitBaseText {
    refs: Vec<((Relative, String), BaseValue)>,
    indexes: Vec<(Relative, String)>,
    configs: Vec<(Relative, String)>,
}

impl GitBase {
    /// The note; empty where there is none, or where it was not written to its end.
    pub(crate) fn read(place: &Path) -> io::Result<Self> {
        let text = match fs::read(place.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            other => other?,
        };
        let Ok(GitBaseText { refs, indexes, configs }) = serde_json::from_slice(&text) else {
            return Ok(Self::default());
        };
        let (indexes, configs) = (indexes.into_iter().collect(), configs.into_iter().collect());
        Ok(Self { refs: refs.into_iter().collect(), indexes, configs })
    }

    fn write(&self, place: &Path) -> io::Result<()> {
        let Self { refs, indexes, configs } = self.clone();
        let (indexes, configs) = (indexes.into_iter().collect(), configs.into_iter().collect());
        let text = serde_json::to_vec(&GitBaseText { refs: refs.into_iter().collect(), indexes, configs })?;
        let aside = place.join(format!("{FILE}.new"));
        let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, place.join(FILE)));
        written.inspect_err(|_| drop(fs::remove_file(&aside)))
    }
}

/// What is known about one workspace is known about another that begins with its changes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from.join(FILE), to.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map(drop),
    }
}

/// Notes what the host has where the layer changed its repository. `since` is when the run began.
pub(crate) fn note_run(place: &Path, sides: &Sides, since: Moment) -> io::Result<()> {
    let changes = repository_changes(sides)?;
    if changes.is_empty() {
        return Ok(());
    }
    let views = TwoViews::new(sides, &changes);
    let dirs = GitPlaces::find(&views, changes.iter().map(|change| &change.path))?;
    let earlier = GitBase::read(place)?;
    let mut base = earlier.clone();
    for dir in dirs.all().filter(|dir| dir.before) {
        let Ok(own) = Relative::new(&dir.path) else { continue };
        for (name, moved) in moved_refs(&views, dir)? {
            let is_old = is_older(&views, dir, &name, since)?;
            let value = if is_old { BaseValue::Known(moved.before) } else { BaseValue::Unknown };
            base.refs.entry((own.clone(), name)).or_insert(value);
        }
        let is_old = |path: &Relative| -> io::Result<bool> {
            let host = views.change(path).and_then(|change| change.before.as_ref());
            Ok(host.is_some_and(|host| host.stat.changed < since))
        };
        let index = dir.join("index");
        if !base.indexes.contains_key(&index)
            && is_old(&index)?
            && let Some(mark) = index_mark(&views, &index, When::Before)?
        {
            base.indexes.insert(index, mark);
        }
        for config in CONFIGS.map(|name| dir.join(name)) {
            if !base.configs.contains_key(&config)
                && is_old(&config)?
                && let Some(text) = config_text(&views, &config, When::Before)?
            {
                base.configs.insert(config, text);
            }
        }
    }
    if base == earlier { Ok(()) } else { base.write(place) }
}

/// Notes how an apply or a revert left these paths of the host.
pub(crate) fn note_left(place: &Path, sides: &Sides, paths: &BTreeSet<Relative>) -> io::Result<()> {
    let earlier = GitBase::read(place)?;
    let mut base = earlier.clone();
    let views = TwoViews::new(sides, &[]);
    let dirs = GitPlaces::find(&views, paths.iter())?;
    for path in paths {
        let Some((dir, below)) = dirs.above(path).pop() else { continue };
        let (Ok(own), Some(below)) = (Relative::new(&dir.path), below.to_str()) else { continue };
        match below {
            "index" => match index_mark(&views, path, When::Before)? {
                Some(mark) => drop(base.indexes.insert(path.clone(), mark)),
                None => drop(base.indexes.remove(path)),
            },
            "config" | "config.worktree" => match config_text(&views, path, When::Before)? {
                Some(text) => drop(base.configs.insert(path.clone(), text)),
                None => drop(base.configs.remove(path)),
            },
            "packed-refs" => {
                let of_dir: Vec<String> =
                    base.refs.keys().filter(|(dir, _)| *dir == own).map(|(_, name)| name.clone()).collect();
                for name in of_dir {
                    let value = BaseValue::Known(host_value(&views, dir, &name)?);
                    base.refs.insert((own.clone(), name), value);
                }
            }
            name if name == "HEAD" || is_ref_name(name) => {
                let value = BaseValue::Known(host_value(&views, dir, name)?);
                base.refs.insert((own, name.to_owned()), value);
            }
            _ => {}
        }
    }
    if base == earlier { Ok(()) } else { base.write(place) }
}

/// What the layer changes in the repository of the tree.
fn repository_changes(sides: &Sides) -> io::Result<Vec<Change>> {
    let open = |root: &std::os::fd::OwnedFd| match tree::open_below(root.as_fd(), Path::new(GIT)) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_absent(&error) => Ok(None),
        // A closed directory, or a symlink: there is nothing that an apply would take.
        Err(error) if error.raw_os_error() == Some(40) || error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    };
    let (Some(layer), Some(tree)) = (open(&sides.layer)?, open(&sides.tree)?) else { return Ok(Vec::new()) };
    let mut changes = compare::compare(layer.as_fd(), tree.as_fd(), Repository::Trees)?.changes;
    for change in &mut changes {
        let path = Path::new(GIT).join(change.path.as_path());
        change.path = Relative::new(&path).expect("invariant: two relative paths make one");
    }
    Ok(changes)
}

/// Whether the host's value of a ref is older than a moment: the file that holds it, or for one that is
/// absent the directory that would.
pub(crate) fn is_older(views: &TwoViews<'_>, dir: &GitDirPlace, name: &str, since: Moment) -> io::Result<bool> {
    for path in [dir.join(name), dir.join("packed-refs")] {
        let node = views.node(&path, When::Before)?;
        let holds = match &node {
            Some(_) if path.name() == "packed-refs" => host_value(views, dir, name)?.is_some(),
            Some(_) => true,
            None => false,
        };
        if let Some(node) = node.filter(|_| holds) {
            return Ok(node.stat.changed < since);
        }
    }
    let mut above = dir.join(name).parent_below_root();
    while let Some(path) = above {
        if let Some(node) = views.node(&path, When::Before)? {
            return Ok(node.stat.changed < since);
        }
        above = path.parent_below_root();
    }
    Ok(false)
}

/// A mark of what an index says of paths and objects. What it says of the files themselves is no part
/// of it: `git status` writes that anew.
pub(crate) fn index_mark(views: &TwoViews<'_>, path: &Relative, when: When) -> io::Result<Option<String>> {
    let Some(index) = views.read(path, when, INDEX_BYTES_MAX)? else { return Ok(None) };
    let mut found = None;
    for id_bytes in ID_BYTES {
        let mut content = Vec::new();
        let is_whole = index_entries(&index, id_bytes, &mut |entry| {
            content.extend(entry.mode.to_be_bytes());
            content.extend(entry.id);
            content.extend(entry.flags.0.to_be_bytes());
            content.extend(entry.flags.1.to_be_bytes());
            content.extend(entry.name);
            content.push(0);
        });
        if is_whole {
            found = Some(content);
            break;
        }
    }
    let mark = content_mark_of(found.as_deref().unwrap_or(&index));
    Ok(Some(mark.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// A configuration as text.
pub(crate) fn config_text(views: &TwoViews<'_>, path: &Relative, when: When) -> io::Result<Option<String>> {
    let bytes = views.read(path, when, CONFIG_BYTES_MAX)?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}
