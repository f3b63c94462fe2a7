//! Putting chosen changes into the tree, so that it happens, does not happen, or can be resumed: whatever goes wrong.
//!
//! 1. The steps are decided and written down.
//! 2. Everything new is made ready beside its place, everything old is kept; nothing that anybody looks for has changed.
//! 3. One rename per path puts it in place.
//!
//! A failure before the end takes everything back. A killed apply leaves its journal, and is resumed or aborted.

mod commit;
mod earlier;
mod ground;
mod left;
mod repositories;
mod stack;
mod stage;
mod undo;

use crate::choose::{self, Choice, Verdict};
use crate::content::content_mark_of;
use crate::digest::{ContentMark, ReviewDigest};
use crate::git::{self, GitChange};
use crate::hunks;
use crate::journal::{self, Journal, Record, Stage};
use crate::known;
use crate::lock::RunLock;
use crate::patterns::Patterns;
use crate::relative::Relative;
use crate::review::{Item, Review};
use crate::steps::{Act, Source, Steps};
use crate::store::StoreError;
use crate::workspace::{JOURNAL, Workspace};
use ground::Ground;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;

pub(crate) const APPLIED: &str = "applied";
/// Paths that an error names one by one.
const LEFT_SHOWN_MAX: usize = 5;

/// Sees every step that changes something, just before it: tests make it fail or end there.
pub trait Watch {
    /// The step may be taken, or fails.
    fn step(&mut self, what: &'static str) -> io::Result<()>;

    /// These paths of the tree are about to change, and none has yet. An error keeps it that way.
    fn begins(&mut self, _paths: &BTreeSet<Relative>) -> io::Result<()> {
        Ok(())
    }
}

/// Lets everything happen.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn step(&mut self, _: &'static str) -> io::Result<()> {
        Ok(())
    }
}

/// What an apply did, change by change, in the order of the paths.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Every change with what became of it.
    pub items: Vec<(Item, Verdict)>,
    /// Git's state in each repository with what became of it.
    pub git: Vec<(GitChange, Verdict)>,
    /// What was not understood.
    pub forged: Vec<crate::Forged>,
}

/// How an interrupted apply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Everything is in place, but for paths that somebody else changed meanwhile.
    Applied {
        /// Those paths, which were left alone.
        left: Vec<Relative>,
    },
    /// Everything is as it was, but for paths that somebody else changed meanwhile or that cannot be reached.
    NotApplied {
        /// Those paths, which were left alone.
        left: Vec<Relative>,
    },
    /// Nothing was interrupted.
    Nothing,
}

/// Paths that an apply left alone on its way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left(pub Vec<Relative>);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(paths) = self;
        let shown =
            |path: &Relative| format!("`{}`", crate::visible_name(path.as_path().as_os_str().as_encoded_bytes()));
        let some: Vec<String> = paths.iter().take(LEFT_SHOWN_MAX).map(shown).collect();
        match paths.len() - some.len() {
            _ if paths.is_empty() => Ok(()),
            0 => write!(f, " but for what somebody changed meanwhile: {}", some.join(", ")),
            more => write!(f, " but for what somebody changed meanwhile: {} and {more} more", some.join(", ")),
        }
    }
}

/// Why an apply did not do its part.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The workspace cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The choice makes no sense.
    #[error("{0}")]
    Choice(String),
    /// The workspace is not as it was when it was looked at.
    #[error(
        "the workspace `{name}` is not what digest `{wanted}` was printed for, so nothing was applied; its digest is \
         `{found}`: look at it with `polder workspace diff {name}`"
    )]
    Changed {
        /// The workspace.
        name: String,
        /// The digest that was asked for.
        wanted: ReviewDigest,
        /// The digest of what there is.
        found: ReviewDigest,
    },
    /// Something went wrong, and the tree is as it was.
    #[error("not applied, the tree is as it was{left}")]
    NotApplied {
        /// Paths that somebody else changed meanwhile, which stay as they are.
        left: Left,
        /// What went wrong.
        source: io::Error,
    },
    /// Something went wrong, and going back failed as well.
    #[error(
        "interrupted: {first}, and going back failed; `polder workspace apply {name} --abort` tries again, `--resume` goes on"
    )]
    Stuck {
        /// The workspace.
        name: String,
        /// What went wrong first.
        first: io::Error,
        /// What went wrong on the way back.
        source: io::Error,
    },
}

