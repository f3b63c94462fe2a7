//! What holds when nobody says anything: the workspace and nothing else.

use crate::model::{
    Access, EngineChoice, EnvPattern, EnvRules, GitIdentityUse, Limits, Network, NetworkMode, Observe, PathPattern,
    Policy, SandboxScope, Workdir, Workspace, WorkspaceMode,
};
use polder_facts::{ByteSize, GuestPath, Origin, Sourced, Span};
use std::collections::BTreeMap;
use std::time::Duration;

/// The variables that enter.
pub(crate) const ENV_PASS: [&str; 6] = ["PATH", "HOME", "USER", "CI", "NODE_ENV", "LANG"];
/// The variables that enter as well where a stream of the caller is a terminal: what programs that write for a person
/// ask for. `TERM` and `COLORTERM` say what the terminal can do, `LC_*` and `LANGUAGE` in which language and encoding it
/// is read, `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` are the person's own choice about colours.
/// `COLUMNS` and `LINES` are not among them: the command has a terminal of its own whose size the kernel knows, also
/// after a change, and a value of the start would win over it in most programs and be wrong from then on.
const TERMINAL_PASS: [&str; 8] =
    ["TERM", "COLORTERM", "LANG", "LC_*", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "CLICOLOR*"];
/// The paths that cannot be written: what git would execute on the host later.
pub(crate) const PROTECT: [&str; 2] = [".git/hooks", ".git/config"];
/// The most processes: enough for any build, and a fork bomb ends before the host notices.
pub(crate) const PIDS_MAX: u64 = 4096;
/// The size of the private file systems when no layer names one: installers and browsers ask for 5 GiB
/// of free room before they begin, and pages are taken only when they are written.
pub const DISK_DEFAULT: ByteSize = ByteSize(6 << 30);
/// The most that a project may ask for by itself: no more than a small machine has by default.
pub const DISK_SMALL: ByteSize = ByteSize(2 << 30);
/// The most open files that a project may ask for by itself. Without a limit the caller's own holds,
/// which no policy knows; this is the hard limit that Linux starts with (`INR_OPEN_MAX`).
pub(crate) const FILES_DEFAULT: u64 = 4096;
/// How long an unused cache is kept when no layer says it.
pub(crate) const CACHE_TTL: Span = Span(Duration::from_secs(7 * 86_400));
/// How many caches are kept when no layer says it.
pub(crate) const CACHE_SCOPES: u32 = 10;
/// How many steps run at once when no layer says it.
pub const STEPS_AT_ONCE: u64 = 10;

/// Where the workspace appears when no layer says it and its own path is not the answer: in the
/// sandboxes of a `.visor.yaml`, and where several projects stand beside each other.
pub(crate) fn shared_workdir() -> Sourced<Workdir> {
    let path = GuestPath::new("/workspace").expect("invariant: the literal is an absolute path");
    Sourced::built_in(Workdir::At(path))
}

/// The patterns that a terminal of the caller adds. They come before every other, so that each rule of a layer wins.
pub(crate) fn terminal_patterns() -> Vec<Sourced<EnvPattern>> {
    let pattern = |glob: &&str| EnvPattern { glob: (*glob).to_owned(), negated: false };
    TERMINAL_PASS.iter().map(|glob| Sourced::new(pattern(glob), Origin::Terminal)).collect()
}

/// The weakest layer.
pub fn built_in() -> Policy {
    let pass = |name: &&str| Sourced::built_in(EnvPattern { glob: (*name).to_owned(), negated: false });
    Policy {
        name: None,
        engine: Sourced::built_in(EngineChoice::Auto),
        network: Sourced::built_in(Network::of(NetworkMode::None)),
        access: Sourced::built_in(Access::ReadWrite),
        workdir: Sourced::built_in(Workdir::Host),
        workspace: Sourced::built_in(Workspace::of(WorkspaceMode::Direct)),
        observe: Sourced::built_in(Observe::Cheap),
        scope: Sourced::built_in(SandboxScope::Session),
        env: EnvRules { pass: ENV_PASS.iter().map(pass).collect(), set: Vec::new() },
        profiles: Vec::new(),
        path: Vec::new(),
        git_identity: Sourced::built_in(GitIdentityUse::Given),
        binds: Vec::new(),
        limits: Limits { pids: Some(Sourced::built_in(PIDS_MAX)), ..Limits::absent() },
        protect: PROTECT.iter().map(|path| Sourced::built_in(PathPattern((*path).to_owned()))).collect(),
        deny_read: Vec::new(),
        unprotect: Vec::new(),
        credentials: Vec::new(),
        cache: None,
        untrusted: None,
        service: None,
        beside: None,
        image: None,
        visor_path: None,
        require: Vec::new(),
        accept: Vec::new(),
        allow_unsandboxed: None,
        engine_options: BTreeMap::new(),
    }
}
