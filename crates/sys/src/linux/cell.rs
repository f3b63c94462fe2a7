//! A sandbox that is there before anybody knows what will run in it: namespaces, a first process, and nothing else.
//!
//! Making namespaces takes as long as deciding what may run in them, so the two happen at the same time. A cell
//! permits nothing: it gets its root, its rules and its command with the recipe, or it ends.

use super::call::Errno;
use super::cgroup::Entrance;
use super::child::Line;
use super::launched::{Child, Go, Launched, NAMESPACES, SpawnError, caller, clone_into, socket_pair};
use super::recipe::{Access, Identity, NetNamespace, Recipe, Source, Step};
use super::{creds, image, mount, shim};
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A sandbox without a command. Dropping it ends it.
#[derive(Debug)]
pub struct Cell {
    shim: Child,
    control: OwnedFd,
    net: NetNamespace,
}

/// Carries a recipe out: returns when the command has been executed, or with what kept it from that. A cell that was
/// opened ahead is used if it suits the recipe.
pub fn spawn(recipe: &Recipe, ahead: Option<Cell>) -> Result<Launched, SpawnError> {
    let born = match &recipe.cgroup {
        Some(Entrance::Born(directory)) => Some(directory.as_fd()),
        Some(Entrance::Join(_)) | None => None,
    };
    let cell = match ahead {
        Some(cell) if cell.net == recipe.ground.net && born.is_none() => cell,
        _ => Cell::open(recipe.ground.net, born)?,
    };
    cell.start(recipe)
}

impl Cell {
    /// Makes the namespaces and returns while the first process is still at work on the network.
    pub fn open(net: NetNamespace, cgroup: Option<BorrowedFd<'_>>) -> Result<Self, SpawnError> {
        let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
        let shim = clone_into(NAMESPACES, cgroup, || {
            // SAFETY: the child's copy of the socket; duplicated so that the closure does not move the parent's, and
            // closed on exec: whoever holds it can speak as the shim.
            let control = unsafe { OwnedFd::from_raw_fd(libc::fcntl(theirs.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)) };
            // SAFETY: the parent's end must not stay open here, or the lifeline would never end.
            unsafe { libc::close(ours.as_raw_fd()) };
            shim::live(net, control)
        })
        .map_err(|errno| SpawnError::Namespaces { errno })?;
        Ok(Self { shim, control: ours, net })
    }

    /// The same for a caller that has other work to do meanwhile: the first process begins on another CPU.
    pub fn open_ahead(net: NetNamespace) -> Result<Self, SpawnError> {
        let cell = Self::open(net, None)?;
        move_away(cell.shim.pid);
        Ok(cell)
    }

    fn start(self, recipe: &Recipe) -> Result<Launched, SpawnError> {
        let Recipe { ground, inside, cgroup, stdio } = recipe;
        let trees = prepare(&self.shim, ground.identity, &ground.steps, stdio)?;
        let doors = match cgroup {
            Some(Entrance::Join(doors)) => doors.as_slice(),
            Some(Entrance::Born(_)) | None => &[],
        };
        let more: Vec<_> = doors.iter().chain(&trees).map(AsRawFd::as_raw_fd).collect();
        let go = Go { image: image::encode(Some(ground), inside), stdio, doors: doors.len(), more: &more };
        let Self { shim, control, .. } = self;
        Launched::new(shim, control).start(&go, &ground.steps)
    }
}

/// The caller's part for a child that waits in a user namespace of its own: the maps, and the trees whose owners are
/// mapped, in the order of the steps that show them.
pub(crate) fn prepare(
    child: &Child,
    identity: Identity,
    steps: &[Step],
    stdio: &[OwnedFd; 3],
) -> Result<Vec<OwnedFd>, SpawnError> {
    match identity {
        // A user may map itself only, and does so from inside.
        Identity::Same { .. } => Ok(Vec::new()),
        Identity::Range { uid, gid, base, count } => {
            map_ids(child, 0, base, count)?;
            for stream in stdio {
                give_pipe(stream.as_fd(), base + uid, base + gid);
            }
            mapped_trees(child, steps)
        }
        Identity::HostRoot => {
            map_ids(child, 0, 0, 1)?;
            Ok(Vec::new())
        }
    }
}

/// Opens what the steps show and maps its owners through the new user namespace.
fn mapped_trees(child: &Child, steps: &[Step]) -> Result<Vec<OwnedFd>, SpawnError> {
    let userns = std::fs::File::open(proc_path(child, "ns/user"))
        .map_err(|error| caller("open the user namespace", "open")(Errno(error.raw_os_error().unwrap_or(libc::EIO))))?;
    let mut trees = Vec::new();
    for step in steps {
        let Step::Bind { source: Source::Resolved { path }, access, .. } = step else { continue };
        let shown = OsStr::from_bytes(path.as_bytes()).display();
        let fault = |call| move |errno| (call, errno);
        let tree = mount::locate(path)
            .map_err(fault("openat2"))
            .and_then(|place| mount::clone_tree(place.as_fd()).map_err(fault("open_tree")))
            .and_then(|tree| {
                let read_only = if *access == Access::ReadOnly { mount::RDONLY } else { 0 };
                let flags = mount::NOSUID | mount::NODEV | read_only;
                mount::idmap_tree(tree.as_fd(), userns.as_fd(), flags)
                    .map_err(fault("mount_setattr MOUNT_ATTR_IDMAP"))?;
                Ok(tree)
            })
            .map_err(|(call, errno)| SpawnError::Caller { what: format!("show `{shown}` inside"), call, errno })?;
        trees.push(tree);
    }
    Ok(trees)
}

fn map_ids(child: &Child, inside: u32, outside: u32, count: u32) -> Result<(), SpawnError> {
    let mut line = Line::new();
    for name in ["uid_map", "gid_map"] {
        let path = CString::new(proc_path(child, name).into_os_string().into_encoded_bytes())
            .expect("invariant: the path is made of digits and a literal");
        creds::write_file(&path, line.map(inside, outside, count))
            .map_err(caller("write the user and group maps", "write uid_map"))?;
    }
    Ok(())
}

fn proc_path(child: &Child, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", child.pid))
}

/// Moves a process to another CPU than ours, if it may use one. Schedulers that pack tasks would otherwise let it wait
/// until we sleep. Only a hint: afterwards it may run everywhere again, and where this fails nothing is lost but time.
fn move_away(pid: i32) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: all-zero is an empty set, and every call gets a whole one.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        let here = libc::sched_getcpu();
        if here < 0 || libc::sched_getaffinity(pid, size, &raw mut all) != 0 {
            return;
        }
        let mut others = all;
        libc::CPU_CLR(here as usize, &mut others);
        if libc::sched_setaffinity(pid, size, &raw const others) == 0 {
            libc::sched_setaffinity(pid, size, &raw const all);
        }
    }
}

/// Gives an anonymous pipe to the user inside, so that `/dev/stdout` can be opened by name there; others have no names.
fn give_pipe(stream: BorrowedFd<'_>, uid: u32, gid: u32) {
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
