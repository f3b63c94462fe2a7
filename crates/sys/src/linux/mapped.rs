//! The maps of a new user namespace, and the trees whose owners are mapped through it. Done by the caller, who alone may
//! map a range.

use super::call::Errno;
use super::child::Line;
use super::launched::{SpawnError, caller};
use super::mutate::{Layer, off};
use super::recipe::{Access, Identity, Source, Step};
use super::{creds, mount};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// The caller's part for a child that waits in a user namespace of its own: the maps, and the trees whose owners are
/// mapped, in the order of the steps that show them.
pub(crate) fn give_identity(
    pid: i32,
    identity: Identity,
    steps: &[Step],
    stdio: &[OwnedFd; 3],
) -> Result<Vec<OwnedFd>, SpawnError> {
    map_identity(pid, identity)?;
    give_trees(pid, identity, steps, stdio)
}

/// The maps alone.
pub(crate) fn map_identity(pid: i32, identity: Identity) -> Result<(), SpawnError> {
    match identity {
        Identity::Same { uid, gid } => map_self(pid, uid, gid),
        Identity::Range { count, .. } if off(Layer::IdentityRange) => map_ids(pid, 0, 0, count),
        Identity::Range { base, count, .. } => map_ids(pid, 0, base, count),
        Identity::HostRoot => map_ids(pid, 0, 0, 1),
    }
}

/// The trees alone, for a child in a user namespace whose maps are written.
pub(crate) fn give_trees(
    pid: i32,
    identity: Identity,
    steps: &[Step],
    stdio: &[OwnedFd; 3],
) -> Result<Vec<OwnedFd>, SpawnError> {
    if let Identity::Range { uid, gid, base, count: _ } = identity {
        for stream in stdio {
            give_pipe(stream.as_fd(), base + uid, base + gid);
        }
    }
    give_later_trees(pid, identity, steps)
}

/// The trees of steps that are taken later than others.
pub(crate) fn give_later_trees(pid: i32, identity: Identity, steps: &[Step]) -> Result<Vec<OwnedFd>, SpawnError> {
    match identity {
        Identity::Same { .. } | Identity::HostRoot => Ok(Vec::new()),
        Identity::Range { .. } => {
            let shown = steps.iter().filter_map(|step| match step {
                Step::Bind { source: Source::Resolved { path }, access, .. } => Some((path.as_c_str(), *access)),
                _ => None,
            });
            mapped_trees(pid, shown)
        }
    }
}

/// Writes both maps of a process that was just made in a user namespace.
pub(crate) fn map_ids(pid: i32, inside: u32, outside: u32, count: u32) -> Result<(), SpawnError> {
    let mut line = Line::new();
    for name in ["uid_map", "gid_map"] {
        let path = CString::new(format!("/proc/{pid}/{name}")).expect("invariant: digits and literals");
        creds::write_file(&path, line.map(inside, outside, count))
            .map_err(caller("write the user and group maps", "write uid_map"))?;
    }
    Ok(())
}

/// Maps an ordinary user to itself, and nobody else; see user_namespaces(7). The child could do that too, but it is the one
/// that everybody waits for.
pub(crate) fn map_self(pid: i32, uid: u32, gid: u32) -> Result<(), SpawnError> {
    let mut line = Line::new();
    let write = |name: &str, line: &[u8]| {
        let path = CString::new(format!("/proc/{pid}/{name}")).expect("invariant: digits and literals");
        creds::write_file(&path, line).map_err(caller("write the user and group maps", "write uid_map"))
    };
    // Group changes must be given up first.
    write("setgroups", b"deny")?;
    write("uid_map", line.map(uid, uid, 1))?;
    write("gid_map", line.map(gid, gid, 1))
}

/// Opens host paths, none of whose components may be a symbolic link, and maps their owners through the user namespace
/// of a process.
pub(crate) fn mapped_trees<'a>(
    pid: i32,
    shown: impl Iterator<Item = (&'a CStr, Access)>,
) -> Result<Vec<OwnedFd>, SpawnError> {
    let userns = std::fs::File::open(format!("/proc/{pid}/ns/user"))
        .map_err(|error| caller("open the user namespace", "open")(Errno(error.raw_os_error().unwrap_or(libc::EIO))))?;
    let mut trees = Vec::new();
    for (path, access) in shown {
        let words = OsStr::from_bytes(path.to_bytes()).display();
        let fault = |call| move |errno| (call, errno);
        let tree = mount::locate(path)
            .map_err(fault("openat2"))
            .and_then(|place| mount::clone_tree(place.as_fd()).map_err(fault("open_tree")))
            .and_then(|tree| {
                let read_only = if access == Access::ReadOnly && !off(Layer::BindReadonly) { mount::RDONLY } else { 0 };
                let flags = mount::NOSUID | mount::NODEV | read_only;
                mount::idmap_tree(tree.as_fd(), userns.as_fd(), flags)
                    .map_err(fault("mount_setattr MOUNT_ATTR_IDMAP"))?;
                Ok(tree)
            })
            .map_err(|(call, errno)| SpawnError::Caller { what: format!("show `{words}` inside"), call, errno })?;
        trees.push(tree);
    }
    Ok(trees)
}

/// Gives an anonymous pipe to the user inside, so that `/dev/stdout` can be opened by name there; others have no names.
pub(crate) fn give_pipe(stream: BorrowedFd<'_>, uid: u32, gid: u32) {
    const PIPEFS_MAGIC: u64 = 0x5049_5045;
    // SAFETY: all-zero is a valid `statfs`, which the call fills; the descriptor is borrowed for the calls.
    unsafe {
        let mut disk: libc::statfs = std::mem::zeroed();
        if libc::fstatfs(stream.as_raw_fd(), &raw mut disk) == 0 && u64::try_from(disk.f_type) == Ok(PIPEFS_MAGIC) {
            // A convenience: a pipe that stays another's can still be used through its descriptor.
            libc::fchown(stream.as_raw_fd(), uid, gid);
        }
    }
}