impl Workspace {
    /// Applies what was chosen.
    pub fn apply(&self, choice: &Choice, watch: &mut dyn Watch) -> Result<Applied, ApplyError> {
        let lock = self.lock_for_run()?;
        let review = self.review()?;
        self.apply_reviewed(&lock, review, choice, watch)
    }

    /// Applies what was chosen of a review that somebody has seen. The lock has been held since before the review, so
    /// that what is applied is what was looked at.
    pub fn apply_reviewed(
        &self,
        _lock: &RunLock,
        review: Review,
        choice: &Choice,
        watch: &mut dyn Watch,
    ) -> Result<Applied, ApplyError> {
        let marks = match &choice.digest {
            Some(wanted) => {
                self.require(&review, wanted)?;
                review
                    .digested()
                    .map_err(|source| ApplyError::NotApplied { left: Left(Vec::new()), source })?
                    .contents
                    .clone()
            }
            None => BTreeMap::new(),
        };
        let verdicts = choose::judge(&review, choice).map_err(|error| ApplyError::Choice(error.to_string()))?;
        let mut made = made_of_hunks(&review, &verdicts, choice, &marks)?;
        made.extend(configurations(&review, &verdicts, choice)?);
        let sizes: BTreeMap<Relative, u64> =
            made.iter().map(|(path, content)| (path.clone(), content.len() as u64)).collect();
        let steps = choose::steps(&review, &verdicts, &sizes, &marks);
        let failed = |source| ApplyError::NotApplied { left: Left(Vec::new()), source };
        let git: Vec<(GitChange, Verdict)> =
            review.git.iter().map(|change| (change.clone(), choose::git_verdict(&review, change, &verdicts))).collect();
        if !steps.is_empty() {
            let steps = Steps { token: token().map_err(failed)?, steps, owner: owner_of_new(&review).map_err(failed)? };
            let mut ground = Ground::open(self, review.sides, &steps.token).map_err(failed)?;
            ground.check_space(&steps).map_err(failed)?;
            for (index, step) in steps.steps.iter().enumerate() {
                if let (Act::Put { source: Source::Made, .. }, Some(content)) = (&step.act, made.get(&step.path)) {
                    ground.write_made(index, content).map_err(failed)?;
                }
            }
            watch.begins(&paths_of(&steps)).map_err(failed)?;
            watch.step("write the journal").map_err(failed)?;
            let journal = Journal::begin(&self.place.join(JOURNAL), &steps).map_err(failed)?;
            let record = Record::planned(steps);
            self.carry_out(&mut ground, journal, record, watch)?;
            self.forget_digest().map_err(|error| ApplyError::Store(self.fault("forget the last diff of")(error)))?;
        }
        Ok(Applied { git, items: review.items.into_iter().zip(verdicts).collect(), forged: review.forged })
    }

    /// An error, unless this is the review that a digest was printed for.
    pub fn require(&self, review: &Review, wanted: &ReviewDigest) -> Result<(), ApplyError> {
        let found = review.digest().map_err(|source| ApplyError::NotApplied { left: Left(Vec::new()), source })?;
        if found == wanted {
            return Ok(());
        }
        Err(ApplyError::Changed { name: self.full_name(), wanted: wanted.clone(), found: found.clone() })
    }

    /// Goes on with an interrupted apply, to its end.
    pub fn resume(&self, watch: &mut dyn Watch) -> Result<Settled, ApplyError> {
        let _lock = self.lock()?;
        let Some((mut ground, journal, record)) = self.interrupted()? else { return Ok(Settled::Nothing) };
        self.announce(&record, watch)?;
        if matches!(record.stage, Stage::Reverting) {
            let left = self.take_back(&mut ground, &record, watch)?;
            return Ok(Settled::NotApplied { left });
        }
        self.carry_out(&mut ground, journal, record, watch)?;
        Ok(Settled::Applied { left: self.changed_since(&mut ground)? })
    }

