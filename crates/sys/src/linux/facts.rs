//! Looking at the user, the system directories and the workspace. Reads; changes nothing.

use super::call::Errno;
use polder_facts::git::{GitDirFacts, GitFacts};
use polder_facts::{EnclosingFacts, Entry, OtherNames, Resolved, SystemPath, TreeFacts, UserFacts, WorktreeFacts};
use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// Directories of programs, in the order in which they are shown.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system"];
/// How many ids a root caller's range has.
pub const RANGE_IDS: u32 = 65_536;
/// Where the range begins: just above what systemd hands to containers, so that it meets nobody else's.
pub const RANGE_BASE: u32 = 1_879_048_192;
/// The most submodules that are looked at.
const SUBMODULES_MAX: usize = 256;
/// The most paths that a pattern may expand to.
pub const MATCHES_MAX: usize = 4096;
/// The most entries that are looked at for a pattern.
pub const WALK_MAX: usize = 500_000;

/// Who calls, by effective ids, and who the command is inside.
pub fn user(environment: &BTreeMap<OsString, OsString>, workspace: &Path) -> UserFacts {
    let (uid, gid) = super::wait::effective_ids();
    // Without capabilities, a root caller could not change what others own. So the command works as the owner of the
    // tree that it works on; every id below the size of the range has its place in it.
    let (inside_uid, inside_gid) = match fs::metadata(workspace) {
        Ok(metadata) if uid == 0 && metadata.uid() < RANGE_IDS && metadata.gid() < RANGE_IDS => {
            (metadata.uid(), metadata.gid())
        }
        _ => (uid, gid),
    };
    let from_file = passwd_entry(inside_uid);
    let from_env = environment.get(&OsString::from("HOME")).map(PathBuf::from).filter(|home| home.is_absolute());
    let home = from_env.or_else(|| from_file.as_ref().map(|entry| entry.1.clone())).unwrap_or_else(|| "/".into());
    let name = from_file.map_or_else(|| "user".to_owned(), |entry| entry.0);
    UserFacts { uid, gid, name, home, inside_uid, inside_gid }
}

/// The name and home of a uid in the password file.
pub fn passwd_entry(uid: u32) -> Option<(String, PathBuf)> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let matches = fields.get(2)?.parse::<u32>().ok()? == uid;
        // The name goes into files inside, where only a plain one means the same.
        let plain = fields[0].bytes().all(|b| b.is_ascii_alphanumeric() || b"._-$".contains(&b));
        (matches && plain).then(|| (fields[0].to_owned(), PathBuf::from(fields.get(5).copied().unwrap_or("/"))))
    })
}

/// The system directories that exist.
pub fn system() -> Vec<SystemPath> {
    let found = SYSTEM.iter().map(|path| SystemPath { path: path.into(), entry: entry(Path::new(path)) });
    found.filter(|system| matches!(system.entry, Entry::Directory | Entry::Symlink(_))).collect()
}

/// What stands at a path, its last component not followed.
pub fn entry(path: &Path) -> Entry {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Entry::Missing };
    let kind = metadata.file_type();
    if kind.is_dir() {
        Entry::Directory
    } else if kind.is_file() {
        Entry::File { links: metadata.nlink() }
    } else if kind.is_symlink() {
        fs::read_link(path).map_or(Entry::Other, Entry::Symlink)
    } else {
        Entry::Other
    }
}

/// A path without symbolic links, `.` and `..`, as the kernel sees it: a few calls, where walking it in steps takes one
/// for each component and memory of another allocator.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let text = CString::new(path.as_os_str().as_bytes())?;
    // Mostly it is one already, and being found without following a link shows it.
    if is_plain(path) {
        match super::mount::locate(&text) {
            Ok(_) => return Ok(path.to_owned()),
            // A link on the way would have been another error.
            Err(missing @ Errno(libc::ENOENT)) => return Err(missing.into()),
            Err(_) => {}
        }
    }
    // Not by the standard library: with musl it takes this very flag away.
    let place = File::from(super::call::open_at(&text, libc::O_PATH | libc::O_CLOEXEC, 0)?);
    let resolved = fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd()));
    // Without a process table, or for something that was removed meanwhile, the slow way says what is wrong.
    let is_it = |found: &PathBuf| -> io::Result<bool> {
        let (here, there) = (place.metadata()?, fs::symlink_metadata(found)?);
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    };
    match resolved {
        Ok(found) if is_it(&found).unwrap_or(false) => Ok(found),
        _ => fs::canonicalize(path),
    }
}

