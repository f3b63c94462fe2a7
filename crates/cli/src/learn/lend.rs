//! What a command may read beyond its policy with `--permissive`: what the host has beside the system, without secrets, and
//! without sockets and pipes.
//!
//! A place is lent only after all of it was looked through, so that what is sensitive in it is hidden. What is too large for
//! that, holds too much of it, or names it so that it cannot be hidden, is not lent: the command is denied it as ever, and
//! what it asks for there is learnt in another round.

use super::worry;
use polder::{Configuration, Loan, Planned, Sensitive};

use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What is looked through of one place.
const ENTRIES_MAX: usize = 30_000;
/// What is looked through altogether.
const ALL_ENTRIES_MAX: usize = 100_000;
/// The most places; for root each is a descriptor of its own.
const PLACES_MAX: usize = 100;
/// The most that is hidden in them; each is a mount.
const HIDDEN_MAX: usize = 200;

/// Below `/` and never lent: the kernel's, others' homes, what is private inside, the state of services, and what has rules
/// of its own.
const NOT_BELOW_ROOT: [&str; 12] =
    ["Users", "boot", "dev", "etc", "home", "lost+found", "proc", "root", "run", "sys", "tmp", "var"];
/// In the home directory: programs write it, and it is private inside.
const NOT_IN_HOME: [&str; 1] = [".cache"];

/// What is lent, and what is not because it could not be looked through.
pub(super) struct Found {
    pub(super) loan: Loan,
    pub(super) left_out: Vec<String>,
}

/// What a run can be lent.
pub(super) fn find(planned: &Planned, kept: Option<&Path>) -> Found {
    let mut search = Search::of(planned, kept);
    let mut found = Found { loan: Loan::none(), left_out: Vec::new() };
    for place in search.candidates() {
        match search.hidden_in(&place) {
            Ok(hidden)
                if found.loan.places.len() < PLACES_MAX && found.loan.hidden.len() + hidden.len() <= HIDDEN_MAX =>
            {
                found.loan.places.push(place);
                found.loan.hidden.extend(hidden);
            }
            Ok(_) => found.left_out.push(format!("{}: more is not lent at once", place.display())),
            Err(why) => found.left_out.push(format!("{}: {why}", place.display())),
        }
    }
    found.loan.hidden.sort();
    found.loan.hidden.dedup();
    found
}

struct Search<'a> {
    planned: &'a Planned,
    kept: Option<&'a Path>,
    sensitive: Sensitive,
    /// What the policy hides from everybody.
    denied: Vec<PathBuf>,
    left: usize,
}

impl<'a> Search<'a> {
    fn of(planned: &'a Planned, kept: Option<&'a Path>) -> Self {
        let home = &planned.host().user.home;
        let others = ["/home", "/Users"].into_iter().flat_map(|homes| names(Path::new(homes)));
        let homes: Vec<PathBuf> = others.chain([home.clone(), PathBuf::from("/root")]).collect();
        let denied = worry::denied(planned);
        let sensitive = Sensitive::in_homes(homes.iter().map(PathBuf::as_path));
        let sensitive = sensitive.clone().and(worry::behind(&homes, &sensitive)).and(denied.iter().cloned());
        Self { planned, kept, sensitive, denied, left: ALL_ENTRIES_MAX }
    }

    /// Everything that might be lent, in order; without what the policy shows or hides anyway.
    fn candidates(&self) -> Vec<PathBuf> {
        let files = &self.planned.plan().files;
        let below = |directory: &Path, without: &[&str]| {
            let named = |path: &Path| path.file_name().is_some_and(|name| without.iter().any(|not| name == *not));
            names(directory).into_iter().filter(|path| !named(path)).collect::<Vec<_>>()
        };
        let home = &self.planned.host().user.home;
        let all = [below(home, &NOT_IN_HOME), below(Path::new("/"), &NOT_BELOW_ROOT), below(Path::new("/etc"), &[])];
        let system = |path: &Path| files.system.iter().any(|entry| path == entry.path.as_path());
        let made = |path: &Path| {
            files.written.iter().any(|written| written.path.as_path() == path)
                || files.configuration.iter().any(|entry| match entry {
                    Configuration::File(name) | Configuration::Directory(name) => path == Path::new("/etc").join(name),
                })
        };
        // What appears at a place or below it needs that place to be as the policy says.
        let taken = |path: &Path| {
            files.shown.iter().any(|shown| {
                let (host, guest) = (shown.host.as_path(), shown.guest.as_path());
                guest == path
                    || (path.starts_with(guest) && path.starts_with(host))
                    || (guest.starts_with(path) && !guest.exists())
            })
        };
        let own = |path: &Path| self.kept.is_some_and(|kept| path.starts_with(kept)) || home.starts_with(path);
        let denied = |path: &Path| self.denied.iter().any(|denied| path.starts_with(denied));
        let wanted = |path: &PathBuf| {
            let plain = |found: &Metadata| found.is_file() || found.is_dir();
            fs::symlink_metadata(path).is_ok_and(|found| plain(&found) && !self.is_private(path, &found))
                && !(system(path)
                    || made(path)
                    || taken(path)
                    || own(path)
                    || denied(path)
                    || self.sensitive.begin_at(path))
        };
        all.into_iter().flatten().filter(wanted).collect()
    }