    /// Paths of the last apply that are not as it left them.
    fn changed_since(&self, ground: &mut Ground) -> Result<Vec<Relative>, ApplyError> {
        let mut look = || -> io::Result<Vec<Relative>> {
            let Some(record) = journal::read(&self.place.join(APPLIED))? else { return Ok(Vec::new()) };
            left::changed_since(ground, &record)
        };
        look().map_err(|error| ApplyError::Store(self.fault("look at what was applied of")(error)))
    }

    /// Takes an interrupted apply back.
    pub fn abort(&self, watch: &mut dyn Watch) -> Result<Settled, ApplyError> {
        let _lock = self.lock()?;
        let Some((mut ground, journal, record)) = self.interrupted()? else { return Ok(Settled::Nothing) };
        self.announce(&record, watch)?;
        match record.stage {
            // Everything is in place already; what is left is to say so.
            Stage::Applied => {
                self.carry_out(&mut ground, journal, record, watch)?;
                Ok(Settled::Applied { left: self.changed_since(&mut ground)? })
            }
            Stage::Planned | Stage::Staged | Stage::Reverting => {
                let left = self.take_back(&mut ground, &record, watch)?;
                Ok(Settled::NotApplied { left })
            }
        }
    }

    /// Tells what is about to change.
    fn announce(&self, record: &Record, watch: &mut dyn Watch) -> Result<(), ApplyError> {
        let fault = |error| ApplyError::Store(self.fault("go on with the apply of")(error));
        watch.begins(&record.paths()).map_err(fault)
    }

    fn interrupted(&self) -> Result<Option<(Ground, Journal, Record)>, ApplyError> {
        let path = self.place.join(JOURNAL);
        let fault = |error| ApplyError::Store(self.fault("read the journal of")(error));
        let Some(record) = journal::read(&path).map_err(fault)? else { return Ok(None) };
        let ground = Ground::open(self, self.sides()?, &record.steps.token).map_err(fault)?;
        Ok(Some((ground, Journal::reopen(&path).map_err(fault)?, record)))
    }

    /// From wherever the journal says to the end, or back to the beginning.
    fn carry_out(
        &self,
        ground: &mut Ground,
        mut journal: Journal,
        mut record: Record,
        watch: &mut dyn Watch,
    ) -> Result<(), ApplyError> {
        let forward = self.forward(ground, &mut journal, &mut record, watch);
        let Err(first) = forward else { return Ok(()) };
        match self.take_back(ground, &record, watch) {
            Ok(left) => Err(ApplyError::NotApplied { left: Left(left), source: first }),
            Err(ApplyError::Stuck { source, name, .. }) => Err(ApplyError::Stuck { name, first, source }),
            Err(other) => Err(other),
        }
    }

    fn forward(
        &self,
        ground: &mut Ground,
        journal: &mut Journal,
        record: &mut Record,
        watch: &mut dyn Watch,
    ) -> io::Result<()> {
        if matches!(record.stage, Stage::Planned) {
            undo::clear_aside(ground, &record.steps)?;
            undo::clear_kept(ground, &record.steps)?;
            let ready = stage::stage(ground, &record.steps, watch)?;
            ground.sync()?;
            watch.step("write that everything is ready")?;
            journal.staged(&ready)?;
            record.ready = ready;
            record.stage = Stage::Staged;
        }
        if matches!(record.stage, Stage::Staged) {
            commit::commit(ground, record, watch)?;
            ground.sync()?;
            let left = left::applied(ground, record)?;
            watch.step("write that everything is in place")?;
            journal.applied(&left)?;
            record.left = left;
            record.stage = Stage::Applied;
        }
        self.finish(ground, record, watch)
    }

    /// The journal becomes the record for a revert, above those of the applies before it.
    fn finish(&self, ground: &Ground, record: &Record, watch: &mut dyn Watch) -> io::Result<()> {
        let mut known = known::read(&self.place)?;
        known.extend(record.left.iter().cloned());
        watch.step("remember how paths were left")?;
        known::write(&self.place, &known)?;
        git::note_left(&self.place, &ground.sides, &record.paths())?;
        watch.step("make place for the record")?;
        stack::push(&self.place)?;
        watch.step("close the journal")?;
        std::fs::rename(self.place.join(JOURNAL), self.place.join(APPLIED))?;
        journal::sync_directory(&self.place.join(APPLIED))?;
        stack::trim(&self.place, &record.steps.token)
    }

