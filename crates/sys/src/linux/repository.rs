//! The git dirs that a command in the workspace can write, by way of every place from which a later
//! `git` of the host comes to them: found when a run begins, and looked at when it has ended.
//!
//! The tree is not walked and refs are not read. What is read may be a command's: files are opened
//! without following a symlink and without waiting, and every list has a bound. A git dir counts by
//! its path without symlinks, and only within the trees that the command can write.

use super::call::{Errno, check_fd, check_int, open_at};
use super::mount::open_beneath;
use super::mutate::{Layer, off};
use polder_facts::git::{
    ConfigFault, ConfigKey, ConfigMerge, ConfigText, GITLINK_MODE, GitDirFacts, GitFacts, GitPart, Named, StateFacts,
    StateRule, git_part, gitlinks, is_harmless_state, is_sample, is_worktree_pointer, judge_key, lists_key,
    merge_configs, named,
};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, File, FileType};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Git dirs of one workspace.
const GIT_DIRS_MAX: usize = 256;
/// Names in one directory of a git dir, such as the hooks.
const NAMES_MAX: usize = 4096;
/// Directories and files below `refs` and `logs`, looked through for symlinks.
const REFS_MAX: usize = 1 << 20;
/// A configuration; git itself reads larger ones, which are then read-only.
pub const CONFIG_BYTES_MAX: u64 = 256 << 10;
const STATE_BYTES_MAX: u64 = 4 << 20;
const POINTER_BYTES_MAX: u64 = 4096;
const INDEX_BYTES_MAX: u64 = 512 << 20;
/// Symlinks on one path; the kernel follows as many (`MAXSYMLINKS`).
const LINKS_MAX: usize = 40;
/// Configurations that include each other.
const CONFIGS_MAX: usize = 64;
/// Directories with names of both kinds, looked into name by name.
const MIXED: [&str; 2] = ["info", "objects/info"];

/// A path in a git dir that git would obey and that a command could have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObeyedPath {
    /// The host's path.
    pub path: PathBuf,
    /// How much of it git must not obey.
    pub part: ObeyedPart,
    /// Why git obeys it.
    pub why: &'static str,
}

/// How much of a path git must not obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObeyedPart {
    /// All of it.
    Whole,
    /// Some keys of a configuration.
    Keys,
}

/// When git dirs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitMoment {
    /// Before the command starts.
    Begin,
    /// While it runs: only what git really obeys counts, and no mode of a directory is changed. State of an
    /// operation, and names that git may be working with, such as locks, are left for the end.
    During,
    /// When it has ended.
    End,
}

/// A directory of a git dir in which a name that git obeys can come into being.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    /// The host's path.
    pub path: PathBuf,
    /// Which part of the git dir it is; empty for the git dir itself.
    pub below: PathBuf,
}

/// What git would obey while the command runs, and where more of it could come into being.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitLook {
    /// What it would obey.
    pub obeyed: Vec<ObeyedPath>,
    /// The directories in which such names stand.
    pub places: Vec<GitPlace>,
    /// Whether there is something that was judged by its content and stays, and can change without an event.
    pub is_judged: bool,
}

/// Every git dir that can be reached from a workspace, and every place that they lead to.
///
/// `trees` are the writable trees; the first is the workspace. More git dirs than can be held are an
/// error: one that is left out would not be protected.
pub fn survey(trees: &[PathBuf]) -> io::Result<GitFacts> {
    let mut search = Search::new(trees);
    search.run()?;
    let mut facts = GitFacts::default();
    for SeenDir { path, top: _, obeyed, configs, state } in search.seen {
        let obeyed = obeyed.into_iter().map(|(below, _)| below).collect();
        let state = state.into_iter().filter_map(|below| state_facts(&path, below)).collect();
        facts.dirs.push(GitDirFacts { path, obeyed, configs, state });
    }
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    (facts.reached, facts.missing) = search.reached.into_iter().partition(exists);
    facts.pointers = search.pointers.into_iter().collect();
    Ok(facts)
}

/// What git would obey after a run and what was not there before.
pub fn obeyed_since(trees: &[PathBuf], before: &GitFacts) -> io::Result<Vec<ObeyedPath>> {
    for tree in trees {
        open_for_owner(tree)?;
    }
    Ok(look(trees, before, GitMoment::End)?.obeyed)
}

/// What git would obey at this moment of a run and what was not there before. The command can change
/// everything while this looks: the answer is acted upon by descriptor, and the look at the end counts.
pub fn obeyed_now(trees: &[PathBuf], before: &GitFacts) -> io::Result<GitLook> {
    look(trees, before, GitMoment::During)
}

