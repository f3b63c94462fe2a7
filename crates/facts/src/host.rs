//! What a probe found out about this machine by trying it, not by reading a version.

use crate::git::{GitFacts, GitIdentity};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something the kernel or the machine offers and that a probe has tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// User, mount, pid, ipc, uts and cgroup namespaces in one clone, with the maps written.
    Namespaces,
    /// A network namespace with its loopback up.
    NetworkNamespace,
    /// A new root of attached mounts, with its own `/proc`, and the old root gone.
    MountRoot,
    /// Id-mapped mounts of the workspace's file system (asked for only where root runs).
    IdmappedMounts,
    /// A private layer over a tree, in a user namespace.
    Overlay,
    /// A Landlock domain that denied a write.
    Landlock,
    /// A seccomp filter that denied a call.
    Seccomp,
    /// A process limit that counts only the sandbox's own user namespace.
    ProcessRlimit,
    /// A cgroup with the memory controller.
    CgroupMemory,
    /// A cgroup with the pids controller.
    CgroupPids,
    /// A cgroup with the cpu controller.
    CgroupCpu,
}

impl Mechanism {
    /// Every mechanism, in the order in which doctor lists them.
    pub const ALL: [Self; 11] = [
        Self::Namespaces,
        Self::NetworkNamespace,
        Self::MountRoot,
        Self::IdmappedMounts,
        Self::Overlay,
        Self::Landlock,
        Self::Seccomp,
        Self::ProcessRlimit,
        Self::CgroupMemory,
        Self::CgroupPids,
        Self::CgroupCpu,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::NetworkNamespace => "network-namespace",
            Self::MountRoot => "mount-root",
            Self::IdmappedMounts => "idmapped-mounts",
            Self::Overlay => "overlay",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::ProcessRlimit => "process-rlimit",
            Self::CgroupMemory => "cgroup-memory",
            Self::CgroupPids => "cgroup-pids",
            Self::CgroupCpu => "cgroup-cpu",
        }
    }
}

/// What came of trying one mechanism.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// It works; the text says which form of it was found.
    Works {
        /// For example `ABI 7` or `cgroup v1`.
        detail: String,
    },
    /// It was tried and did not work.
    Fails {
        /// The step, the call and the error.
        reason: String,
        /// What the user can do.
        remedy: String,
    },
    /// It has no meaning for this caller.
    NotNeeded {
        /// Why.
        reason: String,
    },
}

impl Probe {
    /// Whether the mechanism can be used.
    pub const fn works(&self) -> bool {
        matches!(self, Self::Works { .. })
    }
}

/// What a plan needs to know about the machine, the user and the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFacts {
    /// Every mechanism that was tried.
    pub mechanisms: BTreeMap<Mechanism, Probe>,
    /// The newest Landlock ABI that enforces here; zero where there is none.
    pub landlock_abi: u32,
    /// Where a cgroup for a run can be made.
    pub cgroup: Option<CgroupFacts>,
    /// Memory and swap of the machine, in bytes; absent where the kernel does not say.
    pub memory_bytes: Option<u64>,
    /// Who calls.
    pub user: UserFacts,
    /// The system directories that exist, in mount order.
    pub system: Vec<SystemPath>,
    /// What is known about the workspace.
    pub tree: TreeFacts,
    /// Where directories are kept between runs.
    pub caches: CacheFacts,
    /// Who commits in the workspace, by the user's own configuration of git.
    pub git_identity: GitIdentity,
    /// The caller's environment.
    pub environment: BTreeMap<OsString, OsString>,
}

/// Where cgroups for runs can be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupFacts {
    /// The version that carries the limits.
    pub version: CgroupVersion,
    /// The directory below which a run's memory cgroup is made, if it can be.
    pub memory: Option<PathBuf>,
    /// The same for the pids controller. With v2 all three are one directory.
    pub pids: Option<PathBuf>,
    /// The same for the cpu controller.
    pub cpu: Option<PathBuf>,
}

/// The two generations of cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupVersion {
    /// One hierarchy per controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFacts {
    /// The effective user id.
    pub uid: u32,
    /// The effective group id.
    pub gid: u32,
    /// The login name inside, or `user` where the uid has none.
    pub name: String,
    /// The user that the command is inside: the caller, or for a root caller the owner of the workspace.
    pub inside_uid: u32,
    /// The group that the command has inside.
    pub inside_gid: u32,
    /// The home directory, from the environment or the password file.
    pub home: PathBuf,
}

/// A system directory of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPath {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub entry: Entry,
}

/// What stands at a path, its final component not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A regular file, with the number of names it has.
    File {
        /// The link count.
        links: u64,
    },
    /// A symbolic link, with its text.
    Symlink(PathBuf),
    /// A device, socket or FIFO.
    Other,
    /// Nothing.
    Missing,
}

