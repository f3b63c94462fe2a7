//! The workspace of a run whose changes are kept apart: begun before the command starts, looked at when it has ended.
//!
//! It is held from beginning to end, so that two runs never write to one layer. Whatever goes wrong here ends the run: a
//! command that was to change a copy never gets the real tree instead.

use crate::claim::wait_or_signal;
use crate::filling::Filling;
use crate::worktree;
use polder_engine::{LaunchError, LaunchFailure, Layers};
use polder_facts::{ByteSize, CapturedFacts, EventKind, HostFacts, HostPath, Origin};
use polder_plan::{MaskKind, Plan};
use polder_policy::WorkspaceMode;
use polder_sys::wait::Signals;
use polder_workspace::{Begin, Ended, Keep, Mode, Name, NameError, RunLock, Store, StoreError, Workspace};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a run waits before it asks again for what another one of this process has.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Why there is no workspace for a run.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The store did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that the store does not take.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is none of that name, and one that is nearly called so.
    #[error("there is no workspace `{name}`; `polder workspace list` shows those that are there; {near}")]
    Mistyped {
        /// The name.
        name: String,
        /// The question that names the other one.
        near: String,
    },
    /// Nobody knows where workspaces are kept.
    #[error("there is no place for workspaces: neither XDG_STATE_HOME nor a home directory is known")]
    NoPlace,
    /// The command could reach the layers by another way.
    #[error("`{}` is shown, and the store `{}` lies in it; set XDG_STATE_HOME to a place outside", shown.display(), store.display())]
    Reachable {
        /// What is shown.
        shown: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// Throwing away would be more than this run's changes.
    #[error(
        "the workspace `{name}` has changes of earlier runs, which would be thrown away with those of this one; \
         leave `--discard` (or `keep: false`) out, or begin with them by `--from {name}`"
    )]
    NotOursToDiscard {
        /// The workspace.
        name: String,
    },
    /// A name that was free a moment ago is not.
    #[error("another run took the name `{name}` for its workspace in the same moment; run again")]
    Taken {
        /// The workspace.
        name: String,
    },
    /// There is one of this name already, and it did not begin so.
    #[error("the workspace `{name}` is there already and did not begin with `{from}`; choose another name")]
    BegunOtherwise {
        /// The workspace.
        name: String,
        /// What it was to begin with.
        from: String,
    },
    /// The tree is not what it was when the plan was made.
    #[error("`{}` led to `{}` when its workspace began; look at it and run again", path.display(), to.display())]
    Moved {
        /// The tree of the plan.
        path: PathBuf,
        /// Where it led.
        to: PathBuf,
    },
    /// The tree is not what the plan was made for.
    #[error("`{}` changed while the run was prepared, so that its copy is not what the plan speaks of; run again", root.display())]
    CopiedOtherwise {
        /// The tree.
        root: PathBuf,
    },
    /// What is to be a project cannot be found.
    #[error("{origin}: there is no project `{}`", path.display())]
    NoProject {
        /// Where it was said.
        origin: Origin,
        /// The path.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// Two projects cannot have one directory.
    #[error("two projects are called `{name}`; set `main_project_name`, or call the other one differently")]
    SameProject {
        /// The name.
        name: String,
    },
    /// The name of the tree's directory is none for a project.
    #[error("`{}` has no name that a project can have; set `main_project_name`", root.display())]
    Nameless {
        /// The tree.
        root: PathBuf,
    },
    /// The lock could not be handed to the sandbox.
    #[error("cannot share the lock of the workspace `{name}` with the sandbox")]
    Lock {
        /// The workspace.
        name: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// What is hidden could not be remembered, and would be shown afterwards.
    #[error("`{}` is hidden, and its name is no UTF-8, so that a review could not hide it; rename it, or run without `--cow`", path.display())]
    Unwritable {
        /// The path, below the root.
        path: PathBuf,
    },
    /// A path of the store is not one that can be shown.
    #[error("`{}` cannot be shown", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
}

/// A workspace that a run will have. Where it will be is known before it is made, so that whoever builds the sandbox need not
/// wait for it.
pub(crate) struct Apart<'a> {
    plan: Arc<Plan>,
    host: Arc<HostFacts>,
    signals: Option<&'a Signals>,
    store: Store,
    mode: Mode,
    name: Name,
    /// Whose name it is.
    called: Called,
    layers: Layers,
    /// The workspace, once it is made.
    held: Option<Held>,
}

