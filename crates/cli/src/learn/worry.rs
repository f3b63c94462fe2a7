//! What somebody should think of before a path is shown to a command, as it stands on the host now.
//!
//! The name of a path says little: a link leads elsewhere, and a directory holds what nobody asked for yet. Showing it
//! shows all of that.

use polder::{Planned, Sensitive, risk};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The largest tree that is looked through; what is larger is for a person to judge.
const ENTRIES_MAX: usize = 20_000;

/// What a path is judged by.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// The home directory of the user.
    pub(super) home: PathBuf,
    /// Places that commands write.
    pub(super) written: Vec<PathBuf>,
    /// What is sensitive by what leads to it, or is kept from the command while more is lent to it.
    pub(super) hidden: Vec<PathBuf>,
    /// What `deny_read` names.
    pub(super) denied: Vec<PathBuf>,
}

/// What `deny_read` names, and what that is behind links: a rule is about a path, and its author means what is there.
pub(super) fn denied(planned: &Planned) -> Vec<PathBuf> {
    let root = &planned.host().tree.root;
    let said = planned.policy().deny_read.iter().map(|rule| root.join(&rule.value.0));
    said.flat_map(|path| [path.canonicalize().ok(), Some(path)]).flatten().collect()
}

/// What sensitive names lead to: many keep their keys elsewhere, behind a link, and what is there can be called anything.
pub(super) fn behind(homes: &[PathBuf], sensitive: &Sensitive) -> Vec<PathBuf> {
    let in_home = |home: &PathBuf| fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = homes.iter().flat_map(in_home).filter(|path| sensitive.begin_at(path));
    let all = sensitive.places().map(Path::to_owned).chain(named);
    all.filter_map(|path| path.canonicalize().ok().filter(|behind| *behind != path)).collect()
}

pub(super) fn worry(path: &Path, Ground { home, written, hidden, denied }: &Ground) -> Option<String> {
    if let Some(why) = risk(path, home) {
        return Some(why.to_owned());
    }
    // What is not there can be shown to nobody.
    let behind = path.canonicalize().ok()?;
    if let Some(why) = risk(&behind, home) {
        return Some(format!("links lead to `{}`: {why}", behind.display()));
    }
    if denied.iter().any(|denied| behind.starts_with(denied)) {
        return Some("`deny_read` says so".to_owned());
    }
    if let Some(kept) = hidden.iter().find(|kept| behind.starts_with(kept) || kept.starts_with(&behind)) {
        return Some(format!("`{}` is kept from commands that are learnt", kept.display()));
    }
    if written.iter().any(|place| path.starts_with(place) && !behind.starts_with(place)) {
        return Some(format!("a link that a command may have made leads to `{}`", behind.display()));
    }
    let kind = fs::symlink_metadata(&behind).ok()?.file_type();
    if kind.is_socket() {
        return Some("a service of the host listens there".to_owned());
    }
    if kind.is_dir() { below(&behind, home) } else { None }
}

/// The same about everything in a directory.
fn below(directory: &Path, home: &Path) -> Option<String> {
    let mut left = ENTRIES_MAX;
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        // What the caller cannot enter, the command cannot either.
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else {
                return Some("it holds more than can be looked through".to_owned());
            };
            left = fewer;
            let (path, kind) = (entry.path(), entry.file_type().ok());
            let service = kind.filter(FileTypeExt::is_socket).map(|_| "a service of the host listens there");
            if let Some(why) = risk(&path, home).or(service) {
                return Some(format!("it holds `{}`: {why}", path.display()));
            }
            if kind.is_some_and(|kind| kind.is_dir()) {
                directories.push(path);
            }
        }
    }
    None
}
