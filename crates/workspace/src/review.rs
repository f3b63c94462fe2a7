//! Every change with what stands against it: what a person decides about, and what an apply obeys.

use crate::change::{Change, Changes, Forged, NodeKind, What};
use crate::choose::{Choice, Verdict};
use crate::compare::Repository;
use crate::conflict::{Moved, Since, conflict, doubt, moved, unsettled};
use crate::content::read_bounded;
use crate::digest::Digested;
use crate::git::{self, GitChange, GitContext, GitJudged, GitMember};
use crate::handoff::{self, Content, Seen, held_back};
use crate::hunks::{Hunk, hunks, is_binary};
use crate::known::Known;
use crate::onto::{Apart, Onto, Three};
use crate::patterns::Patterns;
use crate::reach::{self, Reached};
use crate::read::{open_host_file, open_own_file};
use crate::relative::Relative;
use crate::sides::Sides;
use crate::sighted::Sightings;
use crate::store::StoreError;
use crate::workspace::Workspace;
use crate::{choose, compare, known, onto, renames};
use polder_sys::tree;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Larger files are compared, but not shown line by line.
pub(crate) const SHOWN_BYTES_MAX: u64 = 2 << 20;

/// What a layer changes, judged.
#[derive(Debug)]
pub struct Review {
    /// The changes, in the order of their paths. Those that are parts of git's state are among them.
    pub items: Vec<Item>,
    /// Git's state, one change per repository.
    pub git: Vec<GitChange>,
    /// What was not understood, and is never applied.
    pub forged: Vec<Forged>,
    pub(crate) sides: Sides,
    hidden: Patterns,
    /// The digest, once a caller has asked for it.
    pub(crate) digested: OnceCell<Digested>,
}

/// One change, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The change.
    pub change: Change,
    /// Why the host would execute it later.
    pub held: Option<String>,
    /// The paths of the change for which that is so: a rename has two.
    pub held_at: Vec<Relative>,
    /// What the host did to the path since the run began.
    pub conflict: Option<String>,
    /// Why it is never applied.
    pub refused: Option<String>,
    /// The command could not see the path, so its content is not shown.
    pub hidden: bool,
    /// Permission bits that an apply takes away.
    pub stripped: Option<u32>,
    /// What a reviewer should know about it, although nothing stands against it.
    pub note: Option<&'static str>,
    /// It is a part of git's state, and is applied or held with the rest of it.
    pub git: Option<GitMember>,
}

/// A change of content, as it can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Line by line.
    Hunks(Vec<Hunk>),
    /// At least one side is no text.
    Binary,
    /// Too large to be shown.
    TooLarge,
    /// The command could not see it, and whoever reads this may be the one that asked for the command.
    Hidden,
    /// There is no content on either side.
    None,
}

