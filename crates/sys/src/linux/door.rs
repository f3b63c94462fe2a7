//! The door at which the first process of a container is awaited, and the caller's hold on it.

use super::call::{Errno, check_fd, check_int};
use super::child::{self, Stage};
use super::foreign::can_be_shim;
use super::launched::{Child, Go, Launched, MadeBy, SpawnError, caller, socket_pair};
use super::mapped::give_identity;
use super::porter::{ARGUMENT, MAPS, address};
use super::recipe::{Identity, NetNamespace, Recipe};
use super::wire::{self, Record, Tag};
use super::{image, wait};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The name of the door in its directory.
const SOCKET: &str = "socket";
/// How long a run may take to get in. It takes milliseconds; a container that is stopped must not keep us.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket at which a porter is awaited.
#[derive(Debug)]
pub struct Door {
    listener: OwnedFd,
    socket: PathBuf,
}

/// A porter that has come to the door. Dropping it ends its container.
#[derive(Debug)]
pub struct Porter {
    /// One run at a time comes in.
    control: Mutex<OwnedFd>,
    pid: u32,
    uid: u32,
}

impl Door {
    /// Where the directory of the door has to be shown inside.
    pub const DIRECTORY: &str = "/.polder/door";
    /// What the program is asked to be.
    pub const ARGUMENT: &str = ARGUMENT;

    /// Whether this program becomes a porter when it is asked to.
    pub fn is_possible() -> bool {
        can_be_shim()
    }

    /// Opens a door in a directory that nobody but the container is shown.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let held = std::fs::File::open(directory)?;
        // By the descriptor: a path of any length has one of few letters.
        let address = address(&format!("/proc/self/fd/{}/{SOCKET}", held.as_raw_fd()));
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: plain numbers; the address is valid for its length.
        let listener = unsafe {
            let listener = check_fd(i64::from(libc::socket(libc::AF_UNIX, kind, 0)))?;
            let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
            check_int(libc::bind(listener.as_raw_fd(), (&raw const address).cast(), length))?;
            check_int(libc::listen(listener.as_raw_fd(), 1))?;
            listener
        };
        let socket = directory.join(SOCKET);
        // The user inside may be another one; nobody else gets to the directory.
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666))?;
        Ok(Self { listener, socket })
    }

    /// Readable when somebody stands at the door.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Lets in who stands at the door, and closes it for good. The user must be the one that the container was to have.
    pub fn admit(self, uid: u32) -> io::Result<Porter> {
        let none = std::ptr::null_mut();
        // SAFETY: no address is asked for.
        let control = check_fd(i64::from(unsafe {
            libc::accept4(self.listener.as_raw_fd(), none, none.cast(), libc::SOCK_CLOEXEC)
        }))?;
        std::fs::remove_file(&self.socket)?;
        let peer = peer(control.as_fd())?;
        if peer.uid != uid || peer.pid <= 0 {
            let text = format!("the process in the container is uid {} and was to be uid {uid}", peer.uid);
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(Porter { control: Mutex::new(control), pid: peer.pid as u32, uid: peer.uid })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Gone already, if somebody came.
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl Porter {
    /// Its pid on the host.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its uid on the host.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Whether it is still there: one that has ended has closed its end of the socket.
    pub fn is_there(&self) -> bool {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        // It says nothing that it was not asked for, so that there is nothing to read as long as it lives.
        matches!(wait::readable(&[Some(control.as_fd())], Some(Duration::ZERO)).as_deref(), Ok([false]))
    }

    /// Lets a run in: returns when its command has been executed, or with what kept it from that.
    pub fn enter(&self, recipe: &Recipe) -> Result<Launched, SpawnError> {
        let Recipe { ground, inside, cgroup: _, stdio, kept } = recipe;
        let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
        let shim = self.ask(ground.identity, ground.net, theirs.as_fd())?;
        drop(theirs);
        let trees = match ground.identity {
            // The porter did it: it alone is sure to be in the right user namespace.
            Identity::Same { .. } => Vec::new(),
            Identity::Range { .. } | Identity::HostRoot => {
                give_identity(shim.pid, ground.identity, &ground.steps, stdio)?
            }
        };
        let more: Vec<_> = trees.iter().map(AsRawFd::as_raw_fd).collect();
        let image = image::encode(Some(ground), None, inside);
        let kept = kept.as_ref().map(AsFd::as_fd);
        let go = Go { image, made_by: MadeBy::Us, stdio, doors: 0, more: &more, kept };
        Launched::new(shim, ours).start(&go, &ground.steps, Some(PATIENCE))
    }

    fn ask(&self, identity: Identity, net: NetNamespace, theirs: BorrowedFd<'_>) -> Result<Child, SpawnError> {
        let namespace = |kind: &str| {
            let path = CString::new(format!("/proc/self/ns/{kind}")).expect("invariant: literals");
            child::number_of(&path).map_err(caller("find the namespaces", "stat"))
        };
        let (uid, gid, maps) = match identity {
            Identity::Same { uid, gid } => (uid, gid, MAPS),
            Identity::Range { uid, gid, .. } => (uid, gid, 0),
            Identity::HostRoot => (0, 0, 0),
        };
        let record = Record {
            a: uid as i32,
            b: gid as i32,
            c: maps | umask(),
            d: namespace("pid")?,
            e: namespace("mnt")?,
            f: u64::from(net == NetNamespace::Own),
            ..Record::new(Tag::Enter)
        };
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        wire::send(control.as_fd(), &record, &[theirs.as_raw_fd()]).map_err(|_| SpawnError::Vanished)?;
        match wait::readable(&[Some(control.as_fd())], Some(PATIENCE)).as_deref() {
            Ok([true]) => {}
            _ => return Err(SpawnError::Silent { seconds: PATIENCE.as_secs() }),
        }
        let mut handles = [None];
        match wire::receive(control.as_fd(), &mut handles) {
            Ok(Some(record)) if record.tag == Tag::Entered as u32 => {}
            Ok(Some(record)) if record.tag == Tag::Failed as u32 => {
                let (what, call) = Stage::from_number(record.a).unwrap_or(Stage::Start).words();
                return Err(SpawnError::Inside { what: what.to_owned(), call, errno: Errno(record.c), step: None });
            }
            Ok(_) | Err(_) => return Err(SpawnError::Vanished),
        }
        let [handle] = handles;
        let handle = handle.ok_or(SpawnError::Vanished)?;
        let pid = pid_of(handle.as_fd()).ok_or_else(|| caller("find the shim", "read fdinfo")(Errno(libc::ESRCH)))?;
        Ok(Child::of_another(pid, handle))
    }
}

/// The mask of this process, which a command keeps. Asking the kernel by its own call would change it for a moment.
pub(super) fn umask() -> i32 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let said = text.lines().find_map(|line| line.strip_prefix("Umask:"));
    said.and_then(|mask| i32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022) & 0o777
}

/// The pid of the process that a handle refers to, as this process sees it.
fn pid_of(handle: BorrowedFd<'_>) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd())).ok()?;
    let pid = text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    (pid > 0).then_some(pid)
}

/// Who is at the other end of a socket.
fn peer(socket: BorrowedFd<'_>) -> Result<libc::ucred, Errno> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: `peer` and its size are valid for writing.
    check_int(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut peer).cast(), &raw mut length) })?;
    Ok(peer)
}
