//! Carrying a profile out. Thin: everything was decided before.

use super::profile::{SCRATCH, TEMPORARY, profile};
use crate::in_place::{self, Started};
use polder_engine::{Fitted, LaunchError, LaunchFailure, Running, Services};
use polder_plan::Plan;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's own and no other: one that is found by a search could be anybody's.
pub(super) const PROGRAM: &str = "/usr/bin/sandbox-exec";
/// The same number on every system that has this engine.
const EACCES: i32 = 13;

pub(super) fn launch(fitted: &Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let plan = fitted.plan();
    let profile = profile(plan).map_err(|error| setup(io::Error::other(error.to_string())))?;
    find(plan)?;
    let scratch = Scratch::make(Path::new(TEMPORARY), plan, &fitted.host().user.home).map_err(setup)?;
    let started = started(plan, profile, &scratch.path);
    in_place::launch(plan, started, services, scratch)
}

fn setup(error: io::Error) -> LaunchError {
    LaunchError { failure: LaunchFailure::Setup(Box::new(error)), remedy: None }
}

/// The call of the program: the command's own words come last and as they are.
pub(super) fn started(plan: &Plan, profile: String, scratch: &Path) -> Started {
    let mut parameter = OsString::from(format!("{SCRATCH}="));
    parameter.push(scratch);
    let mut argv: Vec<OsString> =
        vec![PROGRAM.into(), "-D".into(), parameter, "-p".into(), profile.into(), "--".into()];
    argv.extend(plan.command.iter().cloned());
    let mut env = plan.env.clone();
    // A home that exists and can be written, and temporary files that nobody else sees.
    env.insert("HOME".into(), scratch.join("home").into());
    env.insert("TMPDIR".into(), scratch.join("tmp").into());
    Started { candidates: vec![PROGRAM.into()], argv, env }
}

/// Says what is missing or cannot be executed: the program in between has one code for both. It looks again itself, and
/// under the rules; here only the words are found.
fn find(plan: &Plan) -> Result<(), LaunchError> {
    let mut failure = LaunchFailure::NotFound;
    for candidate in plan.candidates() {
        let Ok(metadata) = fs::metadata(plan.workdir.as_path().join(candidate)) else { continue };
        if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
            return Ok(());
        }
        failure = LaunchFailure::NotExecutable(io::Error::from_raw_os_error(EACCES));
    }
    Err(LaunchError { failure, remedy: None })
}

/// A directory of the run's own, which goes with it.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

impl Scratch {
    /// A home and a place for temporary files. What is bound from the real home can be found in this one too.
    pub(super) fn make(below: &Path, plan: &Plan, home: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = below.join(name);
        // Fails if somebody else was here first: a directory of another's choice is not ours.
        let private = |path: &Path| fs::DirBuilder::new().mode(0o700).create(path);
        private(&path)?;
        let scratch = Self { path };
        private(&scratch.path.join("home"))?;
        private(&scratch.path.join("tmp"))?;
        for shown in &plan.files.shown {
            let Ok(relative) = shown.host.as_path().strip_prefix(home) else { continue };
            let link = scratch.path.join("home").join(relative);
            if link.symlink_metadata().is_ok() {
                continue;
            }
            // A parent that is bound as a whole is a link already, and what lies below is found through it.
            if let Some(parent) = link.parent().filter(|parent| !parent.exists()) {
                fs::create_dir_all(parent)?;
            }
            std::os::unix::fs::symlink(shown.host.as_path(), link)?;
        }
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The command is gone; what it left unreadable stays its own and harms nobody.
        let _ = fs::remove_dir_all(&self.path);
    }
}
