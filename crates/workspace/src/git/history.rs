//! The commits that a layer brings, and every path that they and the index have: read by the user's git
//! from a repository that polder wrote, in which the layer's new objects lie as copies.
//!
//! Git reads no configuration but polder's own, and no name of the layer: neither refs nor caches such
//! as a commit graph. Objects are data; one that lies about its content is an error of git's.

use super::change::CommitLine;
use super::places::GitDirPlace;
use super::view::{TwoViews, When};
use crate::change::NodeKind;
use crate::read::{open_host_file, open_own_file};
use crate::relative::Relative;
use crate::remove::remove_tree;
use crate::worktree::{Git, is_object};
use polder_sys::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// New commits of one review. All paths of all of them are judged.
const COMMITS_MAX: usize = 20_000;
/// Contents of files in commits that are looked at; larger ones are judged as unknown.
const BLOB_BYTES_MAX: u64 = 2 << 20;
const BLOBS_BYTES_MAX: u64 = 64 << 20;
const SHALLOW_BYTES_MAX: u64 = 16 << 20;
/// The empty tree, which git knows without having it: of SHA-1 and of SHA-256.
const EMPTY_TREES: [&str; 2] =
    ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"];

/// A repository for reading, removed when it is dropped.
pub(crate) struct ReadingRepository<'a> {
    git: &'a Git,
    at: PathBuf,
}

impl Drop for ReadingRepository<'_> {
    fn drop(&mut self) {
        // What stays goes with the workspace.
        let _ = remove_tree(&self.at);
    }
}

/// One path of a commit or of the index, with what is there before and after.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TreeEntry {
    pub(crate) path: Vec<u8>,
    pub(crate) old: Option<String>,
    /// Mode and object id.
    pub(crate) new: Option<(u32, String)>,
}

