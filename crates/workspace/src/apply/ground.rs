//! What an apply works on: the layer, the tree and the place for what is kept, all by descriptor.

use super::undo_place;
use crate::read::is_absent;
use crate::remove::remove_tree;
use crate::sides::Sides;
use crate::steps::{Act, BeforeKind, Steps};
use crate::workspace::Workspace;
use polder_sys::tree::{self, Stat};
use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Bytes that must stay free beside what an apply writes.
const SPARE_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Ground {
    pub(super) sides: Sides,
    /// Old contents, by the number of the step; and new ones that were made of hunks.
    pub(super) undo: OwnedFd,
    /// The directories that were opened last: steps come in the order of their paths.
    in_tree: Option<(PathBuf, Rc<OwnedFd>)>,
    in_layer: Option<(PathBuf, Rc<OwnedFd>)>,
    pub(super) device: u64,
    pub(super) undo_device: u64,
}

/// How long an apply waits for another one of the same tree.
const TURN_TRIES: u32 = 500;
const BETWEEN_TURN_TRIES: Duration = Duration::from_millis(10);

/// Waits until no other apply is at work on the tree, so that of two one wins: both would find what the other has half done,
/// and both would take back what they did. The turn ends with the descriptor. It is a courtesy and no lock: whoever holds
/// it for longer, which every process that can read the tree may do, keeps nobody from applying, and nothing is
/// overwritten unseen without it.
fn wait_for_turn(tree: BorrowedFd<'_>) {
    for _ in 0..TURN_TRIES {
        match tree::try_lock(tree) {
            Ok(false) => std::thread::sleep(BETWEEN_TURN_TRIES),
            // Ours now, or a file system without locks.
            Ok(true) | Err(_) => return,
        }
    }
}

impl Ground {
    pub(super) fn open(workspace: &Workspace, sides: Sides, token: &str) -> io::Result<Self> {
        wait_for_turn(sides.tree.as_fd());
        let undo = undo_place(&workspace.place, token);
        DirBuilder::new().recursive(true).mode(0o700).create(&undo)?;
        let undo = tree::open_root(&undo)?;
        let device = tree::stat_of(sides.tree.as_fd())?.device;
        let undo_device = tree::stat_of(undo.as_fd())?.device;
        Ok(Self { sides, undo, in_tree: None, in_layer: None, device, undo_device })
    }

    /// The directory of the tree in which a path lies; through no link, and on the same file system.
    pub(super) fn tree(&mut self, parent: &Path) -> io::Result<Rc<OwnedFd>> {
        open_again(&mut self.in_tree, self.sides.tree.as_fd(), parent)
    }

    /// The directory of the layer in which a path lies.
    pub(super) fn layer(&mut self, parent: &Path) -> io::Result<Rc<OwnedFd>> {
        open_again(&mut self.in_layer, self.sides.layer.as_fd(), parent)
    }

    /// Directories were moved: what was opened by its path may be elsewhere.
    pub(super) fn forget_directories(&mut self) {
        self.in_tree = None;
    }

    /// What the tree has at a path, if anything.
    pub(super) fn stat(&mut self, path: &Path) -> io::Result<Option<Stat>> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let found = self.tree(parent).and_then(|directory| tree::stat((*directory).as_fd(), name));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if is_unreachable(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Refuses before anything is written what the disk cannot hold.
    pub(super) fn check_space(&self, steps: &Steps) -> io::Result<()> {
        let (mut new, mut old) = (0_u64, 0_u64);
        for step in &steps.steps {
            if let Act::Put { allocated, .. } = step.act {
                new = new.saturating_add(allocated);
            }
            if let Some(BeforeKind::File { allocated }) = step.before.as_ref().map(|before| &before.kind)
                && !matches!(step.act, Act::Mode { .. })
                && self.undo_device != self.device
            {
                old = old.saturating_add(*allocated);
            }
        }
        for (what, needed, place) in [("tree", new, &self.sides.tree), ("workspace's store", old, &self.undo)] {
            let free = tree::free_bytes(place.as_fd())?;
            if needed > 0 && needed.saturating_add(SPARE_BYTES) > free {
                let why = format!("the {what} has {free} bytes free, and {needed} are needed");
                return Err(io::Error::new(io::ErrorKind::StorageFull, why));
            }
        }
        Ok(())
    }

    pub(super) fn write_made(&self, index: usize, content: &[u8]) -> io::Result<()> {
        let mut file = tree::create_file(self.undo.as_fd(), OsStr::new(&made_name(index)), 0o600)?;
        file.write_all(content)?;
        file.sync_data()
    }

    /// Everything that was written so far is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        tree::sync_file_system(self.sides.tree.as_fd())?;
        if self.undo_device != self.device {
            tree::sync_file_system(self.undo.as_fd())?;
        }
        Ok(())
    }

    /// Where a symbolic link of the tree points.
    pub(super) fn target(&mut self, path: &Path) -> io::Result<OsString> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        tree::read_symlink((*self.tree(parent)?).as_fd(), name)
    }
}

/// Whether no path of this form leads anywhere: a link where a directory was, or longer than the kernel takes.
pub(super) fn is_unreachable(error: &io::Error) -> bool {
    const ENAMETOOLONG: i32 = 36;
    const ELOOP: i32 = 40;
    is_absent(error) || matches!(error.raw_os_error(), Some(ELOOP | ENAMETOOLONG))
}

pub(super) fn made_name(index: usize) -> String {
    format!("made-{index}")
}

fn open_again(
    last: &mut Option<(PathBuf, Rc<OwnedFd>)>,
    root: BorrowedFd<'_>,
    parent: &Path,
) -> io::Result<Rc<OwnedFd>> {
    if let Some((path, directory)) = last
        && path == parent
    {
        return Ok(directory.clone());
    }
    let directory = Rc::new(tree::open_below(root, parent)?);
    *last = Some((parent.to_owned(), directory.clone()));
    Ok(directory)
}

/// Drops what one apply kept.
pub(super) fn forget(place: &Path, token: &str) -> io::Result<()> {
    match remove_tree(&undo_place(place, token)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
