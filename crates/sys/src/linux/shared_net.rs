//! A network of their own for several sandboxes: a loopback, and nothing else.
//!
//! Who may join a network namespace is decided by the user namespace that owns it, and a sandbox has a user namespace of its
//! own, which is nobody's owner. So one pair of the two is made first, by a process that then ends: what keeps it is the
//! caller's descriptors, and when the caller is gone, so is the network. Each sandbox is cloned by a process that has
//! entered the pair, and has its own mounts, processes, host name and message queues below it. What runs inside has no
//! capability in the user namespace that they share, and is the same user of the host as without it.

use super::call::{Errno, check, check_fd, check_int};
use super::child::Stage;
use super::launched::{Child, CloneArgs, SpawnError, caller, clone_into, socket_pair};
use super::mapped::map_identity;
use super::net;
use super::recipe::Identity;
use super::wire::{self, Record, Tag};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// What a sandbox has of its own beside others on the same network.
const OWN: u64 = (libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS) as u64;
/// How `/proc/net/tcp` says that somebody listens.
const LISTENING: &str = "0A";

/// A network that several sandboxes are in. Gone with this value and the last of them.
#[derive(Debug)]
pub struct SharedNet {
    user: OwnedFd,
    net: OwnedFd,
    identity: Identity,
    /// The tables of its sockets, by address family.
    tables: Mutex<[File; 2]>,
}

impl SharedNet {
    /// Makes one for sandboxes in which commands have this identity.
    pub fn make(identity: Identity) -> Result<Self, SpawnError> {
        let fault = |what: &'static str, call| caller(what, call);
        let (ours, theirs) = socket_pair().map_err(fault("make the control socket", "socketpair"))?;
        let namespaces = (libc::CLONE_NEWUSER | libc::CLONE_NEWNET) as u64;
        let mut holder = clone_into(namespaces, None, || {
            // Ours of all ends: another network may be made at the same time, and two that hold each other's would wait
            // for each other for ever.
            let own = theirs.as_raw_fd() as libc::c_uint;
            // SAFETY: plain numbers.
            unsafe {
                libc::syscall(libc::SYS_close_range, 0, own - 1, 0);
                libc::syscall(libc::SYS_close_range, own + 1, libc::c_uint::MAX, 0);
            }
            let record = match net::loopback_up() {
                Ok(()) => Record::new(Tag::Ready),
                Err(errno) => failed(Stage::Loopback, errno),
            };
            let _ = wire::send(theirs.as_fd(), &record, &[]);
            // Until the caller has what it needs, or is gone.
            let _ = wire::receive(theirs.as_fd(), &mut []);
        })
        .map_err(|errno| SpawnError::Namespaces { errno })?;
        drop(theirs);
        heard(ours.as_fd(), &mut [])?;
        let pid = holder.pid;
        let open = |name: &str| {
            File::open(format!("/proc/{pid}/{name}")).map_err(|error| {
                fault("open the network of the sandboxes", "open")(Errno(error.raw_os_error().unwrap_or(libc::EIO)))
            })
        };
        let (user, net) = (open("ns/user")?.into(), open("ns/net")?.into());
        let tables = Mutex::new([open("net/tcp")?, open("net/tcp6")?]);
        map_identity(pid, identity)?;
        // By a word and not by our silence, which somebody who was cloned meanwhile could keep it from hearing. Where it
        // cannot be said there is nobody to hear it.
        let _ = wire::try_send(ours.as_fd(), &Record::new(Tag::Go));
        drop(ours);
        holder.reap();
        Ok(Self { user, net, identity, tables })
    }

