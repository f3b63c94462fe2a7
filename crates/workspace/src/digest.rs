//! The digest of a review: a mark of everything that an apply of it could put into the tree.
//!
//! A diff prints it, and an apply that is given it refuses every other review. It covers paths, kinds, permission bits,
//! contents, link targets, and what stands against each change; no times and no inode numbers, so that looking again at
//! an unchanged workspace gives the same digest.

use crate::change::{Change, Node, NodeKind, What};
use crate::content::content_mark;
use crate::read::open_own_file;
use crate::relative::Relative;
use crate::review::{Item, Review};
use crate::workspace::Workspace;
use polder_sys::tree;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::str::FromStr;

/// Where the digest of the last diff is remembered.
const FILE: &str = "reviewed";
const LETTERS: usize = 64;

/// The mark of the content of one file.
pub(crate) type ContentMark = [u8; 32];

/// The digest of a review: 64 hexadecimal letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDigest(String);

impl fmt::Display for ReviewDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ReviewDigest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() == LETTERS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!("it has {LETTERS} hexadecimal letters; `polder workspace diff` prints it"))
        }
    }
}

/// A digest with the marks of the contents that are part of it.
#[derive(Clone, Debug)]
pub(crate) struct Digested {
    pub(crate) digest: ReviewDigest,
    pub(crate) contents: BTreeMap<Relative, ContentMark>,
}

impl Review {
    /// The digest. Reads every file that the layer would put into the tree, once.
    pub fn digest(&self) -> io::Result<&ReviewDigest> {
        Ok(&self.digested()?.digest)
    }

    pub(crate) fn digested(&self) -> io::Result<&Digested> {
        if let Some(known) = self.digested.get() {
            return Ok(known);
        }
        let digested = self.look()?;
        Ok(self.digested.get_or_init(|| digested))
    }

    fn look(&self) -> io::Result<Digested> {
        let (mut all, mut contents) = (Fields(Sha256::new()), BTreeMap::new());
        all.number(self.items.len() as u64);
        for item in &self.items {
            let mark = if puts_content(&item.change) { Some(self.mark(&item.change)?) } else { None };
            all.item(item, mark.as_ref());
            contents.extend(mark.map(|mark| (item.change.path.clone(), mark)));
        }
        all.number(self.git.len() as u64);
        for change in &self.git {
            all.bytes(change.repository.as_os_str().as_encoded_bytes());
            let [held, conflict, refused] = [&change.held, &change.conflict, &change.refused];
            [held, conflict, refused].into_iter().for_each(|why| all.text(why.as_deref()));
            all.number(change.contained.len() as u64);
            change.contained.iter().for_each(|contained| all.path(&contained.path));
        }
        all.number(self.forged.len() as u64);
        for forged in &self.forged {
            all.path(&forged.path);
            all.bytes(forged.why.as_bytes());
        }
        let digest = all.0.finalize().iter().fold(String::with_capacity(LETTERS), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Digested { digest: ReviewDigest(digest), contents })
    }

    fn mark(&self, change: &Change) -> io::Result<ContentMark> {
        let look = || -> io::Result<ContentMark> {
            let parent = tree::open_below(self.sides.layer.as_fd(), change.path.parent())?;
            content_mark(&open_own_file(parent.as_fd(), change.path.name())?)
        };
        look().map_err(|error| {
            let shown = crate::visible_name(change.path.as_path().as_os_str().as_encoded_bytes());
            io::Error::new(error.kind(), format!("cannot read `{shown}` in the layer: {error}"))
        })
    }
}

impl Workspace {
    /// Remembers what a diff showed, for [`Workspace::last_digest`].
    pub fn remember_digest(&self, digest: &ReviewDigest) -> io::Result<()> {
        let aside = self.place.join(format!("{FILE}.{}", std::process::id()));
        fs::write(&aside, digest.0.as_bytes())?;
        fs::rename(aside, self.place.join(FILE))
    }

    /// What the last diff showed, unless an apply or a revert came after it.
    pub fn last_digest(&self) -> io::Result<Option<ReviewDigest>> {
        match fs::read_to_string(self.place.join(FILE)) {
            Ok(text) => Ok(text.parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// After an apply or a revert the last diff shows what is no more.
    pub(crate) fn forget_digest(&self) -> io::Result<()> {
        match fs::remove_file(self.place.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether an apply copies the content of the layer's file.
fn puts_content(change: &Change) -> bool {
    let is_file = change.after.as_ref().is_some_and(|node| node.kind == NodeKind::File);
    is_file && change.what != What::Mode
}

/// What is hashed, each part with its length, so that no two lists of parts look alike.
struct Fields(Sha256);

impl Fields {
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    fn path(&mut self, path: &Relative) {
        self.bytes(path.as_path().as_os_str().as_encoded_bytes());
    }

    fn text(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        self.bytes(text.unwrap_or_default().as_bytes());
    }

    fn node(&mut self, node: Option<&Node>) {
        self.text(node.map(|node| node.kind.name()));
        let Some(Node { kind, stat }) = node else { return };
        self.number(u64::from(stat.mode));
        if let NodeKind::Symlink(target) = kind {
            self.bytes(target.as_encoded_bytes());
        }
    }

    fn item(&mut self, item: &Item, mark: Option<&ContentMark>) {
        let Item { change, held, held_at, conflict, refused, hidden, stripped, note, git } = item;
        let Change { path, what, before, after, copied_from_tree: _ } = change;
        self.path(path);
        self.text(Some(what.name()));
        if let What::Renamed { from } = what {
            self.path(from);
        }
        self.node(before.as_ref());
        self.node(after.as_ref());
        self.bytes(mark.map_or(&[], |mark| mark.as_slice()));
        self.text(held.as_deref());
        self.number(held_at.len() as u64);
        held_at.iter().for_each(|path| self.path(path));
        self.text(conflict.as_deref());
        self.text(refused.as_deref());
        self.number(u64::from(*hidden));
        self.number(u64::from(stripped.unwrap_or(0)));
        self.text(*note);
        let text = git.as_ref().and_then(|member| member.text.as_deref());
        self.number(u64::from(git.is_some()));
        self.text(text);
    }
}
