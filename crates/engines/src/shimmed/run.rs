//! A command under our shim, from its start to its end. Thin: everything was decided before.

use super::denied::{is_settled, violation, waits_for_end};
use polder_engine::{Ended, Finished, LaunchError, LaunchFailure, Parting, Report, Running};
use polder_facts::{Action, LimitKind, Violation};
use polder_plan::Plan;
use polder_sys::cgroup::Cgroup;
use polder_sys::{Denial, Errno, Launched, SpawnError};
use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

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
        // Whoever was to make it ready has said what to do.
        SpawnError::Unready => None,
        SpawnError::Caller { .. } | SpawnError::Inside { .. } | SpawnError::Vanished | SpawnError::Silent { .. } => {
            Some("`polder doctor` shows which mechanism fails here".to_owned())
        }
    };
    setup(error, remedy)
}

/// The least CPU time of a command for which a caller that ends anyway waits, so that `time polder run` counts it.
const CPU_SHOWN: Duration = Duration::from_millis(10);

/// A command that runs. Fields are dropped in order: the processes before the cgroup that holds them.
pub(crate) struct ShimmedRun {
    launched: Launched,
    cgroup: Option<Cgroup>,
    plan: Arc<Plan>,
    disk_full: bool,
    told_end: bool,
    /// CPU time of what ran inside, once the end was told.
    cpu: Duration,
    /// What was denied so far and what the user was told of it, with how often, by place in the table.
    told: BTreeMap<usize, Option<Violation>>,
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
                self.cpu = ended.cpu;
                Report::Ended(Ended {
                    code: ended.code,
                    signal: ended.signal,
                    cpu: ended.cpu,
                    peak_rss_bytes: ended.peak_rss_bytes,
                })
            }
            polder_sys::Report::Denied(denial) => Report::Denied(self.told(&denial)),
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

    fn is_quiet(&self) -> bool {
        // Every other process inside was gone before the shim told the end.
        self.told_end
    }

    fn take_git_copies(&mut self) -> Option<OwnedFd> {
        self.launched.take_git_copies()
    }

    fn finish(self: Box<Self>, parting: Parting) -> Finished {
        let mut this = self;
        let violations = this.untold();
        let Self { launched, cgroup, disk_full, told_end, cpu, .. } = *this;
        // A cgroup can be removed only when the last process is gone.
        match (parting, &cgroup) {
            // CPU time counts as ours only if we wait for the shim (getrusage(2), RUSAGE_CHILDREN), which takes as
            // long as the kernel needs for the namespaces: not worth it for what no clock of a shell shows.
            (Parting::Leave, None) if told_end && cpu < CPU_SHOWN => launched.leave(),
            _ => launched.wait_gone(),
        }
        let reached = cgroup.as_ref().map(Cgroup::reached);
        let limit = match reached {
            Some(reached) if reached.memory => Some(LimitKind::Memory),
            Some(reached) if reached.pids => Some(LimitKind::Pids),
            _ if disk_full => Some(LimitKind::Disk),
            _ => None,
        };
        Finished { limit, violations, warnings: Vec::new() }
    }
}

impl ShimmedRun {
    /// A launched shim with what has to end after it.
    pub(crate) fn new(launched: Launched, cgroup: Option<Cgroup>, plan: &Arc<Plan>) -> Self {
        Self {
            launched,
            cgroup,
            plan: Arc::clone(plan),
            disk_full: false,
            told_end: false,
            cpu: Duration::ZERO,
            told: BTreeMap::new(),
        }
    }

    /// What the user is told of something that was denied: when it is new, and when it is tried again a while later.
    fn told(&mut self, denial: &Denial) -> Option<Violation> {
        if waits_for_end(&self.plan, denial) {
            return None;
        }
        if let Some(told) = self.told.get_mut(&denial.index) {
            let told = told.as_mut()?;
            let again = Violation { count: denial.count.saturating_sub(told.count), ..told.clone() };
            told.count += again.count;
            return (again.count > 0).then_some(again);
        }
        // One is told here and the others at the end, with all that were meanwhile.
        let violation = violation(&self.plan, &Denial { count: 1, ..denial.clone() });
        self.told.insert(denial.index, violation.clone());
        violation
    }

    /// What was denied besides what was told already.
    fn untold(&mut self) -> Vec<Violation> {
        let (denials, not_kept) = self.launched.denials();
        let mut rest = Vec::new();
        for denial in denials {
            if waits_for_end(&self.plan, &denial) && is_settled(&self.plan, &denial) {
                continue;
            }
            match self.told.get(&denial.index) {
                Some(None) => {}
                Some(Some(told)) if denial.count <= told.count => {}
                Some(Some(told)) => rest.push(Violation { count: denial.count - told.count, ..told.clone() }),
                None => rest.extend(violation(&self.plan, &denial)),
            }
        }
        if not_kept > 0 {
            let note = "more different things failed than are kept of one run".to_owned();
            rest.push(Violation {
                action: Action::Limit,
                target: "violations".to_owned(),
                rule: "1024 different failures are kept".to_owned(),
                layer: "the observer".to_owned(),
                pid: None,
                exe: None,
                count: not_kept,
                grant: None,
                note: Some(note),
            });
        }
        rest
    }
}
