//! What taking back leaves alone in repositories. Commits that came with an apply may be part of what the
//! user did since: another branch, a commit on top, a stash. So objects stay, where git collects what
//! nothing needs, and refs, index and the rest go back as a whole or not at all.

use super::ground::Ground;
use super::left;
use crate::git::{GitBase, GitPlaces, TwoViews, When, index_mark, is_shown_only};
use crate::journal::Record;
use crate::known::Stamp;
use crate::relative::Relative;
use crate::steps::Act;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Paths of an apply in each repository of the tree, by its outermost git dir.
struct Repositories {
    places: GitPlaces,
    of: BTreeMap<PathBuf, BTreeSet<Relative>>,
    /// Those that the apply itself made.
    made: BTreeSet<PathBuf>,
}

impl Repositories {
    fn of(ground: &Ground, record: &Record) -> io::Result<Self> {
        let views = TwoViews::new(&ground.sides, &[]);
        let paths = record.paths();
        let places = GitPlaces::find(&views, paths.iter())?;
        let mut of: BTreeMap<PathBuf, BTreeSet<Relative>> = BTreeMap::new();
        for path in paths {
            if let Some((outermost, _)) = places.above(&path).first() {
                of.entry(outermost.path.clone()).or_default().insert(path.clone());
            }
        }
        let makes = |act: &Act| matches!(act, Act::Make { .. });
        let steps = record.steps.steps.iter().filter(|step| makes(&step.act));
        let made = steps.map(|step| step.path.as_path().to_owned()).filter(|path| of.contains_key(path)).collect();
        Ok(Self { places, of, made })
    }

    fn below<'a>(&'a self, path: &'a Relative) -> &'a Path {
        self.places.above(path).pop().map_or(path.as_path(), |(_, below)| below)
    }
}

/// Objects that an apply put into repositories that were there before it: taking it back leaves them.
pub(super) fn kept_objects(ground: &Ground, record: &Record) -> io::Result<BTreeSet<Relative>> {
    let all = Repositories::of(ground, record)?;
    let older = all.of.iter().filter(|(repository, _)| !all.made.contains(*repository));
    let paths = older.flat_map(|(_, paths)| paths);
    Ok(paths.filter(|path| all.below(path).starts_with("objects")).cloned().collect())
}

/// What a revert leaves alone.
#[derive(Debug, Default)]
pub(super) struct LeftAlone {
    /// All paths of repositories on which the host worked since.
    pub(super) blocked: BTreeSet<Relative>,
    /// Logs and messages that the host went on with.
    pub(super) logs: BTreeSet<Relative>,
}

/// Decides about a revert before anything is taken back. An index that was only written anew counts as it
/// was left; its new stamps go into the record.
pub(super) fn left_alone(place: &Path, ground: &mut Ground, record: &mut Record) -> io::Result<LeftAlone> {
    let all = Repositories::of(ground, record)?;
    if all.of.is_empty() {
        return Ok(LeftAlone::default());
    }
    renew_indexes(place, ground, record, &all)?;
    let changed: BTreeSet<Relative> = left::changed_since(ground, record)?.into_iter().collect();
    let mut alone = LeftAlone::default();
    for (repository, paths) in &all.of {
        let (logs, other): (Vec<&Relative>, Vec<&Relative>) =
            paths.intersection(&changed).partition(|path| is_shown_only(all.below(path)));
        let has_more = all.made.contains(repository) && has_more_refs(ground, repository, paths)?;
        if !other.is_empty() || has_more {
            // The files that its commits brought stay with them.
            let tree = repository.parent().filter(|_| repository.ends_with(".git"));
            let files =
                record.paths().into_iter().filter(|path| tree.is_some_and(|tree| path.as_path().starts_with(tree)));
            alone.blocked.extend(paths.iter().cloned().chain(files));
        } else {
            alone.logs.extend(logs.into_iter().cloned());
        }
    }
    Ok(alone)
}

fn renew_indexes(place: &Path, ground: &mut Ground, record: &mut Record, all: &Repositories) -> io::Result<()> {
    let base = GitBase::read(place)?;
    for index in 0..record.steps.steps.len() {
        let path = record.steps.steps[index].path.clone();
        let Some(known) = base.indexes.get(&path).filter(|_| all.below(&path) == Path::new("index")) else { continue };
        let views = TwoViews::new(&ground.sides, &[]);
        if index_mark(&views, &path, When::Before)?.as_ref() != Some(known) {
            continue;
        }
        let Some(found) = ground.stat(path.as_path())? else { continue };
        let now = Stamp::of(&found);
        if let Some(Some(ready)) = record.ready.get_mut(index) {
            *ready = now;
        }
        for (left, stamp) in &mut record.left {
            if *left == path && stamp.is_some() {
                *stamp = Some(now);
            }
        }
    }
    Ok(())
}

/// Whether a repository that an apply made has refs that it did not make.
fn has_more_refs(ground: &Ground, repository: &Path, paths: &BTreeSet<Relative>) -> io::Result<bool> {
    let views = TwoViews::new(&ground.sides, &[]);
    let mut open: Vec<Relative> = Relative::new(&repository.join("refs")).into_iter().collect();
    while let Some(directory) = open.pop() {
        for name in views.host_names(&directory)? {
            let path = directory.child(&name);
            match views.is_directory(&path, When::Before)? {
                true => open.push(path),
                false if !paths.contains(&path) => return Ok(true),
                false => {}
            }
        }
    }
    Ok(false)
}
