//! The child's half of a launch: from the clone to the point where the shim takes over.
//!
//! Runs in a cloned process whose other threads are gone: no allocation, no locks, no formatting. What can fail is
//! reported as numbers; the caller turns them into words.

use super::call::{Errno, check, check_fd, check_int, open_at};
use super::creds;
use super::image::{FinishImage, GroundImage, InsideImage, List};
use super::mutate::{self, Layer, off};
use super::recipe::{Access, Hold, Identity, Missing, NetNamespace, Root, Source, Step};
use super::wire::{self, Tag};
use super::{landlock, mount, net};
use crate::keeper::OPEN_FILES;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

/// Where in the launch something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Stage {
    Lifeline = 1,
    Network,
    Recipe,
    Ground,
    Processes,
    Cgroup,
    Maps,
    Identity,
    UserNamespaces,
    Private,
    Root,
    Step,
    Seal,
    Pivot,
    Loopback,
    Hostname,
    Limits,
    Privileges,
    Landlock,
    Terminal,
    Descriptors,
    Seccomp,
    Workdir,
    Start,
    Outer,
    Program,
    Join,
}

impl Stage {
    const ALL: [Self; 27] = [
        Self::Lifeline,
        Self::Network,
        Self::Recipe,
        Self::Ground,
        Self::Processes,
        Self::Cgroup,
        Self::Maps,
        Self::Identity,
        Self::UserNamespaces,
        Self::Private,
        Self::Root,
        Self::Step,
        Self::Seal,
        Self::Pivot,
        Self::Loopback,
        Self::Hostname,
        Self::Limits,
        Self::Privileges,
        Self::Landlock,
        Self::Terminal,
        Self::Descriptors,
        Self::Seccomp,
        Self::Workdir,
        Self::Start,
        Self::Outer,
        Self::Program,
        Self::Join,
    ];

    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage as i32 == number)
    }

    /// What was being done and the call that does it.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Lifeline => ("wait for the go-ahead", "recvmsg"),
            Self::Network => ("make the network namespace", "unshare"),
            Self::Recipe => ("read the recipe", "mmap"),
            Self::Processes => ("make the process table", "fsmount proc"),
            Self::Ground => ("find a ground of its own: the program that was to build it did not", "stat"),
            Self::Cgroup => ("join the cgroup", "write tasks"),
            Self::Maps => ("write the user and group maps", "write uid_map"),
            Self::Identity => ("take the identity inside", "setresuid"),
            Self::UserNamespaces => ("forbid further user namespaces", "write max_user_namespaces"),
            Self::Private => ("cut mount propagation", "mount"),
            Self::Root => ("make the new root", "fsmount tmpfs"),
            Self::Step => ("build the new root", "move_mount"),
            Self::Seal => ("make the new root read-only", "mount_setattr"),
            Self::Pivot => ("enter the new root", "pivot_root"),
            Self::Loopback => ("bring the loopback up", "ioctl SIOCSIFFLAGS"),
            Self::Hostname => ("set the host name", "sethostname"),
            Self::Limits => ("set the resource limits", "prlimit64"),
            Self::Privileges => ("give up all privileges", "capset"),
            Self::Landlock => ("restrict by Landlock", "landlock_restrict_self"),
            Self::Terminal => ("make the terminal", "open /dev/ptmx"),
            Self::Descriptors => ("close what the command must not have", "close_range"),
            Self::Seccomp => ("install the system call filter", "seccomp"),
            Self::Workdir => ("enter the working directory", "chdir"),
            Self::Start => ("start the command", "clone"),
            Self::Outer => ("attach what the program is to show", "move_mount"),
            Self::Join => ("join the network of other sandboxes", "setns"),
            Self::Program => ("execute the program that builds the sandbox", "execve"),
        }
    }
}

/// What failed, as numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) index: usize,
    pub(crate) errno: Errno,
}

/// Names the stage of a call that may fail.
pub(crate) fn at<T>(stage: Stage, result: Result<T, Errno>) -> Result<T, Failure> {
    result.map_err(|errno| Failure { stage, index: 0, errno })
}