impl Workspace {
    /// Looks at everything that the layer changes. The cost is that of the change.
    pub fn review(&self) -> Result<Review, StoreError> {
        let sides = self.sides()?;
        let hidden = Patterns::new(&self.about.hidden).map_err(self.fault("read the hidden paths of"))?;
        let known = known::read(&self.place).map_err(self.fault("read what is known about"))?;
        let file_system = tree::file_system(sides.tree.as_fd()).map_err(self.fault("look at the tree of"))?;
        let began = self.about.began;
        let (mut found, apart) = self.compared(&sides, &known).map_err(self.fault("compare"))?;
        let mut in_git = git::judge_all(&self.place, &sides, &found.changes, began.moment_on(file_system))
            .map_err(self.fault("look at the repositories of"))?;
        let of_git: Vec<Change> =
            found.changes.iter().filter(|change| in_git.paths.contains_key(&change.path)).cloned().collect();
        found.changes.retain(|change| !in_git.paths.contains_key(&change.path));
        renames::pair(&mut found.changes, sides.layer.as_fd(), sides.tree.as_fd()).map_err(self.fault("compare"))?;
        found.changes.extend(of_git.iter().cloned());
        found.changes.sort_by(|a, b| a.path.cmp(&b.path));
        let deleted: BTreeSet<u64> = found
            .changes
            .iter()
            .filter(|change| matches!(change.what, What::Deleted | What::Renamed { .. }))
            .filter_map(|change| change.before.as_ref().map(|node| node.stat.inode))
            .collect();
        let is_file = |node: &Option<crate::Node>| node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
        let count = |wanted: &dyn Fn(&Change) -> bool| found.changes.iter().filter(|change| wanted(change)).count();
        let copies = count(&|change| {
            change.what == What::Added
                && is_file(&change.after)
                && change.copied_from_tree.as_ref().is_some_and(Vec::is_empty)
        });
        let too_many_copies = copies > count(&|change| change.what == What::Deleted && is_file(&change.before));
        let sighted = Sightings::read(&self.place).map_err(self.fault("read what was seen of the tree of"))?;
        // What nobody saw is in doubt.
        let sighted = sighted.unwrap_or_else(Sightings::none);
        let root = tree::stat_of(sides.tree.as_fd()).map_err(self.fault("look at the tree of"))?;
        let unsettled = unsettled(&found, &root, began.moment_on(file_system));
        let (known, sighted, unsettled, deleted) = (&known, &sighted, &unsettled, &deleted);
        let since = Since { began, file_system, known, sighted, unsettled, deleted, too_many_copies };
        let reached =
            reach::reached(&sides, &self.about.root, &found.changes).map_err(self.fault("look for links in"))?;
        let moved = moved(&found, since);
        let against = Against { since, moved: &moved, apart: apart.as_ref(), hidden: &hidden, reached: &reached };
        let held_for = |path: &Relative, target: Option<&OsStr>, before: Content<'_>, after: Content<'_>| {
            held_at(path, target, &reached, || (before, after)).map(str::to_owned)
        };
        let context = GitContext {
            store: &self.place,
            sides: &sides,
            since,
            moved: &moved,
            apart: apart.as_ref(),
            forged: found.forged.iter().map(|forged| &forged.path).collect(),
            held_for: &held_for,
        };
        let git = context.states(&of_git, &mut in_git).map_err(self.fault("look at the repositories of"))?;
        let judge = |change: Change| match in_git.paths.get(&change.path) {
            Some(GitJudged::Left) => None,
            judged => Some(judge(change, judged, against, &sides)),
        };
        let items = found.changes.into_iter().filter_map(judge).collect();
        Ok(Review { items, git, forged: found.forged, sides, hidden, digested: OnceCell::new() })
    }

    /// What the layer changes, as changes of the tree; and for a copy, where tree and copy have come apart.
    fn compared(&self, sides: &Sides, known: &Known) -> io::Result<(Changes, Option<BTreeMap<Relative, Apart>>)> {
        let (layer, tree) = (sides.layer.as_fd(), sides.tree.as_fd());
        let (found, apart) = match &sides.base {
            None => (compare::compare(layer, tree, Repository::Trees)?, None),
            Some(base) => {
                let Changes { changes, forged, shared } = compare::compare(layer, base.as_fd(), Repository::Own)?;
                let Onto { changes, apart } =
                    onto::onto_tree(changes, Three { layer, base: base.as_fd(), tree }, known)?;
                (Changes { changes, forged, shared }, Some(apart))
            }
        };
        Ok((found, apart))
    }
}

/// What can stand against a change, besides the change itself.
#[derive(Clone, Copy)]
struct Against<'a> {
    since: Since<'a>,
    /// Directories that the host put where others were.
    moved: &'a BTreeMap<Relative, Moved>,
    /// For a copy: where the tree is not what the command saw. It says more than any stamp.
    apart: Option<&'a BTreeMap<Relative, Apart>>,
    hidden: &'a Patterns,
    reached: &'a Reached,
}

