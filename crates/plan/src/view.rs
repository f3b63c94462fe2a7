//! The file view: what is shown, what is masked, and which names must not stay when they come into being.

use crate::caches;
use crate::compile::Fault;
use crate::plan::{
    Asked, Caches, Configuration, FileView, GitView, Identity, KeyedConfig, Mask, MaskKind, Reserved, Role, Shown,
    Swept, SystemEntry, SystemKind, Unreplaceable, World, Written,
};
use polder_facts::git::GitDirFacts;
use polder_facts::{
    ByteSize, Entry, GuestPath, HardLinked, HostFacts, HostPath, Origin, OtherLink, Sourced, TwinMount,
};
use polder_policy::{
    Access, Bind, DISK_DEFAULT, DISK_SMALL, Image, NetworkMode, PROJECT_NAMES, PathPattern, Policy, Workdir,
    WorkspaceMode,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What programs need from `/etc`. Never shadow, ssh, sudoers, keys or anything else that is not named here.
const CONFIGURATION: &[Configuration] = &[
    Configuration::File("ld.so.cache"),
    Configuration::File("localtime"),
    Configuration::File("services"),
    Configuration::File("protocols"),
    Configuration::File("gitconfig"),
    Configuration::Directory("ssl"),
    Configuration::Directory("pki"),
    Configuration::Directory("ca-certificates"),
    Configuration::Directory("crypto-policies"),
    Configuration::Directory("alternatives"),
    Configuration::Directory("fonts"),
    // Flags of Debian's chromium, whose starter is a shell text that reads them.
    Configuration::Directory("chromium.d"),
    Configuration::Directory("java-11-openjdk"),
    Configuration::Directory("java-17-openjdk"),
    Configuration::Directory("java-21-openjdk"),
    Configuration::Directory("java-25-openjdk"),
    Configuration::Directory("maven"),
    // Debian's `sitecustomize.py` is a symlink to the file here.
    Configuration::Directory("python3.10"),
    Configuration::Directory("python3.11"),
    Configuration::Directory("python3.12"),
    Configuration::Directory("python3.13"),
    Configuration::Directory("python3.14"),
];

/// Places inside that are polder's own: a bind there would undo the sandbox.
const OWN_PLACES: [&str; 5] = ["/proc", "/dev", "/sys", "/run/polder", "/.polder"];

/// Private places that every sandbox has: a workspace may lie below one of them, not in its place.
const PRIVATE_PLACES: [&str; 2] = ["/tmp", "/var/tmp"];

/// Where objects of the host's repositories are shown to a private copy.
pub const BORROWED: &str = "/run/objects";

/// Where a service finds what it keeps between its starts. The same for every service, so that its own settings can say it.
pub const STATE: &str = "/var/lib/service";

/// Who asks for what is let through while a command is learnt.
pub const LENT: &str = "--permissive";

/// Rules whose paths are judged with everything else in a git dir where they do not exist yet.
const GIT_RULES: [&str; 2] = [".git/hooks", ".git/config"];

/// Files that git obeys and that nothing but an attack makes in an ordinary repository.
const GIT_REDIRECTS: [&str; 2] = ["commondir", "config.worktree"];

/// Names in a git dir that are set aside unread where polder was killed before it could judge them.
const GIT_MISSING: [&str; 15] = [
    "commondir",
    "config",
    "config.lock",
    "config.worktree.lock",
    "config.worktree",
    "gitdir",
    "hooks",
    "info/attributes",
    "objects/info/alternates",
    "remotes",
    "branches",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "modules",
];

pub(crate) struct Viewed {
    pub(crate) files: FileView,
    pub(crate) workdir: GuestPath,
    pub(crate) caches: Option<Sourced<Caches>>,
}

/// Builds the view, or reports every fault in it.
pub(crate) fn build(
    world: World,
    policy: &Policy,
    host: &HostFacts,
    identity: &Identity,
) -> Result<Viewed, Vec<Fault>> {
    let mut faults = Vec::new();
    let is_project = check_workspace(host, &mut faults);
    check_projects(policy, &mut faults);
    let Ok(root) = HostPath::new(&host.tree.root) else {
        return Err(vec![Fault::new(Origin::BuiltIn, "the workspace has no absolute path", "name one with -C")]);
    };
    let workdir = match &policy.workdir.value {
        // No layer asked for the built-in place, so where it cannot be had the workspace is where it is.
        Workdir::At(path) if world == World::Made || policy.workdir.origin != Origin::BuiltIn => path.clone(),
        Workdir::At(_) | Workdir::Host => GuestPath::new(root.as_path()).map_err(|_| Vec::new())?,
    };
    let mut shown = vec![Shown {
        host: root.clone(),
        guest: workdir.clone(),
        access: policy.access.value,
        directory: true,
        role: Role::Workspace,
        origin: policy.workdir.origin.clone(),
    }];
    shown.extend(match policy.workspace.value.mode {
        WorkspaceMode::Direct | WorkspaceMode::Cow => repository(policy, host).into_iter().collect(),
        WorkspaceMode::Worktree => borrowed_objects(host),
    });
    let bound = binds(world, policy, host, &mut faults);
    // A bind of the same place says more: `--bind REPOSITORY:rw`.
    let is_asked = |own: &Shown| bound.iter().any(|bind| bind.guest == own.guest);
    shown.extend(enclosing(policy, host, &workdir).into_iter().filter(|own| !is_asked(own)));
    shown.extend(bound);
    shown.extend(state(policy, &mut faults));
    // In the host's own world nothing can appear where it is not; the engines of that world say so.
    let kept = caches::caches(policy, host, identity, &mut faults);
    if let (Some(kept), World::Made) = (&kept, world) {
        // An image brings directories of its own, in which a mount point can be made.
        let system = if policy.image.is_none() { host.system.as_slice() } else { &[] };
        let system = system.iter().map(|system| system.path.as_path()).collect();
        caches::check(kept, &shown, &system, &mut faults);
        shown.extend(caches::shown(kept));
    }
    let judged = shown.iter().filter(|shown| is_project || shown.role != Role::Workspace);
    check_places(world, judged, &mut faults);
    // Parents before children; what was said first comes first among equals.
    shown.sort_by_key(|entry| entry.guest.as_path().components().count());

    let made = world == World::Made;
    // An image has programs and a configuration of its own.
    let hosts_own = policy.image.is_none();
    let mut view = FileView {
        system: if world == World::Open || !hosts_own { Vec::new() } else { system(host) },
        configuration: if made && hosts_own { CONFIGURATION.to_vec() } else { Vec::new() },
        written: if made { written(policy, identity) } else { Vec::new() },
        shown,
        absent: absent_binds(policy, host),
        unreplaceable: Vec::new(),
        masks: Vec::new(),
        pinned: Vec::new(),
        reserved: Vec::new(),
        swept: Vec::new(),
        git: GitView::default(),
        kept: host.caches.kept.as_ref().and_then(|kept| HostPath::new(kept).ok()),
        partial_patterns: Vec::new(),
        hidden_at_start: Vec::new(),
        scratch: policy.limits.disk.as_ref().map_or_else(|| scratch(host), |disk| disk.value),
    };
    if made {
        view.unreplaceable = unreplaceable(&view.shown, host);
    }
    // A mask that nothing keeps would be a lie.
    if world != World::Open {
        let (pins, known, links) = (BTreeSet::new(), BTreeSet::new(), Links::Refused);
        Masks { host, policy, view: &mut view, faults: &mut faults, pins, known, lifted_by: None, links }.build();
    }
    // Nothing on the host obeys what lies in a layer; what comes out of it is looked at then.
    if policy.workspace.value.mode != WorkspaceMode::Direct {
        view.swept.retain(|swept| swept.asked == Asked::ByRule);
        view.git = GitView::default();
    }
    let start = to_guest(root.as_path(), &workdir, &host.tree.start).unwrap_or(workdir);
    if faults.is_empty() { Ok(Viewed { files: view, workdir: start, caches: kept }) } else { Err(faults) }
}

/// The size of the private file systems where the policy names none. They live in memory, which the kernel cannot take
/// back from them but by swapping, so they never get more than half of memory and swap: as much as the kernel itself
/// gives a tmpfs without a size is half of memory (tmpfs(5)).
fn scratch(host: &HostFacts) -> ByteSize {
    host.memory_bytes.map_or(DISK_SMALL, |bytes| DISK_DEFAULT.min(ByteSize((bytes / 2) >> 20 << 20)))
}

/// Whether a directory is a project, which can be shown: not the whole machine, not the home directory, not a part
/// of the system, and not one of the places that every sandbox has for itself.
pub fn is_project(path: &Path, home: &Path) -> bool {
    no_project(path, home).is_none() && !PRIVATE_PLACES.iter().any(|place| path == Path::new(place))
}

fn no_project(path: &Path, home: &Path) -> Option<&'static str> {
    let system = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/run", "/opt", "/srv"];
    let kernel = ["/proc", "/sys", "/dev"];
    if path == Path::new("/") {
        Some("the whole machine")
    } else if home.starts_with(path) {
        Some("the home directory, or holds it")
    } else if path.parent().is_some_and(|parent| parent.starts_with("/dev/shm")) {
        // An ordinary directory in memory. It cannot appear at its own path, which `check_places` says.
        None
    } else if system.iter().any(|own| path == Path::new(own)) || kernel.iter().any(|own| path.starts_with(own)) {
        Some("a part of the system")
    } else {
        None
    }
}

