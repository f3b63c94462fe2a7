//! A command under our shim, from its start to its end. Thin: everything was decided before.

use polder_engine::{Ended, Finished, LaunchError, LaunchFailure, Parting, Report, Running};
use polder_facts::{Action, Grant, LimitKind, Violation};
use polder_plan::{Plan, Swept};
use polder_sys::aside::set_aside;
use polder_sys::cgroup::Cgroup;
use polder_sys::{Errno, Launched, SpawnError};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

pub(crate) fn setup(error: impl std::error::Error + Send + Sync + 'static, remedy: Option<String>) -> LaunchError {
    LaunchError { failure: LaunchFailure::Setup(Box::new(error)), remedy }
}

/// Turns the kernel's answer into what the user can do.
pub(crate) fn describe(error: SpawnError) -> LaunchError {
    let remedy = match &error {
        SpawnError::NotStarted { errno } => {
            let failure = match errno.0 {
                // ENOENT from exec itself may also mean that the interpreter of a script is missing.
                2 | 20 => LaunchFailure::NotFound,
                _ => LaunchFailure::NotExecutable((*errno).into()),
            };
            return LaunchError { failure, remedy: None };
        }
        SpawnError::Namespaces { .. } => Some(polder_sys::probe::namespace_remedy()),
        SpawnError::Caller { call, .. } if call.contains("IDMAP") => Some(
            "this file system has no id-mapped mounts: run as an ordinary user, or `--accept privileges`".to_owned(),
        ),
        SpawnError::Inside { what, errno: Errno(40), .. } if what.starts_with("show") => {
            Some("a component became a symbolic link; resolve it and run again".to_owned())
        }
        SpawnError::Inside { what, errno: Errno(2), .. } if what.starts_with("show") => {
            Some("the path or its place inside does not exist; polder makes nothing on the host".to_owned())
        }
        SpawnError::Caller { .. } | SpawnError::Inside { .. } | SpawnError::Vanished | SpawnError::Silent { .. } => {
            Some("`polder doctor` shows which mechanism fails here".to_owned())
        }
    };
    setup(error, remedy)
}

/// A command that runs. Fields are dropped in order: the processes before the cgroup that holds them, and before what
/// they wrote is looked at.
pub(crate) struct ShimmedRun {
    launched: Launched,
    cgroup: Option<Cgroup>,
    sweeper: Sweeper,
    plan: Arc<Plan>,
    disk_full: bool,
    told_end: bool,
}

impl Running for ShimmedRun {
    fn reports(&self) -> BorrowedFd<'_> {
        self.launched.reports()
    }

    fn ending(&self) -> Option<BorrowedFd<'_>> {
        self.launched.ending()
    }

    fn report(&mut self) -> Report {
        match self.launched.report() {
            polder_sys::Report::Ended(ended) => {
                self.disk_full = ended.disk_full;
                self.told_end = true;
                Report::Ended(Ended {
                    code: ended.code,
                    signal: ended.signal,
                    cpu: ended.cpu,
                    peak_rss_bytes: ended.peak_rss_bytes,
                })
            }
            polder_sys::Report::Denied { reserved, pid } => Report::Violation(self.denied(reserved, pid)),
            polder_sys::Report::Lost => Report::Lost,
        }
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.launched.take_master()
    }

    fn signal(&self, signal: i32) {
        self.launched.signal(signal);
    }

    fn kill(&self) {
        self.launched.kill();
    }

    fn finish(self: Box<Self>, parting: Parting) -> Finished {
        let Self { launched, cgroup, mut sweeper, disk_full, told_end, .. } = *self;
        // Everyone inside was gone before the end was told. Where it was not told, they have to be gone first.
        let swept = told_end.then(|| sweeper.sweep());
        // A cgroup can be removed only when the last process is gone.
        match (parting, &cgroup) {
            (Parting::Leave, None) if told_end => launched.leave(),
            _ => launched.wait_gone(),
        }
        let violations = swept.unwrap_or_else(|| sweeper.sweep());
        let reached = cgroup.as_ref().map(Cgroup::reached);
        let limit = match reached {
            Some(reached) if reached.memory => Some(LimitKind::Memory),
            Some(reached) if reached.pids => Some(LimitKind::Pids),
            _ if disk_full => Some(LimitKind::Disk),
            _ => None,
        };
        Finished { limit, violations }
    }
}

impl ShimmedRun {
    /// A launched shim with what has to end after it.
    pub(crate) fn new(launched: Launched, cgroup: Option<Cgroup>, plan: &Arc<Plan>) -> Self {
        let sweeper = Sweeper { plan: Arc::clone(plan), done: false };
        Self { launched, cgroup, sweeper, plan: Arc::clone(plan), disk_full: false, told_end: false }
    }

    /// The guard refused to let a protected name come into being.
    fn denied(&self, index: usize, pid: u32) -> Violation {
        let reserved = self.plan.files.reserved.get(index);
        let name = reserved.map_or("?", |reserved| reserved.name.as_str());
        let directory = reserved.and_then(|reserved| reserved.directory.as_ref());
        let target = directory.map_or_else(|| name.to_owned(), |dir| format!("{dir}/{name}"));
        let rule = reserved.map_or_else(|| "protect".to_owned(), |reserved| format!("protect ({})", reserved.origin));
        // Rules and grants speak of paths relative to the workspace, or of a name in any directory.
        let grant = match directory {
            None => Some(Grant::FsWrite(format!("**/{name}").into())),
            Some(_) => {
                let relative = std::path::Path::new(&target).strip_prefix(self.plan.workspace_guest().as_path());
                relative.ok().map(|path| Grant::FsWrite(path.to_owned()))
            }
        };
        Violation {
            action: Action::FileWrite,
            target,
            rule,
            layer: "guard".to_owned(),
            pid: Some(pid),
            exe: None,
            count: 1,
            grant,
        }
    }
}

/// Sets aside what must not be obeyed, also when the run ends in an error.
struct Sweeper {
    plan: Arc<Plan>,
    done: bool,
}

impl Sweeper {
    fn sweep(&mut self) -> Vec<Violation> {
        self.done = true;
        let found = self.plan.files.swept.iter().filter_map(|swept| {
            let Swept { tree, relative, only_with, .. } = swept;
            match set_aside(tree.as_path(), relative, only_with, Swept::SUFFIX) {
                Ok(false) => None,
                Ok(true) => Some(violation(swept, format!("set aside as `{}{}`", swept.path, Swept::SUFFIX))),
                // A tree that is gone holds nothing that anybody would obey.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => Some(violation(swept, format!("may be there and could not be set aside: {error}"))),
            }
        });
        found.collect()
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if !self.done {
            self.sweep();
        }
    }
}

fn violation(swept: &Swept, what: String) -> Violation {
    Violation {
        action: Action::FileWrite,
        target: swept.path.to_string(),
        rule: format!("protect ({}): {what}", swept.origin),
        layer: "sweep".to_owned(),
        pid: None,
        exe: None,
        count: 1,
        grant: Some(Grant::FsWrite(swept.relative.clone())),
    }
}
