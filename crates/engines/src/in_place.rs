//! What engines share whose commands see the host's own file system: what such a world cannot give, and a run under
//! the keeper.

use polder_engine::{Ended, Finished, LaunchError, LaunchFailure, Parting, Report, Running, Services};
use polder_facts::Gap;
use polder_plan::{Plan, Role, Shown};
use polder_policy::WorkspaceMode;
use polder_sys::keeper::{Kept, StartError};
use polder_sys::{Command, Errno, Rlimit};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What no engine of this kind can do with a plan, whatever is accepted.
pub(crate) fn impossible(engine: &str, plan: &Plan) -> Vec<Gap> {
    let gap = |reason: String, remedy: &str| Gap { reason, remedy: Some(remedy.to_owned()) };
    let Plan { image, caches, credentials, workspace, files, engine_options, .. } = plan;
    let mut gaps = Vec::new();
    for Shown { host, guest, role, origin, .. } in &files.shown {
        if host.as_path() == guest.as_path() {
            continue;
        }
        let what =
            format!("{origin}: `{host}` cannot appear at `{guest}`: engine `{engine}` shows paths where they are");
        gaps.push(match role {
            Role::Workspace | Role::Repository | Role::EnclosingTree => {
                gap(what, "use `workdir: host`, or leave `workdir` out")
            }
            Role::Bind | Role::Cache | Role::State | Role::Lent => {
                gap(what, "bind it at its own path, or choose an engine that makes a file system")
            }
        });
    }
    if let Some(image) = image {
        let reason = format!("{}: engine `{engine}` uses the host's programs, not an image", image.origin);
        gaps.push(gap(reason, "take the image away, or choose an engine that takes one"));
    }
    if let Some(cache) = caches {
        let reason = format!("{}: engine `{engine}` keeps nothing between runs that the host does not", cache.origin);
        gaps.push(gap(reason, "bind a directory for writing instead"));
    }
    for credential in credentials {
        let reason = format!("{}: credentials need the broker, which is not in this build", credential.origin);
        gaps.push(Gap { reason, remedy: None });
    }
    if workspace.value.mode != WorkspaceMode::Direct {
        let mode = workspace.value.mode.name();
        let reason = format!("{}: engine `{engine}` works on the real tree, not on a `{mode}` of it", workspace.origin);
        gaps.push(gap(reason, "choose an engine that makes a file system, or use `workspace: {mode: direct}`"));
    }
    if let Some(options) = engine_options.get(engine) {
        gaps.push(gap(format!("{}: engine `{engine}` has no options", options.origin), "take `options` out"));
    }
    gaps
}

/// The files to try, the arguments and the environment of what is started.
pub(crate) struct Started {
    pub(crate) candidates: Vec<PathBuf>,
    pub(crate) argv: Vec<OsString>,
    pub(crate) env: BTreeMap<OsString, OsString>,
}

/// Starts a command in the plan's directory, under a keeper. What is `held` is dropped when nobody is left.
pub(crate) fn launch(
    plan: &Plan,
    started: Started,
    services: Services<'_>,
    held: impl Send + 'static,
) -> Result<Box<dyn Running>, LaunchError> {
    let Started { candidates, argv, env } = started;
    let Services { stdio, terminal, no_terminal: _, ahead: _, layers, lookout: _, session: _, record: _ } = services;
    // A tree in place cannot be kept apart; such a plan does not come to this.
    if layers.is_some() {
        let error = std::io::Error::other("layers were prepared for an engine that works in place");
        return Err(LaunchError { failure: LaunchFailure::Setup(error.into()), remedy: None });
    }
    let variable = |(name, value): (OsString, OsString)| {
        let mut entry = name;
        entry.push("=");
        entry.push(value);
        c(entry)
    };
    let command = Command {
        candidates: candidates.into_iter().map(c).collect(),
        argv: argv.into_iter().map(c).collect(),
        env: env.into_iter().map(variable).collect(),
        workdir: c(plan.workdir.as_os_str()),
        terminal,
    };
    let kept = polder_sys::keeper::start(&command, &stdio, &rlimits(plan)).map_err(describe)?;
    Ok(Box::new(KeptRun { kept, held: Box::new(held) }))
}

/// A C string of a text that the policy has checked for NUL bytes.
fn c(text: impl AsRef<OsStr>) -> CString {
    CString::new(text.as_ref().as_bytes()).expect("invariant: paths, arguments and variables have no NUL byte")
}

fn rlimits(plan: &Plan) -> Vec<Rlimit> {
    let files =
        plan.limits.files.as_ref().map(|limit| Rlimit { resource: polder_sys::keeper::OPEN_FILES, value: limit.value });
    files.into_iter().collect()
}

fn describe(error: StartError) -> LaunchError {
    let failure = match error {
        StartError::NotStarted { errno } => not_started(errno),
        StartError::Setup { .. } | StartError::Vanished => LaunchFailure::Setup(Box::new(error)),
    };
    LaunchError { failure, remedy: None }
}

fn not_started(errno: Errno) -> LaunchFailure {
    let error = std::io::Error::from(errno);
    match error.kind() {
        // From exec itself this may also mean that the interpreter of a script is missing.
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => LaunchFailure::NotFound,
        _ => LaunchFailure::NotExecutable(error),
    }
}

/// A command under a keeper. Fields are dropped in order: the processes before what they use.
struct KeptRun {
    kept: Kept,
    held: Box<dyn Send>,
}

impl Running for KeptRun {
    fn reports(&self) -> BorrowedFd<'_> {
        self.kept.reports()
    }

    fn report(&mut self) -> Report {
        match self.kept.ended() {
            None => Report::Lost,
            Some(polder_sys::keeper::Ended { code, signal, cpu, peak_rss_bytes }) => {
                Report::Ended(Ended { code, signal, cpu, peak_rss_bytes })
            }
        }
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.kept.take_master()
    }

    fn signal(&self, signal: i32) {
        self.kept.signal(signal);
    }

    fn kill(&self) {
        self.kept.kill();
    }

    fn finish(self: Box<Self>, _: Parting) -> Finished {
        let Self { kept, held } = *self;
        drop(kept);
        drop(held);
        Finished { limit: None, violations: Vec::new(), warnings: Vec::new() }
    }
}