fn look(trees: &[PathBuf], before: &GitFacts, moment: GitMoment) -> io::Result<GitLook> {
    let mut search = Search::new(trees);
    search.moment = moment;
    search.run()?;
    let mut found = Vec::new();
    let mut is_judged = false;
    for dir in &search.seen {
        let known = before.dirs.iter().find(|known| known.path == dir.path);
        let was_there = |below: &Path| {
            known.is_some_and(|known| {
                known.obeyed.iter().any(|held| below.starts_with(held))
                    || known.configs.iter().any(|(config, _)| config == below)
                    || known.state.iter().any(|state| {
                        state.below == below && state_facts(&dir.path, below.to_owned()).as_ref() == Some(state)
                    })
            })
        };
        for (below, why) in &dir.obeyed {
            if was_there(below) || (moment == GitMoment::During && is_in_work(&dir.path, below)) {
                continue;
            }
            let harmful = harmful(trees, &dir.path, below, moment)?;
            is_judged |= harmful.is_empty();
            let harmful = harmful.into_iter().filter(|below| !was_there(below));
            found.extend(harmful.map(|below| ObeyedPath { path: dir.path.join(below), part: ObeyedPart::Whole, why }));
        }
        for (below, text) in &dir.configs {
            if was_there(below) {
                continue;
            }
            is_judged = true;
            if !is_harmless_config(trees, &dir.path, text, moment) {
                let path = dir.path.join(below);
                found.push(ObeyedPath { path, part: ObeyedPart::Keys, why: "git takes commands from it" });
            }
        }
    }
    let strays = search.strays.into_iter().filter(|path| !before.pointers.contains(path));
    let why = "it leads git to another repository";
    found.extend(strays.map(|path| ObeyedPath { path, part: ObeyedPart::Whole, why }));
    // During the run, keys of a new configuration are taken away, and nothing is reached by them then.
    let counts = |path: &PathBuf| match moment {
        GitMoment::During => before.missing.iter().any(|missing| path.starts_with(missing)),
        GitMoment::Begin | GitMoment::End => !before.reached.contains(path),
    };
    let is_new = |path: &PathBuf| counts(path) && path.symlink_metadata().is_ok();
    let why = "git's configuration or a hook leads to it";
    let reached = search.reached.into_iter().filter(is_new);
    found.extend(reached.map(|path| ObeyedPath { path, part: ObeyedPart::Whole, why }));
    Ok(GitLook { obeyed: found, places: search.places, is_judged })
}

/// Whether a name in a git dir can be one that git works with at this moment: a lock, or a name that the
/// table does not list, such as the `tXXXXXX` by which `git init` tries whether it can make a symlink
/// (`create_default_files` in builtin/init-db.c), or a pointer that has no text yet. Git obeys none of them.
fn is_in_work(git_dir: &Path, below: &Path) -> bool {
    let parts = parts(below);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let is_empty = || fs::symlink_metadata(git_dir.join(below)).is_ok_and(|found| found.is_file() && found.len() == 0);
    !polder_facts::git::is_listed_part(&parts)
        || match git_part(&parts).0 {
            GitPart::State(_) => true,
            GitPart::Pointer => is_empty(),
            GitPart::Data | GitPart::Config | GitPart::Container | GitPart::Obeyed => false,
        }
}

/// Takes the keys out of a new configuration that git must not obey, and gives their names.
pub fn drop_held_keys(
    trees: &[PathBuf],
    tree: &Path,
    relative: &Path,
    moment: GitMoment,
) -> io::Result<Result<Vec<String>, ConfigFault>> {
    let layer = if moment == GitMoment::During { Layer::WatchCaller } else { Layer::SweepCaller };
    if off(layer) {
        return Ok(Ok(Vec::new()));
    }
    let git_dir = tree.join(relative).parent().map(Path::to_owned).unwrap_or_default();
    let mut held = Vec::new();
    let changed = rewrite_config(tree, relative, |text| {
        let in_tree = is_in_tree(trees, &git_dir, moment);
        let judge = |key: &ConfigKey, value: Option<&str>| judge_key(key, value, &in_tree);
        let ConfigMerge { text, held: keys } = merge_configs("", "", text, &judge, &lists_key)?;
        held = keys.into_iter().map(|(key, _)| key.to_string()).collect();
        Ok(if held.is_empty() { None } else { Some(text.unwrap_or_default()) })
    })?;
    Ok(changed.map(|()| held))
}