/// What is known about the workspace before anything starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFacts {
    /// The workspace, resolved: no component is a symbolic link.
    pub root: PathBuf,
    /// Where the command starts: the workspace or a directory in it, resolved.
    pub start: PathBuf,
    /// For a linked git worktree: where the repository behind it lives.
    pub worktree: Option<WorktreeFacts>,
    /// For a directory in a repository's tree: the repository around it, where it is shown.
    pub enclosing: Option<EnclosingFacts>,
    /// What stands at each path that the policy protects or denies, and at each of its parents, keyed by absolute
    /// host path.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What each pattern of the policy matched, as absolute host paths in order.
    pub matches: BTreeMap<String, Vec<PathBuf>>,
    /// Git directories of submodules below `.git/modules`, and the `.git` files that point to them.
    pub submodules: Vec<PathBuf>,
    /// For a workspace that the command changes in place: what git on the host would obey later.
    pub git: GitFacts,
    /// Where something else is mounted below the workspace; looked for only where that matters.
    pub mounts: Vec<PathBuf>,
    /// For a workspace that is a private copy of what git knows: what the copy is made of.
    pub captured: Option<CapturedFacts>,
    /// Every bind source of the policy, resolved; absent when it does not exist.
    pub sources: BTreeMap<PathBuf, Resolved>,
    /// By which other names what the policy masks could be reached.
    pub other_names: OtherNames,
}

/// Names by which a masked path could be reached although the path itself is masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherNames {
    /// Files in masked directories with a hard link that no mask covers, in order.
    pub links: Vec<HardLinked>,
    /// Places in shown trees where a mount shows what another place shows, in order.
    pub twins: Vec<TwinMount>,
}

impl OtherNames {
    /// There are none, or no caller asked.
    pub const fn none() -> Self {
        Self { links: Vec::new(), twins: Vec::new() }
    }
}

/// A file in a masked directory that has a hard link elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HardLinked {
    /// The masked directory.
    pub directory: PathBuf,
    /// The file in it.
    pub file: PathBuf,
    /// The name that no mask covers.
    pub other: OtherLink,
}

/// Where the other hard link of a file is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherLink {
    /// In a shown tree, at this path.
    At(PathBuf),
    /// Unknown: the shown trees hold more entries than polder looks at.
    Unsearched {
        /// How many entries polder looks at.
        entries_max: usize,
    },
}

/// Two host paths in shown trees that show the same directory or file, by way of a mount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TwinMount {
    /// One of them.
    pub base: PathBuf,
    /// The other one.
    pub at: PathBuf,
}

impl TreeFacts {
    /// The trees that a command in the workspace can write by itself: the workspace, the repository
    /// behind a linked worktree, and the git dir of the repository around the workspace.
    pub fn written_trees(&self) -> Vec<PathBuf> {
        let common = self.worktree.as_ref().map(|worktree| worktree.common_dir.clone());
        let around = self.enclosing.as_ref().map(|enclosing| enclosing.git_dir.clone());
        std::iter::once(self.root.clone()).chain(common).chain(around).collect()
    }
}

/// What is known about the directories that are kept between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFacts {
    /// The store, as far as it exists without symbolic links; absent when the caller has no home, or when nobody asked.
    pub store: Option<PathBuf>,
    /// Where polder keeps that and everything else about runs, by the same rule; asked for or not.
    pub kept: Option<PathBuf>,
    /// Which of the directories that a run asks for are there already; looked at only for a run that may not make them.
    pub present: BTreeSet<PathBuf>,
}

impl CacheFacts {
    /// Nobody asked.
    pub const fn unasked() -> Self {
        Self { store: None, kept: None, present: BTreeSet::new() }
    }
}

/// A path with all symbolic links followed, and what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path without symbolic links.
    pub path: PathBuf,
    /// What it is.
    pub entry: Entry,
}

/// What a private copy of a repository's tree is made of. The other facts speak of the copy then, at the paths of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFacts {
    /// Where the repository and its submodules keep their objects, which the copy borrows.
    pub objects: Vec<PathBuf>,
    /// A mark of everything that is copied: whoever copies looks whether it is still the same.
    pub digest: String,
}

/// The repository whose tree a workspace is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnclosingFacts {
    /// The tree that is shown around the workspace, resolved: the repository's, or for a submodule the
    /// tree in which it lies.
    pub tree: PathBuf,
    /// The top of the tree to which the git dir belongs: `tree`, or the submodule.
    pub top: PathBuf,
    /// The git dir with the data that git writes, resolved; shared by all worktrees.
    pub git_dir: PathBuf,
}

/// A linked git worktree whose back link was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeFacts {
    /// `…/.git/worktrees/NAME`.
    pub git_dir: PathBuf,
    /// `…/.git`, shared by all worktrees.
    pub common_dir: PathBuf,
}