    /// Back to how it was, as far as nobody else changed anything meanwhile. Says which paths somebody did.
    fn take_back(
        &self,
        ground: &mut Ground,
        record: &Record,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Relative>, ApplyError> {
        let mut back = || -> io::Result<Vec<Relative>> {
            // From here on there is only one way: what goes on with a half undone apply would take it for a done one.
            Journal::reopen(&self.place.join(JOURNAL))?.reverting()?;
            let mut record = record.clone();
            record.taken_back.extend(repositories::kept_objects(ground, &record)?);
            let record = &record;
            let refused = undo::undo(ground, record, watch)?;
            ground.sync()?;
            // Dropping a second name changes a file's stamp, so the stamps are taken afterwards.
            watch.step("drop what was kept")?;
            // What was not put back is somebody's only copy: it stays, with the record by which it can be put back later.
            let was_applied = !record.left.is_empty();
            let kept = undo::forget_restored(ground, &record.steps, &refused)?;
            let stays = !refused.is_empty() && (was_applied || kept);
            if !stays {
                ground::forget(&self.place, &record.steps.token)?;
            }
            watch.step("renew the record of the apply before")?;
            earlier::renew(&stack::top(&self.place)?, ground, &record.steps, &refused)?;
            let mut known = known::read(&self.place)?;
            // What somebody else changed is theirs, and a conflict for the next apply.
            let left = left::taken_back(ground, &record.steps)?;
            known.extend(left.into_iter().filter(|(path, _)| !refused.contains(path)));
            watch.step("remember how paths were left")?;
            known::write(&self.place, &known)?;
            let back = record.paths().into_iter().filter(|path| !refused.contains(path)).collect();
            git::note_left(&self.place, &ground.sides, &back)?;
            watch.step("remove the journal")?;
            if stays {
                // What is back is the user's again: a later revert looks only at the rest.
                let back = record.paths().into_iter().filter(|path| !refused.contains(path));
                Journal::reopen(&self.place.join(JOURNAL))?.taken_back(back)?;
                stack::push(&self.place)?;
                std::fs::rename(self.place.join(JOURNAL), self.place.join(APPLIED))?;
            } else {
                std::fs::remove_file(self.place.join(JOURNAL))?;
                stack::pop(&self.place)?;
            }
            journal::sync_directory(&self.place.join(JOURNAL))?;
            Ok(refused)
        };
        let name = self.full_name();
        back().map_err(|source| ApplyError::Stuck { name, first: io::Error::other("interrupted"), source })
    }

    /// Puts back what the last apply replaced or removed, and removes what it made. A path that changed since stays as it
    /// is; those are returned. Once more, it takes back the apply before that one.
    pub fn revert(&self, watch: &mut dyn Watch) -> Result<Option<Reverted>, ApplyError> {
        let _lock = self.lock_for_run()?;
        let (done, active) = (self.place.join(APPLIED), self.place.join(JOURNAL));
        let fault = |error| ApplyError::Store(self.fault("read the last apply of")(error));
        // A revert that was killed may not have come to this.
        stack::pop(&self.place).map_err(fault)?;
        let Some(mut record) = journal::read(&done).map_err(fault)? else { return Ok(None) };
        let mut ground = Ground::open(self, self.sides()?, &record.steps.token).map_err(fault)?;
        let paths = record.paths();
        watch.begins(&paths).map_err(|error| ApplyError::Store(self.fault("take back what was applied of")(error)))?;
        watch.step("open the journal").map_err(fault)?;
        std::fs::rename(&done, &active).map_err(fault)?;
        let alone = repositories::left_alone(&self.place, &mut ground, &mut record).map_err(fault)?;
        let mut journal = Journal::reopen(&active).map_err(fault)?;
        journal.renewed(&record).map_err(fault)?;
        journal.taken_back(alone.logs.iter().cloned()).map_err(fault)?;
        journal.blocked(&alone.blocked).map_err(fault)?;
        record.taken_back.extend(alone.logs);
        record.blocked = alone.blocked;
        record.stage = Stage::Reverting;
        let paths = record.paths();
        let refused = self.take_back(&mut ground, &record, watch)?;
        self.forget_digest().map_err(|error| ApplyError::Store(self.fault("forget the last diff of")(error)))?;
        let restored = paths.into_iter().filter(|path| !refused.contains(path)).collect();
        let earlier = stack::depth(&self.place).map_err(fault)?;
        Ok(Some(Reverted { restored, refused, earlier }))
    }
}

fn paths_of(steps: &Steps) -> BTreeSet<Relative> {
    steps.steps.iter().map(|step| step.path.clone()).collect()
}

/// Inside, everything belongs to the owner of the tree, whatever numbers the layer has; what root makes here does too.
fn owner_of_new(review: &Review) -> io::Result<Option<(u32, u32)>> {
    use std::os::fd::AsFd;
    if polder_sys::wait::effective_ids().0 != 0 {
        return Ok(None);
    }
    let root = polder_sys::tree::stat_of(review.sides.tree.as_fd())?;
    Ok(Some((root.uid, root.gid)))
}

/// What a revert did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// Paths that are as they were before the apply.
    pub restored: Vec<Relative>,
    /// Paths that changed since the apply, and were left alone.
    pub refused: Vec<Relative>,
    /// How many applies can be taken back after this one, itself among them if paths were refused.
    pub earlier: usize,
}

