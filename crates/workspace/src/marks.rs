//! The marks that an overlay file system leaves on what it writes, as extended attributes of the layer.
//!
//! A command can set attributes of its own, but not these: the kernel refuses or escapes the prefix. One that does not
//! belong here means that somebody else wrote to the layer, and the path is refused.

use crate::read::opened_for_a_moment;
use polder_sys::tree;
use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

const OWN: &[u8] = b"user.overlay.";
const ESCAPED: &[u8] = b"user.overlay.overlay.";
const PRIVILEGED: &[u8] = b"trusted.overlay.";

/// What the marks of an entry say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// What the tree has below this directory does not show through.
    pub(crate) opaque: bool,
    /// Which file of the tree this one was copied from, as the kernel writes it.
    pub(crate) origin: Option<Vec<u8>>,
    /// Why the entry must not be believed.
    pub(crate) forged: Option<String>,
}

pub(crate) fn marks(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<Marks> {
    let mut marks = Marks::default();
    for attribute in tree::attributes(directory, name)? {
        let bytes = attribute.as_bytes();
        if bytes.starts_with(PRIVILEGED) {
            marks.forged = Some(format!("it carries `{}`, which no layer of ours has", attribute.display()));
        }
        let Some(mark) = bytes.strip_prefix(OWN).filter(|_| !bytes.starts_with(ESCAPED)) else { continue };
        match mark {
            b"opaque" => match read_own(directory, name, &attribute)?.as_deref() {
                Some(b"y") => marks.opaque = true,
                // `x` announces whiteouts in the form of attributes, which only prepared lower layers have.
                _ => marks.forged = Some("its `user.overlay.opaque` is none that a command can cause".to_owned()),
            },
            b"origin" => marks.origin = read_own(directory, name, &attribute)?,
            // Notes of the kernel to itself.
            b"impure" | b"nlink" | b"uuid" | b"protattr" | b"upper" => {}
            _ => marks.forged = Some(format!("it carries `{}`, which is switched off here", attribute.display())),
        }
    }
    Ok(marks)
}

/// A mark of an entry that the command may have closed to everybody. Whoever may not read a file may not read this either.
fn read_own(directory: BorrowedFd<'_>, name: &OsStr, attribute: &OsStr) -> io::Result<Option<Vec<u8>>> {
    match tree::attribute(directory, name, attribute) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            opened_for_a_moment(directory, name, 0o400, || tree::attribute(directory, name, attribute))
        }
        read => read,
    }
}