/// Whether a path begins at the root, goes down only, and is spelt in the one way in which such a path can be.
fn is_plain(path: &Path) -> bool {
    let text = path.as_os_str().as_bytes();
    let mut parts = text.split(|byte| *byte == b'/');
    text.len() > 1 && parts.next() == Some(b"") && parts.all(|part| !matches!(part, b"" | b"." | b".."))
}

/// Whether executing a file can give capabilities. What cannot be asked has none: the file system does not know them.
pub fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else { return false };
    // SAFETY: the path and the name are C strings; without room the call only says how long the value is.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

/// Memory and swap of the machine, as sysinfo(2) counts them; in a container the numbers are the machine's.
pub fn memory_bytes() -> Option<u64> {
    // SAFETY: all-zero is a valid `sysinfo`.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid for writing.
    let known = unsafe { libc::sysinfo(&raw mut info) } == 0;
    known.then(|| (info.totalram + info.totalswap).saturating_mul(u64::from(info.mem_unit)))
}

/// Looks at a workspace, at the paths named for it, and at all their parents within it. Root and start are resolved.
pub fn tree(root: &Path, start: &Path, literals: &[PathBuf], sources: &[PathBuf]) -> io::Result<TreeFacts> {
    let (root, start) = (root.to_owned(), start.to_owned());
    if !fs::metadata(&root)?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::ENOTDIR));
    }
    let mut entries = BTreeMap::new();
    for literal in literals {
        look(&root, literal, &mut entries);
    }
    let worktree = linked_worktree(&root);
    if let Some(worktree) = &worktree {
        for name in ["hooks", "config", "config.worktree", "commondir", "gitdir"] {
            for base in [&worktree.common_dir, &worktree.git_dir] {
                look(&worktree.common_dir, &base.join(name), &mut entries);
            }
        }
    }
    let submodules = submodules(&root)?;
    for path in &submodules {
        look(&root, path, &mut entries);
    }
    let sources = sources
        .iter()
        .filter_map(|source| {
            let path = resolve(source).ok()?;
            let entry = entry(&path);
            Some((source.clone(), Resolved { path, entry }))
        })
        .collect();
    Ok(TreeFacts {
        root,
        start,
        worktree,
        enclosing: None,
        entries,
        matches: BTreeMap::new(),
        submodules,
        git: GitFacts::default(),
        mounts: Vec::new(),
        captured: None,
        sources,
        other_names: OtherNames::none(),
    })
}

/// Adds every git dir that the command can write, and what stands at the paths that git obeys.
pub fn look_at_git_dirs(tree: &mut TreeFacts) -> io::Result<()> {
    let trees = tree.written_trees();
    tree.git = super::repository::survey(&trees)?;
    let GitFacts { dirs, pointers, reached, missing } = tree.git.clone();
    for path in dirs.into_iter().flat_map(GitDirFacts::into_held).chain(pointers).chain(reached).chain(missing) {
        let base = trees.iter().find(|base| path.starts_with(base));
        look(base.unwrap_or(&tree.root).clone().as_path(), &path, &mut tree.entries);
    }
    Ok(())
}