fn judge(change: Change, in_git: Option<&GitJudged>, against: Against<'_>, sides: &Sides) -> Item {
    let Against { since, moved, apart, hidden, reached } = against;
    let hides = change.paths().any(|path| hidden.has(path));
    let parted = apart.map(|apart| change.paths().find_map(|path| apart.get(path)));
    let special =
        |node: &Option<crate::Node>| matches!(node.as_ref().map(|node| &node.kind), Some(NodeKind::Special(_)));
    let refused = match &change.after {
        _ if special(&change.before) => {
            Some("the host has something there that is neither file nor directory".to_owned())
        }
        _ if parted == Some(Some(&Apart::Full)) => Some(Apart::Full.why().to_owned()),
        _ if hides => Some("the command could not see it, so no honest change is there".to_owned()),
        Some(node) => match &node.kind {
            NodeKind::Special(kind) => Some(format!("a {kind} does not leave a workspace")),
            NodeKind::File | NodeKind::Directory | NodeKind::Symlink(_) => None,
        },
        None => None,
    };
    let link = match change.after.as_ref().map(|node| &node.kind) {
        Some(NodeKind::Symlink(target)) => Some(target.as_os_str()),
        Some(NodeKind::File | NodeKind::Directory | NodeKind::Special(_)) | None => None,
    };
    let (before, after) = match in_git.is_none() && change.paths().any(handoff::wants_content) {
        true => contents(&change, sides),
        false => (None, None),
    };
    let held_for = |path: &Relative| {
        let sides = || {
            let before = as_content(before.as_ref().map(Option::as_deref));
            let after = as_content(after.as_ref().map(Option::as_deref));
            // Each end of a rename by itself: at one of them something goes, at the other something comes.
            match &change.what {
                What::Renamed { from } if path == from => (before, Content::Absent),
                What::Renamed { .. } => (Content::Absent, after),
                What::Added | What::Deleted | What::Modified | What::Mode | What::Type | What::Target => {
                    (before, after)
                }
            }
        };
        held_at(path, link, reached, sides)
    };
    let (git, whys): (_, Vec<(Relative, String)>) = match in_git {
        None => {
            let whys = change.paths().filter_map(|path| Some((path.clone(), held_for(path)?.to_owned())));
            (None, whys.collect())
        }
        Some(GitJudged::Held(why)) => (None, vec![(change.path.clone(), why.clone())]),
        Some(GitJudged::Changed) => (None, vec![(change.path.clone(), "git takes commands from it".to_owned())]),
        Some(GitJudged::Member(member) | GitJudged::Stops(member, _)) => (Some(member.clone()), Vec::new()),
        Some(GitJudged::Left) => (None, Vec::new()),
    };
    let held = whys.first().map(|(_, why)| why.clone());
    let held_at = whys.into_iter().map(|(path, _)| path).collect();
    let conflict = match parted {
        // What git's state is in conflict with is told of the whole.
        _ if git.is_some() => None,
        None => conflict(&change, since, moved),
        Some(parted) => parted.map(|parted| parted.why().to_owned()),
    };
    let stripped = stripped(&change);
    // What the tree has there and the copy had not, the command could not see.
    let hidden = hides || matches!(parted, Some(Some(Apart::Unseen | Apart::Full)));
    let doubt = (parted.is_none() && git.is_none()).then(|| doubt(&change, since)).flatten();
    let note = doubt.or_else(|| change.paths().find_map(handoff::noted));
    Item { held, held_at, conflict, refused, hidden, stripped, note, git, change }
}

/// Why the host would execute what comes to a path, if it would.
fn held_at<'a>(
    path: &Relative,
    link: Option<&OsStr>,
    reached: &Reached,
    contents: impl FnOnce() -> (Content<'a>, Content<'a>),
) -> Option<&'static str> {
    let leads = || link.and_then(|target| handoff::leads_out(path, target));
    reached.why(path, link.is_some()).or_else(leads).or_else(|| {
        let link = link.is_some();
        let (before, after) = match handoff::wants_content(path) {
            true => contents(),
            false => (Content::Unknown, Content::Unknown),
        };
        held_back(Seen { path, link, before, after })
    })
}

fn as_content(side: Option<Option<&[u8]>>) -> Content<'_> {
    match side {
        None => Content::Absent,
        Some(None) => Content::Unknown,
        Some(Some(bytes)) => Content::Known(bytes),
    }
}

/// Bits with which a file gives its user another's rights. They stay only where the tree had them and the content is the same.
fn stripped(change: &Change) -> Option<u32> {
    let after = change.after.as_ref()?;
    let special = after.stat.mode & 0o7000;
    let allowed = match (&change.what, &change.before, &after.kind) {
        // The kernel hands a directory's group bit on to what is made in it.
        (_, _, NodeKind::Directory) => 0o2000 | change.before.as_ref().map_or(0, |node| node.stat.mode & 0o1000),
        (What::Mode, Some(before), _) => before.stat.mode & 0o7000,
        (_, _, NodeKind::Symlink(_)) => 0o7000,
        _ => 0,
    };
    Some(special & !allowed).filter(|bits| *bits != 0)
}

/// Old and new content: absent, too large or unreadable, or all of it.
type Side = Option<Option<Vec<u8>>>;

