//! A command under our shim, from its start to its end. Thin: everything was decided before.

use super::denied::{is_settled, violation, waits_for_end};
use polder_engine::{Ended, Finished, LaunchError, LaunchFailure, NotSetAside, Parting, Report, Running};
use polder_facts::git::{ConfigFault, ConfigKey, ConfigMerge, judge_key, lists_key, merge_configs};
use polder_facts::{Action, Grant, HostPath, LimitKind, Origin, Violation};
use polder_plan::{GitView, Plan, Swept};
use polder_sys::aside::set_aside;
use polder_sys::cgroup::Cgroup;
use polder_sys::repository::{ObeyedPath, obeyed_since, read_copy, rewrite_config};
use polder_sys::{Denial, Errno, Launched, SpawnError};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
        // Whoever was to make it ready has said what to do.
        SpawnError::Unready => None,
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
    /// What was denied so far and what the user was told of it, by place in the table.
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

    fn finish(self: Box<Self>, parting: Parting) -> Finished {
        let mut this = self;
        let mut violations = this.untold();
        let git_copies = this.launched.take_git_copies();
        let Self { launched, cgroup, mut sweeper, disk_full, told_end, .. } = *this;
        // Everyone inside was gone before the end was told. Where it was not told, they have to be gone first.
        sweeper.git_copies = git_copies;
        let swept = told_end.then(|| sweeper.sweep());
        // A cgroup can be removed only when the last process is gone.
        match (parting, &cgroup) {
            (Parting::Leave, None) if told_end => launched.leave(),
            _ => launched.wait_gone(),
        }
        let swept = swept.unwrap_or_else(|| sweeper.sweep());
        violations.extend(swept.violations);
        let reached = cgroup.as_ref().map(Cgroup::reached);
        let limit = match reached {
            Some(reached) if reached.memory => Some(LimitKind::Memory),
            Some(reached) if reached.pids => Some(LimitKind::Pids),
            _ if disk_full => Some(LimitKind::Disk),
            _ => None,
        };
        Finished { limit, violations, warnings: Vec::new(), not_set_aside: swept.not_set_aside }
    }
}

impl ShimmedRun {
    /// A launched shim with what has to end after it.
    pub(crate) fn new(launched: Launched, cgroup: Option<Cgroup>, plan: &Arc<Plan>) -> Self {
        let sweeper = Sweeper::new(plan);
        Self {
            launched,
            cgroup,
            sweeper,
            plan: Arc::clone(plan),
            disk_full: false,
            told_end: false,
            told: BTreeMap::new(),
        }
    }

