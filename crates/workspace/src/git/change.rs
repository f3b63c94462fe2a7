//! One change per repository: what it brings, and what stands against it.

use super::base::{BaseValue, GitBase, config_text, index_mark, is_older};
use super::history::{ReadingRepository, TreeEntry};
use super::judge::{GitRole, below_root, role};
use super::places::{GitDirPlace, GitPlaces};
use super::refs::{MovedRef, host_bounds, moved_refs, resolved};
use super::view::{TwoViews, When};
use crate::change::{Change, What};
use crate::conflict::{Moved, Since, conflict, displaced};
use crate::handoff::{self, Content};
use crate::onto::Apart;
use crate::relative::Relative;
use crate::sides::Sides;
use crate::worktree::Git;
use polder_facts::git::{ConfigKey, judge_key, lists_key, merge_configs};
use polder_sys::tree::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Refs of which commits are counted and shown one by one.
const REFS_SHOWN_MAX: usize = 16;
/// Commits of a ref that are shown.
const COMMITS_SHOWN_MAX: usize = 20;
/// Names in one line.
const NAMED_MAX: usize = 4;
const SYMLINK: u32 = 0o120_000;
const GITLINK: u32 = 0o160_000;
const FILE_BYTES_MAX: u64 = 2 << 20;

/// That a change is a part of git's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitMember {
    /// The git dir as a whole, below the root; empty for the root.
    pub repository: PathBuf,
    /// What is put there instead of the layer's content: the host's configuration with harmless keys.
    pub(crate) text: Option<String>,
}

/// Git's state in one repository: applied or held as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitChange {
    /// The git dir, below the root; empty for the root.
    pub repository: PathBuf,
    /// Refs that move.
    pub refs: Vec<RefChange>,
    /// Whether the index says something else about paths.
    pub index: bool,
    /// Keys of configurations that are taken over.
    pub keys: Vec<String>,
    /// Keys that are not, with the reason.
    pub held_keys: Vec<(String, &'static str)>,
    /// Paths that the commits or the index contain and that are held back.
    pub contained: Vec<ContainedPath>,
    /// Why the whole is held.
    pub held: Option<String>,
    /// What the host did since the run began.
    pub conflict: Option<String>,
    /// Why it is never applied.
    pub refused: Option<String>,
    /// Paths of the tree that differ between the host's commit and the index that comes.
    pub(crate) tracked: BTreeSet<Relative>,
}

/// A ref that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefChange {
    /// Its whole name, such as `refs/heads/main` or `HEAD`.
    pub name: String,
    /// What it says on the host: an object id, or `ref: NAME`.
    pub before: Option<String>,
    /// What it says in the layer.
    pub after: Option<String>,
    /// How many commits come with it.
    pub count: usize,
    /// How many commits of the host it has no more.
    pub dropped: usize,
    /// The newest of them.
    pub commits: Vec<CommitLine>,
}

/// A commit in one line. Every word of it is the command's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitLine {
    /// Its object id.
    pub id: String,
    /// The author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
}

/// A path in a commit or in the index that the host would execute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainedPath {
    /// Where.
    pub path: Relative,
    /// Why it is held back.
    pub why: String,
}

impl GitChange {
    /// All of it in a few words.
    pub fn summary(&self) -> String {
        let mut parts: Vec<String> = self.refs.iter().take(NAMED_MAX).map(RefChange::summary).collect();
        let more = self.refs.len().saturating_sub(NAMED_MAX);
        parts.extend((more > 0).then(|| format!("{more} more refs")));
        parts.extend(self.index.then(|| "index".to_owned()));
        match self.keys.len() {
            0 => {}
            1 => parts.push("1 key of the configuration".to_owned()),
            number => parts.push(format!("{number} keys of the configuration")),
        }
        if parts.is_empty() {
            parts.push("state of git".to_owned());
        }
        match self.contained.len() {
            0 => {}
            1 => parts.push("1 file held back because the commits contain it".to_owned()),
            number => parts.push(format!("{number} files held back because the commits contain them")),
        }
        parts.join(", ")
    }
}

