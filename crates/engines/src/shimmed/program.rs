//! Engines that are programs of the machine: finding one that can be trusted, trying it, and starting the shim by it.
//!
//! A program is looked for and tried when its engine is asked about and not before: a run by another engine pays nothing.

use super::{ShimmedRun, describe, setup};
use polder_engine::{Availability, Fitted, LaunchError, Running};
use polder_facts::HostFacts;
use polder_plan::Plan;
use polder_policy::Access;
use polder_sys::cgroup::{Cgroup, Entrance};
use polder_sys::{Command, Filtered, Foreign, ForeignError, Inside, Staging};
use std::ffi::{CString, OsString};
use std::fs;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A program that an engine may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Where it is, without symbolic links.
    pub(crate) path: PathBuf,
}

/// What of a plan a program must not come from: a command could have put it there.
fn trees(host: &HostFacts, plan: Option<&Plan>) -> Vec<PathBuf> {
    let shown = plan.into_iter().flat_map(|plan| &plan.files.shown);
    let writable = shown.filter(|shown| shown.access == Access::ReadWrite).map(|shown| shown.host.as_path());
    writable.chain([host.tree.root.as_path()]).map(Path::to_owned).collect()
}

/// Where systems keep programs, for a caller whose PATH is short.
const SYSTEM: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"];

/// The first program of this name on the caller's PATH, and then among the system's, that nobody else, and no command,
/// could have put there; the text says why there is none.
pub(crate) fn find(name: &str, host: &HostFacts, plan: Option<&Plan>) -> Result<Program, String> {
    let path = host.environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let trees = trees(host, plan);
    let mut passed_over = Vec::new();
    let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    for directory in directories.chain(SYSTEM.map(PathBuf::from)) {
        let candidate = directory.join(name);
        // What is not there was not passed over.
        let Ok(resolved) = fs::canonicalize(&candidate) else { continue };
        match judge(&candidate, &resolved, &trees, host.user.uid) {
            Ok(()) => return Ok(Program { path: resolved }),
            Err(reason) => passed_over.push(format!("`{}` {reason}", candidate.display())),
        }
    }
    if passed_over.is_empty() {
        return Err(format!("there is no program `{name}` on PATH"));
    }
    Err(format!("no program `{name}` can be trusted: {}", passed_over.join(", ")))
}

/// Whether nobody but root and the caller can change what stands at a path.
fn judge(candidate: &Path, resolved: &Path, trees: &[PathBuf], uid: u32) -> Result<(), String> {
    let directory = candidate.parent().and_then(|parent| fs::canonicalize(parent).ok());
    let named = directory.as_deref().map(|directory| directory.join(candidate.file_name().unwrap_or_default()));
    for place in [Some(resolved), named.as_deref()].into_iter().flatten() {
        if trees.iter().any(|tree| place.starts_with(tree)) {
            return Err("lies where a command can write".to_owned());
        }
    }
    let metadata = fs::metadata(resolved).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err("cannot be executed".to_owned());
    }
    for place in resolved.ancestors().chain(directory.iter().flat_map(|directory| directory.ancestors())) {
        let metadata = fs::metadata(place).map_err(|error| error.to_string())?;
        let owned = metadata.uid() == 0 || metadata.uid() == uid;
        // In a sticky directory others can make names, but not change those of others.
        let sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
        if !owned || (metadata.mode() & 0o022 != 0 && !sticky) {
            return Err(format!("can be changed by others, through `{}`", place.display()));
        }
    }
    Ok(())
}

/// How an engine's program is called.
pub(crate) struct Call {
    pub(crate) program: Program,
    /// Its arguments, without its name.
    pub(crate) arguments: Vec<CString>,
    /// Descriptors that it gets from [`polder_sys::FIRST_ADDED`] on.
    pub(crate) added: Vec<OwnedFd>,
    /// What is built around it first.
    pub(crate) staging: Option<Staging>,
    /// Words by which it says that it failed for a reason that passes, before it started anything.
    pub(crate) passing: &'static [&'static str],
    /// Whether it removes files of its own at the end.
    pub(crate) tidies: bool,
}

/// How often a program may fail for a reason that passes before it is believed.
const TRIES_MAX: u32 = 20;