fn check_workspace(host: &HostFacts, faults: &mut Vec<Fault>) -> bool {
    let root = &host.tree.root;
    let Some(what) = no_project(root, &host.user.home) else { return true };
    faults.push(Fault::new(
        Origin::BuiltIn,
        format!("the workspace `{}` is {what}", root.display()),
        "work in the directory of one project: change there, or name it with -C",
    ));
    false
}

/// Several repositories stand beside each other in a directory that only a made world has. What works in place says itself
/// that it keeps no changes apart.
fn check_projects(policy: &Policy, faults: &mut Vec<Fault>) {
    let Some(project) = policy.workspace.value.projects.first() else { return };
    let fault = |why: &str, remedy: &str| Fault::new(project.origin.clone(), why, remedy);
    if policy.workspace.value.mode != WorkspaceMode::Worktree {
        let why = "several projects in one workspace are copied, and a layer lies over one tree";
        faults.push(fault(why, "use `workspace: {mode: worktree}`, or --worktree"));
    }
    if matches!(policy.workdir.value, Workdir::Host) {
        let why = "several projects stand beside each other inside, which no path of the host is";
        faults.push(fault(why, "leave `workdir: host` out, or name one absolute path for all of them"));
    }
}

/// The repository behind a linked worktree, at the path by which git will look for it.
fn repository(policy: &Policy, host: &HostFacts) -> Option<Shown> {
    let common = &host.tree.worktree.as_ref()?.common_dir;
    Some(Shown {
        host: HostPath::new(common).ok()?,
        guest: GuestPath::new(common).ok()?,
        access: repository_access(policy),
        directory: true,
        role: Role::Repository,
        origin: Origin::BuiltIn,
    })
}