/// A git dir as it was seen.
struct SeenDir {
    path: PathBuf,
    /// The top of its tree, if it has one.
    top: Option<PathBuf>,
    obeyed: Vec<(PathBuf, &'static str)>,
    configs: Vec<(PathBuf, String)>,
    /// Files of an operation in progress.
    state: Vec<PathBuf>,
}

/// A regular file of an operation. Every write gives it a new ctime, which no call can set.
fn state_facts(git_dir: &Path, below: PathBuf) -> Option<StateFacts> {
    let metadata = fs::symlink_metadata(git_dir.join(&below)).ok().filter(fs::Metadata::is_file)?;
    Some(StateFacts { below, inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) })
}

struct Search<'a> {
    trees: &'a [PathBuf],
    waiting: VecDeque<(PathBuf, Option<PathBuf>)>,
    seen: Vec<SeenDir>,
    reached: BTreeSet<PathBuf>,
    pointers: BTreeSet<PathBuf>,
    /// `.git` files and symlinks that lead out of the trees.
    strays: BTreeSet<PathBuf>,
    places: Vec<GitPlace>,
    moment: GitMoment,
}

impl<'a> Search<'a> {
    fn new(trees: &'a [PathBuf]) -> Self {
        Self {
            trees,
            waiting: VecDeque::new(),
            seen: Vec::new(),
            reached: BTreeSet::new(),
            pointers: BTreeSet::new(),
            strays: BTreeSet::new(),
            places: Vec::new(),
            moment: GitMoment::Begin,
        }
    }

    fn is_end(&self) -> bool {
        self.moment == GitMoment::End
    }

    fn is_ours(&self, path: &Path) -> bool {
        self.trees.iter().any(|tree| path.starts_with(tree))
    }

    fn run(&mut self) -> io::Result<()> {
        let Some(root) = self.trees.first().cloned() else { return Ok(()) };
        self.pointer(&root);
        if is_git_dir(&root) {
            self.waiting.push_back((root.clone(), None));
        }
        // The repository behind a linked worktree is a tree by itself.
        self.waiting.extend(self.trees.iter().skip(1).map(|tree| (tree.clone(), None)));
        while let Some((path, top)) = self.waiting.pop_front() {
            let Ok(path) = fs::canonicalize(&path) else { continue };
            if !self.is_ours(&path) || !path.is_dir() {
                continue;
            }
            if let Some(known) = self.seen.iter_mut().find(|seen| seen.path == path) {
                known.top = known.top.take().or(top);
                continue;
            }
            if self.seen.len() == GIT_DIRS_MAX {
                let text = format!("more than {GIT_DIRS_MAX} git directories below `{}`", root.display());
                return Err(io::Error::other(text));
            }
            self.git_dir(path, top)?;
        }
        Ok(())
    }

    /// The `.git` at the top of a tree: a directory, or a file or symlink that leads to one.
    fn pointer(&mut self, top: &Path) {
        let git = top.join(".git");
        let found = match fs::symlink_metadata(&git) {
            // The command can close a submodule's directory as it can close a git dir.
            Err(error) if self.is_end() && error.kind() == io::ErrorKind::PermissionDenied => {
                open_for_owner(top).and_then(|()| fs::symlink_metadata(&git))
            }
            found => found,
        };
        let Ok(kind) = found.map(|metadata| metadata.file_type()) else { return };
        if kind.is_dir() {
            self.waiting.push_back((git, Some(top.to_owned())));
        } else if let Some(place) = read_text(&git, POINTER_BYTES_MAX).as_deref().and_then(pointed) {
            self.stray(&git, &top.join(place));
            self.pointers.insert(git);
            self.waiting.push_back((top.join(place), Some(top.to_owned())));
        } else if kind.is_symlink() {
            self.stray(&git, &git);
            self.pointers.insert(git.clone());
            self.waiting.push_back((git, Some(top.to_owned())));
        }
    }

    /// Notes a pointer that leads out of the trees: another repository can take a relative path of its
    /// configuration, such as `core.hooksPath`, for one in this tree.
    fn stray(&mut self, pointer: &Path, place: &Path) {
        if fs::canonicalize(place).is_ok_and(|place| !self.is_ours(&place)) {
            self.strays.insert(pointer.to_owned());
        }
    }

