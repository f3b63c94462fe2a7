//! Names by which a careless file system or tool finds a repository. What lies in a git dir is judged by its
//! place and by the tables of `polder_facts::git`.

/// Why a path is held whatever else is known about it, if it is. One repository can lie in another, so every
/// component is looked at.
pub(super) fn git(parts: &[&str]) -> Option<&'static str> {
    if parts.contains(&".git") {
        return Some("it lies in what git, or a file system that folds names, takes for a repository");
    }
    // A directory with this is a repository for git, without being called so.
    let is_head = parts.last() == Some(&"head");
    is_head.then_some("it makes its directory a bare repository, whose configuration git follows")
}
