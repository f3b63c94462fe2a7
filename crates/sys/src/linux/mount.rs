//! Mounts by descriptor. Used between clone and exec: nothing here allocates.

use super::call::{Errno, check, check_fd, check_int};
use super::mutate::{Layer, bits, off};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const OPEN_TREE_CLONE: u32 = 1;
const OPEN_TREE_CLOEXEC: u32 = libc::O_CLOEXEC as u32;
const AT_RECURSIVE: u32 = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: u32 = 0x4;
const MOVE_MOUNT_T_EMPTY_PATH: u32 = 0x40;
const FSOPEN_CLOEXEC: u32 = 1;
const FSMOUNT_CLOEXEC: u32 = 1;
const FSCONFIG_SET_FLAG: u32 = 0;
const FSCONFIG_SET_STRING: u32 = 1;
const FSCONFIG_CMD_CREATE: u32 = 6;
const FSCONFIG_CMD_RECONFIGURE: u32 = 7;
const FSPICK_CLOEXEC: u32 = 1;

/// No write through this mount.
pub(crate) const RDONLY: u64 = 0x1;
/// A setuid bit means nothing here.
pub(crate) const NOSUID: u64 = 0x2;
/// A device node means nothing here.
pub(crate) const NODEV: u64 = 0x4;
/// Nothing here can be executed.
pub(crate) const NOEXEC: u64 = 0x8;
const IDMAP: u64 = 0x0010_0000;
const NOATIME: u64 = 0x10;
/// All bits that say how access times are kept; they change together.
const ATIME_BITS: u64 = 0x70;

/// The layer of each flag that holds for every mount.
const FLAG_LAYERS: &[(u64, Layer)] =
    &[(NOSUID, Layer::MountNosuid), (NODEV, Layer::MountNodev), (NOEXEC, Layer::MountNoexec)];

const RESOLVE_NO_XDEV: u64 = 0x01;
const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
const RESOLVE_NO_SYMLINKS: u64 = 0x04;
const RESOLVE_BENEATH: u64 = 0x08;
const RESOLVE_IN_ROOT: u64 = 0x10;

/// How often a path is looked up that others disturb. Each try takes microseconds, and one of them is undisturbed.
const TRIES_MAX: u32 = 10_000;

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// A place for a path that is looked up from `dir`.
fn open_how(dir: i32, path: &CStr, flags: i32, resolve: u64) -> Result<OwnedFd, Errno> {
    let how = OpenHow { flags: (flags | libc::O_CLOEXEC) as u64, mode: 0, resolve };
    let mut tries = 1;
    loop {
        // SAFETY: `path` and `how` outlive the call; the size passed is that of `OpenHow`.
        let place = check_fd(unsafe {
            libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &raw const how, size_of::<OpenHow>())
        });
        match place {
            // Somebody on this machine mounted or renamed something while a `..` was on the way: the kernel asks for another try.
            Err(Errno(libc::EAGAIN)) if tries < TRIES_MAX => tries += 1,
            answer => return answer,
        }
    }
}