fn contents(change: &Change, sides: &Sides) -> (Side, Side) {
    let open_parent = |root: &OwnedFd, path: &Relative| tree::open_below(root.as_fd(), path.parent());
    let from = change.paths().last().unwrap_or(&change.path);
    let before = change.before.as_ref().map(|node| match node.kind {
        NodeKind::File => open_parent(&sides.tree, from)
            .and_then(|parent| open_host_file(parent.as_fd(), from.name()))
            .and_then(|file| read_bounded(&file, SHOWN_BYTES_MAX))
            .unwrap_or(None),
        NodeKind::Directory | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
    });
    let after = change.after.as_ref().map(|node| match node.kind {
        NodeKind::File => open_parent(&sides.layer, &change.path)
            .and_then(|parent| open_own_file(parent.as_fd(), change.path.name()))
            .and_then(|file| read_bounded(&file, SHOWN_BYTES_MAX))
            .unwrap_or(None),
        NodeKind::Directory | NodeKind::Symlink(_) | NodeKind::Special(_) => None,
    });
    (before, after)
}

impl Review {
    /// The items that these patterns name; all, if there are none.
    pub fn only(&self, patterns: &[String]) -> Result<Vec<&Item>, StoreError> {
        let named = |source| StoreError::Io { what: "read the pattern", name: patterns.join(" "), source };
        let patterns = Patterns::new(patterns).map_err(named)?;
        let chosen = |item: &&Item| patterns.is_empty() || item.change.paths().any(|path| patterns.has(path));
        Ok(self.items.iter().filter(chosen).collect())
    }

    /// The items that these patterns name and that are not a part of git's state.
    pub fn files(&self, patterns: &[String]) -> Result<Vec<&Item>, StoreError> {
        Ok(self.only(patterns)?.into_iter().filter(|item| item.git.is_none()).collect())
    }

    /// Git's state of which these patterns name a part; all, if there are none.
    pub fn git_changes(&self, patterns: &[String]) -> Result<Vec<&GitChange>, StoreError> {
        let named: BTreeSet<&Path> =
            self.only(patterns)?.into_iter().filter_map(|item| Some(item.git.as_ref()?.repository.as_path())).collect();
        Ok(self.git.iter().filter(|change| named.contains(change.repository.as_path())).collect())
    }

    /// The paths of git's state in a repository.
    pub fn git_paths(&self, change: &GitChange) -> impl Iterator<Item = &Relative> {
        let is_member = |item: &&Item| item.git.as_ref().is_some_and(|member| member.repository == change.repository);
        self.items.iter().filter(is_member).map(|item| &item.change.path)
    }

    /// What would become of every change if all of them were asked for, with what this choice forces and includes.
    pub fn stands(&self, choice: &Choice) -> Result<BTreeMap<Relative, Verdict>, StoreError> {
        let Choice { include_held, force, .. } = choice.clone();
        let named = |source| StoreError::Io { what: "read the patterns", name: choice.force.join(" "), source };
        let all = Choice { include_held, force, ..Choice::everything() };
        let verdicts = choose::judge(self, &all).map_err(named)?;
        Ok(self.items.iter().map(|item| item.change.path.clone()).zip(verdicts).collect())
    }

    /// The change of an item's content.
    pub fn text(&self, item: &Item) -> Text {
        let is_file = |node: &Option<crate::Node>| node.as_ref().is_none_or(|node| node.kind == NodeKind::File);
        let change = &item.change;
        if item.hidden || change.paths().any(|path| self.hidden.has(path)) {
            return Text::Hidden;
        }
        let content = match change.what {
            What::Added | What::Deleted | What::Modified => is_file(&change.before) && is_file(&change.after),
            What::Mode | What::Type | What::Target | What::Renamed { .. } => false,
        };
        if !content {
            return Text::None;
        }
        match self.contents(change) {
            Some((old, new)) if is_binary(&old) || is_binary(&new) => Text::Binary,
            Some((old, new)) => Text::Hunks(hunks(&old, &new)),
            None => Text::TooLarge,
        }
    }

    /// Both contents, where neither is too large; a side without a file is empty.
    pub(crate) fn contents(&self, change: &Change) -> Option<(Vec<u8>, Vec<u8>)> {
        let (before, after) = contents(change, &self.sides);
        let side = |side: Side| match side {
            None => Some(Vec::new()),
            Some(known) => known,
        };
        Some((side(before)?, side(after)?))
    }
}
