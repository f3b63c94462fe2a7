//! One family, locked: only one process at a time makes or removes something in it.

use crate::discard::discard;
use polder_sys::directory::Directory;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

const LOCK: &str = "lock";
/// How often a family may be removed under our hands before something else must be wrong.
const TRIES_MAX: u32 = 100;
/// Entries of one family or scope; what is more is not ours.
pub(crate) const NAMES_MAX: usize = 10_000;
/// A copy that is not whole, and a scope that is being removed.
pub(crate) const ASIDE: &str = "aside-";
pub(crate) const GONE: &str = "gone-";
/// How long to wait before a lock is tried again.
const PAUSE: Duration = Duration::from_millis(20);
const USED: &str = "used";

/// Asked while somebody else holds a lock, and between the parts of long work: whether to go on.
/// It waits for so long, at most, before it answers.
pub(crate) type Patience<'a> = &'a mut dyn FnMut(Duration) -> ControlFlow<()>;

/// Who asked has lost patience.
pub(crate) fn given_up() -> io::Error {
    io::Error::from(io::ErrorKind::Interrupted)
}

pub(crate) struct Family {
    pub(crate) directory: Directory,
    _lock: File,
}

impl Family {
    /// Locks a family, which is made if that is wanted.
    pub(crate) fn lock(store: &Directory, name: &OsStr, make: bool, patience: Patience<'_>) -> io::Result<Self> {
        for _ in 0..TRIES_MAX {
            if make {
                exists(store.make(name, 0o700))?;
            }
            let directory = store.enter(name)?;
            let lock = directory.mark(OsStr::new(LOCK))?;
            wait(&lock, patience)?;
            // Whoever held it before may have removed the family, and then this is the lock of nothing.
            let now = store.enter(name).and_then(|now| now.look(OsStr::new(LOCK)));
            if let Ok(now) = now
                && same(&now, &lock)?
            {
                return Ok(Self { directory, _lock: lock });
            }
        }
        Err(io::Error::other("others remove it again and again"))
    }

    /// Removes what somebody who was interrupted left behind.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        for name in self.directory.names(NAMES_MAX)? {
            if name.to_str().is_some_and(|name| name.starts_with(ASIDE) || name.starts_with(GONE)) {
                discard(&self.directory, &name)?;
            }
        }
        Ok(())
    }

    /// The names of the scopes.
    pub(crate) fn scopes(&self) -> io::Result<Vec<String>> {
        let names = self.directory.names(NAMES_MAX)?;
        let mut scopes: Vec<_> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        scopes.retain(|name| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        scopes.sort();
        Ok(scopes)
    }

    /// Holds a scope: nobody removes it until the file is closed.
    pub(crate) fn hold(&self, scope: &str) -> io::Result<File> {
        let lock = self.scope_lock(scope)?;
        lock.try_lock_shared().map_err(|error| match error {
            // Only a holder of the family's lock asks for more than a share.
            TryLockError::WouldBlock => io::Error::from(io::ErrorKind::ResourceBusy),
            TryLockError::Error(error) => error,
        })?;
        Ok(lock)
    }

    fn scope_lock(&self, scope: &str) -> io::Result<File> {
        self.directory.mark(OsStr::new(&format!("{scope}.lock")))
    }

    /// Whether somebody uses a scope.
    pub(crate) fn in_use(&self, scope: &str) -> io::Result<bool> {
        match self.scope_lock(scope)?.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes a scope, unless somebody uses it; says whether it did. It loses its name first: what is cut off here is
    /// never taken for a cache.
    pub(crate) fn remove(&self, scope: &str) -> io::Result<bool> {
        let lock = self.scope_lock(scope)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let gone = format!("{GONE}{scope}");
        if self.directory.look(OsStr::new(&gone)).is_ok() {
            discard(&self.directory, OsStr::new(&gone))?;
        }
        self.directory.rename(OsStr::new(scope), &self.directory, OsStr::new(&gone))?;
        discard(&self.directory, OsStr::new(&gone))?;
        // Nobody waits for this lock: it is taken only under the family's.
        self.directory.remove(OsStr::new(&format!("{scope}.lock")))?;
        Ok(true)
    }

    /// Removes the family itself, when nothing is left of it.
    pub(crate) fn end(self, store: &Directory, name: &OsStr) -> io::Result<()> {
        for left in self.directory.names(NAMES_MAX)? {
            self.directory.remove(&left)?;
        }
        store.remove_empty(name)
    }
}

/// Records that a scope is used now.
pub(crate) fn stamp(scope: &Directory) -> io::Result<()> {
    scope.mark(OsStr::new(USED))?.set_modified(SystemTime::now())
}

/// When a scope was used last; one without a record is as old as the directory.
pub(crate) fn used(scope: &Directory) -> io::Result<SystemTime> {
    match scope.look(OsStr::new(USED)) {
        Ok(file) => file.metadata()?.modified(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => scope.file().metadata()?.modified(),
        Err(error) => Err(error),
    }
}

/// Something that was made or was there.
pub(crate) fn exists(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn wait(lock: &File, patience: Patience<'_>) -> io::Result<()> {
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if patience(PAUSE).is_continue() => {}
            Err(TryLockError::WouldBlock) => return Err(given_up()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

fn same(a: &File, b: &File) -> io::Result<bool> {
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok((a.dev(), a.ino()) == (b.dev(), b.ino()))
}
