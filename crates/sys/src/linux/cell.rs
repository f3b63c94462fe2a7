//! A sandbox that is there before anybody knows what will run in it: namespaces, a first process, and nothing else.
//!
//! Making namespaces takes as long as deciding what may run in them, so the two happen at the same time. A cell
//! permits nothing: it gets its root, its rules and its command with the recipe, or it ends.

use super::call::Errno;
use super::cgroup::Entrance;
use super::launched::{
    Child, Go, Launched, MadeBy, NAMESPACE_LAYERS, NAMESPACES, SpawnError, caller, clone_into, socket_pair,
};
use super::mapped::{give_identity, give_later_trees, give_trees};
use super::mutate::bits;
use super::recipe::{Identity, NetNamespace, Recipe, Step, Word};
use super::shared_net::SharedNet;
use super::wire::{self, Record, Tag};
use super::{image, shim};
use crate::ready;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A sandbox without a command. Dropping it ends it.
#[derive(Debug)]
pub struct Cell {
    shim: Child,
    control: OwnedFd,
    net: NetNamespace,
    maps: Maps,
}

/// Who is who in the user namespace of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maps {
    /// Nobody has said it yet.
    ToWrite,
    /// Whoever made the namespace has.
    Written,
}

/// Carries a recipe out: returns when the command has been executed, or with what kept it from that. A cell that was
/// opened ahead is used if it suits the recipe. `word` is asked for what the recipe waits for, if it does.
pub fn spawn(recipe: &Recipe, ahead: Option<Cell>, word: Word<'_>) -> Result<Launched, SpawnError> {
    let born = match &recipe.cgroup {
        Some(Entrance::Born(directory)) => Some(directory.as_fd()),
        Some(Entrance::Join(_)) | None => None,
    };
    let cell = match ahead {
        Some(cell) if cell.net == recipe.ground.net && born.is_none() => cell,
        _ => Cell::open(recipe.ground.net, born)?,
    };
    cell.start(recipe, word)
}

/// The same in a network that other sandboxes are in.
pub fn spawn_beside(recipe: &Recipe, network: &SharedNet, word: Word<'_>) -> Result<Launched, SpawnError> {
    let born = match &recipe.cgroup {
        Some(Entrance::Born(directory)) => Some(directory.as_fd()),
        Some(Entrance::Join(_)) | None => None,
    };
    Cell::open_beside(network, recipe.ground.identity, born)?.start(recipe, word)
}

impl Cell {
    /// Makes the namespaces and returns while the first process is still at work on the network.
    pub fn open(net: NetNamespace, cgroup: Option<BorrowedFd<'_>>) -> Result<Self, SpawnError> {
        let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
        let shim = clone_into(bits(NAMESPACES, NAMESPACE_LAYERS), cgroup, || {
            // SAFETY: the child's copy of the socket; duplicated so that the closure does not move the parent's, and
            // closed on exec: whoever holds it can speak as the shim.
            let control = unsafe { OwnedFd::from_raw_fd(libc::fcntl(theirs.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)) };
            // SAFETY: the parent's end must not stay open here, or the lifeline would never end.
            unsafe { libc::close(ours.as_raw_fd()) };
            shim::live(net, control)
        })
        .map_err(|errno| SpawnError::Namespaces { errno })?;
        Ok(Self { shim, control: ours, net, maps: Maps::ToWrite })
    }

    /// The same in a network that other sandboxes are in.
    fn open_beside(
        network: &SharedNet,
        identity: Identity,
        cgroup: Option<BorrowedFd<'_>>,
    ) -> Result<Self, SpawnError> {
        let net = NetNamespace::Shared;
        let (ours, theirs) = socket_pair().map_err(caller("make the control socket", "socketpair"))?;
        let shim = network.clone_into(identity, cgroup, || {
            // SAFETY: as above.
            let control = unsafe { OwnedFd::from_raw_fd(libc::fcntl(theirs.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3)) };
            // SAFETY: as above.
            unsafe { libc::close(ours.as_raw_fd()) };
            shim::live(net, control)
        })?;
        Ok(Self { shim, control: ours, net, maps: Maps::Written })
    }

    /// The same for a caller that has other work to do meanwhile: the first process begins on another CPU.
    pub fn open_ahead(net: NetNamespace) -> Result<Self, SpawnError> {
        let idle = others_are_idle();
        let cell = Self::open(net, None)?;
        if idle {
            move_away(cell.shim.pid);
        }
        ready::after_clone();
        Ok(cell)
    }

    fn start(self, recipe: &Recipe, word: Word<'_>) -> Result<Launched, SpawnError> {
        let Recipe { ground, inside, cgroup, stdio, kept } = recipe;
        let give = match self.maps {
            Maps::ToWrite => give_identity,
            Maps::Written => give_trees,
        };
        let waits = ground.steps.iter().position(|step| *step == Step::Await {}).unwrap_or(ground.steps.len());
        let (at_once, later) = ground.steps.split_at(waits);
        let trees = give(self.shim.pid, ground.identity, at_once, stdio)?;
        let doors = match cgroup {
            Some(Entrance::Join(doors)) => doors.as_slice(),
            Some(Entrance::Born(_)) | None => &[],
        };
        let more: Vec<_> = doors.iter().chain(&trees).map(AsRawFd::as_raw_fd).collect();
        let image = image::encode(Some(ground), None, inside);
        let kept = kept.as_ref().map(AsFd::as_fd);
        let go = Go { image, made_by: MadeBy::Us, stdio, doors: doors.len(), more: &more, kept };
        let Self { shim, control, .. } = self;
        Launched::new(shim, control).start_with(&go, &ground.steps, None, |shim, control| {
            if later.is_empty() {
                return Ok(());
            }
            let kept = word().ok_or(SpawnError::Unready)?;
            let trees = give_later_trees(shim.pid, ground.identity, later)?;
            let handed: Vec<_> = [&kept].into_iter().chain(&trees).map(AsRawFd::as_raw_fd).collect();
            match wire::send(control, &Record::new(Tag::Word), &handed) {
                // A shim that failed before has left its reason, which is read next.
                Ok(()) | Err(Errno(libc::EPIPE | libc::ECONNRESET)) => Ok(()),
                Err(errno) => Err(caller("say that everything is ready", "sendmsg")(errno)),
            }
        })
    }
}

/// Whether nobody but us runs on this machine right now. Where somebody does, the scheduler knows better than we do where
/// there is room.
fn others_are_idle() -> bool {
    // Three averages, then how many run now and how many there are: `0.00 0.01 0.05 1/123 4567`.
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').nth(3).is_some_and(|running| running.starts_with("1/"))
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