impl<'a> ReadingRepository<'a> {
    /// Copies what the layer adds to the objects of a git dir, and its index.
    pub(crate) fn make(git: &'a Git, store: &Path, views: &TwoViews<'_>, place: &GitDirPlace) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let at = store.join(format!("reading.{}.{number}", std::process::id()));
        let reading = Self { git, at };
        let common = place.common();
        for name in ["", "objects/info", "objects/pack", "refs"] {
            DirBuilder::new().recursive(true).mode(0o700).create(reading.at.join(name))?;
        }
        fs::write(reading.at.join("HEAD"), "ref: refs/heads/none\n")?;
        reading.copy_objects(views, &common)?;
        if common.before {
            let objects = views.sides.root.join(common.join("objects").as_path());
            fs::write(reading.at.join("objects/info/alternates"), [objects.as_os_str().as_bytes(), b"\n"].concat())?;
        }
        if let Some(shallow) = views.read(&common.join("shallow"), When::After, SHALLOW_BYTES_MAX)? {
            fs::write(reading.at.join("shallow"), shallow)?;
        }
        reading.copy_index(views, place)?;
        Ok(reading)
    }

    /// Says how long object ids are.
    pub(crate) fn configure(&self, digits: usize) -> io::Result<()> {
        let (version, extension) = match digits {
            64 => (1, "[extensions]\n\tobjectformat = sha256\n"),
            _ => (0, ""),
        };
        let text = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\tcommitGraph = false\n\
             \tmultiPackIndex = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n{extension}"
        );
        fs::write(self.at.join("config"), text)
    }

    fn copy_objects(&self, views: &TwoViews<'_>, common: &GitDirPlace) -> io::Result<()> {
        for change in views.within(&common.join("objects")) {
            let is_new_file =
                change.before.is_none() && change.after.as_ref().is_some_and(|node| node.kind == NodeKind::File);
            let Ok(below) = change.path.as_path().strip_prefix(&common.path) else { continue };
            let depth = below.components().count();
            if !is_new_file || depth != 3 || below.starts_with("objects/info") {
                continue;
            }
            let parent = tree::open_below(views.sides.layer.as_fd(), change.path.parent())?;
            let from = open_own_file(parent.as_fd(), change.path.name())?;
            self.copy(&from, below)?;
        }
        Ok(())
    }

    /// The index with what it shares with others.
    fn copy_index(&self, views: &TwoViews<'_>, place: &GitDirPlace) -> io::Result<()> {
        let own = Relative::new(&place.path).ok();
        let host = own.as_ref().map(|own| views.host_names(own)).transpose()?.unwrap_or_default();
        let layer = own.iter().flat_map(|own| views.within(own));
        let layer = layer.filter(|change| change.path.parent() == place.path).map(|change| change.path.name());
        let names: BTreeSet<&OsStr> = host.iter().map(|name| name.as_os_str()).chain(layer).collect();
        for name in names.into_iter().filter(|name| is_index(name)) {
            let path = place.join(name);
            if !views.node(&path, When::After)?.is_some_and(|node| node.kind == NodeKind::File) {
                continue;
            }
            let is_layers = views.change(&path).is_some();
            let root = if is_layers { &views.sides.layer } else { &views.sides.tree };
            let parent = tree::open_below(root.as_fd(), path.parent())?;
            let from = match is_layers {
                true => open_own_file(parent.as_fd(), name)?,
                false => open_host_file(parent.as_fd(), name)?,
            };
            self.copy(&from, Path::new(name))?;
        }
        Ok(())
    }

    fn copy(&self, from: &File, below: &Path) -> io::Result<()> {
        let to = self.at.join(below);
        if let Some(parent) = to.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let size = tree::stat_of(from.as_fd())?.size;
        tree::copy_data(from, &File::create(&to)?, size)
    }

    fn ask(&self, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
        self.git.ask(&self.at, arguments, input)
    }

    /// The commits that come with these tips, newest first, without those that the host has.
    pub(crate) fn commits(&self, tips: &BTreeSet<String>, bounds: &BTreeSet<String>) -> io::Result<Vec<String>> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let lines = tips.iter().map(|tip| format!("{tip}\n")).chain(bounds.iter().map(|bound| format!("^{bound}\n")));
        let most = format!("--max-count={}", COMMITS_MAX + 1);
        let answer = self.ask(&["rev-list", &most, "--stdin"], lines.collect::<String>().into_bytes())?;
        let ids: Vec<String> = String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect();
        match ids.iter().all(|id| is_object(id)) {
            _ if ids.len() > COMMITS_MAX => Err(io::Error::other(format!("more than {COMMITS_MAX} new commits"))),
            true => Ok(ids),
            false => Err(io::Error::other("git gave something else than object ids")),
        }
    }

    /// Every path that these commits change. A merge changes what differs from all of its parents.
    pub(crate) fn changed_by(&self, commits: &[String]) -> io::Result<BTreeSet<TreeEntry>> {
        if commits.is_empty() {
            return Ok(BTreeSet::new());
        }
        let lines: String = commits.iter().map(|id| format!("{id}\n")).collect();
        let how = ["diff-tree", "--stdin", "-r", "-c", "--root", "-z", "--no-commit-id", "--no-renames", "--raw"];
        raw_entries(&self.ask(&[&how[..], &["--no-abbrev"]].concat(), lines.into_bytes())?)
    }

    /// Every path in which the index differs from a commit, or from nothing.
    pub(crate) fn staged(&self, commit: Option<&str>, digits: usize) -> io::Result<BTreeSet<TreeEntry>> {
        if self.at.join("index").symlink_metadata().is_err() {
            return Ok(BTreeSet::new());
        }
        let base = commit.unwrap_or(EMPTY_TREES[usize::from(digits == 64)]);
        let how = ["diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev", base];
        raw_entries(&self.ask(&how, Vec::new())?)
    }

    /// Author and subject of commits.
    pub(crate) fn lines(&self, commits: &[String]) -> io::Result<Vec<CommitLine>> {
        let texts = self.contents(commits.iter())?;
        let line = |id: &String| {
            let text = texts.get(id).map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default();
            let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
            let author = head.lines().find_map(|line| line.strip_prefix("author ")).unwrap_or_default();
            // Behind the address are the time and the zone.
            let author = author.rsplit_once('>').map_or(author, |(author, _)| author);
            let author = author.split_once(" <").map_or(author, |(name, _)| name);
            let subject = message.trim_start().lines().next().unwrap_or_default();
            CommitLine { id: id.clone(), author: author.to_owned(), subject: subject.to_owned() }
        };
        Ok(commits.iter().map(line).collect())
    }

    /// An error unless all of these objects are there.
    pub(crate) fn require<'b>(&self, ids: impl Iterator<Item = &'b String>) -> io::Result<()> {
        let ids: BTreeSet<&String> = ids.collect();
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let answer = self.ask(&["cat-file", "--batch-check"], lines.into_bytes())?;
        match String::from_utf8_lossy(&answer).lines().find(|line| line.ends_with(" missing")) {
            Some(line) => Err(io::Error::other(format!("object {line}"))),
            None => Ok(()),
        }
    }

    /// The contents of objects; absent where one is larger than anything that is looked at. One that is
    /// missing is an error.
    pub(crate) fn contents<'b>(&self, ids: impl Iterator<Item = &'b String>) -> io::Result<BTreeMap<String, Vec<u8>>> {
        let ids: BTreeSet<&String> = ids.collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let sizes = self.ask(&["cat-file", "--batch-check=%(objectname) %(objectsize)"], lines.into_bytes())?;
        let (mut wanted, mut room) = (String::new(), BLOBS_BYTES_MAX);
        for line in String::from_utf8_lossy(&sizes).lines() {
            let (id, size) = line.split_once(' ').unwrap_or((line, ""));
            let size: u64 = size.parse().map_err(|_| io::Error::other(format!("object `{id}` is missing")))?;
            if size <= BLOB_BYTES_MAX && size <= room {
                room -= size;
                wanted.push_str(&format!("{id}\n"));
            }
        }
        let answer = self.ask(&["cat-file", "--batch"], wanted.into_bytes())?;
        let odd = || io::Error::other("git's answer about objects has another form");
        let (mut found, mut at) = (BTreeMap::new(), 0);
        while at < answer.len() {
            let end = at + answer[at..].iter().position(|byte| *byte == b'\n').ok_or_else(odd)?;
            let head = String::from_utf8_lossy(&answer[at..end]).into_owned();
            let mut words = head.split(' ');
            let (Some(id), Some(_), Some(size)) = (words.next(), words.next(), words.next()) else { return Err(odd()) };
            let size: usize = size.parse().map_err(|_| odd())?;
            let content = answer.get(end + 1..end + 1 + size).ok_or_else(odd)?;
            found.insert(id.to_owned(), content.to_vec());
            at = end + size + 2;
        }
        Ok(found)
    }
}

