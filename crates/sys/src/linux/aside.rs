//! Setting files aside by descriptor: no symbolic link leads out of the tree, and nothing that a
//! command can do to the tree keeps a name from being moved away. Its parents' modes are opened and
//! given back, and the new name is one that is free.
//!
//! [`set_aside`] is for the host's side. The shim does the same work after the command has ended,
//! so everything below it allocates nothing.

use super::call::{Errno, check, check_int, open_at, open_in};
use super::child::Line;
use super::mount::{open_beneath, open_beneath_following};
use super::mutate::{Layer, off};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The longest name of a directory entry, and its NUL byte.
const NAME_BYTES: usize = 256;
/// Names that tell their order; a tree that is full of them gets one that cannot be guessed.
const COUNTED_NAMES: u32 = 9;
/// Names that cannot be guessed. Each is taken with a chance of 2^-64.
const RANDOM_NAMES: u32 = 4;
/// The longest addition to the suffix: a hyphen and 64 bits in hexadecimal digits.
const MARK_BYTES: usize = 17;
/// Directories above a name whose mode can be changed for the moment.
const OPENED_MAX: usize = 32;
/// The owner's right to make and to find names in a directory.
const OWN_ACCESS: libc::mode_t = libc::S_IWUSR | libc::S_IXUSR;

/// `fchmodat2`, since Linux 6.6: one number on every architecture.
const FCHMODAT2: libc::c_long = 452;

/// Whether the command can still change the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeState {
    /// It can: a symlink on the path could have been put there to have another file renamed.
    Changing,
    /// It has ended: symlinks that stay in the tree are followed, as a program that obeys the name does.
    AtRest,
}

/// Renames `relative` in `tree`, if it and all its companions exist, to a free name that begins
/// with its own and the suffix. Gives that name. A tree that is gone holds nothing.
pub fn set_aside(
    tree: &Path,
    relative: &Path,
    only_with: &[String],
    suffix: &str,
    state: TreeState,
) -> io::Result<Option<OsString>> {
    let layer = match state {
        TreeState::Changing => Layer::WatchCaller,
        TreeState::AtRest => Layer::SweepCaller,
    };
    if off(layer) {
        return Ok(None);
    }
    let (Some(name), Some(parent)) = (relative.file_name(), relative.parent()) else {
        return Ok(None);
    };
    // Mostly there is nothing, and one call says so.
    if is_nothing(std::fs::symlink_metadata(tree.join(relative)))? {
        return Ok(None);
    }
    let parent = if parent.as_os_str().is_empty() { OsStr::new(".") } else { parent.as_os_str() };
    let only_with = only_with.iter().map(|name| text(OsStr::new(name)));
    let only_with = only_with.collect::<io::Result<Vec<_>>>()?;
    let (name, parent, suffix) = (text(name)?, text(parent)?, text(OsStr::new(suffix))?);
    let mut aside = AsideName::new();
    let what = AsideTask { parent: &parent, name: &name, suffix: &suffix, state };
    let done = open_tree(&text(tree.as_os_str())?)
        .and_then(|tree| what.carry_out(tree.as_fd(), only_with.iter().map(CString::as_c_str), &mut aside));
    match done {
        Ok(true) => Ok(Some(OsString::from_vec(aside.as_c_str().to_bytes().to_vec()))),
        Ok(false) | Err(Errno(libc::ENOENT)) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether a name that could be set aside is there. An error means that the kernel does not say.
pub fn is_there(tree: &Path, relative: &Path) -> io::Result<bool> {
    is_nothing(std::fs::symlink_metadata(tree.join(relative))).map(|nothing| !nothing)
}

/// Whether a look at a path found nothing. A loop of symbolic links leads no program anywhere.
fn is_nothing(found: io::Result<std::fs::Metadata>) -> io::Result<bool> {
    match found {
        Ok(_) => Ok(false),
        // A directory above it is closed to us, and can be opened.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => Ok(true),
            _ => Err(error),
        },
    }
}

fn text(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(io::Error::from)
}

/// A handle on a tree. Needs no right on the tree itself, whose mode a command may have changed.
pub(crate) fn open_tree(tree: &CStr) -> Result<OwnedFd, Errno> {
    open_at(tree, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)
}

/// A name to set aside, below a tree.
pub(crate) struct AsideTask<'a> {
    /// Its directory, relative to the tree.
    pub(crate) parent: &'a CStr,
    pub(crate) name: &'a CStr,
    pub(crate) suffix: &'a CStr,
    pub(crate) state: TreeState,
}

