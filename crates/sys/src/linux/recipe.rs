//! A sandbox as data: everything that the child will do, in order, with nothing left to decide or to allocate.
//!
//! The parts that name paths come in two forms: owned, as an engine makes them, and borrowed from the bytes in which
//! they reach the child, which may not allocate; see `image`.
//!
//! An engine lowers a plan to a recipe; [`spawn`](super::spawn()) carries it out. Guest paths are relative to the new
//! root, without a leading slash, because the child builds the root below its working directory.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use super::cgroup::Entrance;
use super::syscalls::Observe;
use crate::command::{Command, Rlimit};

/// Everything the child will do.
#[derive(Debug)]
pub struct Recipe {
    /// What is built around the command.
    pub ground: Ground,
    /// What the shim does on that ground.
    pub inside: Inside,
    /// The run's cgroup, if it has one.
    pub cgroup: Option<Entrance>,
    /// Standard input, output and error of the command; ignored with a terminal.
    pub stdio: [OwnedFd; 3],
    /// What the shim holds open until nothing of the sandbox is left, such as a lock. The command does not get it. Where
    /// the recipe waits for the caller's word, it comes with that.
    pub kept: Option<OwnedFd>,
}

/// Makes ready what a recipe waits for, while the rest is being built. Gives what the shim holds open to its end; nothing
/// if it could not be made ready, which ends the launch.
pub type Word<'a> = &'a mut dyn FnMut() -> Option<OwnedFd>;

/// What is built around the command: its namespaces and its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// Who the command is, inside and in the eyes of the host.
    pub identity: Identity,
    /// Which network it sees.
    pub net: NetNamespace,
    /// What its root is made from.
    pub root: Root,
    /// The size of the private file systems together, in bytes.
    pub scratch_bytes: u64,
    /// How the root is built.
    pub steps: Vec<Step>,
    /// The host name inside.
    pub hostname: CString,
}

/// What is left to do on a ground that another program has built, before the shim gives everything up. A program is
/// believed nothing: the shim looks at what it stands on, and what is not as expected ends the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Namespaces that must not be the caller's.
    pub apart: Vec<Apart>,
    /// The size of the private root, in bytes.
    pub scratch_bytes: u64,
    /// What the program could not do, or not do safely; then the root is sealed.
    pub steps: Vec<Step>,
}

/// A namespace that must not be the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart<S = CString> {
    /// Where a process finds its own: `/proc/self/ns/…`.
    pub path: S,
    /// The number of the caller's.
    pub number: u64,
}

/// What is built around another program that will build the ground: a user and a mount namespace in which the host is
/// read-only, and one place with the steps' results. The program shows from there what it must not look up itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staging {
    /// Who the program and the command are.
    pub identity: Identity,
    /// The size of the place, which also holds the private file systems, in bytes.
    pub scratch_bytes: u64,
    /// How the place is filled.
    pub steps: Vec<Step>,
}

impl Staging {
    /// Where the place is. What the host has there cannot be seen by the program.
    pub const PLACE: &std::ffi::CStr = c"/tmp";
}

/// What the shim does, whoever built the ground it stands on: gives everything up, then starts the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// What the shim makes and checks on a ground that somebody else built, relative to `/`, with no right but its
    /// user's.
    pub made: Vec<Step>,
    /// Hard and soft resource limits.
    pub rlimits: Vec<Rlimit>,
    /// The second layer over the file view; absent only where its gap was accepted.
    pub landlock: Option<LandlockSpec>,
    /// The system call filter; absent only where its gap was accepted.
    pub filter: Filtered,
    /// Files that are set aside when the run has ended.
    pub swept: Vec<Swept>,
    /// What is looked at on its way, so that denials can be told; needs the filter.
    pub observe: Option<Observation>,
    /// What runs in the end.
    pub command: Command,
}

