//! The answer inside a sandbox, from what the run was told about itself.

use super::target::{Target, is_loopback};
use super::{Answer, Answered};
use crate::exit::Failure;
use polder::{ALLOWANCE, Allowance, Grant, Says, Wish};
use std::path::Path;

pub(super) fn answers(text: &[u8], word: &str) -> Result<Answered, Failure> {
    let value = serde_json::from_slice(text).map_err(|error| Failure::new(format!("`{ALLOWANCE}`: {error}")))?;
    let allowance = Allowance::from_json(&value);
    let home = std::env::var_os("HOME");
    let is_file = |path: &Path| path.symlink_metadata().is_ok();
    let target = Target::of(word, Path::new(&allowance.workdir), home.as_ref().map(Path::new), &is_file)?;
    let answers = match &target {
        Target::Path(path) => {
            vec![("read", of_path(&allowance, path, Wish::Read)), ("write", of_path(&allowance, path, Wish::Write))]
        }
        Target::Peer { host, .. } => vec![("connect", of_network(&allowance.network, host))],
    };
    Ok((target, answers))
}

fn of_path(allowance: &Allowance, path: &Path, wish: Wish) -> Answer {
    let showing = match wish {
        Wish::Read => Grant::FsRead(path.to_owned()),
        Wish::Write => Grant::FsWrite(path.to_owned()),
    };
    let found = Some(path.symlink_metadata().is_ok());
    match allowance.says(path, wish) {
        Says::Yes => Answer { found, ..Answer::yes() },
        Says::YesPrivate => {
            Answer { found, ..Answer::yes() }.note("a directory of the sandbox's own; nothing of the host is in it")
        }
        Says::Kernel => kernel(),
        Says::Made => made(wish),
        Says::NotShown => Answer { grant: Some(showing.to_string()), ..Answer::no("the path is not shown inside") },
        Says::ReadOnly => Answer::no("it can be read and not written"),
        Says::Protected(protected) => Answer { grant: protected.grant, ..Answer::no("it is protected") },
        Says::Hidden => Answer::no("it is hidden").note("no grant lifts it"),
    }
}

/// A directory that is there because of what is shown below it.
pub(super) fn made(wish: Wish) -> Answer {
    match wish {
        Wish::Read => Answer::yes().note("a directory of the sandbox's own; it holds what is shown and nothing else"),
        Wish::Write => {
            Answer::no("the sandbox makes it for what is shown below").note("no grant allows it; show a place below it")
        }
    }
}

/// Files of the kernel are there or not, and guarded by the kernel.
pub(super) fn kernel() -> Answer {
    Answer { allowed: None, ..Answer::yes() }.note("the sandbox's own part of the kernel; nothing of the host is in it")
}

/// What a kind of network says to a peer.
pub(super) fn of_network(mode: &str, host: &str) -> Answer {
    let rule = format!("network: {mode}");
    match mode {
        "full" => Answer::yes(),
        _ if is_loopback(host) => Answer::yes().note("the sandbox's own loopback; nothing of the host listens there"),
        "restricted" => Answer { allowed: None, rule: Some(rule), ..Answer::yes() }
            .note("the lists of the policy decide about the name when it is used"),
        _ => Answer { grant: Some(Grant::NetFull.to_string()), ..Answer::no(rule) }
            .note("risk: it opens the host's whole network"),
    }
}