/// What came with the go-ahead, beside the recipe: descriptors that only the caller could open.
pub(crate) struct Handed<'a> {
    /// The cgroups to join.
    pub(crate) doors: &'a mut [Option<OwnedFd>],
    /// The trees whose owners are mapped, in the order of the steps that show them.
    pub(crate) trees: &'a mut [Option<OwnedFd>],
    /// The process table.
    pub(crate) proc: OwnedFd,
}

/// What every sandbox needs and no recipe changes. Done before the recipe is there, in time that nobody waits for; gives
/// the process table of the new pid namespace.
pub(crate) fn prepare(net: NetNamespace) -> Result<OwnedFd, Failure> {
    if net == NetNamespace::Own && !off(Layer::NsNet) {
        // Not with the clone: here it costs time that the caller uses for deciding.
        // SAFETY: a plain number.
        at(Stage::Network, check_int(unsafe { libc::unshare(libc::CLONE_NEWNET) }))?;
        at(Stage::Loopback, net::loopback_up())?;
    }
    at(Stage::Private, mount::make_private())?;
    // While the host's is still visible: the kernel compares the two. We are not dumpable when the command comes, so with
    // this option it does not see us.
    let proc = at(Stage::Processes, process_table())?;
    at(Stage::UserNamespaces, creds::bound_namespace(proc.as_fd()))?;
    at(Stage::Privileges, creds::empty_bounding_set(&[]))?;
    Ok(proc)
}

fn process_table() -> Result<OwnedFd, Errno> {
    if off(Layer::NsPid) {
        return mount::clone_tree_at(c"/proc");
    }
    let hidden = if off(Layer::ProcHidepid) { c"off" } else { c"ptraceable" };
    mount::new_filesystem(c"proc", &[(c"hidepid", hidden)], mount::NOSUID | mount::NODEV | mount::NOEXEC)
}

/// What is to be held open until the end of the sandbox, found out while its ground was built.
pub(crate) struct Held {
    /// What came with the caller's word.
    pub(crate) kept: Option<OwnedFd>,
    /// The kernel's mark in the scratch of a layer.
    pub(crate) mark: Option<OwnedFd>,
}

/// Builds the ground: from new namespaces to a root of the sandbox's own.
pub(crate) fn build(ground: &GroundImage<'_>, handed: Handed<'_>, control: BorrowedFd<'_>) -> Result<Held, Failure> {
    // The network is there already.
    let GroundImage { identity, net: _, root: kind, scratch_bytes, steps, hostname } = *ground;
    let Handed { doors, trees, proc } = handed;
    // Join before the identity changes: afterwards we are nobody and the write is refused.
    for door in doors.iter_mut().filter_map(Option::take).filter(|_| !off(Layer::CgroupJoin)) {
        at(Stage::Cgroup, creds::write_once(door.as_raw_fd(), b"0"))?;
    }
    // Only now, so that the namespace's root is the run's own cgroup.
    if !off(Layer::NsCgroup) {
        // SAFETY: a plain number.
        at(Stage::Cgroup, check_int(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) }))?;
    }

    take_identity(identity)?;
    at(Stage::Lifeline, creds::die_with_parent(libc::SIGKILL))?;
    at(Stage::Lifeline, creds::not_dumpable())?;

    let root = match kind {
        Root::Made => at(Stage::Root, enter_empty_root(scratch_bytes, c"/"))?,
        Root::Found => at(Stage::Root, enter_found_root(scratch_bytes))?,
    };
    let passing = if kind == Root::Made { passing_place() } else { None };
    let (proc, control) = (Some(proc.as_fd()), Some(control));
    let mut hands = Hands { trees, proc, passing, control, ..Hands::empty(identity) };
    hands.take_steps(steps)?;
    let held = hands.held;
    if !off(Layer::RootSeal) {
        at(Stage::Seal, mount::seal_root(root.as_fd()))?;
    }
    drop(root);
    if kind == Root::Made {
        at(Stage::Pivot, mount::become_root())?;
    }
    // SAFETY: the name is valid for its length.
    at(Stage::Hostname, check_int(unsafe { libc::sethostname(hostname.as_ptr(), hostname.to_bytes().len() as _) }))?;
    Ok(held)
}

