//! Starting bwrap and, through it, the shim. Thin: everything was decided before.

use super::find::{self, Found};
use super::lower::{Argument, Lowered, lower};
use super::trial;
use crate::shimmed::{ShimmedRun, c, describe, made_layers, make_cgroup, setup, starved_or};
use polder_engine::{Fitted, LaunchError, LaunchFailure, Running, Services};
use polder_policy::Access;
use polder_sys::cgroup::Cgroup;
use polder_sys::{Command, FIRST_ADDED, Finish, Foreign, ForeignError, Step};
use std::ffi::CString;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Processes in the run's cgroup that are not the command's: bwrap, and the shim.
const OURS: u64 = 2;

pub(super) fn launch(fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, no_terminal: _, ahead: _, layers, lookout: _, session: _, record } = services;
    let (plan, host) = (fitted.plan(), fitted.host());
    let writable = plan.files.shown.iter().filter(|shown| shown.access == Access::ReadWrite);
    let writable: Vec<&Path> = writable.map(|shown| shown.host.as_path()).collect();
    let Found { path, .. } = find::find(host, &writable)
        .map_err(|missing| setup(std::io::Error::other(missing.to_string()), Some(trial::install_line())))?;
    let (layers, kept) = made_layers(plan, layers)?;
    let kept = kept.or(record);
    let Lowered { arguments, outer, apart, layered, laid, shown, masks, scratch_bytes, inside } =
        lower(&fitted, layers.as_ref(), terminal);
    let mut held = Vec::new();
    let mut same = |(path, at): (CString, CString)| {
        let located = polder_sys::locate(&path).map_err(|errno| {
            let remedy = "it is gone, or a part of it became a symbolic link; look at it and run again";
            setup(
                std::io::Error::other(format!("cannot show `{}`: {errno}", path.to_string_lossy())),
                Some(remedy.into()),
            )
        })?;
        let step = Step::Same { at, device: located.device, inode: located.inode };
        // Held until the shim has looked, so that its number belongs to no other file meanwhile.
        held.push(located);
        Ok(step)
    };
    // What something is made of is looked at before it is made.
    let mut finish = layered.into_iter().map(&mut same).collect::<Result<Vec<_>, LaunchError>>()?;
    finish.extend(laid);
    finish.extend(shown.into_iter().map(&mut same).collect::<Result<Vec<_>, LaunchError>>()?);
    finish.extend(masks);
    let apart = polder_sys::own_namespaces(&apart).map_err(|error| setup(error, None))?;
    let finish = Finish { apart, scratch_bytes, steps: finish };
    let cgroup = make_cgroup(&fitted, OURS)?;
    let entrance = cgroup.as_ref().map(Cgroup::entrance).transpose().map_err(|error| setup(error, None))?;
    let Prepared { program, added } = prepare(&path, &arguments).map_err(|error| setup(error, None))?;
    // On failure the cgroup is dropped after everything that was in it.
    let launched = polder_sys::spawn_foreign(&Foreign {
        program: &program,
        added: &added,
        outer: outer.as_ref(),
        staging: None,
        cgroup: entrance.as_ref(),
        finish: Some(&finish),
        inside: &inside,
        stdio: &stdio,
        kept: kept.as_ref().map(AsFd::as_fd),
        tidies: false,
    })
    .map_err(|error| starved_or(plan, cgroup.as_ref(), explain(error, &path)))?;
    drop(held);
    Ok(Box::new(ShimmedRun::new(launched, cgroup, plan)))
}

/// bwrap with its arguments, and the descriptors that these speak of.
pub(super) struct Prepared {
    pub(super) program: Command,
    pub(super) added: Vec<OwnedFd>,
}

/// Opens what the arguments copy, and puts them all into a file: they can be long, and they are nobody's business.
pub(super) fn prepare(path: &Path, arguments: &[Argument]) -> std::io::Result<Prepared> {
    let mut added = Vec::new();
    let mut text: Vec<u8> = Vec::new();
    let mut word = |word: &[u8]| text.extend(word.iter().copied().chain([0]));
    for argument in arguments {
        let (file, at, mode) = match argument {
            Argument::Word(argument) => {
                word(argument.as_bytes());
                continue;
            }
            Argument::File { content, at, mode } => (polder_sys::memory_file(content.as_bytes())?, at, *mode),
            Argument::Copy { from, at } => match std::fs::File::open(std::ffi::OsStr::from_bytes(from.as_bytes())) {
                Ok(file) => (file.into(), at, 0o644),
                // What is missing or unreadable for us stays missing inside.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => continue,
                Err(other) => return Err(other),
            },
        };
        // The list itself comes first.
        let number = FIRST_ADDED as usize + 1 + added.len();
        for part in ["--perms", &format!("{mode:04o}"), "--file", &number.to_string()] {
            word(part.as_bytes());
        }
        word(at.as_bytes());
        added.push(file);
    }
    added.insert(0, polder_sys::memory_file(&text)?);
    let mut argv = vec![c("bwrap"), c("--args"), c(FIRST_ADDED.to_string()), c("--")];
    argv.extend(polder_sys::shim_argv());
    let program = Command {
        candidates: vec![c(path)],
        argv,
        // The command's environment is in the recipe; bwrap needs none.
        env: Vec::<CString>::new(),
        workdir: c("/"),
        terminal: None,
    };
    Ok(Prepared { program, added })
}

/// What a user can do when bwrap did not get to the command.
fn explain(error: ForeignError, path: &Path) -> LaunchError {
    match error {
        ForeignError::NoShim => LaunchError {
            failure: LaunchFailure::Setup(Box::new(ForeignError::NoShim)),
            remedy: Some(trial::NO_SHIM_REMEDY.to_owned()),
        },
        ForeignError::Ended { said } => {
            let text = format!("`{}` did not start the sandbox: {said}", path.display());
            setup(std::io::Error::other(text), Some(trial::remedy()))
        }
        ForeignError::Spawn(error) => describe(error),
    }
}