    /// Whether somebody in it listens on this port, whoever that is.
    pub fn listens(&self, port: u16) -> std::io::Result<bool> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for table in tables.iter_mut() {
            let mut text = String::new();
            table.seek(SeekFrom::Start(0))?;
            table.read_to_string(&mut text)?;
            if text.lines().any(|line| is_listener(line, port)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A copy of this process in namespaces of its own and in this network, running `body`, which must obey the rules of a
    /// cloned child and must not return. It is our child.
    pub(crate) fn clone_into(
        &self,
        identity: Identity,
        cgroup: Option<BorrowedFd<'_>>,
        body: impl FnOnce(),
    ) -> Result<Child, SpawnError> {
        if identity != self.identity {
            let what = "join the network of sandboxes in which commands are somebody else";
            return Err(caller(what, "setns")(Errno(libc::EINVAL)));
        }
        let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
        // Only a process without threads may enter a user namespace, and it must not be us.
        let mut between = clone_into(0, cgroup, || {
            let made = join_and_clone(self.user.as_fd(), self.net.as_fd(), || {
                // SAFETY: what belongs to the process between us must not stay open here.
                unsafe { libc::close(theirs.as_raw_fd()) };
                body();
            });
            let _ = match made {
                Ok((pid, handle)) => {
                    let record = Record { a: pid, ..Record::new(Tag::Ready) };
                    wire::send(theirs.as_fd(), &record, &[handle.as_raw_fd()])
                }
                Err(errno) => wire::send(theirs.as_fd(), &failed(Stage::Join, errno), &[]),
            };
        })
        .map_err(|errno| SpawnError::Namespaces { errno })?;
        drop(theirs);
        let mut handle = [None];
        let record = heard(ours.as_fd(), &mut handle);
        between.reap();
        let [Some(handle)] = handle else { return Err(record.err().unwrap_or(SpawnError::Vanished)) };
        Ok(Child::ours(record?.a, handle))
    }
}

/// Enters both and clones from there; the child belongs to our own parent.
fn join_and_clone(user: BorrowedFd<'_>, net: BorrowedFd<'_>, body: impl FnOnce()) -> Result<(i32, OwnedFd), Errno> {
    super::creds::die_with_parent(libc::SIGKILL)?;
    // SAFETY: plain numbers and borrowed descriptors.
    unsafe {
        check_int(libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER))?;
        check_int(libc::setns(net.as_raw_fd(), libc::CLONE_NEWNET))?;
    }
    let mut pidfd: i32 = -1;
    let args = CloneArgs {
        flags: OWN | libc::CLONE_PIDFD as u64 | libc::CLONE_PARENT as u64,
        pidfd: (&raw mut pidfd) as u64,
        // With CLONE_PARENT the signal is the one of the caller's own end, and none may be given.
        ..CloneArgs::default()
    };
    // SAFETY: without a stack the child runs on a copy of ours; `body` does not allocate and does not return here.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) })?;
    if pid == 0 {
        body();
        // SAFETY: ends the child without running anything of the caller's.
        unsafe { libc::_exit(125) };
    }
    Ok((pid as i32, check_fd(i64::from(pidfd))?))
}

fn failed(stage: Stage, errno: Errno) -> Record {
    Record { a: stage as i32, c: errno.0, ..Record::new(Tag::Failed) }
}

/// What a process that makes something for us says.
fn heard(socket: BorrowedFd<'_>, descriptors: &mut [Option<OwnedFd>]) -> Result<Record, SpawnError> {
    match wire::receive(socket, descriptors) {
        Ok(Some(record)) if record.tag == Tag::Ready as u32 => Ok(record),
        Ok(Some(record)) => {
            let (what, call) = Stage::from_number(record.a).map_or(("make the network", "clone3"), Stage::words);
            Err(SpawnError::Inside { what: what.to_owned(), call, errno: Errno(record.c), step: None })
        }
        Ok(None) | Err(_) => Err(SpawnError::Vanished),
    }
}

/// `  0: 0100007F:1F90 00000000:0000 0A …`
fn is_listener(line: &str, port: u16) -> bool {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (Some(local), Some(_), Some(state)) = (words.next(), words.next(), words.next()) else { return false };
    let own = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
    state == LISTENING && own == Some(port)
}

#[cfg(test)]
mod tests {
    use super::is_listener;

    #[test]
    fn who_listens_is_told_from_who_is_connected() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 1 1 0";
        assert!(is_listener(line, 8080) && !is_listener(line, 8081));
        assert!(!is_listener(&line.replace(" 0A ", " 01 "), 8080), "connected");
        let six = "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0";
        assert!(is_listener(six, 8080));
        assert!(!is_listener("  sl  local_address rem_address   st", 0));
    }
}
