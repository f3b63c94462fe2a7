//! A host path, held by a descriptor: what a path means can change, what a descriptor means cannot.

use super::call::{Errno, check_int};
use super::mount;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};

/// A host path that was opened. As long as this is held, its number on the device is not given to another file.
#[derive(Debug)]
pub struct Located {
    /// The device.
    pub device: u64,
    /// The number on the device.
    pub inode: u64,
    held: OwnedFd,
}

impl Located {
    /// What it is now: a name says nothing, and this is asked of the file itself.
    pub fn metadata(&self) -> std::io::Result<std::fs::Metadata> {
        std::fs::File::from(self.held.try_clone()?).metadata()
    }
}

/// Opens an absolute path of which no component may be a symbolic link.
pub fn locate(path: &CStr) -> Result<Located, Errno> {
    let held = mount::locate(path)?;
    // SAFETY: all-zero is a valid `stat`, which the kernel fills.
    let stat = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        check_int(libc::fstat(held.as_raw_fd(), &raw mut stat))?;
        stat
    };
    Ok(Located { device: stat.st_dev, inode: stat.st_ino, held })
}