/// The parts of submodules that git on the host obeys: their hooks and config, and the files that point to them.
///
/// More than can be held is an error: a part that is left out would be a part that is not protected.
fn submodules(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let (mut open, mut looked_at) = (vec![root.join(".git/modules")], 0usize);
    while let Some(dir) = open.pop() {
        looked_at += 1;
        if found.len() >= 3 * SUBMODULES_MAX || looked_at > 16 * SUBMODULES_MAX {
            let text = format!("more than {SUBMODULES_MAX} submodules, or too many directories, below `.git/modules`");
            return Err(io::Error::other(text));
        }
        let config = dir.join("config");
        if entry(&config) != Entry::Missing && entry(&dir.join("HEAD")) != Entry::Missing {
            found.push(dir.join("hooks"));
            if let Some(pointer) = submodule_pointer(root, &dir, &config) {
                found.push(pointer);
            }
            found.push(config);
            // Submodules of submodules.
            open.push(dir.join("modules"));
            continue;
        }
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        open.extend(entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()));
    }
    found.retain(|path| entry(path) != Entry::Missing);
    found.sort();
    Ok(found)
}

/// The `.git` file of a submodule's tree, as its config names it.
fn submodule_pointer(root: &Path, dir: &Path, config: &Path) -> Option<PathBuf> {
    let text = read_small(config)?;
    let worktree = text.lines().find_map(|line| line.trim().strip_prefix("worktree = "))?;
    let tree = fs::canonicalize(dir.join(worktree)).ok()?;
    tree.starts_with(root).then(|| tree.join(".git"))
}

/// Records a path and every parent of it that is not a parent of the workspace.
fn look(root: &Path, path: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    let mut current = if path.starts_with(root) { root.to_owned() } else { PathBuf::from("/") };
    let rest = path.strip_prefix(&current).unwrap_or(path).to_owned();
    for component in rest.components() {
        let Component::Normal(name) = component else { continue };
        current.push(name);
        // Protected paths share their parents.
        let found = entries.entry(current.clone()).or_insert_with(|| entry(&current));
        let goes_on = *found == Entry::Directory;
        if !goes_on {
            break;
        }
    }
}

/// A linked git worktree, if the repository behind it says so too.
///
/// The `.git` file is text from a repository: without the check of the back link, a hostile one could name any
/// directory of the host and have it shown inside.
pub fn linked_worktree(root: &Path) -> Option<WorktreeFacts> {
    let pointer = root.join(".git");
    if !fs::symlink_metadata(&pointer).ok()?.is_file() {
        return None;
    }
    let git_dir = PathBuf::from(read_line(&pointer)?.strip_prefix("gitdir:")?.trim());
    let git_dir = fs::canonicalize(root.join(git_dir)).ok()?;
    let back = PathBuf::from(read_line(&git_dir.join("gitdir"))?);
    if fs::canonicalize(git_dir.join(back)).ok()? != pointer {
        return None;
    }
    let common_dir = fs::canonicalize(git_dir.join(read_line(&git_dir.join("commondir"))?)).ok()?;
    // git makes them nowhere else, and nothing but a repository has this shape.
    let expected = git_dir.parent()?.file_name()? == "worktrees" && git_dir.parent()?.parent()? == common_dir;
    (expected && common_dir.join("objects").is_dir()).then_some(WorktreeFacts { git_dir, common_dir })
}

/// The repository whose tree a directory is a part of, as git on the host finds it: upwards to the first
/// `.git`, on one file system (git's setup.c), and only where all of it has the directory's owner.
///
/// A `.git` file is text from a repository. It counts where the git dir that it names says the same.
pub fn enclosing_repository(root: &Path) -> Option<EnclosingFacts> {
    let own = fs::symlink_metadata(root).ok()?;
    let is_alike = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|found| (found.uid(), found.dev()) == (own.uid(), own.dev()))
    };
    let has_git = |path: &Path| path.join(".git").symlink_metadata().is_ok();
    let found = if has_git(root) {
        let (git_dir, tree) = submodule_git_dir(root)?;
        EnclosingFacts { tree, top: root.to_owned(), git_dir }
    } else {
        let top = root.ancestors().skip(1).take_while(|path| is_alike(path)).find(|path| has_git(path))?;
        let git = top.join(".git");
        let kind = fs::symlink_metadata(&git).ok()?.file_type();
        let git_dir = if kind.is_dir() {
            Some(git).filter(|git| super::repository::is_git_dir(git))
        } else {
            let linked = linked_worktree(top).map(|worktree| worktree.common_dir);
            linked.or_else(|| submodule_git_dir(top).map(|(git_dir, _)| git_dir))
        }?;
        EnclosingFacts { tree: top.to_owned(), top: top.to_owned(), git_dir }
    };
    // A directory in the git dir itself, such as that of the hooks, is no part of the tree.
    let is_part = !root.starts_with(&found.git_dir) && !super::repository::is_git_dir(root);
    (is_part && is_alike(&found.tree) && is_alike(&found.git_dir)).then_some(found)
}