    /// What has to be hidden in a place, or why it cannot be lent.
    fn hidden_in(&mut self, place: &Path) -> Result<Vec<PathBuf>, String> {
        let (mut hidden, mut entries_left) = (Vec::new(), ENTRIES_MAX.min(self.left));
        // A file is what it is named, and that was looked at.
        let mut directories = vec![place.to_owned()];
        while let Some(directory) = directories.pop() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // Whoever knows a name in it can open that without a list of them.
                Err(_) if fs::symlink_metadata(directory.join(".")).is_ok() => {
                    if directory == place {
                        return Err("it cannot be listed".to_owned());
                    }
                    hidden.push(self.speakable(directory)?);
                    continue;
                }
                Err(error) if is_nothing(&error) => continue,
                Err(error) => return Err(format!("`{}` cannot be looked through: {error}", directory.display())),
            };
            for entry in entries {
                let entry = entry.map_err(|error| format!("`{}`: {error}", directory.display()))?;
                entries_left = entries_left.checked_sub(1).ok_or("it is too large to be looked through")?;
                self.left -= 1;
                let (path, kind) = (entry.path(), entry.file_type().map_err(|error| error.to_string())?);
                if self.is_shown(&path) {
                    // The command has it anyway, with whatever is in it.
                } else if self.sensitive.begin_at(&path) || is_door(kind) {
                    hidden.extend(self.hide(path, kind)?);
                } else if self.is_closed(&entry) {
                    // Nobody inside comes in.
                } else if entry.metadata().is_ok_and(|found| self.is_private(&path, &found)) {
                    hidden.extend(self.hide(path, kind)?);
                } else if kind.is_dir() {
                    directories.push(path);
                }
                if hidden.len() > HIDDEN_MAX {
                    return Err("it holds more that is sensitive than can be hidden".to_owned());
                }
            }
        }
        Ok(hidden)
    }

    /// What has to be hidden for one path: itself, or what it leads to.
    fn hide(&self, path: PathBuf, kind: FileType) -> Result<Option<PathBuf>, String> {
        let behind = if kind.is_symlink() { path.canonicalize() } else { Ok(path) };
        // A link that leads nowhere, or where nobody may go.
        let Ok(path) = behind else { return Ok(None) };
        if self.is_shown(&path) {
            return Ok(None);
        }
        let path = self.speakable(path)?;
        let name = path.display();
        let single = |found: Metadata| found.is_dir() || found.nlink() == 1;
        match fs::symlink_metadata(&path).map(single) {
            Ok(true) => Ok(Some(path)),
            Ok(false) => Err(format!("`{name}` is sensitive and has several names")),
            Err(error) if is_nothing(&error) => Ok(None),
            Err(error) => Err(format!("`{name}`: {error}")),
        }
    }

    /// A path that a rule can name.
    fn speakable(&self, path: PathBuf) -> Result<PathBuf, String> {
        if path.to_str().is_some_and(|text| !text.contains(['*', '?', '[', '{'])) {
            return Ok(path);
        }
        Err(format!("`{}` is sensitive, and no rule can name it", path.display()))
    }

    /// Whether something outside of the home is not for everybody. What services keep from others has no telling names.
    fn is_private(&self, path: &Path, found: &Metadata) -> bool {
        let open = if found.is_dir() { 0o001 } else { 0o004 };
        !found.is_symlink() && found.mode() & open == 0 && !path.starts_with(&self.planned.host().user.home)
    }

    /// Whether nobody inside can enter a directory although the caller can: root inside has no power over what is others'.
    fn is_closed(&self, entry: &DirEntry) -> bool {
        let closed = |found: Metadata| found.uid() != 0 && found.mode() & 0o001 == 0 && found.gid() != 0;
        let closed = |found: Metadata| found.is_dir() && closed(found);
        self.planned.plan().identity.caller_is_root && entry.metadata().is_ok_and(closed)
    }

    /// Whether the policy shows it.
    fn is_shown(&self, path: &Path) -> bool {
        let files = &self.planned.plan().files;
        files.shown.iter().any(|shown| path.starts_with(shown.host.as_path()))
            || files.system.iter().any(|entry| path.starts_with(entry.path.as_path()))
    }
}

/// Whether somebody listens behind it: a mount that is only read does not keep anybody from writing there.
fn is_door(kind: FileType) -> bool {
    kind.is_socket() || kind.is_fifo() || kind.is_char_device() || kind.is_block_device()
}

/// Whether something is not there, or closed to the caller and so to the command.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory)
}

/// Everything in a directory, in order.
fn names(directory: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.sort();
    names
}