impl RefChange {
    fn summary(&self) -> String {
        let name = crate::visible_name(short_name(&self.name).as_bytes());
        let kind = match self.name.split('/').nth(1) {
            Some("heads") => "branch ",
            Some("tags") => "tag ",
            _ => "",
        };
        let text = match (&self.before, &self.after, self.count) {
            (_, Some(to), _) if self.name == "HEAD" => {
                let to = to.strip_prefix("ref: ").map_or(&to[..to.len().min(7)], short_name);
                return format!("HEAD to {}", crate::visible_name(to.as_bytes()));
            }
            (_, None, _) => format!("{kind}{name} removed"),
            (_, _, 1) => format!("1 commit on {name}"),
            (_, _, count) if count > 1 => format!("{count} commits on {name}"),
            (None, _, _) => format!("{kind}{name} new"),
            (Some(_), _, _) => format!("{kind}{name} moved"),
        };
        match self.dropped {
            0 => text,
            1 => format!("{text} instead of 1"),
            dropped => format!("{text} instead of {dropped}"),
        }
    }
}

fn short_name(name: &str) -> &str {
    let prefixes = ["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// What a changed path is, where it lies in a git dir.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitJudged {
    Member(GitMember),
    /// A member because of which the whole is held.
    Stops(GitMember, &'static str),
    /// Held by itself.
    Held(String),
    /// A configuration that both sides changed, whose content at the start was not recorded.
    Changed,
    /// The host keeps its own.
    Left,
}

/// The roles of changes.
pub(crate) struct GitJudgedPaths {
    pub(crate) paths: BTreeMap<Relative, GitJudged>,
    places: GitPlaces,
    /// By repository: keys that are taken over, and keys that are not.
    keys: BTreeMap<PathBuf, ConfigKeys>,
}

#[derive(Clone, Debug, Default)]
struct ConfigKeys {
    taken: Vec<String>,
    held: Vec<(String, &'static str)>,
}

/// Judges every path by its place. `since` is when the workspace began.
pub(crate) fn judge_all(store: &Path, sides: &Sides, changes: &[Change], since: Moment) -> io::Result<GitJudgedPaths> {
    let views = TwoViews::new(sides, changes);
    let places = GitPlaces::find(&views, changes.iter().map(|change| &change.path))?;
    let base = GitBase::read(store)?;
    let (mut paths, mut keys) = (BTreeMap::new(), BTreeMap::<PathBuf, ConfigKeys>::new());
    for change in changes {
        let path = &change.path;
        let member = |repository, text| GitMember { repository, text };
        let judged = match role(&views, &places, change)? {
            GitRole::Ordinary => continue,
            GitRole::Data(_) if is_refreshed_index(&views, change)? => GitJudged::Left,
            GitRole::Data(repository) => GitJudged::Member(member(repository, None)),
            GitRole::Stops(repository, why) => GitJudged::Stops(member(repository, None), why),
            GitRole::Held(why) => GitJudged::Held(why.to_owned()),
            GitRole::Left => GitJudged::Left,
            GitRole::Config(repository) => {
                let known = keys.entry(repository.clone()).or_default();
                config(&views, change, &base, since, repository, known)?
            }
        };
        paths.insert(path.clone(), judged);
    }
    Ok(GitJudgedPaths { paths, places, keys })
}

/// Whether an index was only written anew, as by `git status`.
fn is_refreshed_index(views: &TwoViews<'_>, change: &Change) -> io::Result<bool> {
    if change.path.name() != "index" || change.what != What::Modified {
        return Ok(false);
    }
    let mark = |when| index_mark(views, &change.path, when);
    Ok(mark(When::Before)? == mark(When::After)?)
}

const TAKES_COMMANDS: &str = "git takes commands from it";

/// A configuration: harmless keys are taken over into the host's file.
fn config(
    views: &TwoViews<'_>,
    change: &Change,
    base: &GitBase,
    since: Moment,
    repository: PathBuf,
    keys: &mut ConfigKeys,
) -> io::Result<GitJudged> {
    let path = &change.path;
    let held = || Ok(GitJudged::Held(TAKES_COMMANDS.to_owned()));
    let text = |when| config_text(views, path, when);
    let host = match &change.before {
        None => String::new(),
        Some(_) => match text(When::Before)? {
            Some(host) => host,
            None => return held(),
        },
    };
    let (Some(_), Some(copy)) = (&change.after, text(When::After)?) else { return held() };
    let is_old = change.before.as_ref().is_none_or(|node| node.stat.changed < since);
    let known = match base.configs.get(path) {
        Some(known) => known.clone(),
        None if is_old => host.clone(),
        None => return Ok(GitJudged::Changed),
    };
    let in_tree = |place: &str| {
        let target = below_root(views, path.parent(), Path::new(place));
        target.is_some_and(|target| views.is_directory(&target, When::After).unwrap_or(false))
    };
    let judge = |key: &ConfigKey, value: Option<&str>| judge_key(key, value, &in_tree);
    let Ok(merge) = merge_configs(&known, &host, &copy, &judge, &lists_key) else { return held() };
    let shown = |key: &ConfigKey| crate::visible_name(key.to_string().as_bytes());
    let named: Vec<(String, &'static str)> = merge.held.iter().map(|(key, why)| (shown(key), *why)).collect();
    match merge.text {
        Some(text) => {
            keys.taken.extend(taken_keys(&host, &text).iter().map(shown));
            keys.held.extend(named);
            Ok(GitJudged::Member(GitMember { repository, text: Some(text) }))
        }
        None if named.is_empty() => Ok(GitJudged::Left),
        None => {
            let some: Vec<String> = named.iter().take(NAMED_MAX).map(|(key, why)| format!("`{key}`: {why}")).collect();
            let more = named.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!("; and {more} more keys") } else { String::new() };
            Ok(GitJudged::Held(format!("{}{more}", some.join("; "))))
        }
    }
}

fn taken_keys(host: &str, text: &str) -> BTreeSet<ConfigKey> {
    use polder_facts::git::ConfigText;
    let values = |text: &str| ConfigText::parse(text).map(|read| read.values()).unwrap_or_default();
    let (before, after) = (values(host), values(text));
    let differs = |key: &&ConfigKey| before.get(*key) != after.get(*key);
    before.keys().chain(after.keys()).filter(differs).cloned().collect()
}

/// Why a path of a commit is held back, if it is: its path, the target of a link, old and new content.
pub(crate) type HeldForCommit<'a> = dyn Fn(&Relative, Option<&OsStr>, Content<'_>, Content<'_>) -> Option<String> + 'a;

/// What decides about git's state besides the changes themselves.
pub(crate) struct GitContext<'a> {
    pub(crate) store: &'a Path,
    pub(crate) sides: &'a Sides,
    pub(crate) since: Since<'a>,
    pub(crate) moved: &'a BTreeMap<Relative, Moved>,
    pub(crate) apart: Option<&'a BTreeMap<Relative, Apart>>,
    /// Paths that no apply touches.
    pub(crate) forged: Vec<&'a Relative>,
    pub(crate) held_for: &'a HeldForCommit<'a>,
}

impl GitContext<'_> {
    /// One change for every repository with members. `changes` are those in git dirs; those that the host
    /// keeps as they are become [`GitJudged::Left`].
    pub(crate) fn states(&self, changes: &[Change], judged: &mut GitJudgedPaths) -> io::Result<Vec<GitChange>> {
        let views = TwoViews::new(self.sides, changes);
        let base = GitBase::read(self.store)?;
        let mut repositories: BTreeMap<PathBuf, Vec<&Change>> = BTreeMap::new();
        for change in changes {
            if let Some(GitJudged::Member(member) | GitJudged::Stops(member, _)) = judged.paths.get(&change.path) {
                repositories.entry(member.repository.clone()).or_default().push(change);
            }
        }
        let mut states = Vec::new();
        for (repository, members) in repositories {
            states.push(self.state(&views, &base, repository, &members, judged)?);
        }
        Ok(states)
    }

    fn state(
        &self,
        views: &TwoViews<'_>,
        base: &GitBase,
        repository: PathBuf,
        members: &[&Change],
        judged: &mut GitJudgedPaths,
    ) -> io::Result<GitChange> {
        let ConfigKeys { taken, held: held_keys } = judged.keys.remove(&repository).unwrap_or_default();
        let stops = members.iter().find_map(|change| match judged.paths.get(&change.path) {
            Some(GitJudged::Stops(_, why)) => Some(format!("`{}`: {why}", shown(&change.path))),
            _ => None,
        });
        let mut state = GitChange {
            repository: repository.clone(),
            refs: Vec::new(),
            index: false,
            keys: taken,
            held_keys,
            contained: Vec::new(),
            held: stops,
            conflict: self.file_conflict(members, judged),
            refused: None,
            tracked: BTreeSet::new(),
        };
        state.refused = self
            .forged
            .iter()
            .find(|path| path.as_path().starts_with(&repository))
            .map(|path| format!("`{}` in it is never applied", shown(path)));
        let dirs: Vec<GitDirPlace> =
            judged.places.all().filter(|place| place.path.starts_with(&repository)).cloned().collect();
        for dir in &dirs {
            let moved = moved_refs(views, dir)?;
            let index = dir.join("index");
            let is_index_new = !matches!(judged.paths.get(&index), None | Some(GitJudged::Left));
            state.index |= is_index_new;
            if self.apart.is_none() && state.conflict.is_none() {
                state.conflict = self.ref_conflict(views, base, dir, &moved)?;
            }
            if self.apart.is_none() && state.conflict.is_none() && is_index_new {
                state.conflict = self.index_conflict(views, base, dir)?;
            }
            if views.has(&dir.join("index.lock"), When::Before)? {
                let busy = "a git command of the host is at work, or was killed: it has `index.lock`";
                state.conflict.get_or_insert_with(|| busy.to_owned());
            }
            let Some(head) = moved.values().find_map(|one| one.after.as_deref().or(one.before.as_deref())) else {
                if is_index_new {
                    self.read_history(views, dir, &moved, &mut state);
                }
                continue;
            };
            debug_assert!(!head.is_empty(), "a moved ref has a value on one side");
            self.read_history(views, dir, &moved, &mut state);
        }
        state.contained.sort();
        state.contained.dedup_by(|later, earlier| later.path == earlier.path);
        Ok(state)
    }

    /// A conflict of files that are no refs and no index. A log that both wrote stays the host's.
    fn file_conflict(&self, members: &[&Change], judged: &mut GitJudgedPaths) -> Option<String> {
        let mut found = None;
        for change in members {
            let why = match self.apart {
                Some(apart) => apart.get(&change.path).map(|apart| apart.why().to_owned()),
                None => displaced(change, self.moved).or_else(|| {
                    let is_judged_otherwise = is_ref_index_or_object(&judged.places, &change.path);
                    let has_text =
                        matches!(judged.paths.get(&change.path), Some(GitJudged::Member(member)) if member.text.is_some());
                    if is_judged_otherwise || has_text { None } else { conflict(change, self.since, self.moved) }
                }),
            };
            let Some(why) = why else { continue };
            if is_log(&judged.places, &change.path) && change.what == What::Modified {
                judged.paths.insert(change.path.clone(), GitJudged::Left);
                continue;
            }
            found.get_or_insert(format!("`{}`: {why}", shown(&change.path)));
        }
        found
    }

    /// A ref that the host moved as well.
    fn ref_conflict(
        &self,
        views: &TwoViews<'_>,
        base: &GitBase,
        dir: &GitDirPlace,
        moved: &BTreeMap<String, MovedRef>,
    ) -> io::Result<Option<String>> {
        let Ok(own) = Relative::new(&dir.path) else { return self.ref_conflict_by_time(views, dir, moved) };
        for (name, one) in moved {
            let is_same = match base.refs.get(&(own.clone(), name.clone())) {
                Some(BaseValue::Known(known)) => *known == one.before,
                Some(BaseValue::Unknown) => false,
                None => !dir.before || is_older(views, dir, name, self.since.moment())?,
            };
            if !is_same {
                return Ok(Some(moved_by_host(name)));
            }
        }
        Ok(None)
    }

    fn ref_conflict_by_time(
        &self,
        views: &TwoViews<'_>,
        dir: &GitDirPlace,
        moved: &BTreeMap<String, MovedRef>,
    ) -> io::Result<Option<String>> {
        for name in moved.keys() {
            if !is_older(views, dir, name, self.since.moment())? {
                return Ok(Some(moved_by_host(name)));
            }
        }
        Ok(None)
    }

    /// An index in which the host staged something since. One that was only written anew is none.
    fn index_conflict(&self, views: &TwoViews<'_>, base: &GitBase, dir: &GitDirPlace) -> io::Result<Option<String>> {
        let index = dir.join("index");
        let Some(host) = views.node(&index, When::Before)? else { return Ok(None) };
        let is_same = match base.indexes.get(&index) {
            Some(known) => index_mark(views, &index, When::Before)?.as_ref() == Some(known),
            None if host.stat.changed < self.since.moment() => true,
            None => self.is_host_index_clean(dir)?,
        };
        Ok((!is_same).then(|| "the host staged something in the index since the run began".to_owned()))
    }

    /// Whether the host's index is what its commit has: then nothing of it is lost.
    fn is_host_index_clean(&self, dir: &GitDirPlace) -> io::Result<bool> {
        let Ok(git) = self.git() else { return Ok(false) };
        let host = TwoViews::new(self.sides, &[]);
        let head = resolved(&host, dir, super::refs::host_value(&host, dir, "HEAD")?.as_deref(), When::Before)?;
        let digits = head.as_ref().map_or(40, String::len);
        let asked = ReadingRepository::make(&git, self.store, &host, dir).and_then(|reading| {
            reading.configure(digits)?;
            reading.staged(head.as_deref(), digits)
        });
        Ok(asked.is_ok_and(|staged| staged.is_empty()))
    }

    fn git(&self) -> Result<Git, crate::WorktreeError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Git::for_reading(&path, &[&self.sides.root])
    }

    /// Reads the commits, and judges what they contain. What cannot be read is held.
    fn read_history(
        &self,
        views: &TwoViews<'_>,
        dir: &GitDirPlace,
        moved: &BTreeMap<String, MovedRef>,
        state: &mut GitChange,
    ) {
        let names = moved.iter().map(|(name, one)| RefChange {
            name: name.clone(),
            before: one.before.clone(),
            after: one.after.clone(),
            count: 0,
            dropped: 0,
            commits: Vec::new(),
        });
        let first = state.refs.len();
        state.refs.extend(names);
        let read = self.git().map_err(io::Error::other).and_then(|git| {
            let reading = ReadingRepository::make(&git, self.store, views, dir)?;
            self.history(&reading, views, dir, first, state)
        });
        if let Err(error) = read {
            let why = format!("its commits cannot be read: {error}");
            state.held.get_or_insert(why);
        }
    }

    fn history(
        &self,
        reading: &ReadingRepository<'_>,
        views: &TwoViews<'_>,
        dir: &GitDirPlace,
        first: usize,
        state: &mut GitChange,
    ) -> io::Result<()> {
        let bounds = host_bounds(views, &dir.common())?;
        let mut tips = BTreeSet::new();
        for one in &state.refs[first..] {
            tips.extend(resolved(views, dir, one.after.as_deref(), When::After)?);
        }
        let head = |when: When| -> io::Result<Option<String>> {
            let text = views.read(&dir.join("HEAD"), when, FILE_BYTES_MAX)?;
            let text = text.map(|text| String::from_utf8_lossy(&text).trim_end().to_owned());
            resolved(views, dir, text.as_deref(), when)
        };
        let (old_head, new_head) = (head(When::Before)?, head(When::After)?);
        let digits = tips.iter().chain(&old_head).chain(&new_head).map(String::len).max().unwrap_or(40);
        reading.configure(digits)?;
        let commits = reading.commits(&tips, &bounds)?;
        let mut entries = reading.changed_by(&commits)?;
        // A commit is counted where it comes first, and `HEAD` comes last.
        state.refs[first..].sort_by_key(|one| one.name == "HEAD");
        let mut counted = bounds.clone();
        for one in state.refs[first..].iter_mut().take(REFS_SHOWN_MAX) {
            let of = |value: &Option<String>, when| resolved(views, dir, value.as_deref(), when);
            let (before, after) = (of(&one.before, When::Before)?, of(&one.after, When::After)?);
            let Some(after) =
                after.filter(|_| one.name != "HEAD" || one.after.as_deref().is_some_and(|to| !to.starts_with("ref:")))
            else {
                continue;
            };
            counted.extend(before.clone());
            let new = reading.commits(&BTreeSet::from([after.clone()]), &counted)?;
            counted.insert(after.clone());
            one.count = new.len();
            one.commits = reading.lines(&new[..new.len().min(COMMITS_SHOWN_MAX)])?;
            if let Some(before) = before {
                one.dropped = reading.commits(&BTreeSet::from([before]), &BTreeSet::from([after]))?.len();
            }
        }
        if state.index {
            entries.extend(reading.staged(new_head.as_deref(), digits)?);
        }
        let tracked = reading.staged(old_head.as_deref(), digits)?;
        let paths = tracked.iter().filter_map(|entry| Relative::new(Path::new(OsStr::from_bytes(&entry.path))).ok());
        // The git dir of a submodule has its tree elsewhere.
        let top = dir.path.parent().filter(|_| dir.path.file_name() == Some(OsStr::new(".git")));
        if let Some(top) = top {
            let below = |path: Relative| Relative::new(&top.join(path.as_path())).ok();
            state.tracked.extend(paths.filter_map(below));
        }
        self.judge_entries(reading, top.unwrap_or(Path::new("")), &entries, views, state)
    }

    /// Which paths of commits and index are held back.
    fn judge_entries(
        &self,
        reading: &ReadingRepository<'_>,
        top: &Path,
        entries: &BTreeSet<TreeEntry>,
        views: &TwoViews<'_>,
        state: &mut GitChange,
    ) -> io::Result<()> {
        const ODD: &str = "no honest commit has such a path";
        let new = |entry: &TreeEntry| entry.new.clone().filter(|(mode, _)| *mode != GITLINK);
        let news: Vec<String> = entries.iter().filter_map(|entry| Some(new(entry)?.1)).collect();
        reading.require(news.iter())?;
        let path_of = |entry: &TreeEntry| Relative::new(&top.join(OsStr::from_bytes(&entry.path))).ok();
        let wants = |entry: &TreeEntry| {
            let is_link = new(entry).is_some_and(|(mode, _)| mode == SYMLINK);
            is_link || path_of(entry).is_some_and(|path| handoff::wants_content(&path))
        };
        let wanted = entries.iter().filter(|entry| wants(entry));
        let wanted: Vec<String> =
            wanted.flat_map(|entry| [entry.old.clone(), new(entry).map(|(_, id)| id)]).flatten().collect();
        let contents = reading.contents(wanted.iter())?;
        let side = |id: Option<&String>| match id {
            None => Content::Absent,
            Some(id) => contents.get(id).map_or(Content::Unknown, |content| Content::Known(content)),
        };
        let mut held = Vec::new();
        for entry in entries {
            let Some(path) = path_of(entry) else {
                let name = String::from_utf8_lossy(&entry.path).into_owned();
                let path = Relative::at_root(OsStr::new(&name.replace('/', "\\")));
                held.push((ContainedPath { path, why: ODD.to_owned() }, None));
                continue;
            };
            let after = new(entry);
            let target = after.as_ref().filter(|(mode, _)| *mode == SYMLINK).and_then(|(_, id)| contents.get(id));
            let target = target.map(|target| OsStr::from_bytes(target));
            let (before, now) = (side(entry.old.as_ref()), side(after.as_ref().map(|(_, id)| id)));
            if let Some(why) = (self.held_for)(&path, target, before, now) {
                held.push((ContainedPath { path, why }, after.map(|(_, id)| id)));
            }
        }
        // What the tree has already is no news.
        let contents = reading.contents(held.iter().filter_map(|(_, id)| id.as_ref()))?;
        for (contained, id) in held {
            let host = views.read(&contained.path, When::Before, FILE_BYTES_MAX)?;
            let is_there = match &id {
                Some(id) => host.is_some() && host.as_ref() == contents.get(id),
                None => host.is_none(),
            };
            if !is_there {
                state.contained.push(contained);
            }
        }
        Ok(())
    }
}

fn moved_by_host(name: &str) -> String {
    format!("the host moved `{}` since the run began", crate::visible_name(short_name(name).as_bytes()))
}

fn shown(path: &Relative) -> String {
    crate::visible_name(path.as_path().as_os_str().as_encoded_bytes())
}

/// Whether a path is judged by what it says, and not by when it was written.
fn is_ref_index_or_object(places: &GitPlaces, path: &Relative) -> bool {
    below(places, path).is_some_and(|below| {
        below == Path::new("HEAD")
            || below == Path::new("index")
            || below.starts_with("refs")
            || below.starts_with("objects")
    })
}

fn is_log(places: &GitPlaces, path: &Relative) -> bool {
    below(places, path).is_some_and(is_shown_only)
}

/// Whether git only shows a part of a git dir: logs, the last message, where refs were.
pub(crate) fn is_shown_only(below: &Path) -> bool {
    const SHOWN: [&str; 4] = ["COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "gc.log"];
    below.starts_with("logs") || SHOWN.iter().any(|name| below == Path::new(name))
}

fn below<'a>(places: &'a GitPlaces, path: &'a Relative) -> Option<&'a Path> {
    places.above(path).pop().map(|(_, below)| below)
}