impl AsideTask<'_> {
    /// Renames the name, if it and its companions exist; says whether it did.
    pub(crate) fn carry_out<'c>(
        &self,
        tree: BorrowedFd<'_>,
        mut only_with: impl Iterator<Item = &'c CStr>,
        aside: &mut AsideName,
    ) -> Result<bool, Errno> {
        let mut opened = OpenedModes::new();
        let directory = match open_parent(tree, self.parent, self.state, &mut opened) {
            Ok(directory) => directory,
            // A parent that is gone, or is no directory any more, holds nothing.
            Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP)) => return Ok(false),
            Err(other) => return Err(other),
        };
        let directory = directory.as_fd();
        let look = |name| mode_of(directory, name, libc::AT_SYMLINK_NOFOLLOW).map(drop);
        let found = match look(self.name) {
            Err(Errno(libc::EACCES)) => opened.open(directory).and_then(|()| look(self.name)),
            found => found,
        };
        match found {
            Err(Errno(libc::ENOENT)) => return Ok(false),
            found => found?,
        }
        // One that cannot be looked at may be there.
        if only_with.any(|other| look(other) == Err(Errno(libc::ENOENT))) {
            return Ok(false);
        }
        match self.rename(directory, aside) {
            // The kernel says EACCES for a mode. EPERM can be a sticky bit of another user's
            // directory, or a flag of the file system, which no mode lifts.
            Err(Errno(libc::EACCES)) => {
                opened.open(directory)?;
                self.rename(directory, aside)
            }
            answer => answer,
        }
    }

    /// Tries one name after the other until one is free.
    fn rename(&self, directory: BorrowedFd<'_>, aside: &mut AsideName) -> Result<bool, Errno> {
        for attempt in 1..=COUNTED_NAMES + RANDOM_NAMES {
            let mark = match attempt {
                1 => None,
                counted if counted <= COUNTED_NAMES => Some(u64::from(counted)),
                _ => Some(unpredictable()?),
            };
            aside.write(self.name, self.suffix, mark);
            match rename_to_free(directory, self.name, aside.as_c_str()) {
                Ok(()) => return Ok(true),
                Err(Errno(libc::EEXIST)) => {}
                Err(Errno(libc::ENOENT)) => return Ok(false),
                Err(other) => return Err(other),
            }
        }
        Err(Errno(libc::EEXIST))
    }
}

/// The directory of a name. Symbolic links are followed as long as they stay in the tree: a program
/// that obeys the name follows them, too.
fn open_parent(
    tree: BorrowedFd<'_>,
    parent: &CStr,
    state: TreeState,
    opened: &mut OpenedModes,
) -> Result<OwnedFd, Errno> {
    let answer = match state {
        TreeState::Changing => open_beneath(tree, parent),
        TreeState::AtRest => open_beneath_following(tree, parent),
    };
    match answer {
        Err(Errno(libc::EACCES)) => {}
        answer => return answer,
    }
    // Some directory above is closed. Name by name, and through no link: a link to a closed
    // directory is left to the user.
    let mut at =
        open_in(tree, c".", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC).or_else(|_| check_dup(tree))?;
    for part in parent.to_bytes().split(|byte| *byte == b'/') {
        if part.is_empty() || part == b"." {
            continue;
        }
        let mut name = AsideName::new();
        name.set(part)?;
        let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let next = match open_in(at.as_fd(), name.as_c_str(), flags) {
            Err(Errno(libc::EACCES)) => {
                opened.open(at.as_fd())?;
                open_in(at.as_fd(), name.as_c_str(), flags)?
            }
            answer => answer?,
        };
        match mode_of(next.as_fd(), c"", libc::AT_EMPTY_PATH)? & libc::S_IFMT {
            libc::S_IFDIR => at = next,
            libc::S_IFLNK => return Err(Errno(libc::EACCES)),
            _ => return Err(Errno(libc::ENOTDIR)),
        }
    }
    Ok(at)
}

fn check_dup(fd: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    // SAFETY: plain numbers.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
    super::call::check_fd(i64::from(copy))
}

/// Directories whose modes were opened for their owner, which get them back in the end.
struct OpenedModes {
    directories: [Option<(OwnedFd, libc::mode_t)>; OPENED_MAX],
    count: usize,
}

impl OpenedModes {
    const fn new() -> Self {
        Self { directories: [const { None }; OPENED_MAX], count: 0 }
    }

    /// Lets the owner make and find names in a directory, which fails for another user's.
    fn open(&mut self, directory: BorrowedFd<'_>) -> Result<(), Errno> {
        let mode = mode_of(directory, c"", libc::AT_EMPTY_PATH)? & !libc::S_IFMT;
        let place = self.directories.get_mut(self.count).ok_or(Errno(libc::ENAMETOOLONG))?;
        if mode & OWN_ACCESS == OWN_ACCESS {
            // The mode is not the reason.
            return Err(Errno(libc::EACCES));
        }
        let kept = check_dup(directory)?;
        change_mode(directory, mode | OWN_ACCESS)?;
        *place = Some((kept, mode));
        self.count += 1;
        Ok(())
    }
}

