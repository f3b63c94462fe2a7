//! Links that lead out of the tree: whoever follows one later writes or reads where the command could not.

use crate::relative::Relative;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const OUT: &str = "it is a link that leads, or could lead, out of the tree";

/// Why a new link is held back, if it is. Only its text counts: what it meets on its way can be another link, so a step up
/// after a step down can lead anywhere.
pub(crate) fn leads_out(path: &Relative, target: &OsStr) -> Option<&'static str> {
    let target = target.as_bytes();
    if target.starts_with(b"/") {
        return Some(OUT);
    }
    let mut above = path.components().count() - 1;
    let mut down = false;
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if down || above == 0 => return Some(OUT),
            b".." => above -= 1,
            _ => down = true,
        }
    }
    None
}
