//! Whether a container is what was asked for, by what our program finds in it. Pure.
//!
//! The daemon looks paths up by name, and a name can mean something else by then; the runtime is another's program. So the
//! command starts only when its kernel is not the host's, it has no right, every mount is where it should be, and what is
//! shown is the very file that the caller holds.

use super::lower::{From, Mounted};
use polder_sys::inmate::{FileSeen, Seen};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// What is expected.
pub(super) struct Expected<'a> {
    /// The host's kernel, as it calls itself: release and version.
    pub(super) kernel: (&'a str, &'a str),
    pub(super) runtime: &'a str,
    pub(super) ids: (u32, u32),
    pub(super) mounts: &'a [Mounted],
    /// What the caller holds, by its place inside, in the order in which was asked.
    pub(super) held: &'a [(&'a Path, FileSeen)],
}

/// Why a container is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Doubt {
    #[error("runtime `{0}` has no kernel of its own: what runs there sees the host's")]
    SameKernel(String),
    #[error("the container's process has `{0}`, which it was not given")]
    Right(String),
    #[error("the container has the network link `{0}`")]
    Link(String),
    #[error("`{}` is not mounted in the container as it was asked for", .0.display())]
    Mount(PathBuf),
    /// Perhaps it was changed between two looks.
    #[error("`{}` in the container is not what this policy shows: its path became another one's, or it changes all the time", .0.display())]
    File(PathBuf),
}

pub(super) fn judge(seen: &Seen, expected: &Expected<'_>) -> Result<(), Doubt> {
    if (seen.release.as_str(), seen.version.as_str()) == expected.kernel {
        return Err(Doubt::SameKernel(expected.runtime.to_owned()));
    }
    rights(&seen.status, expected.ids)?;
    let links = seen.links.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    if let Some(link) = links.into_iter().find(|name| *name != "lo") {
        return Err(Doubt::Link(link.to_owned()));
    }
    let table = table(&seen.mounts);
    let root = Mounted { at: "/".into(), read_only: true, from: From::System("/".into()) };
    for mount in expected.mounts.iter().chain([&root]) {
        // What was mounted last at a place is what is there.
        let there = table.iter().rev().find(|there| there.at == mount.at);
        let is_memory = |there: &There| there.kind == "tmpfs";
        let wants_memory = matches!(mount.from, From::Memory { .. });
        if there.is_none_or(|there| there.read_only != mount.read_only || is_memory(there) != wants_memory) {
            return Err(Doubt::Mount(mount.at.clone()));
        }
    }
    let mut files = seen.files.iter();
    for (at, held) in expected.held {
        if files.next().copied().flatten() != Some(*held) {
            return Err(Doubt::File(at.to_path_buf()));
        }
    }
    Ok(())
}

/// No capability in any set, and the ids that were asked for.
fn rights(status: &str, (uid, gid): (u32, u32)) -> Result<(), Doubt> {
    let lines = || status.lines().filter_map(|line| line.split_once(':'));
    let mut sets = lines().filter(|(name, _)| name.starts_with("Cap"));
    if let Some((name, value)) = sets.find(|(_, value)| value.trim().bytes().any(|digit| digit != b'0')) {
        return Err(Doubt::Right(format!("{name}: {}", value.trim())));
    }
    let effective = lines().any(|(name, _)| name == "CapEff");
    if !effective {
        return Err(Doubt::Right("a status without capabilities".to_owned()));
    }
    for (wanted, id) in [("Uid", uid), ("Gid", gid)] {
        let ids = lines().find(|(name, _)| *name == wanted).map(|(_, ids)| ids).unwrap_or_default();
        let mut ids = ids.split_whitespace().peekable();
        if ids.peek().is_none() || ids.any(|text| text.parse() != Ok(id)) {
            return Err(Doubt::Right(format!("another {wanted}")));
        }
    }
    Ok(())
}

struct There {
    at: PathBuf,
    read_only: bool,
    kind: String,
}

/// The table of mounts: see proc_pid_mountinfo(5).
fn table(text: &str) -> Vec<There> {
    let line = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(4);
        let (at, options) = (before.next()?, before.next()?);
        let read_only = options.split(',').any(|option| option == "ro");
        let kind = after.split(' ').next()?.to_owned();
        Some(There { at: unescaped(at), read_only, kind })
    };
    text.lines().filter_map(line).collect()
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