/// Who the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// An ordinary user stays what it is, and nobody else exists inside.
    Same {
        /// The caller's uid.
        uid: u32,
        /// The caller's gid.
        gid: u32,
    },
    /// A root caller becomes an unprivileged number: `uid` inside is `base + uid` in the eyes of the host.
    Range {
        /// The uid inside.
        uid: u32,
        /// The gid inside.
        gid: u32,
        /// Where the range begins on the host.
        base: u32,
        /// How many ids it has.
        count: u32,
    },
    /// A root caller stays the host's uid 0, without capabilities. Only where that gap was accepted.
    HostRoot,
}

/// What the root of a ground is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// Nothing: an empty one in memory, in which the steps make and show everything. The old root is gone afterwards.
    Made,
    /// The root that the shim finds, which nobody but its maker can write: the steps lay over it what is to be different,
    /// and what is private lies in memory at [`Root::PRIVATE`]. Only for a shim in a container.
    Found,
}

impl Root {
    /// Where a found root has its private places; whoever made the root has made this directory, too.
    pub const PRIVATE: &std::ffi::CStr = c".polder/private";
    /// The same from anywhere.
    pub(crate) const PRIVATE_AT: &std::ffi::CStr = c"/.polder/private";
}

/// Which network the command sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetNamespace {
    /// One of its own, with a loopback.
    Own,
    /// One that it shares with other sandboxes, with a loopback; it was entered before the first process began.
    Shared,
    /// The host's.
    Host,
}

/// Whether something can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// What happens when a source is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The launch ends.
    Fail,
    /// The step has no effect. Only for what polder itself adds if it is there.
    Skip,
}

/// One step of building the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<S = CString> {
    /// Makes a directory in the private root.
    Directory {
        /// Where.
        at: S,
        /// Its mode.
        mode: u32,
    },
    /// Makes a file with this content in the private root.
    File {
        /// Where.
        at: S,
        /// What it says.
        content: S,
        /// Its mode.
        mode: u32,
    },
    /// Makes a symbolic link in the private root.
    Symlink {
        /// Its text.
        target: S,
        /// Where.
        at: S,
    },
    /// Shows a host path.
    Bind {
        /// The host path.
        source: Source<S>,
        /// Where.
        at: S,
        /// Whether it can be written.
        access: Access,
    },
    /// Shows a directory or a file of the host read-only, if it is there.
    ShowIfThere {
        /// The host's path.
        from: S,
        /// Where; made only if it is needed.
        at: S,
    },
    /// Shows a device of the host; devices work here and nowhere else.
    Device {
        /// The host's node.
        from: S,
        /// Where.
        at: S,
    },
    /// Makes a directory of the private root writable.
    Scratch {
        /// Where.
        at: S,
    },
    /// Mounts the process table of the new pid namespace, without the shim.
    Proc {
        /// Where.
        at: S,
    },
    /// Mounts terminals of the sandbox's own.
    Terminals {
        /// Where.
        at: S,
    },
    /// Makes a path below a bind read-only; no component may be a symbolic link.
    Protect {
        /// Where.
        at: S,
    },
    /// Makes a directory below a bind a mount point, so that it cannot be renamed or replaced.
    Pin {
        /// Where.
        at: S,
    },
    /// Ends the launch if another program did not mount what it was told to. No component may be a symbolic link.
    Held {
        /// Where.
        at: S,
        /// What must be mounted there.
        hold: Hold,
    },
    /// Covers a path with nothing: a directory with an empty one, a file with an unreadable one.
    Hide {
        /// Where.
        at: S,
        /// Whether it must exist.
        missing: Missing,
    },
    /// Moves what stands at a private place to a path below a bind; no component of that may be a symbolic link.
    Place {
        /// The private place.
        from: S,
        /// Where.
        at: S,
    },
    /// Copies a small file from below a bind to a private place. No component may be a symbolic link.
    Copy {
        /// The file.
        from: S,
        /// The private place.
        at: S,
    },
    /// Mounts a private symbolic link over a file below a bind, so that the name leads to where the link does.
    Cover {
        /// The link.
        from: S,
        /// The file; no component may be a symbolic link.
        at: S,
    },
    /// Waits for the caller's word that what the next steps show is there. What they need of the caller comes with it.
    Await {},
    /// Shows a private layer over others, all of them below the root that is built: the trees below stay as they are.
    Overlay {
        /// What lies below, the uppermost first, with colons between.
        lower: S,
        /// Where changes go.
        upper: S,
        /// An empty directory beside it, for the kernel.
        work: S,
        /// Where.
        at: S,
        /// Whether it can be written.
        access: Access,
    },
    /// Shows a private directory over one of a found root, with what that has below it where it can be read. Symbolic links on
    /// the way are followed: they lead nowhere but into that root.
    Settle {
        /// Where changes go.
        upper: S,
        /// An empty directory beside it, for the kernel.
        work: S,
        /// Where.
        at: S,
    },
    /// Takes what is mounted at a private place, and below it, out of view; whoever was made from it keeps it.
    Withdraw {
        /// Where.
        at: S,
    },
    /// Removes a private place that is empty.
    Remove {
        /// Where.
        at: S,
    },
    /// Checks that a path is the very file that the caller opened, whatever a program has mounted there.
    Same {
        /// Where; no component may be a symbolic link.
        at: S,
        /// The device.
        device: u64,
        /// The number on the device.
        inode: u64,
    },
}

