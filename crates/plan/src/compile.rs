//! From policy and facts to a plan, or to every reason why there is none.

use crate::env;
use crate::git_identity;
use crate::plan::{FileView, Identity, Plan, Role, World};
use crate::trace;
use crate::view::{self, Viewed};
use polder_facts::{GuestPath, HostFacts, Origin, Sourced, UserFacts};
use polder_policy::{NetworkMode, Policy, WorkspaceMode};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The name of the machine inside.
const HOSTNAME: &str = "polder";
/// Where programs are looked for when no `PATH` passes.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it was said.
    pub origin: Origin,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl Fault {
    pub(crate) fn new(origin: Origin, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { origin, message: message.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, message, remedy } = self;
        match origin {
            Origin::BuiltIn => write!(f, "{message}; {remedy}"),
            _ => write!(f, "{origin}: {message}; {remedy}"),
        }
    }
}

/// Every reason why there is no plan, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Resolves a policy against the facts of a host, for one command in a world that is made for it.
pub fn compile(policy: &Policy, host: &HostFacts, command: &[OsString]) -> Result<Plan, Faults> {
    compile_in(World::Made, policy, host, command)
}

/// Resolves a policy against the facts of a host, for one command in a world of this kind.
pub fn compile_in(world: World, policy: &Policy, host: &HostFacts, command: &[OsString]) -> Result<Plan, Faults> {
    let identity = identity(world, host);
    let mut faults = Vec::new();
    if command.first().is_none_or(|name| name.is_empty()) {
        faults.push(Fault::new(Origin::BuiltIn, "there is no command", "name one after `--`"));
    }
    if command.iter().any(|argument| argument.as_encoded_bytes().contains(&0)) {
        faults.push(Fault::new(Origin::BuiltIn, "an argument contains a NUL byte", "no program can receive it"));
    }
    if let Some(Sourced { value: _, origin }) = &policy.beside {
        faults.extend(unshareable(policy, origin));
    }
    let Viewed { mut files, workdir, caches } = match view::build(world, policy, host, &identity) {
        Ok(viewed) if faults.is_empty() => viewed,
        Ok(_) => return Err(Faults(faults)),
        Err(more) => {
            faults.extend(more);
            return Err(Faults(faults));
        }
    };

    let sourced = env::sourced(&policy.env, &host.environment);
    let spoken = sourced.iter().filter(|(_, entry)| entry.origin != Origin::BuiltIn);
    let env_origins = spoken.map(|(name, entry)| (name.clone(), entry.origin.clone())).collect();
    let mut inside: BTreeMap<OsString, OsString> =
        sourced.into_iter().map(|(name, entry)| (name, entry.value)).collect();
    inside.extend(trace::context(&policy.env, &host.environment));
    let is_visible = |dir: &Path| directory_inside(world, &files, &host.tree.start, dir);
    let (path, mut front) = (OsString::from("PATH"), Vec::<Sourced<PathBuf>>::new());
    if policy.image.is_some() {
        // An image has programs of its own, and knows where; the engine that has the image asks it.
        if !policy.env.set.iter().any(|set| set.value.0 == "PATH") {
            inside.remove(&path);
        }
    } else if let Some(value) = inside.get(&path) {
        let cut = env::cut_path(value, is_visible);
        let kept = if cut.is_empty() { env::cut_path(DEFAULT_PATH.as_ref(), is_visible) } else { cut };
        let known: Vec<PathBuf> = std::env::split_paths(&kept).collect();
        for Sourced { value, origin } in &policy.path {
            let dir = is_visible(value).filter(|dir| !known.contains(dir));
            if let Some(dir) = dir.filter(|dir| !front.iter().any(|earlier| earlier.value == *dir)) {
                front.push(Sourced::new(dir, origin.clone()));
            }
        }
        let all = front.iter().map(|dir| &dir.value).chain(&known);
        // None has a colon in its name: the policy's are checked, and the others came out of a list.
        inside.insert(path, std::env::join_paths(all).unwrap_or(kept));
    }
    // On the host itself both are what they are, if they pass.
    if world != World::Open {
        inside.insert("HOME".into(), identity.home.as_os_str().to_owned());
        if inside.contains_key(&OsString::from("USER")) {
            inside.insert("USER".into(), (&identity.name).into());
        }
    }
    // GNU tar sets owners where it is uid 0 (`--same-owner`), and uid 0 inside has no CAP_CHOWN. An option of the command
    // line wins over one of this variable (tar(1)).
    if world != World::Open && identity.uid == 0 {
        inside.entry("TAR_OPTIONS".into()).or_insert_with(|| "--no-same-owner".into());
    }
    // A layer is a file system of its own, at whose border git stops to look for its repository (git(1)).
    let is_layer = policy.workspace.value.mode == WorkspaceMode::Cow;
    if is_layer && files.shown.iter().any(|shown| shown.role == Role::EnclosingTree) {
        // Its git dir is read-only, so that `git status` must not try to refresh the index.
        for (name, value) in [("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1"), ("GIT_OPTIONAL_LOCKS", "0")] {
            inside.entry(name.into()).or_insert_with(|| value.into());
        }
    }

    let git_identity = git_identity::hand_in(world, policy, host, &mut files, &mut inside);
    let engine_options = policy
        .engine_options
        .iter()
        .map(|(id, table)| (id.clone(), Sourced::new(table.value.to_string(), table.origin.clone())))
        .collect();
    Ok(Plan {
        sandbox: policy.name.clone(),
        engine: policy.engine.clone(),
        command: command.to_vec(),
        world,
        workdir,
        identity,
        env: inside,
        env_origins,
        path: front,
        git_identity,
        files,
        network: policy.network.clone(),
        beside: policy.beside.clone(),
        workspace: policy.workspace.clone(),
        observe: policy.observe.clone(),
        scope: policy.scope.clone(),
        limits: policy.limits.clone(),
        image: policy.image.clone(),
        caches,
        credentials: policy.credentials.clone(),
        require: policy.require.clone(),
        accept: policy.accept.clone(),
        unsandboxed_permitted: policy.allow_unsandboxed.as_ref().map(|said| said.origin.clone()),
        engine_options,
    })
}