/// The repository around a workspace at its own path: its tree to look at, and git's own part to work with.
fn enclosing(policy: &Policy, host: &HostFacts, workdir: &GuestPath) -> Vec<Shown> {
    let Some(enclosing) = host.tree.enclosing.as_ref().filter(|_| workdir.as_path() == host.tree.root) else {
        return Vec::new();
    };
    let tree = (&enclosing.tree, Access::ReadOnly, Role::EnclosingTree);
    let git_dir = (&enclosing.git_dir, repository_access(policy), Role::Repository);
    let shown = [tree, git_dir].into_iter().filter_map(|(path, access, role)| {
        let (host, guest) = (HostPath::new(path).ok()?, GuestPath::new(path).ok()?);
        Some(Shown { host, guest, access, directory: true, role, origin: Origin::BuiltIn })
    });
    shown.collect()
}

/// Whether git's own part of a repository can be written where it is not in the workspace.
fn repository_access(policy: &Policy) -> Access {
    match policy.workspace.value.mode {
        WorkspaceMode::Direct => policy.access.value,
        // Only the workspace has a layer; what lies beside it must not change behind its back.
        WorkspaceMode::Cow | WorkspaceMode::Worktree => Access::ReadOnly,
    }
}

/// Where a private copy of a repository finds the objects that it borrows: at places of our own, because a path of the
/// host could lie in the copy itself.
fn borrowed_objects(host: &HostFacts) -> Vec<Shown> {
    let objects = host.tree.captured.iter().flat_map(|captured| captured.objects.iter().enumerate());
    let shown = objects.filter_map(|(index, path)| {
        Some(Shown {
            host: HostPath::new(path).ok()?,
            guest: GuestPath::new(format!("{BORROWED}/{index}")).ok()?,
            access: Access::ReadOnly,
            directory: true,
            role: Role::Repository,
            origin: Origin::BuiltIn,
        })
    });
    shown.collect()
}

fn binds(world: World, policy: &Policy, host: &HostFacts, faults: &mut Vec<Fault>) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    // The same path said twice is one bind; the later word on writing counts.
    let (mut places, mut replaced) = (BTreeMap::<GuestPath, Option<usize>>::new(), BTreeSet::new());
    let writable = policy.binds.iter().filter(|bind| bind.value.access == Access::ReadWrite);
    let written: Vec<&Path> = writable
        .filter_map(|bind| host.tree.sources.get(bind.value.host.as_path()))
        .map(|resolved| resolved.path.as_path())
        .collect();
    for Sourced { value: Bind { host: source, guest, access, optional }, origin } in &policy.binds {
        let lent = *origin == Origin::Flag(LENT.to_owned());
        let Some(resolved) = host.tree.sources.get(source.as_path()) else {
            if lent || *optional {
                // What is lent is asked for by no name, and went away since it was looked through.
                continue;
            }
            faults.push(Fault::new(
                origin.clone(),
                format!("the bind source `{source}` does not exist"),
                "make it, take the bind out, or let it be missing: `optional: true` (--bind PATH:optional)",
            ));
            continue;
        };
        // A profile names places of every machine; what lies in the system is there already.
        let by_profile = matches!(origin, Origin::Profile { .. });
        if by_profile && host.system.iter().any(|system| resolved.path.starts_with(&system.path)) {
            continue;
        }
        let root = &host.tree.root;
        if source.as_path().starts_with(root) && !resolved.path.starts_with(root) {
            faults.push(Fault::new(
                origin.clone(),
                format!("the bind source `{source}` leads out of the workspace, to `{}`", resolved.path.display()),
                "a command may have made that link; name the place that it leads to",
            ));
            continue;
        }
        let led = written.iter().find(|place| source.as_path().starts_with(place) && !resolved.path.starts_with(place));
        if let Some(place) = led {
            let place = place.display();
            faults.push(Fault::new(
                origin.clone(),
                format!("the bind source `{source}` leads out of `{place}`, to `{}`", resolved.path.display()),
                format!("commands write in `{place}` and may have made that link; name the place that it leads to"),
            ));
            continue;
        }
        let kept = host.caches.store.as_deref().and_then(Path::parent);
        if kept.is_some_and(|kept| resolved.path.starts_with(kept)) {
            faults.push(Fault::new(
                origin.clone(),
                format!("the bind source `{source}` is polder's own: what it keeps about runs, or for one of them"),
                "take the bind out",
            ));
            continue;
        }
        // In the host's own world a path that is named as it stands is where its links lead.
        let in_place = world != World::Made && guest.as_path() == source.as_path();
        let Ok(source) = HostPath::new(&resolved.path) else { continue };
        let guest = if in_place { GuestPath::new(source.as_path()).unwrap_or(guest.clone()) } else { guest.clone() };
        let at = places.entry(guest.clone()).or_default();
        if let Some(earlier) = at.replace(shown.len()) {
            replaced.insert(earlier);
        }
        shown.push(Shown {
            host: source,
            guest,
            access: *access,
            directory: resolved.entry == Entry::Directory,
            role: if lent { Role::Lent } else { Role::Bind },
            origin: origin.clone(),
        });
    }
    let kept = shown.into_iter().enumerate().filter(|(index, _)| !replaced.contains(index));
    kept.map(|(_, shown)| shown).collect()
}

/// Optional binds whose source is missing, in the order in which they were said.
fn absent_binds(policy: &Policy, host: &HostFacts) -> Vec<Sourced<HostPath>> {
    let absent = policy
        .binds
        .iter()
        .filter(|bind| bind.value.optional && !host.tree.sources.contains_key(bind.value.host.as_path()));
    // A profile names places of every machine, and no machine has all of them.
    let absent = absent.filter(|bind| !matches!(bind.origin, Origin::Profile { .. }));
    absent.map(|bind| Sourced::new(bind.value.host.clone(), bind.origin.clone())).collect()
}