/// Who chose the name of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    /// The user, for runs that share it.
    ByUser,
    /// We, for this run alone.
    MadeUp,
}

/// A workspace that this run alone has.
pub(crate) struct Held {
    workspace: Workspace,
    lock: RunLock,
    keep: Keep,
}

/// What came of asking.
enum Begun {
    /// It is this run's.
    Ready(Box<Held>),
    /// The user did not want to wait.
    Interrupted(i32),
}

impl<'a> Apart<'a> {
    /// The workspace that a plan asks for, of which nothing is there yet but the store; none for the real tree.
    pub(crate) fn intend(
        plan: &Arc<Plan>,
        host: &Arc<HostFacts>,
        signals: Option<&'a Signals>,
    ) -> Result<Option<Self>, WorkspaceError> {
        let asked = &plan.workspace.value;
        let mode = match asked.mode {
            WorkspaceMode::Direct => return Ok(None),
            WorkspaceMode::Cow => Mode::Cow,
            WorkspaceMode::Worktree => Mode::Worktree,
        };
        // What others left there is looked at when the workspace is made, while somebody else builds the sandbox.
        let store = Store::find_place(&store_place(&host.environment, &host.user.home)?)?;
        for shown in &plan.files.shown {
            if store.place().starts_with(shown.host.as_path()) {
                let (shown, store) = (shown.host.as_path().to_owned(), store.place().to_owned());
                return Err(WorkspaceError::Reachable { shown, store });
            }
        }
        let root = host.tree.root.as_path();
        let (name, called) = match &asked.name {
            Some(name) => (name.parse()?, Called::ByUser),
            None => (store.unused_name(root)?, Called::MadeUp),
        };
        let (own, base) = store.place_of(&name, root, mode);
        let layers = Layers { lower: vec![host_path(&base)?], own: host_path(&own)? };
        let (plan, host) = (Arc::clone(plan), Arc::clone(host));
        Ok(Some(Self { plan, host, signals, store, mode, name, called, layers, held: None }))
    }

    /// What the engine will show.
    pub(crate) fn layers(&self) -> Layers {
        self.layers.clone()
    }

    /// What a layer cannot do here, in words. The kernel copies a file with its group before it can be changed, and in a
    /// sandbox of an ordinary user no group exists but the user's own.
    pub(crate) fn warning(&self) -> Option<String> {
        let (uid, gid) = polder_sys::wait::effective_ids();
        let root = self.host.tree.root.as_path();
        let tree = std::fs::metadata(root).ok()?;
        let group = tree.gid();
        (self.mode == Mode::Cow && uid != 0 && tree.uid() == uid && group != gid).then(|| {
            format!(
                "`{}` belongs to the group {group}, which is not yours: what belongs to it cannot be changed on a layer \
                 (\"Value too large for defined data type\"); `--worktree` copies what git knows, as your own",
                root.display()
            )
        })
    }

    /// Makes it, and gives its lock once more: the workspace is taken until both are let go of.
    pub(crate) fn make(&mut self) -> Result<OwnedFd, LaunchError> {
        let failed = |failure| LaunchError { failure, remedy: None };
        let held = match self.begin() {
            Ok(Begun::Ready(held)) => self.held.insert(*held),
            Ok(Begun::Interrupted(signal)) => return Err(failed(LaunchFailure::Interrupted(signal))),
            Err(error) => return Err(failed(LaunchFailure::Setup(error.into()))),
        };
        held.lock().map_err(|error| failed(LaunchFailure::Setup(error.into())))
    }