    fn git_dir(&mut self, path: PathBuf, top: Option<PathBuf>) -> io::Result<()> {
        let is_workspace = path == self.trees[0];
        self.places.push(GitPlace { path: path.clone(), below: PathBuf::new() });
        let (mut obeyed, mut configs, mut state) = (Vec::new(), Vec::new(), Vec::new());
        for (name, kind) in self.list(&path, NAMES_MAX)? {
            let below = PathBuf::from(&name);
            let text = name.to_string_lossy();
            let (part, why) = git_part(&[&text]);
            let is_listed = polder_facts::git::is_listed_part(&[&text]);
            if is_workspace && !is_listed {
                // A workspace that is itself a git dir has files of other kinds.
                continue;
            }
            if kind.is_symlink() {
                self.linked(&path, &text, part, top.as_deref())?;
                obeyed.push((below, "it is a symlink in a repository, and git writes through it"));
                continue;
            }
            match part {
                _ if kind.is_dir() && MIXED.contains(&&*text) => self.mixed(&path, &below, &mut obeyed)?,
                GitPart::Config if kind.is_file() => match read_text(&path.join(&below), CONFIG_BYTES_MAX) {
                    Some(config) => configs.push((below, config)),
                    None => obeyed.push((below, why)),
                },
                GitPart::Container if kind.is_dir() => self.container(&path.join(&below), &text)?,
                GitPart::Data if kind.is_dir() => self.data(&path, &below, &mut obeyed, &mut state)?,
                GitPart::Data if kind.is_file() => {}
                GitPart::State(_) if !self.is_end() => state.push(below),
                _ => {
                    if kind.is_dir() && part == GitPart::Obeyed && is_listed {
                        self.places.push(GitPlace { path: path.join(&below), below: below.clone() });
                    }
                    if text == "hooks" && kind.is_dir() {
                        self.links_below(&path.join(&below))?;
                    }
                    obeyed.push((below, why));
                }
            }
        }
        let top = top.or_else(|| own_top(&path, &configs)).or_else(|| self.top_around(&path));
        if let Some(place) = read_text(&path.join("commondir"), POINTER_BYTES_MAX) {
            let common = path.join(line(&place));
            // What it names relative to a tree is meant for the tree of each worktree.
            let shared = read_text(&common.join("config"), CONFIG_BYTES_MAX);
            if let (Some(top), Some(text)) = (&top, shared) {
                self.configuration(&common.join("config"), &text, top)?;
            }
            self.waiting.push_back((common, None));
        }
        for (below, config) in &configs {
            self.configuration(&path.join(below), config, top.as_deref().unwrap_or(&path))?;
        }
        let is_seen = |top: &&Path| self.is_ours(top) || self.trees[0].starts_with(top);
        if let Some(top) = top.as_deref().filter(is_seen).map(Path::to_owned) {
            self.gitlinks(&path, &top)?;
        }
        self.seen.push(SeenDir { path, top, obeyed, configs, state });
        Ok(())
    }

    /// The tree of a git dir around the workspace.
    fn top_around(&self, git_dir: &Path) -> Option<PathBuf> {
        let top = git_dir.parent().filter(|_| git_dir.file_name() == Some(OsStr::new(".git")))?;
        self.trees[0].starts_with(top).then(|| top.to_owned())
    }

    /// Follows a symlink that stands for a part of a git dir.
    fn linked(&mut self, path: &Path, name: &str, part: GitPart, top: Option<&Path>) -> io::Result<()> {
        if matches!(part, GitPart::Data | GitPart::State(_)) {
            return Ok(());
        }
        let end = self.reach(path, Path::new(name));
        match part {
            GitPart::Config => match read_text(&end, CONFIG_BYTES_MAX) {
                Some(config) => self.configuration(&end, &config, top.unwrap_or(path)),
                None => Ok(()),
            },
            GitPart::Container => self.container(&end, name),
            _ if self.is_ours(&end) && end.is_dir() => self.links_below(&end),
            _ => Ok(()),
        }
    }

