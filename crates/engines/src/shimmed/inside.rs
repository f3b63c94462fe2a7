//! What the shim does inside, from a judged plan. Pure, and the same whoever built the ground.

use polder_engine::Fitted;
use polder_facts::{Guarantee, HostFacts};
use polder_plan::{Plan, Role, SystemKind};
use polder_policy::{NetworkMode, Observe};
use polder_sys::{
    Access, Command, Filtered, Inside, LandlockRule, LandlockSpec, Missing, Observation, Rlimit, Step, Swept, Terminal,
    syscalls,
};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A C string of a text that the policy has checked for NUL bytes.
pub(crate) fn c(text: impl AsRef<OsStr>) -> CString {
    CString::new(text.as_ref().as_bytes()).expect("invariant: paths, arguments and variables have no NUL byte")
}

/// The shim's half of a sandbox. `counted` says that a cgroup holds the limit on processes.
pub(crate) fn inside(fitted: &Fitted, terminal: Option<Terminal>, counted: bool) -> Inside {
    inside_of(fitted.plan(), fitted, terminal, counted)
}

/// The same for an engine that has filled in what only it could know, such as the variables of an image.
pub(crate) fn inside_of(plan: &Plan, fitted: &Fitted, terminal: Option<Terminal>, counted: bool) -> Inside {
    let host = fitted.host();
    let second_layer = !fitted.accepts(Guarantee::SecondLayer) || host.landlock_abi > 0;
    let filtered = !fitted.accepts(Guarantee::Syscalls);
    let env = plan.env.iter().map(|(name, value)| {
        let mut entry = name.clone();
        entry.push("=");
        entry.push(value);
        c(entry)
    });
    Inside {
        made: Vec::new(),
        rlimits: rlimits(fitted, counted),
        landlock: second_layer.then(|| landlock(plan, host)),
        filter: if filtered { Filtered::Yes } else { Filtered::No },
        swept: plan.files.swept.iter().chain(&plan.files.git.missing).map(swept).collect(),
        observe: observation(plan).filter(|_| filtered),
        command: Command {
            candidates: plan.candidates().into_iter().map(c).collect(),
            argv: plan.command.iter().map(c).collect(),
            env: env.collect(),
            workdir: c(plan.workdir.as_os_str()),
            terminal,
        },
    }
}

/// What an observer has to know, if there is to be one.
fn observation(plan: &Plan) -> Option<Observation> {
    let mode = match plan.observe.value {
        Observe::Off => return None,
        Observe::Cheap => syscalls::Observe::Cheap,
        Observe::Exact => syscalls::Observe::Exact,
    };
    let system = plan.files.system.iter().filter(|entry| entry.kind == SystemKind::Directory);
    let system = system.map(|entry| c(entry.path.as_os_str()));
    let (lent, shown): (Vec<_>, Vec<_>) = plan.files.shown.iter().partition(|shown| shown.role == Role::Lent);
    let shown = shown.into_iter().filter(|shown| shown.directory).map(|shown| c(shown.guest.as_os_str()));
    let lent = lent.into_iter().map(|shown| c(shown.guest.as_os_str())).collect();
    let alone = match plan.network.value.mode {
        NetworkMode::None => true,
        // The broker answers there, and the host's network here.
        NetworkMode::Restricted | NetworkMode::Full => false,
    };
    Some(Observation { mode, shown: system.chain(shown).collect(), alone, lent, ruled: Vec::new() })
}

fn swept(swept: &polder_plan::Swept) -> Swept {
    let parent = swept.relative.parent().filter(|parent| !parent.as_os_str().is_empty());
    let depth = swept.relative.components().count();
    let tree = swept.path.as_path().ancestors().nth(depth).unwrap_or(Path::new("/"));
    Swept {
        tree: c(tree),
        parent: c(parent.unwrap_or(Path::new("."))),
        name: c(swept.relative.file_name().unwrap_or_default()),
        suffix: c(polder_plan::Swept::SUFFIX),
        only_with: swept.only_with.iter().map(c).collect(),
    }
}

/// The same view once more, for a mechanism that knows nothing of mounts.
fn landlock(plan: &Plan, host: &HostFacts) -> LandlockSpec {
    let rule = |path: &OsStr, access| LandlockRule { path: c(path), access, missing: Missing::Fail };
    let mut rules = vec![
        // Everything that the view holds may be read and executed; nothing outside the view lies below this root.
        rule(OsStr::new("/"), Access::ReadOnly),
        rule(OsStr::new("/dev"), Access::ReadWrite),
        rule(OsStr::new("/tmp"), Access::ReadWrite),
        // Programs name their threads and adjust themselves here; the kernel guards what is others'.
        rule(OsStr::new("/proc"), Access::ReadWrite),
    ];
    if !plan.files.shown.iter().any(|shown| plan.identity.home.is_within(&shown.guest)) {
        rules.push(rule(plan.identity.home.as_os_str(), Access::ReadWrite));
    }
    for shown in &plan.files.shown {
        if shown.access == polder_policy::Access::ReadWrite {
            rules.push(rule(shown.guest.as_os_str(), Access::ReadWrite));
        }
    }
    if !plan.files.git.configs.is_empty() {
        let path = c(Path::new("/").join(OsStr::from_bytes(Step::GIT_COPIES.to_bytes())));
        rules.push(LandlockRule { path, access: Access::ReadWrite, missing: Missing::Skip });
    }
    LandlockSpec { abi: host.landlock_abi, rules }
}

fn rlimits(fitted: &Fitted, counted: bool) -> Vec<Rlimit> {
    const RLIMIT_DATA: u32 = 2;
    const RLIMIT_CORE: u32 = 4;
    const RLIMIT_NPROC: u32 = 6;
    const RLIMIT_NOFILE: u32 = 7;
    let limits = &fitted.plan().limits;
    let mut rlimits = vec![
        // A core file would hold secrets, and the host's handler for it runs outside of the sandbox. The kernel
        // starts a handler that is a pipe with a limit of 0, too, but not with 1 (core(5)). No file has one byte.
        Rlimit { resource: RLIMIT_CORE, value: 1 },
    ];
    if let Some(pids) = &limits.pids {
        // The shim counts too. Where a cgroup holds the limit, this is the floor below it: a little lower, because the
        // cgroup tells when it was reached and this does not.
        let slack = if counted { 64 } else { 0 };
        rlimits.push(Rlimit { resource: RLIMIT_NPROC, value: pids.value + 1 + slack });
    }
    if let Some(files) = &limits.files {
        rlimits.push(Rlimit { resource: RLIMIT_NOFILE, value: files.value });
    }
    if let (Some(memory), true) = (&limits.memory, fitted.accepts(Guarantee::Memory)) {
        rlimits.push(Rlimit { resource: RLIMIT_DATA, value: memory.value.0 });
    }
    rlimits
}
