//! The kernel's word that names come into being in directories; see inotify(7).

use super::aside::open_tree;
use super::call::{Errno, check, check_fd, check_int};
use super::mount::open_beneath;
use super::mutate::{Layer, off};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes that are read at once; one event with the longest name takes 272.
const EVENT_BYTES: usize = 64 * 1024;
/// How long to wait for an instance: many short runs at once end within it.
const INSTANCE_WAIT_MAX: Duration = Duration::from_secs(10);
/// How often to look for one.
const INSTANCE_LOOK: Duration = Duration::from_millis(5);
const HEADER_BYTES: usize = size_of::<libc::inotify_event>();

/// Directories in which names are awaited.
#[derive(Debug)]
pub struct NameWatch {
    queue: OwnedFd,
}

/// Which events of a directory are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchedEvents {
    /// New names: few, also where many files are written.
    Names,
    /// Also that a file was written or closed, and that a mode changed.
    Content,
}

/// What the kernel says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameEvent {
    /// A name in a watched directory.
    Name {
        /// Which directory, as [`NameWatch::add`] said.
        watch: i32,
        /// The name; empty for the directory itself.
        name: OsString,
    },
    /// More happened than the queue holds.
    Overflow,
}

impl NameWatch {
    /// Watches nothing yet. A user has `fs.inotify.max_user_instances` of them, usually 128: with more runs at once,
    /// waits until another process has closed one, and fails after [`INSTANCE_WAIT_MAX`].
    pub fn new() -> io::Result<Self> {
        let until = Instant::now() + INSTANCE_WAIT_MAX;
        loop {
            // SAFETY: plain numbers.
            match check_fd(i64::from(unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) })) {
                Ok(queue) => return Ok(Self { queue }),
                Err(Errno(libc::EMFILE)) if Instant::now() < until => std::thread::sleep(INSTANCE_LOOK),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Readable when something was told.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    /// Watches a directory below a tree, found without a symlink; none where it is absent or closed. A
    /// directory that is watched already keeps its number.
    pub fn add(&self, tree: &Path, below: &Path, events: WatchedEvents) -> io::Result<Option<i32>> {
        if off(Layer::WatchNames) {
            return Ok(None);
        }
        let below = if below.as_os_str().is_empty() { OsStr::new(".") } else { below.as_os_str() };
        let tree = open_tree(&CString::new(tree.as_os_str().as_bytes())?)?;
        let directory = match open_beneath(tree.as_fd(), &CString::new(below.as_bytes())?) {
            Ok(directory) => directory,
            Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EACCES)) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        let names = libc::IN_CREATE | libc::IN_MOVED_TO | libc::IN_ATTRIB | libc::IN_ONLYDIR;
        let mask = match events {
            WatchedEvents::Names => names,
            WatchedEvents::Content => names | libc::IN_MODIFY | libc::IN_CLOSE_WRITE,
        };
        // By the descriptor: the name may lead elsewhere by now.
        let path = CString::new(format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
        // SAFETY: the path outlives the call.
        let added = check_int(unsafe { libc::inotify_add_watch(self.queue.as_raw_fd(), path.as_ptr(), mask) });
        match added {
            Ok(watch) => Ok(Some(watch)),
            // The caller may enter it and not list it.
            Err(Errno(libc::EACCES)) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Takes what was told since the last time.
    pub fn read(&self) -> io::Result<Vec<NameEvent>> {
        let mut buffer = vec![0u8; EVENT_BYTES];
        let (fd, place, len) = (self.queue.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the buffer is valid for its length.
        let got = match check(unsafe { libc::read(fd, place, len) } as i64) {
            Ok(got) => got as usize,
            Err(Errno(libc::EAGAIN | libc::EINTR)) => return Ok(Vec::new()),
            Err(other) => return Err(other.into()),
        };
        Ok(events(&buffer[..got]))
    }
}

/// The events in a buffer that the kernel filled.
fn events(mut bytes: &[u8]) -> Vec<NameEvent> {
    let mut events = Vec::new();
    while let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) {
        let number = |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (watch, mask, len) = (number(0) as i32, number(4), number(12) as usize);
        let Some((name, rest)) = rest.split_at_checked(len) else { break };
        bytes = rest;
        if mask & libc::IN_Q_OVERFLOW != 0 {
            events.push(NameEvent::Overflow);
        } else if mask & libc::IN_IGNORED == 0 {
            // Padded with NUL bytes.
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(len);
            events.push(NameEvent::Name { watch, name: OsString::from_vec(name[..end].to_vec()) });
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::{NameEvent, NameWatch, WatchedEvents};
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    fn name_watch_tells_new_names_of_a_directory() {
        let place = std::env::temp_dir().join(format!("polder-inotify-{}", std::process::id()));
        std::fs::create_dir_all(place.join("a")).unwrap();
        std::os::unix::fs::symlink("a", place.join("link")).unwrap();
        let watch = NameWatch::new().unwrap();
        assert_eq!(watch.add(&place, Path::new("missing"), WatchedEvents::Names).unwrap(), None);
        assert_eq!(watch.add(&place, Path::new("link"), WatchedEvents::Names).unwrap(), None, "no link is followed");
        let number = watch.add(&place, Path::new("a"), WatchedEvents::Names).unwrap().unwrap();
        assert_eq!(watch.read().unwrap(), []);
        std::fs::write(place.join("a/x"), "text").unwrap();
        std::fs::rename(place.join("a/x"), place.join("a/y")).unwrap();
        let told = watch.read().unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        let name = |name: &str| NameEvent::Name { watch: number, name: OsString::from(name) };
        assert_eq!(told, [name("x"), name("y")]);
    }
}