    /// The workspace, if it was made.
    pub(crate) fn held(self) -> Option<Held> {
        self.held
    }

    /// A name that is mistyped gets the nearest one.
    fn unknown(&self, name: String) -> WorkspaceError {
        let all = self.store.list().unwrap_or_default();
        let near = polder_policy::nearest(&name, all.iter().map(|workspace| workspace.name().as_str()));
        match near {
            Some(near) => WorkspaceError::Mistyped { name, near },
            None => StoreError::Unknown { name }.into(),
        }
    }

    /// Begins it. That can mean to wait for another run of this process.
    fn begin(&self) -> Result<Begun, WorkspaceError> {
        let (plan, host) = (&*self.plan, &*self.host);
        self.store.tidy();
        let asked = &plan.workspace.value;
        let root = host.tree.root.as_path();
        let parent = asked.from.as_ref().map(|name| name.parse::<Name>()).transpose()?;
        let capture = match self.mode {
            Mode::Cow => None,
            Mode::Worktree => Some(worktree::capture(asked, &host.environment, root)?),
        };
        let name = Some(self.name.clone());
        let begin = Begin { root, name, mode: self.mode, parent, capture: capture.as_ref() };
        let (mut workspace, lock) = loop {
            match take(&self.store, &begin) {
                Err(error) if is_ours(&error) => {
                    if let Some(signal) = wait_or_signal(self.signals, BETWEEN_TRIES) {
                        return Ok(Begun::Interrupted(signal));
                    }
                }
                Err(WorkspaceError::Store(StoreError::Unknown { name })) => return Err(self.unknown(name)),
                taken => break taken?,
            }
        };
        match self.arrange(&mut workspace, &begin) {
            Ok(()) => Ok(Begun::Ready(Box::new(Held { workspace, lock, keep: keep_of(plan) }))),
            Err(error) => {
                // One that was begun for nothing goes again. What keeps it from that is less than what kept us from running.
                let keep = if workspace.is_new() { Keep::Never } else { Keep::Changed };
                let _ = workspace.end(lock, keep);
                Err(error)
            }
        }
    }

    /// Makes sure that a workspace is the one that was meant and may be written.
    fn arrange(&self, workspace: &mut Workspace, begin: &Begin<'_>) -> Result<(), WorkspaceError> {
        let (plan, host) = (&*self.plan, &*self.host);
        let name = || workspace.name().to_string();
        // Somebody chose the same name in the same moment.
        if self.called == Called::MadeUp && !workspace.is_new() {
            return Err(WorkspaceError::Taken { name: name() });
        }
        let copied = workspace.borrowed()?.map(|(objects, digest)| CapturedFacts { objects, digest });
        // What the plan hides and protects, it does in the copy that it was made for.
        if copied != host.tree.captured {
            return Err(WorkspaceError::CopiedOtherwise { root: begin.root.to_owned() });
        }
        // The store looks the tree up again; what the plan speaks of was looked up before, without a link in its path.
        if workspace.root() != begin.root {
            return Err(WorkspaceError::Moved { path: begin.root.to_owned(), to: workspace.root().to_owned() });
        }
        // What the engine shows was decided before: a workspace elsewhere would be another one's.
        if self.layers.own.as_path() != workspace.place() || self.layers.lower != [host_path(&workspace.base())?] {
            return Err(WorkspaceError::Path { path: workspace.place().to_owned() });
        }
        if let Some(from) = &begin.parent
            && workspace.parent() != Some(from)
        {
            return Err(WorkspaceError::BegunOtherwise { name: name(), from: from.to_string() });
        }
        if !plan.workspace.value.keep && !workspace.is_new() && workspace.is_changed()? {
            return Err(WorkspaceError::NotOursToDiscard { name: name() });
        }
        if !workspace.is_new() {
            workspace.clear_work()?;
        }
        if self.called == Called::MadeUp {
            workspace.passes(keep_of(plan))?;
        }
        workspace.hide(&hidden(plan, begin.root)?)?;
        Ok(())
    }
}