/// A place of the old root that nothing needs any more, below what is taken away with it. Some process tables have it not.
fn passing_place() -> Option<OwnedFd> {
    open_at(c"/proc/fs", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0).ok()
}

/// Finishes a ground that another program has built: looks at what it stands on, does what the program could not do or
/// not do safely, and seals the root.
pub(crate) fn finish(finish: &FinishImage<'_>) -> Result<(), Failure> {
    let FinishImage { apart, scratch_bytes, steps } = *finish;
    for (index, namespace) in apart.iter().enumerate() {
        let answer = match number_of(namespace.path) {
            // The caller's own, or one that cannot be told from it.
            Ok(own) if own == namespace.number || namespace.number == 0 => Err(Errno(libc::EPERM)),
            other => other,
        };
        answer.map_err(|errno| Failure { stage: Stage::Ground, index, errno })?;
    }
    let bound = creds::visible_processes().and_then(|proc| creds::bound_namespace(proc.as_fd()));
    at(Stage::UserNamespaces, bound)?;
    at(Stage::Lifeline, creds::not_dumpable())?;
    // SAFETY: a static path.
    let root =
        at(Stage::Root, check_int(unsafe { libc::chdir(c"/".as_ptr()) }).and_then(|_| bound_root(scratch_bytes)))?;
    // The shim is not dumpable, so with this option the command does not see it.
    at(Stage::Root, mount::reconfigure(c"proc", &[(c"hidepid", c"ptraceable")]))?;
    Hands::empty(Identity::HostRoot).take_steps(steps)?;
    at(Stage::Seal, mount::seal_root(root.as_fd()))
}

/// Gives the root that a program has made the size and the flags of ours.
fn bound_root(scratch_bytes: u64) -> Result<OwnedFd, Errno> {
    let (mut size, mut inodes) = (Line::new(), Line::new());
    let options = [(c"size", size.text(scratch_bytes)), (c"nr_inodes", inodes.text(inodes_of(scratch_bytes)))];
    mount::reconfigure(c"/", &options)?;
    let root = open_at(c"/", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
    mount::restrict_mount(root.as_fd(), mount::NOSUID | mount::NODEV)?;
    Ok(root)
}

/// The number of a file on its device.
pub(crate) fn number_of(path: &CStr) -> Result<u64, Errno> {
    // SAFETY: all-zero is a valid `stat`; the path outlives the call, and the kernel fills the structure.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check_int(libc::stat(path.as_ptr(), &raw mut stat))?;
        Ok(stat.st_ino)
    }
}

/// Builds the stage around a program that will build the ground: a user and a mount namespace in which the host is
/// read-only, and the steps at one place that can be written. Whatever the program follows, it makes nothing on the
/// host, and what it is to show was opened and masked by descriptor.
pub(crate) fn build_stage(
    identity: Identity,
    scratch_bytes: u64,
    place: &CStr,
    steps: List<'_, Step<&CStr>>,
    trees: &mut [Option<OwnedFd>],
) -> Result<(), Failure> {
    take_identity(identity)?;
    at(Stage::Private, mount::make_private())?;
    if !matches!(identity, Identity::Range { .. }) {
        // Before the host becomes read-only, and they with it.
        let shown = steps.iter().enumerate().filter_map(|(index, step)| match step {
            Step::Bind { source: Source::Resolved { path }, access, .. } => Some((index, path, access)),
            _ => None,
        });
        let mut places = trees.iter_mut();
        for (index, path, access) in shown {
            let place = places.next().ok_or(Failure { stage: Stage::Step, index, errno: Errno(libc::E2BIG) })?;
            let flags = SAFE | if access == Access::ReadOnly { mount::RDONLY } else { 0 };
            let tree = mount::locate(path).and_then(|found| mount::restricted_tree(found.as_fd(), flags));
            *place = Some(tree.map_err(|errno| Failure { stage: Stage::Step, index, errno })?);
        }
    }
    at(Stage::Seal, mount::seal_host())?;
    drop(at(Stage::Root, enter_empty_root(scratch_bytes, place))?);
    Hands { trees, ..Hands::empty(identity) }.take_steps(steps)
}