/// What a mount of another program must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The path itself, read-only.
    ReadOnly,
    /// The path itself, to be written.
    ReadWrite,
    /// Something of root's that nobody else can read.
    Hidden,
}

impl Step {
    /// A directory that can be covered by what `Hide` needs, made once per root.
    pub const HIDDEN_DIRECTORY: &std::ffi::CStr = c"run/polder/hidden-directory";
    /// The same for files.
    pub const HIDDEN_FILE: &std::ffi::CStr = c"run/polder/hidden-file";
    /// Where private copies of git's configuration are, if there are any; the caller gets it at the end.
    pub const GIT_COPIES: &std::ffi::CStr = c"run/polder/git";
    /// The same from anywhere.
    pub(crate) const GIT_COPIES_AT: &std::ffi::CStr = c"/run/polder/git";
}

/// Where a bind comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source<S = CString> {
    /// A system path, symbolic links followed.
    System {
        /// The path.
        path: S,
    },
    /// A path of the user's choice in its resolved form; a symbolic link in it ends the launch. With
    /// [`Identity::Range`] the parent opens it and maps its owners.
    Resolved {
        /// The path.
        path: S,
    },
    /// A private path of a found root, shown elsewhere in it. Symbolic links on the way to where it is shown are followed: they
    /// lead nowhere but into that root.
    Private {
        /// The path.
        path: S,
    },
}

/// The rules of the second layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandlockSpec {
    /// The ABI that was probed.
    pub abi: u32,
    /// What is allowed; everything else is not.
    pub rules: Vec<LandlockRule>,
}

/// One rule of the second layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LandlockRule<S = CString> {
    /// An absolute path inside.
    pub path: S,
    /// What may be done below it.
    pub access: Access,
    /// Whether the path must exist.
    pub missing: Missing,
}

/// Whether the command is under the system call filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtered {
    /// It is.
    Yes,
    /// Its gap was accepted.
    No,
}

/// What an observer has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Which calls it looks at; never [`Observe::Off`].
    pub mode: Observe,
    /// Absolute paths inside below which everything is as on the host.
    pub shown: Vec<CString>,
    /// Whether the sandbox has a network of its own without a way out.
    pub alone: bool,
    /// Absolute paths inside that are let through beyond the policy: what is found there is noted.
    pub lent: Vec<CString>,
    /// All that Landlock lets be opened, where it alone hides the rest: to ask whether a file is there, it does not mind.
    pub ruled: Vec<CString>,
}

/// A file that is set aside when the run has ended: renamed to a free name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept<S = CString, L = Vec<CString>> {
    /// The shown tree that it is in: an absolute path inside.
    pub tree: S,
    /// Its directory, relative to the tree.
    pub parent: S,
    /// Its name there.
    pub name: S,
    /// The addition to its name with which the new one begins.
    pub suffix: S,
    /// Only if all of these names exist in the same directory.
    pub only_with: L,
}