/// The git dir of a submodule, and the tree of the repository that it lies in.
fn submodule_git_dir(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let pointer = top.join(".git");
    if !fs::symlink_metadata(&pointer).ok()?.is_file() {
        return None;
    }
    let git_dir = PathBuf::from(read_line(&pointer)?.strip_prefix("gitdir:")?.trim());
    let git_dir = fs::canonicalize(top.join(git_dir)).ok()?;
    // git makes them nowhere else, and its configuration names the tree.
    let holds = |above: &&Path| git_dir.starts_with(above.join(".git/modules"));
    let tree = top.ancestors().skip(1).find(holds)?;
    let own = super::repository::is_git_dir(&git_dir) && super::repository::tree_of(&git_dir).as_deref() == Some(top);
    own.then(|| (git_dir, tree.to_owned()))
}

/// The first line of a small file.
fn read_line(path: &Path) -> Option<String> {
    read_small(path)?.lines().next().map(str::to_owned)
}

/// The text of a small regular file. The path is the command's to choose: a pipe must not make us wait, and a huge file
/// must not fill our memory.
fn read_small(path: &Path) -> Option<String> {
    const FILE_BYTES_MAX: u64 = 64 * 1024;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// A tree that is too large to search for a pattern.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// Too many entries.
    #[error("more than {WALK_MAX} entries below `{0}`")]
    TooLarge(PathBuf),
    /// Too many matches.
    #[error("a pattern matches more than {MATCHES_MAX} paths below `{0}`")]
    TooMany(PathBuf),
    /// A directory could not be listed to its end.
    #[error("cannot list `{0}`")]
    Unlisted(PathBuf, #[source] io::Error),
}

/// Every path below a root that matches, in a fixed order; symbolic links are not followed, matches are not entered.
pub fn matching(root: &Path, matches: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, WalkError> {
    walk(root, matches, &|_| Ok(()))
}

/// The same after a run, whose command may have closed directories: those of the caller's own are opened.
pub fn matching_after_run(root: &Path, matches: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, WalkError> {
    walk(root, matches, &super::repository::open_for_owner)
}

fn walk(
    root: &Path,
    matches: &dyn Fn(&Path) -> bool,
    opening: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<Vec<PathBuf>, WalkError> {
    let (mut found, mut seen, mut open) = (Vec::new(), 0usize, vec![root.to_owned()]);
    while let Some(dir) = open.pop() {
        let listed = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                opening(&dir).and_then(|()| fs::read_dir(&dir))
            }
            listed => listed,
        };
        let entries = match listed {
            Ok(entries) => entries,
            // What the caller may not list, the command may not either; what is gone holds nothing.
            Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound) => continue,
            Err(error) => return Err(WalkError::Unlisted(dir, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| WalkError::Unlisted(dir.clone(), error))?;
            seen += 1;
            if seen > WALK_MAX {
                return Err(WalkError::TooLarge(root.to_owned()));
            }
            let path = entry.path();
            if matches(path.strip_prefix(root).unwrap_or(&path)) {
                found.push(path);
                if found.len() > MATCHES_MAX {
                    return Err(WalkError::TooMany(root.to_owned()));
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