/// Makes and checks what the recipe asks for on a ground that another program has built.
pub(crate) fn make(steps: List<'_, Step<&CStr>>) -> Result<(), Failure> {
    if steps.len() == 0 {
        return Ok(());
    }
    // SAFETY: a static path.
    at(Stage::Root, check_int(unsafe { libc::chdir(c"/".as_ptr()) }))?;
    // Nobody's owners are mapped here.
    Hands::empty(Identity::HostRoot).take_steps(steps)
}

/// Gives up everything but the filter, which comes with the command, and descriptors, of which we still have those of our
/// caller: see [`limit_descriptors`].
pub(crate) fn give_up(inside: &InsideImage<'_>) -> Result<(), Failure> {
    for limit in inside.rlimits.iter().filter(|limit| limit.resource != OPEN_FILES) {
        at(Stage::Limits, lower_limit(limit.resource, limit.value))?;
    }
    at(Stage::Privileges, creds::drop_all())?;
    // Clearing capabilities counts as a change of credentials, which makes a process dumpable again.
    at(Stage::Privileges, creds::not_dumpable())?;
    if let Some(landlock) = &inside.landlock
        && !off(Layer::Landlock)
    {
        at(Stage::Landlock, landlock::restrict(landlock.abi, landlock.rules.iter()))?;
    }
    Ok(())
}

/// Limits how many descriptors there may be, for the command alone. The limit is one of their numbers: as long as we have
/// what our caller had open, a caller of many runs at once, nothing could be opened any more. It also bounds what is on
/// its way between all processes of a user, so that under it we could not hand over the one descriptor that we have to.
pub(crate) fn limit_descriptors(inside: &InsideImage<'_>) -> Result<(), Errno> {
    inside
        .rlimits
        .iter()
        .filter(|limit| limit.resource == OPEN_FILES)
        .try_for_each(|limit| lower_limit(limit.resource, limit.value))
}

/// Becomes who the recipe says. Where the caller had to write the maps, it has done so before the go-ahead.
fn take_identity(identity: Identity) -> Result<(), Failure> {
    match identity {
        // Mapped to itself; nobody else may be meant.
        // SAFETY: no arguments.
        Identity::Same { uid, gid } => match unsafe { (libc::getuid(), libc::getgid()) } {
            own if own == (uid, gid) => Ok(()),
            _ => Err(Failure { stage: Stage::Maps, index: 0, errno: Errno(libc::EINVAL) }),
        },
        Identity::Range { uid, gid, .. } => at(Stage::Identity, creds::become_user(uid, gid)),
        Identity::HostRoot => at(Stage::Identity, creds::become_user(0, 0)),
    }
}

/// What the steps are taken with.
struct Hands<'a> {
    identity: Identity,
    /// Trees that only the caller could open, in the order of the steps that show them.
    trees: &'a mut [Option<OwnedFd>],
    next_tree: usize,
    /// The process table, if it was made before.
    proc: Option<BorrowedFd<'a>>,
    /// Where mounts can go that nobody needs any more, to leave together with what is below them.
    passing: Option<OwnedFd>,
    /// Who gives the word that a step waits for.
    control: Option<BorrowedFd<'a>>,
    held: Held,
}

impl Hands<'_> {
    fn empty(identity: Identity) -> Self {
        let held = Held { kept: None, mark: None };
        Self { identity, trees: &mut [], next_tree: 0, proc: None, passing: None, control: None, held }
    }

    fn take_steps(&mut self, steps: List<'_, Step<&CStr>>) -> Result<(), Failure> {
        for (index, step) in steps.iter().enumerate() {
            take_step(&step, self).map_err(|errno| Failure { stage: Stage::Step, index, errno })?;
        }
        Ok(())
    }

    /// Waits for the caller's word. What comes with it: first what is kept, then trees for the steps that follow.
    fn await_word(&mut self) -> Result<(), Errno> {
        // Nobody speaks to whoever stands on another's ground.
        let control = self.control.ok_or(Errno(libc::EINVAL))?;
        let places = self.trees.get_mut(self.next_tree..).ok_or(Errno(libc::E2BIG))?;
        match wire::receive_soon(control, places)? {
            Some(record) if record.tag == Tag::Word as u32 => {}
            Some(_) => return Err(Errno(libc::EBADMSG)),
            None => return Err(Errno(libc::EPIPE)),
        }
        self.held.kept = Some(places.first_mut().and_then(Option::take).ok_or(Errno(libc::EBADMSG))?);
        self.next_tree += 1;
        Ok(())
    }
}