/// The contents of files of which only some hunks were chosen.
fn made_of_hunks(
    review: &Review,
    verdicts: &[Verdict],
    choice: &Choice,
    marks: &BTreeMap<Relative, ContentMark>,
) -> Result<BTreeMap<Relative, Vec<u8>>, ApplyError> {
    let mut made = BTreeMap::new();
    for (path, numbers) in &choice.hunks {
        let shown = crate::visible_name(path.as_path().as_os_str().as_encoded_bytes());
        let found = review.items.iter().zip(verdicts).find(|(item, _)| item.change.path == *path);
        let Some((item, verdict)) = found else {
            return Err(ApplyError::Choice(format!("`{shown}` has no change; `polder workspace diff` shows what has")));
        };
        let crate::Text::Hunks(all) = review.text(item) else {
            return Err(ApplyError::Choice(format!("`{shown}` has no hunks: its change can only be taken as a whole")));
        };
        if let Some(wrong) = numbers.iter().find(|number| **number == 0 || **number > all.len()) {
            return Err(ApplyError::Choice(format!("`{shown}` has {} hunks, and no hunk {wrong}", all.len())));
        }
        if *verdict == Verdict::Taken
            && numbers.len() < all.len()
            && let Some((old, new)) = review.contents(&item.change)
        {
            if marks.get(path).is_some_and(|mark| *mark != content_mark_of(&new)) {
                let source = io::Error::other(format!("`{shown}` changed while it was applied"));
                return Err(ApplyError::NotApplied { left: Left(Vec::new()), source });
            }
            made.insert(path.clone(), hunks::taken(&old, &new, numbers));
        }
    }
    Ok(made)
}

/// The host's configurations of git with the harmless keys of the layer's, unless all keys were asked for.
fn configurations(
    review: &Review,
    verdicts: &[Verdict],
    choice: &Choice,
) -> Result<BTreeMap<Relative, Vec<u8>>, ApplyError> {
    let wrong = |error: io::Error| ApplyError::Choice(error.to_string());
    let whole = Patterns::new(&choice.include_held).map_err(wrong)?;
    let taken = review.items.iter().zip(verdicts).filter(|(_, verdict)| **verdict == Verdict::Taken);
    let texts = taken.filter_map(|(item, _)| Some((&item.change.path, item.git.as_ref()?.text.as_ref()?)));
    let texts = texts.filter(|(path, _)| !whole.has(path));
    Ok(texts.map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect())
}

/// A mark that no other apply has.
fn token() -> io::Result<String> {
    let mut random = [0_u8; 6];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Where an apply keeps what it replaced.
pub(crate) fn undo_place(place: &std::path::Path, token: &str) -> PathBuf {
    place.join("undo").join(token)
}