/// Files that are bound to be written: a mount point each, which no rename replaces (rename(2), EBUSY).
fn unreplaceable(shown: &[Shown], host: &HostFacts) -> Vec<Unreplaceable> {
    let is_file = |path: &Path| {
        let mut sources = host.tree.sources.values();
        sources.any(|source| source.path == path && matches!(source.entry, Entry::File { .. }))
    };
    let written = shown.iter().filter(|shown| shown.role == Role::Bind && shown.access == Access::ReadWrite);
    let files = written.filter(|shown| is_file(shown.host.as_path()));
    let found = files.map(|shown| {
        // The directory of a file in the home is the home, with everything that must not be shown.
        let parent = shown.host.as_path().parent().filter(|parent| !host.user.home.starts_with(parent));
        Unreplaceable { file: shown.host.clone(), directory: parent.and_then(|path| HostPath::new(path).ok()) }
    });
    found.collect()
}

/// What a service keeps between its starts.
fn state(policy: &Policy, faults: &mut Vec<Fault>) -> Option<Shown> {
    let Sourced { value: service, origin } = policy.service.as_ref()?;
    let guest = GuestPath::new(STATE).expect("invariant: the constant is an absolute path");
    if policy.untrusted.is_some() {
        let remedy = "run it without one of the two";
        faults.push(Fault::new(origin.clone(), "what is untrusted keeps nothing, and a service does", remedy));
        return None;
    }
    let host = service.state.clone();
    let access = Access::ReadWrite;
    Some(Shown { host, guest, access, directory: true, role: Role::State, origin: origin.clone() })
}

fn check_places<'a>(world: World, shown: impl Iterator<Item = &'a Shown>, faults: &mut Vec<Fault>) {
    let mut taken = BTreeSet::new();
    for Shown { guest, origin, role, .. } in shown {
        let own = OWN_PLACES.iter().any(|place| guest.as_path().starts_with(place));
        let is_private = || PRIVATE_PLACES.iter().any(|place| guest.as_path() == Path::new(place));
        let replaces = || world == World::Made && *role == Role::Workspace && is_private();
        if own || guest.as_path() == Path::new("/") || replaces() {
            let remedy = match role {
                Role::Workspace => "show the workspace elsewhere: `workdir: /workspace`, or --workdir /workspace",
                Role::Repository | Role::EnclosingTree | Role::Bind | Role::Cache | Role::State | Role::Lent => {
                    "choose another path inside"
                }
            };
            faults.push(Fault::new(origin.clone(), format!("`{guest}` inside belongs to the sandbox itself"), remedy));
        }
        if !taken.insert(guest) {
            faults.push(Fault::new(
                origin.clone(),
                format!("two things are shown at `{guest}`"),
                "choose another path for one of them",
            ));
        }
    }
}

fn system(host: &HostFacts) -> Vec<SystemEntry> {
    let entries = host.system.iter().filter_map(|system| {
        let path = GuestPath::new(&system.path).ok()?;
        let kind = match &system.entry {
            Entry::Directory => SystemKind::Directory,
            Entry::Symlink(target) => SystemKind::Link(target.clone().into_os_string()),
            Entry::File { .. } | Entry::Other | Entry::Missing => return None,
        };
        Some(SystemEntry { path, kind })
    });
    entries.collect()
}

/// The files of `/etc` that say who and where the command is.
fn written(policy: &Policy, identity: &Identity) -> Vec<Written> {
    let Identity { uid, gid, name, home, hostname, .. } = identity;
    let mut passwd = String::new();
    let mut group = String::new();
    if *uid != 0 {
        passwd.push_str("root:x:0:0:root:/root:/bin/sh\n");
        group.push_str("root:x:0:\n");
    }
    // The name stands in the comment field too: git takes an author from there when nothing else names one.
    passwd.push_str(&format!("{name}:x:{uid}:{gid}:{name}:{home}:/bin/sh\n"));
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str(&format!("{name}:x:{gid}:\nnogroup:x:65534:\n"));
    // The dotted form lets programs that want a full name, such as git for an address, find one.
    let hosts = format!(
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 {hostname}.localdomain {hostname}\n"
    );
    let nsswitch = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n\
                    protocols: files\nservices: files\n";
    let file = |path: &str, content: String| {
        let path = GuestPath::new(path).expect("invariant: a literal absolute path");
        Written { path, content }
    };
    let mut written = vec![
        file("/etc/passwd", passwd),
        file("/etc/group", group),
        file("/etc/hosts", hosts),
        file("/etc/hostname", format!("{hostname}\n")),
        file("/etc/nsswitch.conf", nsswitch.to_owned()),
    ];
    if policy.network.value.mode == NetworkMode::None {
        // Nobody answers, and a lookup must fail at once instead of waiting for a server.
        written.push(file("/etc/resolv.conf", "options attempts:1 timeout:1\n".to_owned()));
    }
    written
}

/// Turns protections into masks, pins and names that are set aside.
struct Masks<'a> {
    host: &'a HostFacts,
    policy: &'a Policy,
    view: &'a mut FileView,
    faults: &'a mut Vec<Fault>,
    pins: BTreeSet<GuestPath>,
    /// The missing paths so far, to find a second one in less time than a list takes.
    known: BTreeSet<(PathBuf, Origin, Option<String>)>,
    /// What a grant has to name to lift the masks that are being made.
    lifted_by: Option<String>,
    links: Links,
}

/// Whether a symlink can be masked itself: its target has a mask of its own then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    Refused,
    Held,
}