/// A tmpfs over a path, and our working directory in it.
fn enter_empty_root(scratch_bytes: u64, path: &CStr) -> Result<OwnedFd, Errno> {
    let (mut size, mut inodes) = (Line::new(), Line::new());
    let inodes = inodes.text(inodes_of(scratch_bytes));
    let scratch_bytes = if off(Layer::ScratchSize) { 0 } else { scratch_bytes };
    let options = [(c"size", size.text(scratch_bytes)), (c"nr_inodes", inodes), (c"mode", c"0755")];
    let root = mount::new_filesystem(c"tmpfs", &options, mount::NOSUID | mount::NODEV)?;
    mount::attach_at(root.as_fd(), path)?;
    // SAFETY: the descriptor is ours.
    check_int(unsafe { libc::fchdir(root.as_raw_fd()) })?;
    Ok(root)
}

/// The root as it was found, with a tmpfs for what is private, and our working directory in it.
fn enter_found_root(scratch_bytes: u64) -> Result<OwnedFd, Errno> {
    drop(enter_empty_root(scratch_bytes, Root::PRIVATE_AT)?);
    // SAFETY: a static path.
    check_int(unsafe { libc::chdir(c"/".as_ptr()) })?;
    let root = open_at(c"/", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
    mount::restrict_mount(root.as_fd(), mount::NOSUID | mount::NODEV)?;
    Ok(root)
}

/// One inode per 4 KiB, as for a disk of that size: the names of empty files must not fill the host's memory.
fn inodes_of(scratch_bytes: u64) -> u64 {
    if off(Layer::ScratchInodes) { 0 } else { (scratch_bytes / 4096).max(4096) }
}

/// What holds for everything that comes from the host.
const SAFE: u64 = mount::NOSUID | mount::NODEV;

/// The flag of a tree that must not be written.
fn read_only(access: Access) -> u64 {
    if access == Access::ReadOnly && !off(Layer::BindReadonly) { mount::RDONLY } else { 0 }
}

fn take_step(step: &Step<&CStr>, hands: &mut Hands<'_>) -> Result<(), Errno> {
    match step {
        Step::Directory { at, mode } => make_directory(at, *mode),
        Step::File { at, content, mode } => {
            let file = match create(at, *mode) {
                // An empty one is there to be covered: so can be what an image has there. What nobody may read covers others,
                // and is new.
                Err(Errno(libc::EEXIST)) if content.is_empty() && *mode != 0 => return Ok(()),
                answer => answer?,
            };
            write_all(file.as_fd(), content.to_bytes())
        }
        Step::Symlink { target, at } => {
            // SAFETY: both paths outlive the call.
            check_int(unsafe { libc::symlink(target.as_ptr(), at.as_ptr()) }).map(drop)
        }
        Step::Bind { source, at, access } => {
            let flags = SAFE | read_only(*access);
            let tree = match source {
                Source::Resolved { path } => match hands.trees.get_mut(hands.next_tree).and_then(Option::take) {
                    // Whoever opened it has set the flags.
                    Some(tree) => {
                        hands.next_tree += 1;
                        tree
                    }
                    // Only the caller could map its owners.
                    None if matches!(hands.identity, Identity::Range { .. }) => return Err(Errno(libc::EBADF)),
                    None => mount::restricted_tree(mount::locate(path)?.as_fd(), flags)?,
                },
                Source::System { path } | Source::Private { path } => mount::restricted_tree_at(path, flags)?,
            };
            let place = match source {
                Source::Private { .. } => mount::locate_in_cwd(at),
                Source::System { .. } | Source::Resolved { .. } => mount::locate_below_cwd(at),
            };
            mount::attach_on(tree.as_fd(), place?.as_fd())
        }
        Step::ShowIfThere { from, at } => {
            let tree = match mount::restricted_tree_at(from, SAFE | read_only(Access::ReadOnly)) {
                Ok(tree) => tree,
                Err(Errno(libc::ENOENT)) => return Ok(()),
                Err(other) => return Err(other),
            };
            if is_directory(tree.as_fd())? {
                make_directory(at, 0o755)?
            } else {
                make_file(at, 0o644)?
            }
            mount::attach_at(tree.as_fd(), at)
        }
        Step::Device { from, at } => {
            make_file(at, 0o666)?;
            let tree = mount::restricted_tree_at(from, mount::NOSUID | mount::NOEXEC)?;
            mount::attach_at(tree.as_fd(), at)
        }
        Step::Scratch { at } => {
            // A copy of the root's own mount, with its flags; it stays writable when that one is sealed.
            let tree = mount::clone_tree_at(at)?;
            mount::attach_at(tree.as_fd(), at)
        }
        Step::Proc { at } => match hands.proc {
            Some(proc) => mount::attach_at(proc, at),
            None => mount::attach_at(process_table()?.as_fd(), at),
        },
        Step::Terminals { at } => {
            let options = [(c"ptmxmode", c"0666"), (c"mode", c"0620")];
            let terminals = mount::new_filesystem(c"devpts", &options, mount::NOSUID | mount::NOEXEC)?;
            mount::attach_at(terminals.as_fd(), at)
        }
        Step::Protect { .. } if off(Layer::StepProtect) => Ok(()),
        Step::Protect { at } => self_bind(at, SAFE | mount::RDONLY),
        Step::Pin { .. } if off(Layer::StepPin) => Ok(()),
        Step::Pin { at } => self_bind(at, SAFE),
        Step::Held { at, hold } => check_held(mount::locate_below_cwd(at)?.as_fd(), *hold),
        Step::Hide { .. } if off(Layer::StepHide) => Ok(()),
        Step::Hide { at, missing } => match (mount::locate_below_cwd(at), missing) {
            (Ok(place), _) => hide(place.as_fd()),
            (Err(Errno(libc::ENOENT)), Missing::Skip) => Ok(()),
            (Err(other), _) => Err(other),
        },
        Step::Place { from, at } => {
            let tree = mount::clone_tree_at(from)?;
            mount::attach_on(tree.as_fd(), mount::locate_below_cwd(at)?.as_fd())?;
            mount::detach_at(from)
        }
        Step::Copy { from, at } => copy_file(from, at),
        Step::Cover { from, at } => {
            let link = mount::clone_link_at(from)?;
            mount::attach_on(link.as_fd(), mount::locate_entry_below_cwd(at)?.as_fd())
        }
        Step::Await {} => hands.await_word(),
        Step::Overlay { lower, upper, work, at, access } => {
            let flags = SAFE | read_only(*access);
            let layers = mount::overlay(lower, upper, work, flags)?;
            hands.held.mark = mark_of(work);
            mount::attach_on(layers.as_fd(), mount::locate_below_cwd(at)?.as_fd())
        }
        Step::Settle { upper, work, at } => settle(upper, work, at),
        Step::Withdraw { .. } | Step::Remove { .. } if off(Layer::StepWithdraw) => Ok(()),
        Step::Withdraw { at } => {
            let moved = |passing: &OwnedFd| mount::attach_on(mount::locate_below_cwd(at)?.as_fd(), passing.as_fd());
            // The kernel waits for every processor each time that something is taken away, and not when it is moved.
            match hands.passing.as_ref().map(moved) {
                Some(Ok(())) => Ok(()),
                Some(Err(_)) | None => mount::detach_at(at),
            }
        }
        Step::Remove { at } => {
            // SAFETY: the path outlives the call.
            check_int(unsafe { libc::rmdir(at.as_ptr()) }).map(drop)
        }
        Step::Same { at, device, inode } => {
            let stat = stat_of(mount::locate_below_cwd(at)?.as_fd())?;
            if (stat.st_dev, stat.st_ino) == (*device, *inode) { Ok(()) } else { Err(Errno(libc::ESTALE)) }
        }
    }
}

/// The directory in which the kernel marks the scratch of a layer as used. Whoever removes it waits until the disk has
/// taken its block back, unless somebody else still holds it: that is us, and for our end nobody waits.
fn mark_of(work: &CStr) -> Option<OwnedFd> {
    let scratch = mount::locate_below_cwd(work).ok()?;
    mount::open_beneath(scratch.as_fd(), c"work/incompat/volatile").ok()
}

/// Shows a private directory over another one, with what that has below it.
fn settle(upper: &CStr, work: &CStr, at: &CStr) -> Result<(), Errno> {
    let place = mount::locate_in_cwd(at)?;
    // A layer over what cannot be read could be neither listed nor written.
    let layers = match is_readable(place.as_fd()) {
        true => mount::overlay(at, upper, work, SAFE).ok(),
        false => None,
    };
    let tree = match layers {
        Some(layers) => layers,
        // Somebody else's, or a kernel without layers here: private is what it must be, and what lies below is no promise.
        None => mount::restricted_tree_at(upper, SAFE)?,
    };
    mount::attach_on(tree.as_fd(), place.as_fd())
}

/// Whether a directory can be listed and looked through.
fn is_readable(place: BorrowedFd<'_>) -> bool {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a static path, and a descriptor that is borrowed for the call.
    check_fd(unsafe { i64::from(libc::openat(place.as_raw_fd(), c".".as_ptr(), flags)) }).is_ok()
}

fn stat_of(place: BorrowedFd<'_>) -> Result<libc::stat, Errno> {
    // SAFETY: all-zero is a valid `stat`, which the kernel fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check_int(libc::fstat(place.as_raw_fd(), &raw mut stat))?;
        Ok(stat)
    }
}

