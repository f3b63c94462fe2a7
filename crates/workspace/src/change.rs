//! What a command changed, as plain data: what is at a path in the tree, what the layer puts there, and what to call it.

use crate::relative::Relative;
use polder_sys::tree::Stat;
use std::ffi::OsString;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Which kind, and what is told apart by it.
    pub kind: NodeKind,
    /// Everything that the kernel knows about it.
    pub stat: Stat,
}

/// Which kind of thing is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, and where it points.
    Symlink(OsString),
    /// Something that no tree needs: a device, a pipe, a socket.
    Special(&'static str),
}

impl NodeKind {
    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink(_) => "symlink",
            Self::Special(name) => name,
        }
    }
}

/// What happened to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content is another one.
    Modified,
    /// Only its permission bits are others.
    Mode,
    /// It was a file and is a directory, or the like.
    Type,
    /// It is a symbolic link and points elsewhere.
    Target,
    /// It has the content that another path had, which is gone.
    Renamed {
        /// That other path.
        from: Relative,
    },
}

impl What {
    /// The word for it, as in `--json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Mode => "mode",
            Self::Type => "type",
            Self::Target => "target",
            Self::Renamed { .. } => "renamed",
        }
    }
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub path: Relative,
    /// What happened.
    pub what: What,
    /// What the tree has; for a renamed path, what the other path has.
    pub before: Option<Node>,
    /// What the layer has.
    pub after: Option<Node>,
    /// The layer's file was copied from one of the tree: that the tree has none any more is news.
    pub copied_from_tree: Option<Vec<u8>>,
}

impl Change {
    /// All paths that it is about.
    pub fn paths(&self) -> impl Iterator<Item = &Relative> {
        let from = match &self.what {
            What::Renamed { from } => Some(from),
            What::Added | What::Deleted | What::Modified | What::Mode | What::Type | What::Target => None,
        };
        std::iter::once(&self.path).chain(from)
    }

    /// Old and new permission bits, where both sides have some and they differ.
    pub fn modes(&self) -> Option<(u32, u32)> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let links = [before, after].iter().any(|node| matches!(node.kind, NodeKind::Symlink(_)));
        let (old, new) = (before.stat.mode, after.stat.mode);
        (!links && before.kind.name() == after.kind.name() && old != new).then_some((old, new))
    }
}

/// A path of the layer that is not what an overlay file system makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forged {
    /// Where.
    pub path: Relative,
    /// What is wrong with it.
    pub why: String,
}

/// Everything that a layer changes, in the order of the paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The changes.
    pub changes: Vec<Change>,
    /// What was not understood, and is never applied.
    pub forged: Vec<Forged>,
    /// The directories that both sides have, as far as they were looked at.
    pub(crate) shared: Vec<Shared>,
}

/// A directory that layer and tree both have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) path: Relative,
    /// The tree's.
    pub(crate) stat: Stat,
    /// Which directory of the tree the layer's was made over, as far as the kernel noted it.
    pub(crate) origin: Option<Vec<u8>>,
    /// Nothing that the tree has in it shows through.
    pub(crate) opaque: bool,
}
