//! The refs of a repository, read as text: branches, tags, and what was fetched. The stash and the rest stay where they are.

use super::error::WorktreeError;
use super::repository::{Repository, read_bytes, read_text};
use crate::read::open_host_file;
use polder_sys::tree::{self, Kind};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

const TAKEN: [&str; 3] = ["heads", "tags", "remotes"];
const DEPTH_MAX: usize = 16;
const REFS_MAX: usize = 200_000;
const REF_BYTES_MAX: u64 = 4 << 10;
const PACKED_BYTES_MAX: u64 = 64 << 20;

/// What a private repository begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refs {
    /// `ref: refs/heads/NAME`, or a commit.
    pub(crate) head: String,
    /// How many digits the name of an object has.
    pub(crate) digits: usize,
    /// Names and what they stand for.
    pub(crate) direct: BTreeMap<String, String>,
    /// Names that stand for other names.
    pub(crate) symbolic: BTreeMap<String, String>,
}

impl Refs {
    /// Reads them. A repository without a commit has nothing to begin with.
    pub(crate) fn read(repository: &Repository) -> Result<Self, WorktreeError> {
        let Repository { tree, git_dir, common_dir } = repository;
        let unfit = |path: &Path, why| WorktreeError::Unfit { path: path.to_owned(), why, remedy: "mend it" };
        let packed = read_bytes(common_dir, "packed-refs", PACKED_BYTES_MAX)?.unwrap_or_default();
        let mut refs = Self { head: String::new(), digits: 0, direct: packed_refs(&packed), symbolic: BTreeMap::new() };
        let holder = tree::open_root(common_dir).map_err(WorktreeError::io("open", common_dir))?;
        for kind in TAKEN {
            match tree::open_below(holder.as_fd(), &Path::new("refs").join(kind)) {
                Ok(found) => refs
                    .walk(found.as_fd(), &format!("refs/{kind}"), 0)
                    .map_err(WorktreeError::io("read the refs of", common_dir))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(WorktreeError::Io { what: "open", path: common_dir.join("refs").join(kind), source });
                }
            }
        }
        let head = read_text(git_dir, "HEAD")?.unwrap_or_default();
        let commit = match meaning(&head) {
            Some(Meaning::Object(id)) => Some(id),
            Some(Meaning::Name(name)) => refs.direct.get(&name).cloned(),
            None => return Err(unfit(&git_dir.join("HEAD"), "is no name and no commit")),
        };
        let commit = commit.ok_or(WorktreeError::Unfit {
            path: tree.clone(),
            why: "has no commit to begin with",
            remedy: "commit something first",
        })?;
        refs.digits = commit.len();
        refs.head = head.trim_end().to_owned();
        let digits = refs.digits;
        refs.direct.retain(|_, id| id.len() == digits);
        Ok(refs)
    }

    fn walk(&mut self, directory: BorrowedFd<'_>, prefix: &str, depth: usize) -> io::Result<()> {
        let too_much = |what: &str| io::Error::new(io::ErrorKind::QuotaExceeded, format!("it has too many {what}"));
        if depth > DEPTH_MAX {
            return Err(too_much("directories in each other"));
        }
        for entry in tree::names(directory)? {
            // Nobody can name what is no text, or not a name to git.
            let Some(name) = entry.to_str().map(|name| format!("{prefix}/{name}")).filter(|name| is_name(name)) else {
                continue;
            };
            match tree::stat(directory, &entry)?.kind {
                Kind::Directory => {
                    let below = tree::open_below(directory, Path::new(&entry))?;
                    self.walk(below.as_fd(), &name, depth + 1)?;
                }
                Kind::File => {
                    if self.direct.len() + self.symbolic.len() >= REFS_MAX {
                        return Err(too_much("refs"));
                    }
                    self.take(directory, &entry, name)?;
                }
                Kind::Symlink | Kind::CharDevice | Kind::BlockDevice | Kind::Fifo | Kind::Socket => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, directory: BorrowedFd<'_>, entry: &OsStr, name: String) -> io::Result<()> {
        let file = open_host_file(directory, entry)?;
        let text = crate::content::read_bounded(&file, REF_BYTES_MAX)?.unwrap_or_default();
        match meaning(&String::from_utf8_lossy(&text)) {
            Some(Meaning::Object(id)) => drop(self.direct.insert(name, id)),
            Some(Meaning::Name(other)) => drop(self.symbolic.insert(name, other)),
            None => {}
        }
        Ok(())
    }

    /// As git keeps many of them in one file.
    pub(crate) fn packed(&self) -> String {
        let lines = self.direct.iter().map(|(name, id)| format!("{id} {name}\n"));
        std::iter::once("# pack-refs with: sorted \n".to_owned()).chain(lines).collect()
    }
}

enum Meaning {
    Object(String),
    Name(String),
}

fn meaning(text: &str) -> Option<Meaning> {
    let line = text.trim_end_matches(['\n', '\r', ' ']);
    match line.strip_prefix("ref:").map(str::trim) {
        Some(name) => is_name(name).then(|| Meaning::Name(name.to_owned())),
        None => is_object(line).then(|| Meaning::Object(line.to_owned())),
    }
}

pub(crate) fn is_object(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git takes as the name of a ref; stricter than git in nothing that anybody uses.
pub(crate) fn is_name(name: &str) -> bool {
    let parts = || name.split('/');
    name.starts_with("refs/")
        && parts().all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
        && !name.contains("..")
        && !name.contains("@{")
        && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c))
}

fn packed_refs(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let taken = |name: &str| TAKEN.iter().any(|kind| name.starts_with(&format!("refs/{kind}/")));
    let refs = lines.filter(|(id, name)| is_object(id) && is_name(name) && taken(name));
    refs.map(|(id, name)| (name.to_owned(), id.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_name, packed_refs};

    #[test]
    fn a_ref_cannot_name_a_path_elsewhere() {
        for right in ["refs/heads/main", "refs/tags/v1.0", "refs/remotes/origin/a/b", "refs/heads/ü"] {
            assert!(is_name(right), "{right}");
        }
        for wrong in
            ["main", "refs/heads/../x", "refs//x", "refs/heads/.x", "refs/heads/a b", "refs/x.lock", "refs/a\n"]
        {
            assert!(!is_name(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_stash_stays_where_it_is() {
        let id = "0123456789012345678901234567890123456789";
        let text = format!("# pack-refs with: peeled \n{id} refs/heads/main\n{id} refs/stash\n^{id}\nrubbish\n");
        assert_eq!(packed_refs(text.as_bytes()).into_keys().collect::<Vec<_>>(), ["refs/heads/main"]);
    }
}