/// A handle on an absolute host path of which no component may be a symbolic link.
pub(crate) fn locate(path: &CStr) -> Result<OwnedFd, Errno> {
    if off(Layer::ResolveHost) {
        return open_how(libc::AT_FDCWD, path, libc::O_PATH, 0);
    }
    open_how(libc::AT_FDCWD, path, libc::O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
}

/// A handle on a path below the working directory; no symbolic link is followed and `..` does not lead out.
pub(crate) fn locate_below_cwd(path: &CStr) -> Result<OwnedFd, Errno> {
    if off(Layer::ResolveBelow) {
        return open_how(libc::AT_FDCWD, path, libc::O_PATH, 0);
    }
    open_how(libc::AT_FDCWD, path, libc::O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH)
}

/// The same for a path whose last component may be a symbolic link: that itself, not where it leads.
pub(crate) fn locate_entry_below_cwd(path: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
    open_how(libc::AT_FDCWD, path, libc::O_PATH | libc::O_NOFOLLOW, resolve)
}

/// A file below the working directory, to be read; no symbolic link is followed.
pub(crate) fn open_file_below_cwd(path: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
    open_how(libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_NONBLOCK, resolve)
}

/// A detached mount of a symbolic link itself.
pub(crate) fn clone_link_at(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | libc::AT_SYMLINK_NOFOLLOW as u32;
    // SAFETY: `path` outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) })
}

/// A handle on a path below the working directory, which stands for the root: symbolic links are followed, and neither they
/// nor `..` lead out.
pub(crate) fn locate_in_cwd(path: &CStr) -> Result<OwnedFd, Errno> {
    open_how(libc::AT_FDCWD, path, libc::O_PATH, RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT)
}

/// A directory below another one; no symbolic link is followed and `..` does not lead out.
pub(crate) fn open_beneath(tree: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    open_how(tree.as_raw_fd(), path, flags, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH)
}

/// A directory below another one; symbolic links are followed as long as none leads out.
pub(crate) fn open_beneath_following(tree: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    open_how(tree.as_raw_fd(), path, flags, RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH)
}

/// A directory of the same file system below another one, to list and to work in. No symbolic link is followed.
pub(crate) fn open_directory_below(tree: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH | RESOLVE_NO_XDEV;
    open_how(tree.as_raw_fd(), path, libc::O_RDONLY | libc::O_DIRECTORY, resolve)
}

/// A detached copy of the mounts at a path, with flags set on all of them.
pub(crate) fn restricted_tree_at(path: &CStr, set: u64) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    match clone_with_attributes(libc::AT_FDCWD, path, flags, set) {
        Err(Errno(libc::ENOSYS | libc::EPERM)) => {
            let tree = clone_tree_at(path)?;
            restrict_tree(tree.as_fd(), set)?;
            Ok(tree)
        }
        other => other,
    }
}

/// A detached copy of the mounts at a handle, with flags set on all of them.
pub(crate) fn restricted_tree(place: BorrowedFd<'_>, set: u64) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | libc::AT_EMPTY_PATH as u32;
    match clone_with_attributes(place.as_raw_fd(), c"", flags, set) {
        Err(Errno(libc::ENOSYS | libc::EPERM)) => {
            let tree = clone_tree(place)?;
            restrict_tree(tree.as_fd(), set)?;
            Ok(tree)
        }
        other => other,
    }
}

/// `open_tree_attr`, of Linux 6.15: both in one call. Older kernels say ENOSYS, and some containers EPERM.
fn clone_with_attributes(dir: i32, path: &CStr, flags: u32, set: u64) -> Result<OwnedFd, Errno> {
    const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
    let attr = MountAttr { set: bits(set, FLAG_LAYERS), clear: 0, propagation: 0, userns: 0 };
    // SAFETY: `path` and `attr` outlive the call; the size passed is that of `attr`.
    check_fd(unsafe {
        libc::syscall(SYS_OPEN_TREE_ATTR, dir, path.as_ptr(), flags, &raw const attr, size_of::<MountAttr>())
    })
}

/// A detached copy of the mounts at a path.
pub(crate) fn clone_tree_at(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    // SAFETY: `path` outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) })
}

/// A detached copy of the mounts at a handle.
pub(crate) fn clone_tree(place: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | libc::AT_EMPTY_PATH as u32;
    // SAFETY: the empty path is a static string; the descriptor is borrowed for the call.
    check_fd(unsafe { libc::syscall(libc::SYS_open_tree, place.as_raw_fd(), c"".as_ptr(), flags) })
}

/// A copy of one mount, without those below it: what its file system can do, whatever else is mounted there.
pub(crate) fn clone_mount_at(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    // SAFETY: the path outlives the call.
    check_fd(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) })
}

/// Sets flags on a whole tree of mounts.
pub(crate) fn restrict_tree(tree: BorrowedFd<'_>, set: u64) -> Result<(), Errno> {
    set_attributes(
        tree,
        libc::AT_EMPTY_PATH as u32 | AT_RECURSIVE,
        MountAttr { set, clear: 0, propagation: 0, userns: 0 },
    )
}