impl Call {
    fn command(&self) -> Command {
        let path = super::c(&self.program.path);
        let argv = std::iter::once(path.clone()).chain(self.arguments.iter().cloned()).collect();
        // Nothing of the caller's environment decides how the program works.
        let env = vec![super::c("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), super::c("SHELL=/bin/sh")];
        Command { candidates: vec![path], argv, env, workdir: super::c("/"), terminal: None }
    }

    fn spawn(
        &self,
        cgroup: Option<&Entrance>,
        inside: &Inside,
        stdio: &[OwnedFd; 3],
        kept: Option<BorrowedFd<'_>>,
    ) -> Result<polder_sys::Launched, ForeignError> {
        let Self { added, staging, passing, tidies, .. } = self;
        let tidies = *tidies;
        let (program, staging) = (&self.command(), staging.as_ref());
        let mut tries = 1;
        loop {
            let foreign =
                Foreign { program, added, outer: None, staging, cgroup, finish: None, inside, stdio, kept, tidies };
            match polder_sys::spawn_foreign(&foreign) {
                Err(ForeignError::Ended { said })
                    if tries < TRIES_MAX && passing.iter().any(|words| said.contains(words)) =>
                {
                    tries += 1;
                }
                answer => return answer,
            }
        }
    }
}

/// Starts the shim, and by it the command of a judged plan. `beside` counts the processes of the run's cgroup that are
/// not the command's.
pub(crate) fn launch_by(
    call: &Call,
    fitted: &Fitted,
    inside: &Inside,
    stdio: &[OwnedFd; 3],
    kept: Option<BorrowedFd<'_>>,
    beside: u64,
) -> Result<Box<dyn Running>, LaunchError> {
    let cgroup = super::make_cgroup(fitted, beside)?;
    let entrance = cgroup.as_ref().map(Cgroup::entrance).transpose().map_err(|error| setup(error, None))?;
    let launched = call
        .spawn(entrance.as_ref(), inside, stdio, kept)
        .map_err(|error| super::starved_or(fitted.plan(), cgroup.as_ref(), foreign(call, error)))?;
    Ok(Box::new(ShimmedRun::new(launched, cgroup, fitted.plan())))
}

/// Starts the shim with a command that does nothing, to see that the program works here.
pub(crate) fn trial(call: &Call) -> Result<(), LaunchError> {
    let inside = Inside {
        made: Vec::new(),
        rlimits: Vec::new(),
        landlock: None,
        filter: Filtered::No,
        swept: Vec::new(),
        observe: None,
        command: Command {
            candidates: vec![super::c("/usr/bin/true"), super::c("/bin/true")],
            argv: vec![super::c("true")],
            env: Vec::new(),
            workdir: super::c("/"),
            terminal: None,
        },
    };
    let null = || {
        let file = fs::File::options().read(true).write(true).open("/dev/null");
        file.map(OwnedFd::from).map_err(|error| setup(error, None))
    };
    let stdio = [null()?, null()?, null()?];
    let mut launched = call.spawn(None, &inside, &stdio, None).map_err(|error| foreign(call, error))?;
    match launched.report() {
        polder_sys::Report::Ended(ended) if ended.code == Some(0) => Ok(()),
        other => Err(setup(std::io::Error::other(format!("a command that does nothing ended as {other:?}")), None)),
    }
}

/// What came of a trial.
pub(crate) fn tried(
    detail: String,
    answer: Result<(), LaunchError>,
    other_remedy: impl FnOnce() -> String,
) -> Availability {
    match answer {
        Ok(()) => Availability::Available { detail },
        Err(LaunchError { failure, remedy }) => {
            let reason = LaunchError { failure, remedy: None };
            let remedy = remedy.unwrap_or_else(other_remedy);
            Availability::Unavailable { reason: format!("a trial failed: {reason}"), remedy }
        }
    }
}

fn foreign(call: &Call, error: ForeignError) -> LaunchError {
    match error {
        ForeignError::Spawn(error) => describe(error),
        ForeignError::NoShim => setup(
            error,
            Some("a program that uses polder as a library calls `polder::become_shim_if_asked()` first".to_owned()),
        ),
        ForeignError::Ended { said } => {
            let text = format!("`{}` ended before it started anything: {said}", call.program.path.display());
            setup(std::io::Error::other(text), Some("`polder doctor` shows which mechanism fails here".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