/// The index, and what parts of it are kept elsewhere.
fn is_index(name: &OsStr) -> bool {
    name == "index" || name.as_bytes().starts_with(b"sharedindex.")
}

/// The raw format of git-diff-tree(1) with `-z`; a merge has one mode and id more for every parent.
fn raw_entries(answer: &[u8]) -> io::Result<BTreeSet<TreeEntry>> {
    let odd = || io::Error::other("git's answer about paths has another form");
    let mut records = answer.split(|byte| *byte == 0);
    let mut found = BTreeSet::new();
    while let Some(head) = records.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head).map_err(|_| odd())?;
        let parents = head.bytes().take_while(|byte| *byte == b':').count();
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        if parents == 0 || words.len() != 2 * parents + 3 {
            return Err(odd());
        }
        let path = records.next().ok_or_else(odd)?.to_vec();
        let is_nothing = |id: &str| id.bytes().all(|byte| byte == b'0');
        let mode = u32::from_str_radix(words[parents], 8).map_err(|_| odd())?;
        let (old, new) = (words[parents + 1], words[2 * parents + 1]);
        let old = Some(old.to_owned()).filter(|id| !is_nothing(id));
        let new = Some((mode, new.to_owned())).filter(|(mode, id)| *mode != 0 && !is_nothing(id));
        found.insert(TreeEntry { path, old, new });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::raw_entries;

    #[test]
    fn raw_entries_of_commits_and_merges_are_read() {
        let (a, b, c, zero) = ("a".repeat(40), "b".repeat(40), "c".repeat(40), "0".repeat(40));
        let text = format!(
            ":000000 100644 {zero} {a} A\0new\0:100644 000000 {a} {zero} D\0gone\0\
             ::100644 100644 100755 {a} {b} {c} MM\0dir/x y\0"
        );
        let found: Vec<_> = raw_entries(text.as_bytes()).unwrap().into_iter().collect();
        let path = |index: usize| String::from_utf8_lossy(&found[index].path).into_owned();
        assert_eq!((path(0), found[0].new.clone()), ("dir/x y".to_owned(), Some((0o100_755, c))));
        assert_eq!((path(1), found[1].new.clone()), ("gone".to_owned(), None));
        assert_eq!((path(2), found[2].old.clone()), ("new".to_owned(), None));
        assert!(raw_entries(b"rubbish\0x\0").is_err());
    }
}
