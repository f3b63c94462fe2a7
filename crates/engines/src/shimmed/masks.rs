//! Who a command is, and what is kept from it inside what is shown. Pure, and the same whoever built the ground: masks
//! are laid by the shim's own code, by descriptor, because what lies below a writable tree may change at any time.

use super::inside::c;
use polder_engine::Fitted;
use polder_facts::{Guarantee, GuestPath};
use polder_plan::{KeyedConfig, MaskKind, Plan};
use polder_sys::{Identity, Missing, Step};
use std::ffi::CString;
use std::path::Path;

/// A guest path as steps want it: without the leading slash.
pub(crate) fn relative(path: &GuestPath) -> &Path {
    path.as_path().strip_prefix("/").unwrap_or(path.as_path())
}

/// Who the command is, inside and in the eyes of the host.
pub(crate) fn identity(fitted: &Fitted) -> Identity {
    let who = &fitted.plan().identity;
    if !who.caller_is_root {
        return Identity::Same { uid: who.uid, gid: who.gid };
    }
    if fitted.accepts(Guarantee::Privileges) {
        return Identity::HostRoot;
    }
    let (base, count) = (polder_sys::facts::RANGE_BASE, polder_sys::facts::RANGE_IDS);
    Identity::Range { uid: who.uid, gid: who.gid, base, count }
}

/// Whether something is hidden, so that [`Step::HIDDEN_DIRECTORY`] and [`Step::HIDDEN_FILE`] have to be there.
pub(crate) fn hides(plan: &Plan, identity: Identity) -> bool {
    hides_keys(identity) || plan.files.masks.iter().any(|mask| mask.kind == MaskKind::Hide)
}

/// Without a range, the caller's keys would be listed by name.
fn hides_keys(identity: Identity) -> bool {
    !matches!(identity, Identity::Range { .. })
}

/// The steps that lay the masks and pins.
///
/// With [`GitConfigs::ByKey`], a configuration of git is not only read-only: its name leads to a private copy.
pub(crate) fn masks(plan: &Plan, identity: Identity, configs: GitConfigs) -> Vec<Step> {
    let mut steps = Vec::new();
    let keyed: &[KeyedConfig] = match configs {
        GitConfigs::ByKey => &plan.files.git.configs,
        GitConfigs::ReadOnly => &[],
    };
    if !keyed.is_empty() {
        steps.push(Step::Directory { at: Step::GIT_COPIES.to_owned(), mode: 0o700 });
        steps.push(Step::Scratch { at: Step::GIT_COPIES.to_owned() });
    }
    if hides_keys(identity) {
        steps.push(Step::Hide { at: c("proc/keys"), missing: Missing::Skip });
    }
    if identity == Identity::HostRoot {
        // The host's uid 0 may write these without any capability. Programs read the first; not every kernel has the others.
        steps.push(Step::Protect { at: c("proc/sys") });
        for path in ["proc/sysrq-trigger", "proc/irq", "proc/bus"] {
            steps.push(Step::Hide { at: c(path), missing: Missing::Skip });
        }
    }
    // Parents before children: a mask below a pin has to be mounted on the pinned mount.
    let mut places: Vec<(&GuestPath, Option<MaskKind>)> = plan.files.pinned.iter().map(|pin| (pin, None)).collect();
    places.extend(plan.files.masks.iter().map(|mask| (&mask.path, Some(mask.kind))));
    places.sort_by_key(|(path, _)| path.as_path().components().count());
    steps.extend(places.into_iter().flat_map(|(path, kind)| {
        let at = c(relative(path));
        if let Some(number) = keyed.iter().position(|keyed| keyed.path == *path)
            && kind == Some(MaskKind::Protect)
        {
            return private_copy(number, at);
        }
        vec![match kind {
            None => Step::Pin { at },
            Some(MaskKind::Protect) => Step::Protect { at },
            Some(MaskKind::Hide) => Step::Hide { at, missing: Missing::Fail },
        }]
    }));
    steps
}

/// A directory with a copy of a file, and a symlink to the copy in place of the file. Git resolves the symlink before it
/// makes its lock (lockfile.c, `resolve_symlink`), so lock and rename work beside the copy.
fn private_copy(number: usize, at: CString) -> Vec<Step> {
    let directory = format!("{}/{number}", Step::GIT_COPIES.to_string_lossy());
    let (copy, link) = (format!("{directory}/config"), format!("{directory}/link"));
    vec![
        Step::Directory { at: c(&directory), mode: 0o700 },
        Step::Copy { from: at.clone(), at: c(&copy) },
        Step::Symlink { target: c(format!("/{copy}")), at: c(&link) },
        Step::Cover { from: c(&link), at },
    ]
}

/// How a command may use the configuration of git.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitConfigs {
    /// It reads it.
    ReadOnly,
    /// It has a private copy, of which harmless keys are taken over.
    ByKey,
}
