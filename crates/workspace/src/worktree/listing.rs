//! What git says about the files of a tree, understood. Pure. The index is the repository's own text: a path in it may try
//! to lead anywhere.

use crate::relative::Relative;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path that the index has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) path: Relative,
    pub(crate) kind: ListedKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedKind {
    /// A file or a link.
    File,
    /// The place of a submodule.
    Submodule,
}

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Two sides of a merge wait for a decision.
    Unmerged,
    /// A path that no honest index has.
    Path(String),
    /// Not what git prints.
    Form,
}

/// The answer of `ls-files --stage -z`.
pub(crate) fn tracked(answer: &[u8]) -> Result<Vec<Listed>, Wrong> {
    let mut listed = Vec::new();
    for record in records(answer) {
        let tab = record.iter().position(|byte| *byte == b'\t').ok_or(Wrong::Form)?;
        let (head, path) = (&record[..tab], &record[tab + 1..]);
        let mut words = head.split(|byte| *byte == b' ');
        let (Some(mode), Some(_), Some(stage), None) = (words.next(), words.next(), words.next(), words.next()) else {
            return Err(Wrong::Form);
        };
        if stage != b"0" {
            return Err(Wrong::Unmerged);
        }
        let kind = if mode == b"160000" { ListedKind::Submodule } else { ListedKind::File };
        listed.push(Listed { path: relative(path)?, kind });
    }
    Ok(listed)
}

/// The answer of `ls-files --others -z`. A directory is a repository of somebody else's, which stays where it is.
pub(crate) fn untracked(answer: &[u8]) -> Result<Vec<Listed>, Wrong> {
    let files = records(answer).filter(|path| !path.ends_with(b"/"));
    files.map(|path| Ok(Listed { path: relative(path)?, kind: ListedKind::File })).collect()
}

fn records(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

/// A path below the root that does not lead into a repository: what is there belongs to nobody's tree.
fn relative(bytes: &[u8]) -> Result<Relative, Wrong> {
    let wrong = || Wrong::Path(String::from_utf8_lossy(bytes).into_owned());
    let path = Relative::new(Path::new(OsStr::from_bytes(bytes))).map_err(|_| wrong())?;
    let git = path.components().any(|part| part.eq_ignore_ascii_case(b".git"));
    if git { Err(wrong()) } else { Ok(path) }
}

#[cfg(test)]
mod tests {
    use super::{ListedKind, Wrong, tracked, untracked};

    const ID: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn files_links_and_submodules_are_told_apart() {
        let answer = format!("100644 {ID} 0\ta b\n\0120000 {ID} 0\tlink\0160000 {ID} 0\tvendor/sub\0");
        let listed = tracked(answer.as_bytes()).unwrap();
        let kinds: Vec<_> = listed.iter().map(|entry| (entry.path.as_path().to_str().unwrap(), entry.kind)).collect();
        let expected = [("a b\n", ListedKind::File), ("link", ListedKind::File), ("vendor/sub", ListedKind::Submodule)];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_path_that_leads_elsewhere_ends_it() {
        for path in ["../x", "/etc/passwd", ".git/hooks/pre-commit", "sub/.GIT/config", "a//b"] {
            let answer = format!("100644 {ID} 0\t{path}\0");
            assert_eq!(tracked(answer.as_bytes()), Err(Wrong::Path(path.to_owned())));
            assert_eq!(untracked(format!("{path}\0").as_bytes()), Err(Wrong::Path(path.to_owned())));
        }
        assert_eq!(tracked(b"rubbish\0"), Err(Wrong::Form));
    }

    #[test]
    fn what_waits_for_a_decision_is_not_copied() {
        let answer = format!("100644 {ID} 1\tx\0100644 {ID} 2\tx\0");
        assert_eq!(tracked(answer.as_bytes()), Err(Wrong::Unmerged));
    }

    #[test]
    fn a_nested_repository_stays_where_it_is() {
        assert_eq!(untracked(b"new\0nested/\0").unwrap().len(), 1);
    }
}