fn keep_of(plan: &Plan) -> Keep {
    if plan.workspace.value.keep { Keep::Changed } else { Keep::Never }
}

/// The store of workspaces for a caller.
pub(crate) fn open_store(environment: &BTreeMap<OsString, OsString>, home: &Path) -> Result<Store, WorkspaceError> {
    Ok(Store::open(&store_place(environment, home)?)?)
}

fn store_place(environment: &BTreeMap<OsString, OsString>, home: &Path) -> Result<PathBuf, WorkspaceError> {
    let home = home.join(".local/state/polder/workspaces");
    Store::place_for(environment).or_else(|| home.is_absolute().then_some(home)).ok_or(WorkspaceError::NoPlace)
}

/// Whether another run of this process has the workspace, such as a step at the same time: it will be free, and nobody but us
/// could be told to come back then. A lock that was taken a moment ago has no number in it yet.
fn is_ours(error: &WorkspaceError) -> bool {
    let own = std::process::id().to_string();
    matches!(error, WorkspaceError::Store(StoreError::InUse { pid, .. }) if *pid == own || pid.is_empty())
}

/// The workspace, for this run alone. Another run may throw it away between the two steps; then it is begun anew.
fn take(store: &Store, begin: &Begin<'_>) -> Result<(Workspace, RunLock), WorkspaceError> {
    loop {
        let workspace = store.begin(begin.clone())?;
        match workspace.lock_for_run() {
            Ok(lock) if workspace.is_there() => return Ok((workspace, lock.until_ended())),
            Err(error) if workspace.is_there() => return Err(error.into()),
            Ok(_) | Err(_) => {}
        }
    }
}

fn host_path(path: &Path) -> Result<HostPath, WorkspaceError> {
    HostPath::new(path).map_err(|_| WorkspaceError::Path { path: path.to_owned() })
}

/// What the command cannot see, as patterns below the root: nobody is shown it afterwards either.
fn hidden(plan: &Plan, root: &Path) -> Result<Vec<String>, WorkspaceError> {
    let guest = plan.workspace_guest().as_path();
    let masks = plan.files.masks.iter().filter(|mask| mask.kind == MaskKind::Hide);
    let below = masks.filter_map(|mask| mask.path.as_path().strip_prefix(guest).ok());
    // The root itself is never hidden: there would be nothing to work on.
    let below = below.filter(|below| root.join(below) != root);
    below.map(|below| in_words(below).ok_or_else(|| WorkspaceError::Unwritable { path: below.to_owned() })).collect()
}

/// A pattern that means this path, if it can be written down.
fn in_words(path: &Path) -> Option<String> {
    path.to_str().map(globset::escape)
}

impl Held {
    /// The lock once more.
    fn lock(&self) -> Result<OwnedFd, WorkspaceError> {
        self.lock.share().map_err(|source| WorkspaceError::Lock { name: self.workspace.name().to_string(), source })
    }

    /// Watches over how much the layer takes.
    pub(crate) fn filling(&self, bound: ByteSize) -> Result<Filling, WorkspaceError> {
        Ok(Filling::new(self.workspace.gauge()?, bound.0))
    }

    /// Lets the workspace go, or away, when nothing of the sandbox is left; tells what it holds.
    pub(crate) fn end(self) -> Result<EventKind, WorkspaceError> {
        let Self { workspace, lock, keep } = self;
        let name = workspace.name().to_string();
        let Ended { changed, kept } = workspace.end(lock, keep)?;
        Ok(EventKind::Changes { workspace: name, changed, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::in_words;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    #[test]
    fn a_hidden_path_is_written_down_as_it_is_or_not_at_all() {
        assert_eq!(in_words(Path::new("a/[b]*")).as_deref(), Some("a/[[]b[]][*]"));
        assert_eq!(in_words(Path::new(OsStr::from_bytes(b"a/\xff"))), None);
    }
}
