//! One run or one apply at a time: a lock that the kernel lets go of with its holder, however that ends.

use polder_sys::tree::{Moment, open_file_to_write, stat_of, try_lock};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;

pub(crate) const FILE: &str = "lock";

/// Held as long as this lives, or one that shares it.
#[derive(Debug)]
pub struct RunLock {
    file: File,
    /// Whether whoever had it before let it go by itself.
    pub(crate) before: Before,
    /// What the next one is told about us.
    after: Before,
}

/// How the one before let the lock go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// In order, or there was nobody.
    LetGo,
    /// It was killed.
    Killed,
}

/// What stands in the file of a lock that nobody has.
const FREE: &[u8; 10] = b"-         ";

impl RunLock {
    /// The same lock by another descriptor: it is free when both are closed, by whomever. Whoever writes to the layer
    /// holds one, so that nobody else has the workspace while it can still change.
    pub fn share(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Lets the next one find what it would after somebody who was killed: we have not left everything in order.
    pub(crate) fn leave_as_killed(&mut self) {
        self.after = Before::Killed;
    }

    /// For a run: whoever lets it go without having ended the run in order is taken for one that was killed.
    pub fn until_ended(mut self) -> Self {
        self.leave_as_killed();
        self
    }

    /// Everything is left in order.
    pub(crate) fn leave_in_order(&mut self) {
        self.after = Before::LetGo;
    }

    /// Lets it go where nobody comes after us: the file is gone.
    pub(crate) fn let_go_for_good(mut self) {
        self.leave_as_killed();
    }

    /// When it was taken: its file is written then, and not again.
    pub(crate) fn taken(&self) -> io::Result<Moment> {
        Ok(stat_of(self.file.as_fd())?.changed)
    }
}

impl Drop for RunLock {
    /// Whoever shares it is gone, or only about to be: nobody has to wait for that.
    fn drop(&mut self) {
        if self.after == Before::LetGo {
            // Where this fails, whoever comes next looks more closely.
            let _ = self.file.write_all_at(FREE, 0);
        }
        // Where this fails, the lock goes with the last descriptor.
        let _ = self.file.unlock();
    }
}

/// What came of asking for the lock.
pub(crate) enum Asked {
    Got(RunLock),
    /// Somebody has it: the process that wrote its number last.
    Taken(String),
}

/// How long a lock that is just being let go of is waited for. A process that starts another one shares its locks with it
/// until that has become another program.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// The lock, if nobody has it at this moment. For whoever has no use for it later.
pub(crate) fn ask_once(workspace: BorrowedFd<'_>) -> io::Result<Option<RunLock>> {
    let file = open_file_to_write(workspace, OsStr::new(FILE))?;
    if !try_lock(file.as_fd())? {
        return Ok(None);
    }
    Ok(Some(RunLock { before: before(&file)?, after: Before::LetGo, file }))
}

pub(crate) fn ask(workspace: BorrowedFd<'_>) -> io::Result<Asked> {
    let file = open_file_to_write(workspace, OsStr::new(FILE))?;
    let mut got = try_lock(file.as_fd())?;
    for _ in 0..TRIES {
        if got {
            break;
        }
        std::thread::sleep(BETWEEN_TRIES);
        got = try_lock(file.as_fd())?;
    }
    if got {
        let before = before(&file)?;
        // For people, and for whoever comes after one that was killed: what counts is the lock. Over the whole of what
        // another wrote there, and not in place of it: a file that was made empty and filled again, some file systems write
        // to disk as soon as it is closed.
        file.write_all_at(format!("{:<10}", std::process::id()).as_bytes(), 0)?;
        return Ok(Asked::Got(RunLock { file, before, after: Before::LetGo }));
    }
    Ok(Asked::Taken(holder(&file)?))
}

/// The number of whoever has the lock or was killed with it; empty where nobody was.
fn holder(file: &File) -> io::Result<String> {
    let mut text = [0_u8; 16];
    let got = file.read_at(&mut text, 0)?;
    Ok(text[..got].iter().filter(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect())
}

fn before(file: &File) -> io::Result<Before> {
    Ok(if holder(file)?.is_empty() { Before::LetGo } else { Before::Killed })
}

#[cfg(test)]
mod tests {
    use super::{Asked, FILE, ask};
    use std::fs::{self, File};
    use std::os::fd::AsFd;

    #[test]
    fn whoever_has_it_is_told_whatever_longer_number_stood_there_before() {
        let place = std::env::temp_dir().join(format!("polder-lock-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(FILE), u32::MAX.to_string()).unwrap();
        let workspace = File::open(&place).unwrap();
        let Asked::Got(held) = ask(workspace.as_fd()).unwrap() else { panic!("nobody has it") };
        assert!(matches!(ask(workspace.as_fd()).unwrap(), Asked::Taken(pid) if pid == std::process::id().to_string()));
        drop(held);
        assert!(matches!(ask(workspace.as_fd()).unwrap(), Asked::Got(_)), "the control: it is free again");
        fs::remove_dir_all(place).unwrap();
    }
}