/// Sets flags on one mount, not on those below it.
pub(crate) fn restrict_mount(mount: BorrowedFd<'_>, set: u64) -> Result<(), Errno> {
    set_attributes(mount, libc::AT_EMPTY_PATH as u32, MountAttr { set, clear: 0, propagation: 0, userns: 0 })
}

/// Makes the root read-only, without access times: a walk over a symlink such as `/bin` would otherwise leave RCU for
/// an update that a read-only mount refuses (`pick_link` and `atime_needs_update`, fs/namei.c and fs/inode.c). A
/// private file system that was copied from the root before keeps them.
pub(crate) fn seal_root(root: BorrowedFd<'_>) -> Result<(), Errno> {
    let sealed = MountAttr { set: RDONLY | NOATIME, clear: ATIME_BITS, propagation: 0, userns: 0 };
    match set_attributes(root, libc::AT_EMPTY_PATH as u32, sealed) {
        // A mount whose access times are locked by another user namespace; see mount_setattr(2).
        Err(Errno(libc::EPERM)) => restrict_mount(root, RDONLY),
        answer => answer,
    }
}

/// Maps the owners of a detached tree through a user namespace, so that files keep the owners they have on disk.
pub(crate) fn idmap_tree(tree: BorrowedFd<'_>, userns: BorrowedFd<'_>, set: u64) -> Result<(), Errno> {
    let userns = userns.as_raw_fd() as u64;
    let private = if off(Layer::MountPrivate) { 0 } else { libc::MS_PRIVATE };
    set_attributes(
        tree,
        libc::AT_EMPTY_PATH as u32 | AT_RECURSIVE,
        // Cloned in the caller's namespace, so they are peers of the host's mounts where those are shared.
        MountAttr { set: set | IDMAP, clear: 0, propagation: private, userns },
    )
}

fn set_attributes(tree: BorrowedFd<'_>, flags: u32, attr: MountAttr) -> Result<(), Errno> {
    let attr = MountAttr { set: bits(attr.set, FLAG_LAYERS), ..attr };
    // SAFETY: `attr` outlives the call and the size passed is its own.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    check(answer).map(drop)
}

/// Attaches a detached tree at a path below the working directory that only we can have made.
pub(crate) fn attach_at(tree: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    // SAFETY: both paths outlive the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check(answer).map(drop)
}

/// Attaches a detached tree on a handle.
pub(crate) fn attach_on(tree: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the empty paths are static strings; both descriptors are borrowed for the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH,
        )
    };
    check(answer).map(drop)
}

/// A new file system of a kind, with options, not yet attached.
pub(crate) fn new_filesystem(kind: &CStr, options: &[(&CStr, &CStr)], flags: u64) -> Result<OwnedFd, Errno> {
    // SAFETY: `kind` outlives the call.
    let context = check_fd(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FSOPEN_CLOEXEC) })?;
    configure(context.as_fd(), options, FSCONFIG_CMD_CREATE)?;
    let flags = bits(flags, FLAG_LAYERS);
    // SAFETY: plain numbers and a descriptor that we own.
    check_fd(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, flags) })
}

/// An upper layer over lower ones, not yet attached. Paths are looked up from the working directory.
///
/// The layers' marks are user attributes, the only ones that a user namespace may set. Nothing is written through to
/// disk at the end or on request: what a run leaves is read while the machine is up, and whoever keeps it writes it anew.
pub(crate) fn overlay(lower: &CStr, upper: &CStr, work: &CStr, flags: u64) -> Result<OwnedFd, Errno> {
    // SAFETY: a static name.
    let context = check_fd(unsafe { libc::syscall(libc::SYS_fsopen, c"overlay".as_ptr(), FSOPEN_CLOEXEC) })?;
    for flag in [c"userxattr", c"volatile"] {
        let none = std::ptr::null::<libc::c_char>();
        // SAFETY: a static name; a flag has no value.
        check(unsafe {
            libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), FSCONFIG_SET_FLAG, flag.as_ptr(), none, 0)
        })?;
    }
    let options =
        [(c"source", c"polder"), (c"lowerdir", lower), (c"upperdir", upper), (c"workdir", work), (c"index", c"off")];
    configure(context.as_fd(), &options, FSCONFIG_CMD_CREATE)?;
    let flags = bits(flags, FLAG_LAYERS);
    // SAFETY: plain numbers and a descriptor that we own.
    check_fd(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, flags) })
}

