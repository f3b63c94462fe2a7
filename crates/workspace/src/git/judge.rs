//! What a changed path means to git, by the tables that `direct` uses.

use super::places::{self, GitDirPlace, GitPlaces};
use super::view::{TwoViews, When};
use crate::change::{Change, NodeKind, What};
use crate::relative::Relative;
use polder_facts::git::{
    GitPart, git_part, holds_parts, is_harmless_state, is_listed_part, is_sample, is_worktree_pointer,
};
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

const WHICH: &str = "it decides which repository git uses, and with it which configuration";
const LINK: &str = "it is a symlink in a repository, and git writes through it";
const MADE: &str = "it makes its directory a repository, whose configuration git follows";
const HEADLESS: &str = "without `HEAD` it is no repository";
const REPLACED: &str = "an object has another content under its name, and objects never change";

/// A state file is read up to here; git's own are far smaller.
const STATE_BYTES_MAX: u64 = 4 << 20;
const POINTER_BYTES_MAX: u64 = 4 << 10;
/// Names by which a directory becomes a git dir, or by which one is configured.
const MAKING: [&str; 8] = ["HEAD", "objects", "refs", "commondir", "gitdir", "config", "config.worktree", "hooks"];

/// What a change is to git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitRole {
    /// Nothing.
    Ordinary,
    /// Data, which is applied with the rest of the repository at this path.
    Data(PathBuf),
    /// The same, and because of it the whole is held.
    Stops(PathBuf, &'static str),
    /// A configuration, which is judged key by key.
    Config(PathBuf),
    /// Git executes or follows it: held by itself.
    Held(&'static str),
    /// A cache, or an object that only the layer lacks: the host keeps its own.
    Left,
}

/// The role of a change.
pub(crate) fn role(views: &TwoViews<'_>, places: &GitPlaces, change: &Change) -> io::Result<GitRole> {
    let path = &change.path;
    let above = places.above(path);
    let own = match may_be_git_dir(change) {
        true => places::look(views, path.as_path())?,
        false => None,
    };
    let own = match own {
        Some(place) => own_role(views, &place, change, above.is_empty())?,
        None => None,
    };
    let Some((outermost, _)) = above.first() else { return Ok(own.unwrap_or(GitRole::Ordinary)) };
    let repository = outermost.path.clone();
    let mut worst = own.filter(|own| matches!(own, GitRole::Held(_)));
    for (index, (place, below)) in above.iter().enumerate() {
        let is_deeper = above.len() > index + 1;
        let Some(role) = in_dir(views, place, below, change, is_deeper, index > 0)? else { continue };
        let role = match role {
            Role::Data => GitRole::Data(repository.clone()),
            Role::Stops(why) => GitRole::Stops(repository.clone(), why),
            Role::Config => GitRole::Config(repository.clone()),
            Role::Held(why) => GitRole::Held(why),
            Role::Left => GitRole::Left,
        };
        worst = Some(match worst {
            Some(known) if rank(&known) >= rank(&role) => known,
            _ => role,
        });
    }
    Ok(worst.unwrap_or(GitRole::Ordinary))
}

/// Only a directory is a git dir, and what leads to one is called `.git`.
fn may_be_git_dir(change: &Change) -> bool {
    let nodes = [&change.before, &change.after];
    change.path.name() == ".git" || nodes.into_iter().flatten().any(is_directory)
}

fn rank(role: &GitRole) -> u8 {
    match role {
        GitRole::Ordinary => 0,
        GitRole::Data(_) => 1,
        GitRole::Left => 2,
        GitRole::Config(_) => 3,
        GitRole::Stops(..) => 4,
        GitRole::Held(_) => 5,
    }
}

/// The role of a git dir's own entry, or of what is called `.git` and leads to one.
fn own_role(
    views: &TwoViews<'_>,
    place: &GitDirPlace,
    change: &Change,
    is_outermost: bool,
) -> io::Result<Option<GitRole>> {
    let kind = |node: &Option<crate::Node>| node.as_ref().map(|node| node.kind.clone());
    let is_new = change.before.is_none();
    Ok(match (kind(&change.before), kind(&change.after)) {
        (None | Some(NodeKind::Directory), Some(NodeKind::Directory)) => {
            // One without a name for it comes to nothing.
            let stops = is_new && !place.after;
            let path = place.path.clone();
            let role = if stops { GitRole::Stops(path, WHICH) } else { GitRole::Data(path) };
            Some(role).filter(|_| is_outermost)
        }
        (Some(NodeKind::Directory), None) if !is_outermost => None,
        (None, Some(NodeKind::File)) => match pointed(views, &change.path)? {
            Some(repository) => Some(GitRole::Data(repository)),
            None => Some(GitRole::Held(WHICH)),
        },
        _ => Some(GitRole::Held(WHICH)),
    })
}

/// The outermost git dir of the tree to which a new `.git` file leads, if it leads to one: there,
/// everything is judged by its place.
fn pointed(views: &TwoViews<'_>, path: &Relative) -> io::Result<Option<PathBuf>> {
    let Some(text) = views.read(path, When::After, POINTER_BYTES_MAX)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&text).into_owned();
    let Some(place) = text.strip_prefix("gitdir:") else { return Ok(None) };
    let Some(target) = below_root(views, path.parent(), Path::new(place.trim())) else { return Ok(None) };
    // The path itself must be one, and lead there without a symlink.
    if !places::look(views, target.as_path())?.is_some_and(|place| place.after)
        || !views.is_directory(&target, When::After)?
    {
        return Ok(None);
    }
    let mut outermost = target.as_path().to_owned();
    for above in target.as_path().ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        let Ok(above) = Relative::new(above) else { continue };
        if !views.is_directory(&above, When::After)? {
            return Ok(None);
        }
        if places::look(views, above.as_path())?.is_some() {
            outermost = above.as_path().to_owned();
        }
    }
    Ok(Some(outermost))
}

