//! What an apply that is taken back did to the paths of the apply before it: their content is the same, and yet they have
//! other stamps, because keeping an old file gives it a second name for a while. Without a word about that, a revert of the
//! apply before would take them for changed by somebody else.

use super::ground::Ground;
use super::left;
use crate::journal::{self, Journal};
use crate::known::{Known, Stamp};
use crate::relative::Relative;
use crate::steps::Steps;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Brings the record of the apply before up to date with paths that were as it had left them, and are so again.
pub(super) fn renew(record: &Path, ground: &mut Ground, steps: &Steps, refused: &[Relative]) -> io::Result<()> {
    // One that cannot be read is none that could be reverted, and no reason to be stuck half way back.
    let Ok(Some(mut earlier)) = journal::read(record) else { return Ok(()) };
    let now: Known = left::taken_back(ground, steps)?.into_iter().collect();
    let ours: BTreeMap<&Relative, Stamp> = steps
        .steps
        .iter()
        .filter(|step| !refused.contains(&step.path))
        .filter_map(|step| Some((&step.path, step.before.as_ref()?.stamp)))
        .collect();
    let mut renewed = false;
    for (index, (path, left)) in earlier.left.iter_mut().enumerate() {
        let (Some(before), Some(Some(now))) = (ours.get(path), now.get(path)) else { continue };
        if *left != Some(*before) || before == now {
            continue;
        }
        // What was brought back as a copy is another file.
        if let Some(Some(ready)) =
            earlier.ready.get_mut(index).filter(|ready| ready.is_some_and(|it| it.inode == before.inode))
        {
            *ready = *now;
        }
        *left = Some(*now);
        renewed = true;
    }
    if renewed { Journal::reopen(record)?.renewed(&earlier) } else { Ok(()) }
}