/// Mounts a path on itself: with flags of its own, and no longer to be renamed, unlinked or linked from.
fn self_bind(at: &CStr, flags: u64) -> Result<(), Errno> {
    let place = mount::locate_entry_below_cwd(at)?;
    let tree = mount::restricted_tree(place.as_fd(), flags)?;
    mount::attach_on(tree.as_fd(), place.as_fd())
}

/// Copies a file. A command could have made it larger since it was read, so the copy is bounded.
fn copy_file(from: &CStr, at: &CStr) -> Result<(), Errno> {
    const BYTES_MAX: usize = 1 << 20;
    let source = mount::open_file_below_cwd(from)?;
    let copy = create(at, 0o644)?;
    let mut left = BYTES_MAX;
    while left > 0 {
        // SAFETY: both descriptors are ours; without an offset the file's own is used.
        let sent = unsafe { libc::sendfile(copy.as_raw_fd(), source.as_raw_fd(), ptr::null_mut(), left) };
        match check(sent as i64)? {
            0 => return Ok(()),
            bytes => left -= bytes as usize,
        }
    }
    Err(Errno(libc::EFBIG))
}

fn is_directory(place: BorrowedFd<'_>) -> Result<bool, Errno> {
    Ok(stat_of(place)?.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// Looks at what is mounted at a place.
fn check_held(place: BorrowedFd<'_>, hold: Hold) -> Result<(), Errno> {
    let (flags, mask) = (libc::AT_EMPTY_PATH | libc::AT_NO_AUTOMOUNT, libc::STATX_BASIC_STATS);
    // SAFETY: all-zero is a valid `statx` and a valid `statvfs`; the empty path is static, and the kernel fills both.
    let (stat, disk) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        check_int(libc::statx(place.as_raw_fd(), c"".as_ptr(), flags, mask, &raw mut stat))?;
        let mut disk: libc::statvfs = std::mem::zeroed();
        check_int(libc::fstatvfs(place.as_raw_fd(), &raw mut disk))?;
        (stat, disk)
    };
    let mounted = stat.stx_attributes & libc::STATX_ATTR_MOUNT_ROOT as u64 != 0;
    let read_only = disk.f_flag & libc::ST_RDONLY != 0;
    let covered = stat.stx_uid == 0 && stat.stx_mode & 0o077 == 0;
    let held = match hold {
        Hold::ReadOnly => read_only,
        Hold::ReadWrite => !read_only,
        Hold::Hidden => read_only && covered,
    };
    if mounted && held { Ok(()) } else { Err(Errno(libc::EPERM)) }
}

fn hide(place: BorrowedFd<'_>) -> Result<(), Errno> {
    let cover = if is_directory(place)? { Step::HIDDEN_DIRECTORY } else { Step::HIDDEN_FILE };
    let flags = mount::NOSUID | mount::NODEV | mount::NOEXEC | mount::RDONLY;
    let tree = mount::restricted_tree_at(cover, flags)?;
    mount::attach_on(tree.as_fd(), place)
}

fn make_directory(at: &CStr, mode: u32) -> Result<(), Errno> {
    // SAFETY: the path outlives the call.
    match check_int(unsafe { libc::mkdir(at.as_ptr(), mode) }) {
        // Two binds may share a parent.
        Ok(_) | Err(Errno(libc::EEXIST)) => Ok(()),
        Err(other) => Err(other),
    }
}

/// An empty file for something to be mounted on; nobody has to open it.
fn make_file(at: &CStr, mode: u32) -> Result<(), Errno> {
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::mknod(at.as_ptr(), libc::S_IFREG | mode, 0) }).map(drop)
}

