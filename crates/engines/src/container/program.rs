//! Our own program, as a container can execute it.

use super::place::Place;
use polder_sys::Door;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Why our own program cannot be the first process of a container.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoProgram {
    #[error("this program cannot be the first process of a container")]
    NotPolder,
    #[error("this program needs libraries of the host, which an image does not have")]
    NeedsLibraries,
    #[error("cannot read this program")]
    Unreadable(#[from] io::Error),
}

impl NoProgram {
    /// What to do about it.
    pub(super) fn remedy(&self) -> Option<String> {
        match self {
            Self::NotPolder => {
                Some("a program that uses polder as a library calls `polder::become_shim_if_asked()` first".to_owned())
            }
            Self::NeedsLibraries => {
                Some("use the static binary of polder (`cargo xtask build` makes one), or link statically".to_owned())
            }
            Self::Unreadable(_) => None,
        }
    }
}

/// Where our program is, or a copy of it where others could not execute it. `in_image` says that no library of the host
/// will be there.
pub(super) fn own_program(place: &Place, in_image: bool) -> Result<PathBuf, NoProgram> {
    if !Door::is_possible() {
        return Err(NoProgram::NotPolder);
    }
    // The file that runs, also where another one has taken its name since.
    let mut file = File::open("/proc/self/exe")?;
    if in_image && asks_for_an_interpreter(&mut file)? {
        return Err(NoProgram::NeedsLibraries);
    }
    let path = std::env::current_exe()?;
    let same = fs::metadata(&path).is_ok_and(|there| {
        use std::os::unix::fs::MetadataExt;
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()))
    });
    let plain = path.to_str().is_some_and(|path| path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c)));
    if same && plain && file.metadata()?.permissions().mode() & 0o005 == 0o005 {
        return Ok(path);
    }
    let copy = place.program();
    io::copy(&mut File::open("/proc/self/exe")?, &mut File::create_new(&copy)?)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
    Ok(copy)
}

/// Whether a program of this machine's form names an interpreter, as one with shared libraries does.
fn asks_for_an_interpreter(file: &mut File) -> io::Result<bool> {
    const INTERPRETER: u32 = 3;
    let mut head = Vec::new();
    file.take(64 * 1024).read_to_end(&mut head)?;
    let number = |at: usize, size: usize| {
        let bytes = head.get(at..at + size).ok_or(io::ErrorKind::InvalidData)?;
        // Whoever executes this file has its byte order.
        let mut whole = [0u8; 8];
        if cfg!(target_endian = "little") {
            whole[..size].copy_from_slice(bytes);
        } else {
            whole[8 - size..].copy_from_slice(bytes);
        }
        Ok::<usize, io::Error>(u64::from_ne_bytes(whole) as usize)
    };
    // The table of a 64-bit program: where it is, how long an entry is, how many there are; see elf(5).
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        if number(table + index * size, 4)? == INTERPRETER as usize {
            return Ok(true);
        }
    }
    Ok(false)
}