    /// A directory in which some names are data and others are not.
    fn mixed(&mut self, path: &Path, at: &Path, obeyed: &mut Vec<(PathBuf, &'static str)>) -> io::Result<()> {
        self.places.push(GitPlace { path: path.join(at), below: at.to_owned() });
        for (name, kind) in self.list(&path.join(at), NAMES_MAX)? {
            let below = at.join(&name);
            let parts: Vec<String> = parts(&below);
            let (part, why) = git_part(&parts.iter().map(String::as_str).collect::<Vec<_>>());
            if part != GitPart::Data || kind.is_symlink() {
                obeyed.push((below, why));
            }
        }
        Ok(())
    }

    /// A directory of data: it holds state, and it must hold no symlink that git would write through.
    fn data(
        &mut self,
        path: &Path,
        at: &Path,
        obeyed: &mut Vec<(PathBuf, &'static str)>,
        state: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        const LINK: &str = "it is a symlink in a repository, and git writes through it";
        let is_refs = at == Path::new("refs") || at == Path::new("logs");
        let mut left = REFS_MAX;
        let mut open = vec![at.to_owned()];
        while let Some(dir) = open.pop() {
            for (name, kind) in self.list(&path.join(&dir), left)? {
                left -= 1;
                let below = dir.join(&name);
                let parts: Vec<String> = parts(&below);
                let (part, why) = git_part(&parts.iter().map(String::as_str).collect::<Vec<_>>());
                if kind.is_symlink() {
                    obeyed.push((below, LINK));
                } else if kind.is_dir() && MIXED.contains(&&*below.to_string_lossy()) {
                    self.mixed(path, &below, obeyed)?;
                } else if kind.is_dir() && is_refs && self.is_end() {
                    open.push(below);
                } else if matches!(part, GitPart::State(_)) {
                    if self.is_end() { obeyed.push((below, why)) } else { state.push(below) }
                }
            }
        }
        Ok(())
    }

    /// Git dirs of submodules, whose names can have slashes, or of linked worktrees.
    fn container(&mut self, place: &Path, name: &str) -> io::Result<()> {
        let (mut open, mut looked_at) = (vec![place.to_owned()], 0usize);
        while let Some(dir) = open.pop() {
            looked_at += 1;
            // Every name in it can become a git dir.
            self.places.push(GitPlace { path: dir.clone(), below: PathBuf::from(name) });
            if looked_at > 16 * GIT_DIRS_MAX {
                return Err(io::Error::other(format!("too many directories below `{}`", place.display())));
            }
            for (name_in, kind) in self.list(&dir, NAMES_MAX)? {
                let path = dir.join(&name_in);
                if kind.is_dir() && (name == "worktrees" || path.join("HEAD").symlink_metadata().is_ok()) {
                    self.waiting.push_back((path, None));
                } else if kind.is_dir() {
                    open.push(path);
                } else if kind.is_symlink() {
                    self.pointers.insert(path.clone());
                    self.waiting.push_back((path, None));
                }
            }
        }
        Ok(())
    }

    /// Repositories that git enters by itself, because the index names them.
    fn gitlinks(&mut self, path: &Path, top: &Path) -> io::Result<()> {
        for (name, kind) in self.list(path, NAMES_MAX)? {
            let bytes = name.as_bytes();
            if !kind.is_file() || !(bytes == b"index" || bytes.starts_with(b"sharedindex.")) {
                continue;
            }
            let file = path.join(&name);
            let unreadable = || io::Error::other(format!("`{}` cannot be read", file.display()));
            // The command can close it, and git reads it again when the user has opened it.
            let index = match open_file(&file, u64::MAX) {
                Some(index) => index,
                None if self.is_end() => return Err(unreadable()),
                None => continue,
            };
            if index.metadata()?.len() > INDEX_BYTES_MAX {
                return Err(io::Error::other(format!("`{}` is larger than git's own", file.display())));
            }
            // A mode that git does not write hides nothing: at the end every entry is read.
            if !self.is_end() && !has_gitlink_mode(&index)? {
                continue;
            }
            let index = read_bytes(&file, INDEX_BYTES_MAX).ok_or_else(unreadable)?;
            for link in gitlinks(&index) {
                let below = Path::new(OsStr::from_bytes(&link));
                if below.components().all(|part| matches!(part, Component::Normal(_))) {
                    self.pointer(&top.join(below));
                }
            }
        }
        Ok(())
    }

    /// Follows what a configuration names, and the configurations that it includes.
    fn configuration(&mut self, file: &Path, text: &str, top: &Path) -> io::Result<()> {
        let mut waiting = VecDeque::from([(file.to_owned(), text.to_owned())]);
        let mut looked_at = BTreeSet::new();
        while let Some((file, text)) = waiting.pop_front() {
            // One that includes itself says nothing new.
            if !looked_at.insert(file.clone()) {
                continue;
            }
            if looked_at.len() > CONFIGS_MAX {
                return Err(io::Error::other(format!("`{}` includes too many files", file.display())));
            }
            for place in named(text.as_bytes()) {
                let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
                match place {
                    Named::BesideConfiguration(place) => {
                        let beside = file.parent().unwrap_or(Path::new("/"));
                        let end = self.reach(beside, &path(&place));
                        let read = read_text(&end, CONFIG_BYTES_MAX).filter(|_| self.is_ours(&end));
                        waiting.extend(read.map(|text| (end, text)));
                    }
                    Named::Hooks(place) => self.hooks(top, &path(&place))?,
                    Named::InTree(place) => drop(self.reach(top, &path(&place))),
                    Named::Word(word) => {
                        let word = path(&word);
                        if !word.as_os_str().as_bytes().starts_with(b"-") && !top.join(&word).is_dir() {
                            self.reach(top, &word);
                        }
                    }
                    Named::Program(_) => {}
                    Named::Repository(place) => {
                        // As git's `enter_repo`.
                        for end in ["", ".git"] {
                            let mut place = top.join(path(&place)).into_os_string();
                            place.push(end);
                            let place = PathBuf::from(place);
                            self.pointer(&place);
                            if is_git_dir(&place) {
                                self.waiting.push_back((place, None));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A directory of hooks that the configuration names.
    fn hooks(&mut self, top: &Path, place: &Path) -> io::Result<()> {
        let end = self.reach(top, place);
        // Husky's generated scripts in `_` run those of the same name beside it.
        if end.file_name() == Some(OsStr::new("_"))
            && let Some(parent) = end.parent().filter(|parent| *parent != top)
        {
            self.reach(parent.parent().unwrap_or(parent), Path::new(parent.file_name().unwrap_or_default()));
        }
        if self.is_ours(&end) && end.is_dir() { self.links_below(&end) } else { Ok(()) }
    }

    /// Files that symlinks among hooks lead to.
    fn links_below(&mut self, dir: &Path) -> io::Result<()> {
        for (name, kind) in self.list(dir, NAMES_MAX)? {
            if kind.is_symlink() {
                self.reach(dir, Path::new(&name));
            }
        }
        Ok(())
    }

    /// Notes every symlink on a path, and its end. The path may not exist.
    fn reach(&mut self, from: &Path, place: &Path) -> PathBuf {
        let mut here = from.to_owned();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        let mut links = 0;
        let push = |rest: &mut VecDeque<OsString>, path: &Path, here: &mut PathBuf| {
            if path.is_absolute() {
                *here = PathBuf::from("/");
            }
            let parts: Vec<OsString> = path.components().filter_map(component).collect();
            parts.into_iter().rev().for_each(|part| rest.push_front(part));
        };
        push(&mut rest, place, &mut here);
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&part);
            match fs::read_link(&next) {
                Ok(target) if links < LINKS_MAX => {
                    links += 1;
                    self.note(next);
                    push(&mut rest, &target, &mut here);
                }
                _ => here = next,
            }
        }
        self.note(here.clone());
        here
    }

    fn note(&mut self, path: PathBuf) {
        // A tree as a whole, or a directory above it, is no file that git runs.
        if self.is_ours(&path) && !self.trees.iter().any(|tree| tree.starts_with(&path)) {
            self.reached.insert(path);
        }
    }

    /// The names in a directory. After a run its mode may be the command's, and git on the host may get
    /// the old one back.
    fn list(&self, dir: &Path, names_max: usize) -> io::Result<Vec<(OsString, FileType)>> {
        match all_names(dir, names_max) {
            // Closed to polder is closed to the same user's git; when it is opened, the kernel tells.
            Err(error) if self.moment == GitMoment::During && error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Vec::new())
            }
            Err(error) if self.is_end() && error.kind() == io::ErrorKind::PermissionDenied => {
                open_for_owner(dir).and_then(|()| all_names(dir, names_max))
            }
            listed => listed,
        }
    }
}

fn component(part: Component<'_>) -> Option<OsString> {
    match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    }
}

fn parts(path: &Path) -> Vec<String> {
    path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

/// Whether git takes a directory for a repository: `is_git_directory` in git's setup.c.
pub(super) fn is_git_dir(path: &Path) -> bool {
    let has = |name: &str| path.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The tree of a submodule, as the configuration of its git dir names it.
pub(super) fn tree_of(git_dir: &Path) -> Option<PathBuf> {
    let config = read_text(&git_dir.join("config"), CONFIG_BYTES_MAX)?;
    own_top(git_dir, &[("config".into(), config)])
}

/// The tree of a submodule or a linked worktree, as its git dir names it.
fn own_top(path: &Path, configs: &[(PathBuf, String)]) -> Option<PathBuf> {
    if let Some(place) = read_text(&path.join("gitdir"), POINTER_BYTES_MAX) {
        return path.join(line(&place)).parent().and_then(|top| fs::canonicalize(top).ok());
    }
    let worktree = |text: &str| {
        let values = ConfigText::parse(text).ok()?.values();
        let (_, value) = values.into_iter().find(|(key, _)| key.to_string() == "core.worktree")?;
        value.into_iter().last()?
    };
    let place = configs.iter().find_map(|(_, text)| worktree(text))?;
    fs::canonicalize(path.join(place)).ok()
}

/// The parts of something new in a git dir that are not as git itself makes them.
fn harmful(trees: &[PathBuf], git_dir: &Path, below: &Path, moment: GitMoment) -> io::Result<Vec<PathBuf>> {
    let path = git_dir.join(below);
    let Ok(kind) = fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else { return Ok(Vec::new()) };
    let parts = parts(below);
    let (part, _) = git_part(&parts.iter().map(String::as_str).collect::<Vec<_>>());
    let state = |rule: StateRule| {
        kind.is_file() && read_bytes(&path, STATE_BYTES_MAX).is_some_and(|text| is_harmless_state(rule, &text))
    };
    let is_harmless = match part {
        GitPart::State(rule) => state(rule),
        GitPart::Pointer => is_harmless_pointer(git_dir, &path, below),
        GitPart::Config => read_text(&path, CONFIG_BYTES_MAX)
            .is_some_and(|text| kind.is_file() && is_harmless_config(trees, git_dir, &text, moment)),
        // As `git init` makes it from its templates.
        GitPart::Obeyed if kind.is_dir() && ["hooks", "branches", "remotes"].contains(&&*parts[0]) => {
            let others = names(&path)?.into_iter().filter(|(name, kind)| !is_inert(&parts[0], name, *kind));
            return Ok(others.map(|(name, _)| below.join(name)).collect());
        }
        GitPart::Obeyed | GitPart::Container | GitPart::Data => false,
    };
    Ok(if is_harmless { Vec::new() } else { vec![below.to_owned()] })
}

/// Whether git never takes a name in `hooks`, `branches` or `remotes` for one of its own: a template, or
/// what polder set aside.
fn is_inert(directory: &str, name: &OsStr, kind: FileType) -> bool {
    let is_aside = memchr::memmem::find(name.as_bytes(), b".from-sandbox").is_some();
    is_aside || kind.is_file() && is_sample(&[directory, &name.to_string_lossy()])
}

/// Whether a pointer is that of a linked worktree, as `git worktree add` writes it.
fn is_harmless_pointer(git_dir: &Path, path: &Path, below: &Path) -> bool {
    let is_worktree = git_dir.parent().and_then(Path::file_name) == Some(OsStr::new("worktrees"));
    let Some(text) = read_text(path, POINTER_BYTES_MAX).filter(|_| is_worktree) else { return false };
    is_worktree_pointer(&[&below.to_string_lossy()], &text)
}

/// Whether no key of a configuration names a program, or a path outside of the workspace.
fn is_harmless_config(trees: &[PathBuf], git_dir: &Path, text: &str, moment: GitMoment) -> bool {
    let Ok(config) = ConfigText::parse(text) else { return false };
    let in_tree = is_in_tree(trees, git_dir, moment);
    config
        .values()
        .iter()
        .all(|(key, values)| values.iter().all(|value| judge_key(key, value.as_deref(), &in_tree).is_ok()))
}

/// Whether a path that a configuration names lies in the workspace. While `git submodule` works the path
/// may not exist yet; it names a tree and no program, and the look at the end judges it.
fn is_in_tree<'a>(trees: &'a [PathBuf], git_dir: &'a Path, moment: GitMoment) -> impl Fn(&str) -> bool + 'a {
    move |place: &str| {
        let place = fs::canonicalize(git_dir.join(place));
        moment == GitMoment::During || place.is_ok_and(|place| trees.iter().any(|tree| place.starts_with(tree)))
    }
}

fn pointed(text: &str) -> Option<&str> {
    text.strip_prefix("gitdir:").map(|rest| line(rest.trim_start()))
}

/// A text without its end of line.
fn line(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

/// The names in a directory with their kinds, in order; none where it is absent.
/// Lets the caller list and enter a directory of its own whose mode says otherwise. Other directories
/// stay as they are.
pub(super) fn open_for_owner(dir: &Path) -> io::Result<()> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let name = CString::new(dir.as_os_str().as_bytes())?;
    let handle = match open_at(&name, flags, 0) {
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        handle => File::from(handle?),
    };
    let metadata = handle.metadata()?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o700 == 0o700 || metadata.uid() != super::wait::effective_ids().0 {
        return Ok(());
    }
    // By the handle: the name may lead elsewhere by now.
    fs::set_permissions(format!("/proc/self/fd/{}", handle.as_raw_fd()), fs::Permissions::from_mode(mode | 0o700))
}

fn names(dir: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    all_names(dir, NAMES_MAX)
}

fn all_names(dir: &Path, names_max: usize) -> io::Result<Vec<(OsString, FileType)>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if found.len() == names_max {
            return Err(io::Error::other(format!("more than {names_max} names in `{}`", dir.display())));
        }
        found.push((entry.file_name(), entry.file_type()?));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// The private copy of a configuration, from the directory that the shim handed over: the command's, so only a regular
/// file of bounded size counts.
pub fn read_copy(copies: BorrowedFd<'_>, number: usize) -> io::Result<String> {
    let directory = open_beneath(copies, &CString::new(number.to_string())?)?;
    read_config_at(directory.as_fd(), c"config").map(|(text, _)| text)
}

/// Changes a configuration of the host as git does: under its lock, which is `NAME.lock` beside it, and by a rename.
/// `change` gets the text and gives a new one, or none to leave it. Mode and owner stay.
pub fn rewrite_config<E>(
    tree: &Path,
    relative: &Path,
    change: impl FnOnce(&str) -> Result<Option<String>, E>,
) -> io::Result<Result<(), E>> {
    let (Some(name), parent) = (relative.file_name(), relative.parent().unwrap_or(Path::new(""))) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let tree = File::open(tree)?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let directory = open_beneath(tree.as_fd(), &CString::new(parent.as_os_str().as_bytes())?)?;
    let lock_name = [name.as_bytes(), b".lock"].concat();
    let (name, lock_name) = (CString::new(name.as_bytes())?, CString::new(lock_name)?);
    let lock = Lock::take(directory.as_fd(), &lock_name)?;
    let (text, metadata) = read_config_at(directory.as_fd(), &name)?;
    let changed = match change(&text) {
        Ok(Some(changed)) => changed,
        Ok(None) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
    };
    (&lock.file).write_all(changed.as_bytes())?;
    if lock.file.metadata()?.uid() != metadata.uid() || lock.file.metadata()?.gid() != metadata.gid() {
        std::os::unix::fs::fchown(&lock.file, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    lock.file.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o777))?;
    lock.rename_to(&name).map(Ok)
}

/// A lock file of git, removed unless it takes the place of the file.
struct Lock<'a> {
    directory: BorrowedFd<'a>,
    name: &'a CStr,
    file: File,
    is_renamed: bool,
}

impl<'a> Lock<'a> {
    fn take(directory: BorrowedFd<'a>, name: &'a CStr) -> io::Result<Self> {
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the name outlives the call, and the descriptor is borrowed for it.
        let file = check_fd(i64::from(unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags, 0o600) }))?;
        Ok(Self { directory, name, file: file.into(), is_renamed: false })
    }

    fn rename_to(mut self, name: &CStr) -> io::Result<()> {
        let directory = self.directory.as_raw_fd();
        // SAFETY: both names outlive the call, and the descriptor is borrowed for it.
        check_int(unsafe { libc::renameat(directory, self.name.as_ptr(), directory, name.as_ptr()) })?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // SAFETY: the name outlives the call, and the descriptor is borrowed for it.
            unsafe { libc::unlinkat(self.directory.as_raw_fd(), self.name.as_ptr(), 0) };
        }
    }
}

fn read_config_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<(String, fs::Metadata)> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the name outlives the call, and the descriptor is borrowed for it.
    let file = check_fd(i64::from(unsafe { libc::openat(directory.as_raw_fd(), name.as_ptr(), flags) }))?;
    let file = File::from(file);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > CONFIG_BYTES_MAX {
        return Err(io::Error::other("it is no regular file of at most 256 KiB"));
    }
    let mut text = String::new();
    file.take(CONFIG_BYTES_MAX).read_to_string(&mut text)?;
    Ok((text, metadata))
}

/// A small regular file as text.
pub fn read_text(path: &Path, bytes_max: u64) -> Option<String> {
    String::from_utf8(read_bytes(path, bytes_max)?).ok()
}

/// Read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Whether an index has a gitlink as git writes it: the bytes of its mode are somewhere in it. Most have
/// none, and looking for four bytes takes a fraction of the time that reading the entries takes.
fn has_gitlink_mode(mut index: &File) -> io::Result<bool> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut kept = 0;
    loop {
        let got = index.read(&mut piece[kept..])?;
        if got == 0 {
            return Ok(false);
        }
        let end = kept + got;
        if memchr::memmem::find(&piece[..end], &GITLINK_MODE).is_some() {
            return Ok(true);
        }
        // They can lie across two pieces.
        kept = end.min(GITLINK_MODE.len() - 1);
        piece.copy_within(end - kept..end, 0);
    }
}

/// The content of a regular file, unless it is larger.
fn read_bytes(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let file = open_file(path, bytes_max)?;
    let mut content = Vec::with_capacity(file.metadata().ok()?.len() as usize);
    file.take(bytes_max + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= bytes_max).then_some(content)
}

/// A regular file, unless it is larger. The path is the command's to choose: a pipe must not make
/// polder wait, and a symlink must not lead elsewhere.
fn open_file(path: &Path, bytes_max: u64) -> Option<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= bytes_max).then_some(file)
}