impl Drop for OpenedModes {
    fn drop(&mut self) {
        for (directory, mode) in self.directories.iter_mut().rev().filter_map(Option::take) {
            // The mode was ours to change a moment ago; if the kernel refuses now, the directory
            // stays open for its owner, which harms less than the name that was set aside.
            let _ = change_mode(directory.as_fd(), mode);
        }
    }
}

/// Changes the mode of what a handle refers to, also where the handle gives no right to read.
fn change_mode(handle: BorrowedFd<'_>, mode: libc::mode_t) -> Result<(), Errno> {
    // SAFETY: a static path and plain numbers.
    let answer = check(unsafe {
        let (fd, flags) = (handle.as_raw_fd(), libc::AT_EMPTY_PATH);
        libc::syscall(FCHMODAT2, fd, c"".as_ptr(), mode, flags)
    });
    match answer {
        Err(Errno(libc::ENOSYS)) => {
            let mut line = Line::new();
            let name = line.text(handle.as_raw_fd() as u64);
            let own = open_at(c"/proc/self/fd", libc::O_PATH | libc::O_CLOEXEC, 0)?;
            // SAFETY: the name outlives the call.
            check_int(unsafe { libc::fchmodat(own.as_raw_fd(), name.as_ptr(), mode, 0) }).map(drop)
        }
        answer => answer.map(drop),
    }
}

fn mode_of(directory: BorrowedFd<'_>, name: &CStr, flags: i32) -> Result<libc::mode_t, Errno> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    let fd = directory.as_raw_fd();
    // SAFETY: the name outlives the call, and `found` has room for the answer, which the kernel has
    // written where the call succeeds.
    unsafe {
        check_int(libc::fstatat(fd, name.as_ptr(), found.as_mut_ptr(), flags))?;
        Ok(found.assume_init().st_mode)
    }
}

/// Renames within a directory to a name that must be free.
fn rename_to_free(directory: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Result<(), Errno> {
    let (fd, from, to_name) = (directory.as_raw_fd(), from.as_ptr(), to.as_ptr());
    // SAFETY: both names outlive the call.
    let answer = check(unsafe { libc::syscall(libc::SYS_renameat2, fd, from, fd, to_name, libc::RENAME_NOREPLACE) });
    match answer {
        // A file system without the flag; see rename(2).
        Err(Errno(libc::EINVAL | libc::ENOSYS)) => {
            match mode_of(directory, to, libc::AT_SYMLINK_NOFOLLOW) {
                Err(Errno(libc::ENOENT)) => {}
                Ok(_) => return Err(Errno(libc::EEXIST)),
                Err(other) => return Err(other),
            }
            // SAFETY: as above.
            check_int(unsafe { libc::renameat(fd, from, fd, to_name) }).map(drop)
        }
        answer => answer.map(drop),
    }
}

fn unpredictable() -> Result<u64, Errno> {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is valid for its length; up to 256 bytes come whole, see getrandom(2).
    check(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } as i64)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// A name of a directory entry, written without allocating.
pub(crate) struct AsideName {
    bytes: [u8; NAME_BYTES],
    len: usize,
}

impl AsideName {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; NAME_BYTES], len: 0 }
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("invariant: the last byte is never written")
    }

    fn set(&mut self, name: &[u8]) -> Result<(), Errno> {
        self.clear();
        if name.len() >= NAME_BYTES {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        self.push(name);
        Ok(())
    }

    /// The name, as much of it as leaves room, with the suffix and a mark.
    fn write(&mut self, name: &CStr, suffix: &CStr, mark: Option<u64>) {
        self.clear();
        let (name, suffix) = (name.to_bytes(), suffix.to_bytes());
        let room = (NAME_BYTES - 1).saturating_sub(suffix.len() + MARK_BYTES);
        self.push(&name[..name.len().min(room)]);
        self.push(suffix);
        if let Some(mark) = mark {
            let digits = (64 - mark.leading_zeros()).div_ceil(4).max(1);
            self.push(b"-");
            for digit in (0..digits).rev() {
                let value = (mark >> (4 * digit)) & 0xf;
                self.push(&[b"0123456789abcdef"[value as usize]]);
            }
        }
    }

    fn clear(&mut self) {
        (self.bytes, self.len) = ([0; NAME_BYTES], 0);
    }

    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().take(NAME_BYTES - 1 - self.len) {
            self.bytes[self.len] = *byte;
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests;