    /// What the user is told of something that was denied, once.
    fn told(&mut self, denial: &Denial) -> Option<Violation> {
        if waits_for_end(&self.plan, denial) {
            return None;
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
                Some(Some(_)) if denial.count < 2 => {}
                Some(Some(told)) => rest.push(Violation { count: denial.count - 1, ..told.clone() }),
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

/// Sets aside what must not be obeyed, also when the run ends in an error.
pub(crate) struct Sweeper {
    plan: Arc<Plan>,
    /// Private copies of git's configuration, if the run came to its end and has some.
    git_copies: Option<OwnedFd>,
    done: bool,
}

/// What came of a sweep.
pub(crate) struct SweepOutcome {
    /// One for each file that was set aside.
    pub(crate) violations: Vec<Violation>,
    /// The files that are still there.
    pub(crate) not_set_aside: Vec<NotSetAside>,
}

impl Sweeper {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self { plan: Arc::clone(plan), git_copies: None, done: false }
    }

    pub(crate) fn sweep(&mut self) -> SweepOutcome {
        self.done = true;
        let mut outcome = self.set_aside();
        if let Some(copies) = self.git_copies.take() {
            outcome.violations.extend(take_over_configs(&self.plan, copies.as_fd()));
            // A remote that is new can be a repository of the workspace.
            let SweepOutcome { violations, not_set_aside } = self.set_aside();
            outcome.violations.extend(violations);
            outcome.not_set_aside = not_set_aside;
        }
        outcome
    }

    fn set_aside(&self) -> SweepOutcome {
        let (mut violations, mut not_set_aside) = (Vec::new(), Vec::new());
        let obeyed = git_obeys(&self.plan).unwrap_or_else(|unseen| {
            not_set_aside.push(unseen);
            Vec::new()
        });
        for swept in self.plan.files.swept.iter().chain(&obeyed) {
            let Swept { tree, relative, only_with, .. } = swept;
            match set_aside(tree.as_path(), relative, only_with, Swept::SUFFIX) {
                Ok(None) => {}
                Ok(Some(name)) => {
                    let inside = swept.path.as_path().with_file_name(name);
                    let what = format!("set aside as `{}`", inside.display());
                    violations.push(set_aside_violation(swept, what));
                }
                Err(error) => {
                    let path = tree.as_path().join(relative);
                    not_set_aside.push(NotSetAside { path, reason: error.to_string() });
                }
            }
        }
        SweepOutcome { violations, not_set_aside }
    }
}

/// Takes the harmless keys of private copies over into the host's files, and tells which are not.
fn take_over_configs(plan: &Plan, copies: BorrowedFd<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, config) in plan.files.git.configs.iter().enumerate() {
        let origin = plan.files.git.origin.clone().unwrap_or(Origin::BuiltIn);
        let told = |what: String| {
            let grant = Some(Grant::FsWrite(config.relative.clone()));
            swept_violation(config.path.to_string(), format!("protect ({origin}): {what}"), grant)
        };
        let not_taken = |why: String| told(format!("nothing of the command's copy was taken over: {why}"));
        let copy = match read_copy(copies, number) {
            Ok(copy) if copy == config.base => continue,
            Ok(copy) => copy,
            Err(error) => {
                violations.push(not_taken(error.to_string()));
                continue;
            }
        };
        let mut held = Vec::new();
        let merged = rewrite_config(config.tree.as_path(), &config.relative, |host| {
            // A tree of its own is what the host's file says, and no command changes that.
            let judge = |key: &ConfigKey, value: Option<&str>| judge_key(key, value, &|_| false);
            let ConfigMerge { text, held: kept } = merge_configs(&config.base, host, &copy, &judge, &lists_key)?;
            held = kept;
            Ok::<_, ConfigFault>(text)
        });
        match merged {
            Ok(Ok(())) => {}
            Ok(Err(ConfigFault { line })) => {
                violations.push(not_taken(format!("line {line} is not a setting of git")));
            }
            Err(error) => violations.push(not_taken(error.to_string())),
        }
        if let Some((_, why)) = held.first() {
            const NAMED_MAX: usize = 8;
            let names: Vec<String> = held.iter().take(NAMED_MAX).map(|(key, _)| format!("`{key}`")).collect();
            let more = if held.len() > NAMED_MAX { " and more" } else { "" };
            violations.push(told(format!("not taken over: {}{more}; {why}", names.join(", "))));
        }
    }
    violations
}

/// The paths that git on the host would obey because of this run. Git dirs that cannot be looked at
/// fail the run like a file that stays.
fn git_obeys(plan: &Plan) -> Result<Vec<Swept>, NotSetAside> {
    let GitView { trees, before, configs: _, missing: _, origin } = &plan.files.git;
    let Some((root, origin)) = trees.first().zip(origin.as_ref()) else { return Ok(Vec::new()) };
    let obeyed = obeyed_since(trees, before).map_err(|error| NotSetAside {
        path: root.join(".git"),
        reason: format!("git's directories cannot be looked at: {error}"),
    })?;
    let swept = obeyed.into_iter().filter_map(|ObeyedPath { path, why: _ }| {
        let tree = trees.iter().find(|tree| path.starts_with(tree)).unwrap_or(root);
        let relative = path.strip_prefix(tree).ok()?.to_owned();
        let shown = plan.files.shown.iter().find(|shown| shown.host.as_path() == *tree)?;
        let inside = shown.guest.join(&relative).ok()?;
        let (tree, origin) = (HostPath::new(tree).ok()?, origin.clone());
        Some(Swept { tree, relative, path: inside, only_with: Vec::new(), origin })
    });
    Ok(swept.collect())
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if !self.done {
            // What stays is in the record of the run, which the next one in this tree reads.
            self.sweep();
        }
    }
}

fn set_aside_violation(swept: &Swept, what: String) -> Violation {
    let rule = format!("protect ({}): {what}", swept.origin);
    swept_violation(swept.path.to_string(), rule, Some(Grant::FsWrite(swept.relative.clone())))
}

fn swept_violation(target: String, rule: String, grant: Option<Grant>) -> Violation {
    Violation {
        action: Action::FileWrite,
        target,
        rule,
        layer: "sweep".to_owned(),
        pid: None,
        exe: None,
        count: 1,
        grant,
        note: None,
    }
}
