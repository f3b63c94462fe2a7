//! What a file is and when it changed.

use super::super::call::check_int;
use super::text;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Which kind of file an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A character device; overlay file systems write 0/0 for "deleted".
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// A moment on the file system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// And nanoseconds.
    pub nanoseconds: i64,
}

/// What the kernel knows about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Which kind.
    pub kind: Kind,
    /// The device it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Permission bits, with setuid, setgid and sticky.
    pub mode: u32,
    /// How many names it has.
    pub links: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Bytes that it takes on the disk.
    pub allocated: u64,
    /// For a device node: which device.
    pub device_number: u64,
    /// When the content changed; anybody can set it.
    pub modified: Moment,
    /// When anything changed; nobody can set it.
    pub changed: Moment,
}

/// An entry of a directory, itself and not what it links to.
pub fn stat(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Stat> {
    let name = text(name)?;
    // SAFETY: all-zero is a valid `stat`, which the kernel fills; the name outlives the call.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check_int(libc::fstatat(directory.as_raw_fd(), name.as_ptr(), &raw mut stat, libc::AT_SYMLINK_NOFOLLOW))?;
        Ok(read(&stat))
    }
}

/// What is open behind a descriptor.
pub fn stat_of(file: BorrowedFd<'_>) -> io::Result<Stat> {
    // SAFETY: all-zero is a valid `stat`, which the kernel fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check_int(libc::fstat(file.as_raw_fd(), &raw mut stat))?;
        Ok(read(&stat))
    }
}

/// The magic number of the file system behind a descriptor; see statfs(2).
pub fn file_system(file: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: all-zero is a valid `statfs`, which the kernel fills.
    unsafe {
        let mut disk: libc::statfs = std::mem::zeroed();
        check_int(libc::fstatfs(file.as_raw_fd(), &raw mut disk))?;
        Ok(disk.f_type as u64)
    }
}

fn read(stat: &libc::stat) -> Stat {
    let kind = match stat.st_mode & libc::S_IFMT {
        libc::S_IFDIR => Kind::Directory,
        libc::S_IFLNK => Kind::Symlink,
        libc::S_IFCHR => Kind::CharDevice,
        libc::S_IFBLK => Kind::BlockDevice,
        libc::S_IFIFO => Kind::Fifo,
        libc::S_IFSOCK => Kind::Socket,
        _ => Kind::File,
    };
    Stat {
        kind,
        device: stat.st_dev,
        inode: stat.st_ino,
        mode: stat.st_mode & 0o7777,
        links: stat.st_nlink as _,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u64,
        allocated: stat.st_blocks as u64 * 512,
        device_number: stat.st_rdev,
        modified: Moment { seconds: stat.st_mtime, nanoseconds: stat.st_mtime_nsec },
        changed: Moment { seconds: stat.st_ctime, nanoseconds: stat.st_ctime_nsec },
    }
}