/// A place below the root that a path names from a directory, by its text alone.
pub(crate) fn below_root(views: &TwoViews<'_>, from: &Path, place: &Path) -> Option<Relative> {
    let mut here = from.to_owned();
    let place = match place.strip_prefix(&views.sides.root) {
        Ok(below) => {
            here = PathBuf::new();
            below
        }
        Err(_) => place,
    };
    for part in place.components() {
        match part {
            Component::Normal(name) => here.push(name),
            Component::ParentDir => {
                if !here.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Relative::new(&here).ok()
}

enum Role {
    Data,
    Stops(&'static str),
    Config,
    Held(&'static str),
    Left,
}

/// The role in one git dir. None where it is none of its parts, or one of a git dir in it.
fn in_dir(
    views: &TwoViews<'_>,
    place: &GitDirPlace,
    below: &Path,
    change: &Change,
    is_deeper: bool,
    is_inner: bool,
) -> io::Result<Option<Role>> {
    let parts: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let is_root = place.path.as_os_str().is_empty();
    if is_root && !is_listed_part(&parts) && !holds_parts(&parts) {
        return Ok(None);
    }
    if place.is_made_of_the_tree() && (!is_root || MAKING.contains(&parts[0])) {
        return Ok(Some(Role::Held(MADE)));
    }
    if is_root && !place.before {
        return Ok(None);
    }
    let own = Relative::new(&place.path).ok();
    let goes = own.as_ref().and_then(|own| views.change(own)).is_some_and(|change| change.what == What::Deleted);
    if goes {
        // With a linked worktree or a submodule the rest of the repository stays.
        return Ok(Some(if is_inner { Role::Data } else { Role::Held(WHICH) }));
    }
    let kind = change.after.as_ref().or(change.before.as_ref()).map(|node| &node.kind);
    let is_directory = kind == Some(&NodeKind::Directory) && change.before.as_ref().is_none_or(is_directory);
    let is_link = change.paths().count() == 1 && matches!(kind, Some(NodeKind::Symlink(_)));
    let (part, why) = git_part(&parts);
    if is_link && change.after.is_some() {
        return Ok(Some(Role::Held(LINK)));
    }
    let is_new = change.before.is_none();
    Ok(Some(match part {
        _ if is_directory && change.after.is_some() && holds_parts(&parts) => Role::Data,
        GitPart::Data => data_role(place, &parts, change, is_directory),
        GitPart::State(rule) => match &change.after {
            None => Role::Data,
            Some(_) => match views.read(&change.path, When::After, STATE_BYTES_MAX)? {
                Some(content) if is_harmless_state(rule, &content) => Role::Data,
                _ => Role::Stops(why),
            },
        },
        GitPart::Config => Role::Config,
        GitPart::Pointer => {
            let is_worktree = place.path.parent().and_then(Path::file_name) == Some(OsStr::new("worktrees"));
            let text = views.read(&change.path, When::After, POINTER_BYTES_MAX)?.unwrap_or_default();
            let is_as_git_writes = is_worktree_pointer(&parts, &String::from_utf8_lossy(&text));
            if is_new && is_worktree && is_as_git_writes { Role::Data } else { Role::Held(why) }
        }
        GitPart::Container if is_deeper => return Ok(None),
        GitPart::Container if is_directory => Role::Data,
        GitPart::Container => Role::Held(why),
        GitPart::Obeyed if is_sample(&parts) && !is_directory => Role::Data,
        // Deleted directories of hooks and the like were the user's.
        GitPart::Obeyed => Role::Held(why),
    }))
}

fn is_directory(node: &crate::Node) -> bool {
    node.kind == NodeKind::Directory
}

fn data_role(place: &GitDirPlace, parts: &[&str], change: &Change, is_directory: bool) -> Role {
    let is_gone = change.after.is_none();
    match parts {
        // Left by a git that was killed: on the host it would keep every other git from its work.
        [.., name] if name.ends_with(".lock") && !is_directory => Role::Left,
        ["HEAD"] if is_gone && place.before => Role::Stops(HEADLESS),
        // The host's own `git gc` removes what nothing needs. A review cannot tell what other refs need.
        ["objects", ..] if is_gone && place.before => Role::Left,
        ["objects", "info", "commit-graph" | "commit-graphs" | "packs", ..] => Role::Left,
        ["objects", "pack", name] if name.starts_with("multi-pack-index") || name.ends_with(".bitmap") => Role::Left,
        ["objects", "pack" | "info"] => Role::Data,
        ["objects", _, _] if !is_directory && change.before.is_some() && change.what != What::Mode => {
            Role::Stops(REPLACED)
        }
        _ => Role::Data,
    }
}