impl Masks<'_> {
    fn build(mut self) {
        let rules = [(MaskKind::Protect, &self.policy.protect), (MaskKind::Hide, &self.policy.deny_read)];
        for (kind, patterns) in rules {
            for Sourced { value: pattern, origin } in patterns {
                if kind == MaskKind::Protect && (self.is_lifted(&pattern.0) || self.is_judged_later(pattern, origin)) {
                    continue;
                }
                // A grant of a path outside of the workspace would show it, and lift nothing.
                let within =
                    is_glob(&pattern.0) || self.host.tree.root.join(&pattern.0).starts_with(&self.host.tree.root);
                self.lifted_by = Some(pattern.0.clone()).filter(|_| kind == MaskKind::Protect && within);
                self.add_pattern(kind, pattern, origin);
            }
        }
        self.lifted_by = None;
        self.add_git();
        self.add_own_configuration();
        self.hide_what_polder_keeps();
        let Self { view, pins, .. } = self;
        view.masks.sort_by(|a, b| (&a.path, b.kind).cmp(&(&b.path, a.kind)));
        // What is hidden needs no protection besides.
        view.masks.dedup_by(|later, earlier| later.path == earlier.path);
        let hidden: BTreeSet<PathBuf> = view
            .masks
            .iter()
            .filter(|mask| mask.kind == MaskKind::Hide)
            .map(|mask| mask.path.as_path().to_owned())
            .collect();
        let below_hidden = |path: &GuestPath| path.as_path().ancestors().skip(1).any(|above| hidden.contains(above));
        view.masks.retain(|mask| !below_hidden(&mask.path));
        // A mask or a mount of its own already keeps a directory where it is.
        let mounts: BTreeSet<&GuestPath> =
            view.masks.iter().map(|mask| &mask.path).chain(view.shown.iter().map(|shown| &shown.guest)).collect();
        view.pinned = pins.into_iter().filter(|path| !mounts.contains(path) && !below_hidden(path)).collect();
    }

    /// Whether a grant names a protection, or a parent of what it protects.
    fn is_lifted(&self, text: &str) -> bool {
        // A grant names what is in the workspace from there.
        let path = Path::new(text);
        let path = path.strip_prefix(&self.host.tree.root).unwrap_or(path);
        self.policy.unprotect.iter().any(|lifted| path.starts_with(&lifted.value.0))
    }

    fn add_pattern(&mut self, kind: MaskKind, PathPattern(text): &PathPattern, origin: &Origin) {
        if !is_glob(text) {
            let path = self.host.tree.root.join(text);
            if kind == MaskKind::Hide && self.is_missing(&path) && !self.shown_with(&path).is_empty() {
                self.view.hidden_at_start.push(Sourced::new(text.clone(), origin.clone()));
            }
            self.add_path(kind, &path, origin);
            let around = self.host.tree.enclosing.as_ref().map(|enclosing| enclosing.tree.join(text));
            // The same name beside the workspace; there nothing can be written anyway. One that holds the
            // workspace would mask all of it.
            let around = around.filter(|around| *around != path && !self.host.tree.root.starts_with(around));
            if let Some(path) = around.filter(|_| kind == MaskKind::Hide) {
                self.add_path(kind, &path, origin);
            }
            return;
        }
        for path in self.host.tree.matches.get(text).cloned().unwrap_or_default() {
            self.add_path(kind, &path, origin);
        }
        if kind == MaskKind::Hide {
            // The command may read a file that it makes itself. One that the host makes meanwhile it can read as well.
            self.view.hidden_at_start.push(Sourced::new(text.clone(), origin.clone()));
            return;
        }
        match text.strip_prefix("**/") {
            Some(name) if !is_glob(name) && !name.contains('/') => {
                let found = self.host.tree.matches.get(text).into_iter().flatten();
                let existing = found.filter_map(|path| path.strip_prefix(&self.host.tree.root).ok());
                let existing = existing.map(Path::to_owned).collect();
                let (lifted_by, name) = (self.lifted_by.clone(), name.to_owned());
                self.view.reserved.push(Reserved { name, existing, origin: origin.clone(), lifted_by });
            }
            _ => self.view.partial_patterns.push(Sourced::new(text.clone(), origin.clone())),
        }
    }

    /// Masks a host path, or notes the first part of it that is missing.
    fn add_path(&mut self, kind: MaskKind, path: &Path, origin: &Origin) {
        // A path that is shown at several places is masked at each of them.
        for (base, guest, access) in self.shown_with(path) {
            // Writable by nobody: nothing to protect.
            if kind == MaskKind::Hide || access == Access::ReadWrite {
                self.add_shown_path(kind, path, origin, base, guest);
            }
        }
        for (base, guest, access) in self.twins_below(path) {
            if kind == MaskKind::Hide || access == Access::ReadWrite {
                self.mask_twin(kind, &base, origin, guest);
            }
        }
    }

    /// Masks a mount that shows a masked path, or a part of what lies below it, at another place.
    fn mask_twin(&mut self, kind: MaskKind, base: &Path, origin: &Origin, guest: GuestPath) {
        if self.view.shown.iter().any(|shown| shown.guest == guest) {
            self.faults.push(Fault::new(
                origin.clone(),
                format!("`{}` is masked, and a mount shows it as a whole at `{guest}`", base.display()),
                "take one of the two away",
            ));
            return;
        }
        let lifted_by = self.lifted_by.clone();
        self.view.masks.push(Mask { path: guest, kind, origin: origin.clone(), lifted_by });
    }

    /// Whether a file in a masked directory has a hard link that no mask covers; then it is a fault.
    fn has_other_links(&mut self, kind: MaskKind, directory: &Path, origin: &Origin) -> bool {
        let held = match kind {
            MaskKind::Protect => "protected",
            MaskKind::Hide => "hidden",
        };
        let links = self.host.tree.other_names.links.iter();
        let found = links.into_iter().find(|linked| linked.file.starts_with(directory));
        let Some(HardLinked { directory: _, file, other }) = found else { return false };
        let file = file.display();
        self.faults.push(match other {
            OtherLink::At(other) => Fault::new(
                origin.clone(),
                format!("`{file}` is {held}, and its hard link `{}` is not", other.display()),
                "remove one of the two, or replace one by a copy",
            ),
            OtherLink::Unsearched { entries_max } => Fault::new(
                origin.clone(),
                format!("`{file}` is {held} and has other hard links, and more than {entries_max} entries are shown"),
                "replace it by a copy, or show fewer files: polder looks for hard links in all of them",
            ),
        });
        true
    }

    fn is_missing(&self, path: &Path) -> bool {
        matches!(self.host.tree.entries.get(path), None | Some(Entry::Missing))
    }

    fn add_shown_path(&mut self, kind: MaskKind, path: &Path, origin: &Origin, base: PathBuf, guest: GuestPath) {
        let mut current = base.clone();
        let mut parents: Vec<GuestPath> = Vec::new();
        let below = path.strip_prefix(&base).map(Path::to_owned).unwrap_or_default();
        if below.as_os_str().is_empty() {
            self.faults.push(Fault::new(
                origin.clone(),
                format!("`{}` is shown as a whole and masked as a whole", path.display()),
                "take one of the two away",
            ));
            return;
        }
        for component in below.components() {
            let Component::Normal(name) = component else { continue };
            current.push(name);
            let Ok(here) = to_guest(&base, &guest, &current) else { return };
            match self.host.tree.entries.get(&current) {
                // A bind of a parent of the workspace: the facts begin at the workspace, which is a directory.
                _ if self.host.tree.root.starts_with(&current) => parents.push(here),
                Some(Entry::Directory) if current != path => parents.push(here),
                Some(Entry::Symlink(_)) if kind == MaskKind::Hide && current == path => {
                    // The link itself holds nothing; where it leads is another path with its own rules.
                    return;
                }
                Some(Entry::Symlink(_)) if current == path && self.is_git_link(path) => {
                    let (origin, lifted_by) = (origin.clone(), self.lifted_by.clone());
                    self.view.masks.push(Mask { path: here, kind, origin, lifted_by });
                    self.pins.extend(parents);
                    return;
                }
                Some(Entry::Symlink(_)) => {
                    self.faults.push(Fault::new(
                        origin.clone(),
                        format!("`{}` is a symbolic link, which the command could turn elsewhere", current.display()),
                        "name the path that it leads to",
                    ));
                    return;
                }
                Some(Entry::File { links }) if *links > 1 && current == path => {
                    let (held, way) = match kind {
                        MaskKind::Protect => ("protected", ", or take the protection away with --allow fs.write=PATH"),
                        MaskKind::Hide => ("hidden", ""),
                    };
                    self.faults.push(Fault::new(
                        origin.clone(),
                        format!("`{}` has {links} names, and only this one is {held}", current.display()),
                        format!("give it one name (copy it){way}"),
                    ));
                    return;
                }
                None | Some(Entry::Missing) => {
                    if kind == MaskKind::Protect {
                        let relative = current.strip_prefix(&self.host.tree.root).ok().and_then(Path::to_str);
                        let lifted_by = relative.filter(|_| self.lifted_by.is_some()).map(str::to_owned);
                        if self.known.insert((here.as_path().to_owned(), origin.clone(), lifted_by.clone()))
                            && let (Ok(tree), Ok(relative)) = (HostPath::new(&base), current.strip_prefix(&base))
                        {
                            let swept = Swept {
                                tree,
                                relative: relative.to_owned(),
                                path: here,
                                only_with: Vec::new(),
                                origin: origin.clone(),
                                lifted_by,
                                asked: Asked::ByRule,
                            };
                            let is_git = GIT_RULES.iter().any(|rule| self.host.tree.root.join(rule) == path);
                            let list = if is_git { &mut self.view.git.missing } else { &mut self.view.swept };
                            list.push(swept);
                        }
                        self.pins.extend(parents);
                    }
                    return;
                }
                Some(Entry::Directory) if current == path && self.has_other_links(kind, path, origin) => return,
                Some(_) if current == path => {
                    self.view.masks.push(Mask {
                        path: here,
                        kind,
                        origin: origin.clone(),
                        lifted_by: self.lifted_by.clone(),
                    });
                    self.pins.extend(parents);
                    return;
                }
                // Nothing can be behind a file, so there is nothing to hide.
                Some(_) if kind == MaskKind::Hide => return,
                // A file where a directory should be: the path cannot come into being without removing it.
                Some(_) => {
                    self.view.masks.push(Mask {
                        path: here,
                        kind: MaskKind::Protect,
                        origin: origin.clone(),
                        lifted_by: self.lifted_by.clone(),
                    });
                    self.pins.extend(parents);
                    return;
                }
            }
        }
    }

    /// Whether a configuration of git is judged key by key when a layer is applied, so that git may write
    /// it inside: a `remote add` must not fail. A rule of the user's own holds as it is said.
    fn is_judged_later(&self, pattern: &PathPattern, origin: &Origin) -> bool {
        let is_layered = self.policy.workspace.value.mode != WorkspaceMode::Direct;
        is_layered && *origin == Origin::BuiltIn && Path::new(&pattern.0).ends_with(".git/config")
    }

    /// What git on the host obeys besides the two paths that the built-in list names.
    fn add_git(&mut self) {
        let built_in = |text: &str| {
            // Beside other projects, a rule is said for each of them.
            let said = |rule: &str| rule == text || rule.split_once('/').is_some_and(|(_, below)| below == text);
            let alone = self.policy.workspace.value.projects.is_empty();
            let named = |rule: &&Sourced<PathPattern>| if alone { rule.value.0 == text } else { said(&rule.value.0) };
            let lifted = self.is_lifted(text);
            self.policy.protect.iter().find(named).filter(|_| !lifted).map(|rule| rule.origin.clone())
        };
        let Some(origin) = built_in(".git/hooks").or_else(|| built_in(".git/config")) else { return };
        let root = self.host.tree.root.clone();
        // With these in it, the workspace itself is a repository to git, whose `config` it obeys.
        if matches!(self.host.tree.entries.get(&root.join("HEAD")), None | Some(Entry::Missing)) {
            self.add_redirect(&root.join("HEAD"), &["objects", "refs"], &origin);
            self.add_redirect(&root.join("HEAD"), &["commondir"], &origin);
        } else if !self.host.tree.git.dirs.iter().any(|dir| dir.path == root) {
            self.add_redirect(&root.join("commondir"), &["HEAD"], &origin);
            self.add_redirect(&root.join("refs"), &["HEAD", "objects"], &origin);
        }
        // A repository that does not exist yet can come into being, and is judged by the same rules.
        let is_judged = !self.host.tree.git.dirs.is_empty() || self.is_missing(&root.join(".git"));
        if self.policy.workspace.value.mode == WorkspaceMode::Direct && is_judged {
            self.add_git_dirs(&origin);
            return;
        }
        let is_layered = self.policy.workspace.value.mode != WorkspaceMode::Direct;
        let is_judged = |path: &PathBuf| is_layered && origin == Origin::BuiltIn && path.ends_with("config");
        for path in self.host.tree.submodules.clone().into_iter().filter(|path| !is_judged(path)) {
            self.add_path(MaskKind::Protect, &path, &origin);
        }
        // A private copy is a repository of its own, whatever the tree is.
        let linked = self.host.tree.worktree.clone();
        if let Some(worktree) = linked.filter(|_| self.policy.workspace.value.mode != WorkspaceMode::Worktree) {
            self.add_path(MaskKind::Protect, &root.join(".git"), &origin);
            for name in ["hooks", "config"] {
                self.add_path(MaskKind::Protect, &worktree.common_dir.join(name), &origin);
            }
            for path in ["commondir", "gitdir", "config.worktree"].map(|name| worktree.git_dir.join(name)) {
                if !matches!(self.host.tree.entries.get(&path), None | Some(Entry::Missing)) {
                    self.add_path(MaskKind::Protect, &path, &origin);
                }
            }
            self.sweep_redirects(&worktree.common_dir, &origin);
        } else if self.host.tree.entries.get(&root.join(".git")) == Some(&Entry::Directory) {
            self.sweep_redirects(&root.join(".git"), &origin);
        }
    }

    /// Only git's data may change in a git dir that the command can write. Paths that exist and that
    /// git obeys are read-only; new ones are found at the end.
    fn add_git_dirs(&mut self, origin: &Origin) {
        let git = self.host.tree.git.clone();
        let root = self.host.tree.root.clone();
        self.links = Links::Held;
        let held = git.dirs.iter().cloned().flat_map(GitDirFacts::into_held);
        let mut lifted = Vec::new();
        let places = git.pointers.iter().chain(&git.reached).chain(&git.missing).cloned();
        for path in held.chain(places).collect::<BTreeSet<_>>() {
            let relative = path.strip_prefix(&self.host.tree.root).ok().and_then(Path::to_str);
            if relative.is_some_and(|relative| self.is_lifted(relative)) {
                lifted.push(path);
                continue;
            }
            match self.host.tree.entries.get(&path) {
                None | Some(Entry::Missing) => {
                    let missing = self.swept_at(&path, &[], origin);
                    self.view.git.missing.extend(missing);
                }
                Some(_) => {
                    self.lifted_by = relative.map(str::to_owned);
                    self.add_path(MaskKind::Protect, &path, origin);
                    self.lifted_by = None;
                }
            }
        }
        self.links = Links::Refused;
        for dir in &git.dirs {
            for name in GIT_MISSING {
                let path = dir.path.join(name);
                let known = dir.obeyed.iter().any(|below| Path::new(name).starts_with(below))
                    || dir.configs.iter().any(|(below, _)| below == Path::new(name));
                let relative = path.strip_prefix(&self.host.tree.root).ok().and_then(Path::to_str);
                if !known && !relative.is_some_and(|relative| self.is_lifted(relative)) {
                    let missing = self.swept_at(&path, &[], origin);
                    let is_known = |swept: &Swept| self.view.git.missing.iter().any(|known| known.path == swept.path);
                    let missing: Vec<Swept> = missing.into_iter().filter(|swept| !is_known(swept)).collect();
                    self.view.git.missing.extend(missing);
                }
            }
        }
        for (path, base) in git.dirs.iter().flat_map(GitDirFacts::config_paths) {
            let place = self.own_place(&path, origin).filter(|_| !lifted.contains(&path));
            let keyed = place.map(|Swept { tree, relative, path, .. }| KeyedConfig { tree, relative, path, base });
            self.view.git.configs.extend(keyed);
        }
        let trees = self.host.tree.written_trees();
        let writable = |tree: &PathBuf| self.shown_with(tree).iter().any(|(_, _, access)| *access == Access::ReadWrite);
        self.view.git.trees = trees.into_iter().filter(writable).collect();
        let mut before = git;
        // A path that the user gave away is the command's, whatever it holds.
        for dir in &mut before.dirs {
            let given: Vec<PathBuf> =
                lifted.iter().filter_map(|path| path.strip_prefix(&dir.path).ok().map(Path::to_owned)).collect();
            dir.obeyed.extend(given);
            for lifted in &self.policy.unprotect {
                let path = self.host.tree.root.join(&lifted.value.0);
                dir.obeyed.extend(path.strip_prefix(&dir.path).ok().map(Path::to_owned));
            }
        }
        before.reached.extend(lifted);
        // The same in a git dir that does not exist yet.
        let git_dir = root.join(".git");
        if !before.dirs.iter().any(|dir| dir.path == git_dir) {
            let given = self.policy.unprotect.iter().map(|lifted| root.join(&lifted.value.0));
            let obeyed: Vec<PathBuf> =
                given.filter_map(|path| path.strip_prefix(&git_dir).ok().map(Path::to_owned)).collect();
            if !obeyed.is_empty() {
                before.dirs.push(GitDirFacts { path: git_dir, obeyed, configs: Vec::new(), state: Vec::new() });
            }
        }
        self.view.git.before = before;
        self.view.git.origin = Some(origin.clone());
    }

    fn is_git_link(&self, path: &Path) -> bool {
        let git = &self.host.tree.git;
        let in_dir = |dir: &GitDirFacts| dir.obeyed.iter().any(|below| dir.path.join(below) == path);
        self.links == Links::Held
            || git.reached.iter().chain(&git.pointers).any(|held| held == path)
            || git.dirs.iter().any(in_dir)
    }

    fn sweep_redirects(&mut self, git_dir: &Path, origin: &Origin) {
        for name in GIT_REDIRECTS {
            self.add_redirect(&git_dir.join(name), &[], origin);
        }
    }

    /// What git and polder on the host would obey, and what nothing honest makes in passing. Where it exists, it is
    /// protected. Where it does not, it is set aside when it comes into being.
    fn add_redirect(&mut self, path: &Path, only_with: &[&str], origin: &Origin) {
        let relative = path.strip_prefix(&self.host.tree.root).ok().and_then(Path::to_str);
        if relative.is_some_and(|relative| self.is_lifted(relative)) {
            return;
        }
        let missing = matches!(self.host.tree.entries.get(path), None | Some(Entry::Missing));
        if !missing {
            self.lifted_by = relative.map(str::to_owned);
            self.add_path(MaskKind::Protect, path, origin);
            self.lifted_by = None;
            return;
        }
        let swept = self.swept_at(path, only_with, origin);
        self.view.swept.extend(swept);
    }

    /// Where the workspace or the repository behind it shows a path, and no bind that shows it once more.
    fn own_place(&self, path: &Path, origin: &Origin) -> Option<Swept> {
        let own = |role: Role| matches!(role, Role::Workspace | Role::Repository);
        let shown: Vec<&GuestPath> =
            self.view.shown.iter().filter(|shown| own(shown.role)).map(|shown| &shown.guest).collect();
        let places = self.swept_at(path, &[], origin).into_iter();
        let places = places.filter(|place| shown.iter().any(|guest| place.path.is_within(guest)));
        places.max_by_key(|place| place.tree.as_path().components().count())
    }

    /// A path to be set aside, once for each writable place at which it is shown.
    fn swept_at(&self, path: &Path, only_with: &[&str], origin: &Origin) -> Vec<Swept> {
        let mut found = Vec::new();
        for (base, guest, access) in self.shown_with(path) {
            let (Ok(tree), Ok(relative), Ok(inside)) =
                (HostPath::new(&base), path.strip_prefix(&base), to_guest(&base, &guest, path))
            else {
                continue;
            };
            if access == Access::ReadWrite {
                found.push(Swept {
                    tree,
                    relative: relative.to_owned(),
                    path: inside,
                    only_with: only_with.iter().map(|name| (*name).to_owned()).collect(),
                    origin: origin.clone(),
                    lifted_by: path.strip_prefix(&self.host.tree.root).ok().and_then(Path::to_str).map(str::to_owned),
                    asked: Asked::BuiltIn,
                });
            }
        }
        found
    }

    /// The next run obeys the project's file, and the one that says which services it has, so this one must not write them.
    fn add_own_configuration(&mut self) {
        for name in PROJECT_NAMES {
            self.add_redirect(&self.host.tree.root.join(name), &[], &Origin::BuiltIn);
        }
        if let Some(Sourced { value: Image::Compose { file, .. }, origin }) = &self.policy.image {
            self.add_redirect(Path::new(file), &[], origin);
        }
    }

    /// A bind may hold what polder keeps, the store of caches and what lies beside it: a command that writes there could
    /// trust itself, and what other repositories keep is nobody's business.
    fn hide_what_polder_keeps(&mut self) {
        if let Some(kept) = self.host.caches.store.as_deref().and_then(Path::parent).map(Path::to_owned) {
            self.add_path(MaskKind::Hide, &kept, &Origin::BuiltIn);
            // Where nothing is kept yet there is nothing to hide, and all the same nothing may come into being.
            self.add_path(MaskKind::Protect, &kept, &Origin::BuiltIn);
        }
    }

    /// Every shown host path that holds a path: its host path, where it appears, and whether it can be written.
    fn shown_with(&self, path: &Path) -> Vec<(PathBuf, GuestPath, Access)> {
        let holders = self.view.shown.iter().filter(|shown| path.starts_with(shown.host.as_path()));
        let mut found: Vec<(PathBuf, GuestPath, Access)> =
            holders.map(|shown| (shown.host.as_path().to_owned(), shown.guest.clone(), shown.access)).collect();
        found.extend(self.twins(|base| path != base && path.starts_with(base)));
        found
    }

    /// Every mount in a shown tree that shows a path, or a part of what lies below it, at another place.
    fn twins_below(&self, path: &Path) -> Vec<(PathBuf, GuestPath, Access)> {
        self.twins(|base| base.starts_with(path)).collect()
    }

    /// Places inside at which a mount shows such a host path once more.
    fn twins(&self, wanted: impl Fn(&Path) -> bool) -> impl Iterator<Item = (PathBuf, GuestPath, Access)> {
        let twins = self.host.tree.other_names.twins.iter().filter(move |twin| wanted(&twin.base));
        twins.flat_map(|TwinMount { base, at }| {
            let holders = self.view.shown.iter().filter(|shown| at.starts_with(shown.host.as_path()));
            holders.filter_map(|shown| {
                let inside = to_guest(shown.host.as_path(), &shown.guest, at).ok()?;
                Some((base.clone(), inside, shown.access))
            })
        })
    }
}

pub(crate) fn to_guest(base: &Path, guest: &GuestPath, path: &Path) -> Result<GuestPath, ()> {
    let below: PathBuf = path.strip_prefix(base).map_err(drop)?.to_owned();
    guest.join(below).map_err(drop)
}

/// Whether a text is a pattern rather than a path.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}