fn create(at: &CStr, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    open_at(at, flags, mode)
}

fn write_all(file: BorrowedFd<'_>, mut content: &[u8]) -> Result<(), Errno> {
    while !content.is_empty() {
        // SAFETY: the buffer is valid for its length.
        let wrote = check(unsafe { libc::write(file.as_raw_fd(), content.as_ptr().cast(), content.len()) } as i64)?;
        content = &content[wrote as usize..];
    }
    Ok(())
}

/// Sets both limits, but never above the hard limit that we came with.
fn lower_limit(resource: u32, value: u64) -> Result<(), Errno> {
    if mutate::rlimit(resource).is_some_and(off) {
        return Ok(());
    }
    let mut old = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let none = ptr::null::<libc::rlimit64>();
    // SAFETY: `old` is valid for writing; pid 0 is this process.
    check(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, none, &raw mut old) })?;
    let value = value.min(old.rlim_max);
    let new = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    let none = ptr::null_mut::<libc::rlimit64>();
    // SAFETY: `new` outlives the call.
    check(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, &raw const new, none) }).map(drop)
}

/// A short line of numbers, written without allocating.
pub(crate) struct Line {
    bytes: [u8; 64],
    len: usize,
}

impl Line {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; 64], len: 0 }
    }

    /// `inside outside count`, as the kernel's map files want it.
    pub(crate) fn map(&mut self, inside: u32, outside: u32, count: u32) -> &[u8] {
        self.len = 0;
        for number in [inside, outside, count] {
            self.number(u64::from(number));
            self.push(b' ');
        }
        self.len -= 1;
        &self.bytes[..self.len]
    }

    /// A number as a C string.
    pub(crate) fn text(&mut self, number: u64) -> &CStr {
        self.len = 0;
        self.number(number);
        self.push(0);
        CStr::from_bytes_until_nul(&self.bytes).expect("invariant: `push` just wrote the NUL")
    }

    fn number(&mut self, number: u64) {
        let mut digits = [0u8; 20];
        let mut rest = number;
        let mut count = 0;
        loop {
            digits[count] = b'0' + (rest % 10) as u8;
            count += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        for digit in digits[..count].iter().rev() {
            self.push(*digit);
        }
    }

    fn push(&mut self, byte: u8) {
        // Three numbers of 32 bits or one of 64 and two separators always fit.
        self.bytes[self.len] = byte;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn lines_of_numbers_read_as_the_kernel_wants_them() {
        let mut line = Line::new();
        assert_eq!(line.map(0, 1_879_048_192, 65_536), b"0 1879048192 65536");
        assert_eq!(line.map(u32::MAX, 0, 1), b"4294967295 0 1");
        assert_eq!(line.text(u64::MAX).to_bytes(), b"18446744073709551615");
        assert_eq!(line.text(0).to_bytes(), b"0");
    }
}