/// Changes options of the file system that is mounted at a path.
pub(crate) fn reconfigure(path: &CStr, options: &[(&CStr, &CStr)]) -> Result<(), Errno> {
    // SAFETY: `path` outlives the call.
    let context = unsafe { libc::syscall(libc::SYS_fspick, libc::AT_FDCWD, path.as_ptr(), FSPICK_CLOEXEC) };
    configure(check_fd(context)?.as_fd(), options, FSCONFIG_CMD_RECONFIGURE)
}

fn configure(context: BorrowedFd<'_>, options: &[(&CStr, &CStr)], command: u32) -> Result<(), Errno> {
    let fd = context.as_raw_fd();
    for (key, value) in options {
        // SAFETY: key and value are C strings that outlive the call.
        check(unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_SET_STRING, key.as_ptr(), value.as_ptr(), 0) })?;
    }
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: these commands take no key and no value.
    check(unsafe { libc::syscall(libc::SYS_fsconfig, fd, command, none, none, 0) }).map(drop)
}

/// Takes away what is mounted at a path that only we can have made.
pub(crate) fn detach_at(path: &CStr) -> Result<(), Errno> {
    // SAFETY: the path outlives the call.
    check_int(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) }).map(drop)
}

/// Cuts all propagation, so that no mount of ours reaches the host.
pub(crate) fn make_private() -> Result<(), Errno> {
    if off(Layer::MountPrivate) {
        return Ok(());
    }
    let none = std::ptr::null();
    // SAFETY: a change of propagation reads the target path only.
    check_int(unsafe { libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) }).map(drop)
}

/// Makes everything that is mounted read-only, but for the process table: user maps are written there.
pub(crate) fn seal_host() -> Result<(), Errno> {
    let change = |path: &CStr, flags: u32, attr: MountAttr| {
        // SAFETY: path and `attr` outlive the call and the size passed is its own.
        check(unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                libc::AT_FDCWD,
                path.as_ptr(),
                flags,
                &raw const attr,
                size_of::<MountAttr>(),
            )
        })
    };
    change(c"/", AT_RECURSIVE, MountAttr { set: RDONLY, clear: 0, propagation: 0, userns: 0 })?;
    change(c"/proc", 0, MountAttr { set: 0, clear: RDONLY, propagation: 0, userns: 0 }).map(drop)
}

/// Makes the working directory the root, and the old root vanish.
///
/// `pivot_root(".", ".")` stacks the old root on the new one, where `.` then finds it; see pivot_root(2).
pub(crate) fn become_root() -> Result<(), Errno> {
    // SAFETY: both paths are static strings.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    if !off(Layer::RootOld) {
        // SAFETY: the path is a static string.
        check_int(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) })?;
    }
    // SAFETY: the path is a static string.
    check_int(unsafe { libc::chdir(c"/".as_ptr()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_way_up_is_found_while_others_rename() {
        let place = std::env::temp_dir().join(format!("polder-way-up-{}", std::process::id()));
        fs::create_dir_all(place.join("a")).expect("a directory");
        let tree = fs::File::open(&place).expect("the directory");
        let path = std::ffi::CString::new(format!("{}a", "a/../".repeat(200))).expect("a path");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    fs::create_dir(place.join("x")).expect("made");
                    fs::rename(place.join("x"), place.join("y")).expect("renamed");
                    fs::remove_dir(place.join("y")).expect("removed");
                }
            });
            let found: Result<Vec<_>, _> = (0..2_000).map(|_| open_beneath(tree.as_fd(), &path).map(drop)).collect();
            done.store(true, Ordering::Relaxed);
            found.expect("every time");
        });
        fs::remove_dir_all(&place).expect("removed");
    }
}