/// Where a directory of the caller's `PATH` is inside, if it is there.
fn directory_inside(world: World, files: &FileView, start: &Path, dir: &Path) -> Option<PathBuf> {
    // A relative entry such as `node_modules/.bin` stands on the directory in which the command starts. An empty entry
    // and `.` mean the same to a shell, and more often stand there by mistake: a program of the tree would take the
    // place of one of the system.
    let dir = match dir.components().next()? {
        Component::RootDir => dir.to_owned(),
        Component::Normal(_) => start.join(dir),
        Component::CurDir | Component::ParentDir | Component::Prefix(_) => return None,
    };
    if world == World::Open {
        return Some(dir);
    }
    // The innermost tree that holds it says where it is.
    let holding = files.shown.iter().filter(|shown| shown.directory && dir.starts_with(shown.host.as_path()));
    let innermost = holding.max_by_key(|shown| shown.host.as_path().components().count());
    if let Some(guest) = innermost.and_then(|shown| view::to_guest(shown.host.as_path(), &shown.guest, &dir).ok()) {
        return Some(guest.as_path().to_owned());
    }
    let system = files.system.iter().any(|entry| dir.starts_with(entry.path.as_path()));
    // A directory of which single files are shown is there as well, with those files.
    let holds = |guest: &Path| dir.starts_with(guest) || guest.parent() == Some(dir.as_path());
    (system || files.shown.iter().any(|shown| holds(shown.guest.as_path()))).then_some(dir)
}

/// Why a command cannot share its network.
fn unshareable(policy: &Policy, origin: &Origin) -> Option<Fault> {
    let mode = policy.network.value.mode;
    (mode != NetworkMode::None).then(|| {
        Fault::new(
            origin.clone(),
            format!(
                "services are reached on a loopback, and the network is `{}` by {}",
                mode.name(),
                policy.network.origin
            ),
            "give the step and its services sandboxes with `network: false`",
        )
    })
}

fn identity(world: World, host: &HostFacts) -> Identity {
    let user = &host.user;
    let (uid, gid) = match world {
        World::Made => (user.inside_uid, user.inside_gid),
        // Nobody becomes another user in the host's own world.
        World::Ruled | World::Open => (user.uid, user.gid),
    };
    let home = home_inside(user);
    Identity { caller_is_root: user.uid == 0, uid, gid, name: user.name.clone(), home, hostname: HOSTNAME }
}

/// The home directory inside.
pub(crate) fn home_inside(user: &UserFacts) -> GuestPath {
    // `/` cannot be an empty directory of its own.
    let home = if user.home == Path::new("/") { PathBuf::from("/home/user") } else { user.home.clone() };
    GuestPath::new(home).unwrap_or_else(|_| GuestPath::new("/home/user").expect("invariant: a literal absolute path"))
}

impl Plan {
    /// The files to try for the command, in order: itself if it has a slash, else one per directory of `PATH`.
    pub fn candidates(&self) -> Vec<PathBuf> {
        let Some(name) = self.command.first() else { return Vec::new() };
        if name.as_encoded_bytes().contains(&b'/') {
            return vec![PathBuf::from(name)];
        }
        let path = self.env.get(&OsString::from("PATH")).cloned().unwrap_or_else(|| DEFAULT_PATH.into());
        std::env::split_paths(&path).map(|dir| dir.join(name)).collect()
    }
}
