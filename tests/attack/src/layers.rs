//! Which attack goes red when a layer of the sandbox is switched off: the table of `cargo xtask mutate`.
//!
//! A layer that only holds where another one fails is tested with that one off: the attack holds while only the first is
//! off, and must not when both are. A layer without a row is a failure, so that a new one cannot be forgotten.

use crate::attacks::the_filter_refuses_each_call_itself::{REFUSED_CALLS, RefusedCall};
use crate::run::{Outcome, USUAL, in_own_process};
use polder_sys::mutate::{LAYERS, VARIABLE};
use polder_sys::syscalls::{Observe, rules};
use std::collections::BTreeSet;
use std::path::Path;

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerRow {
    /// The layer's name in the table.
    pub layer: String,
    /// The same for the switch.
    switch: String,
    /// Layers that hold the same, and are off in this row.
    pub first: &'static [&'static str],
    /// The attacks that must not hold without it, by number; none where there is no such attack.
    pub attacks: &'static [&'static str],
}

/// What came of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerVerdict {
    /// An attack went red: which, and how.
    Red(String),
    /// An attack is red while only the first layers are off, so the row shows nothing: which, and how.
    NotSecond(String),
    /// No attack noticed.
    Unnoticed(String),
    /// No attack is named that could be made here.
    NotApplicable(String),
}

/// What is off in every row about the rights of Landlock: the mounts, which refuse the same.
const READ_ONLY: &[&str] = &["bind.readonly"];

/// Layer, first layers, attacks.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    ("ns.user", &[], &["T202"]),
    ("ns.mount", &[], &["T202"]),
    ("ns.pid", &[], &["T013c", "T202"]),
    ("ns.ipc", &[], &["T050a", "T202"]),
    ("ns.uts", &[], &["T202"]),
    ("ns.net", &[], &["T054a", "T202"]),
    ("ns.cgroup", &[], &["T202"]),
    ("identity.range", &[], &["T206a"]),
    ("identity.groups", &[], &["T206b"]),
    ("mount.private", &[], &["T203b"]),
    ("mount.nosuid", &[], &["T203a"]),
    ("mount.nodev", &[], &["T203a", "T207a"]),
    ("mount.noexec", &[], &["T203a"]),
    ("bind.readonly", &["landlock"], &["T204", "T015d"]),
    ("scratch.size", &[], &["T040e"]),
    ("scratch.inodes", &[], &["T040f"]),
    ("root.seal", &["landlock"], &["T203d"]),
    ("root.old", &["landlock"], &["T203c"]),
    ("proc.hidepid", &[], &["T034b"]),
    ("step.protect", &[], &["T007b"]),
    ("step.pin", &[], &["T007a", "T007d"]),
    ("step.hide", &[], &["T010a", "T012b"]),
    ("step.withdraw", &[], &["T213"]),
    ("resolve.host", &[], &["T021a", "T021c"]),
    ("resolve.below", &[], &[]),
    ("userns.bound", &["filter.default", "filter.56", "filter.272"], &["T036a"]),
    ("inotify.bound", &[], &["T205a"]),
    ("rlimit.core", &[], &["T205b"]),
    ("rlimit.nproc", &[], &["T040b"]),
    ("rlimit.nofile", &[], &["T040g"]),
    ("rlimit.data", &[], &["T211"]),
    ("cgroup.join", &[], &["T040b", "T040d"]),
    ("caps.bounding", &[], &["T038a"]),
    ("caps.sets", &["caps.bounding", "securebits"], &["T210"]),
    ("securebits", &["caps.bounding", "caps.sets"], &["T210"]),
    ("no_new_privs", &[], &["T038a"]),
    ("shim.dumpable", &[], &["T034b"]),
    ("shim.session", &["command.session"], &["T034d"]),
    ("shim.signals", &[], &["T035b"]),
    ("shim.pdeathsig", &[], &[]),
    ("shim.lifeline", &[], &["T077a"]),
    ("shim.kill", &[], &[]),
    ("command.session", &["shim.session"], &["T034d"]),
    ("descriptors.shim", &["descriptors.command"], &["T003b"]),
    ("descriptors.command", &["descriptors.shim"], &["T003b"]),
    ("landlock", READ_ONLY, &["T204"]),
    ("landlock.execute", &["landlock.read_file"], &["T208"]),
    ("landlock.write_file", READ_ONLY, &["T204"]),
    ("landlock.read_file", &[], &["T208b"]),
    ("landlock.read_dir", &[], &["T208"]),
    ("landlock.remove_dir", READ_ONLY, &["T204"]),
    ("landlock.remove_file", READ_ONLY, &["T204"]),
    ("landlock.make_char", READ_ONLY, &["T204"]),
    ("landlock.make_dir", READ_ONLY, &["T204"]),
    ("landlock.make_reg", READ_ONLY, &["T204"]),
    ("landlock.make_sock", READ_ONLY, &["T204"]),
    ("landlock.make_fifo", READ_ONLY, &["T204"]),
    ("landlock.make_block", READ_ONLY, &["T204"]),
    ("landlock.make_sym", READ_ONLY, &["T204"]),
    ("landlock.truncate", READ_ONLY, &["T204"]),
    ("landlock.ioctl_dev", &["mount.nodev"], &["T207b"]),
    ("landlock.abstract", &[], &["T050d"]),
    ("landlock.signal", &["ns.pid"], &["T209"]),
    ("filter", &[], &["T201a", "T201b"]),
    ("filter.arch", &[], &["T045a"]),
    ("filter.default", &[], &["T201c", "T045b"]),
    ("watch.names", &[], &["T018a"]),
    ("watch.caller", &[], &["T018a"]),
    ("sweep.caller", &["watch.caller"], &["T019a"]),
    ("sweep.shim", &["watch.caller", "sweep.caller"], &["T212"]),
];

/// Layers without which the sandbox does not start: a part of what the refusal says.
const REFUSING: &[(&str, &str)] = &[
    ("ns.user", "write uid_map"),
    ("ns.user", "clone3: EPERM"),
    ("ns.mount", "the sandbox vanished"),
    ("ns.mount", "mount propagation"),
    ("ns.uts", "host name"),
    ("no_new_privs", "Landlock"),
    ("landlock.write_file", "a restricted child was not restricted"),
];

/// The attacks on single rules of the filter.
const ON_RULES: &[&str] = &["T201a"];

/// Every layer of a sandbox and every rule of its filter.
pub fn rows() -> Vec<LayerRow> {
    let mut table: Vec<LayerRow> = LAYERS
        .iter()
        .map(|(_, name, _)| {
            let row = ROWS.iter().find(|(layer, _, _)| layer == name);
            let (first, attacks) = row.map_or((&[][..], &[][..]), |(_, first, attacks)| (*first, *attacks));
            LayerRow { layer: (*name).to_owned(), switch: (*name).to_owned(), first, attacks }
        })
        .collect();
    let allowed = polder_sys::filter::Rule::Always(polder_sys::filter::Verdict::Allow);
    let refusing = rules(Observe::Off).into_iter().filter(|(_, rule)| *rule != allowed);
    let numbers: BTreeSet<u32> = refusing.map(|(number, _)| number).collect();
    table.extend(numbers.into_iter().map(|number| {
        let named = REFUSED_CALLS.iter().find(|RefusedCall { number: known, .. }| *known == i64::from(number));
        let name = named.map_or_else(|| number.to_string(), |call| call.name.to_owned());
        LayerRow {
            layer: format!("filter.{name}"),
            switch: format!("filter.{number}"),
            first: &[],
            attacks: if named.is_some() { ON_RULES } else { &[] },
        }
    }));
    table
}

/// Runs the attacks of a row, with its layers off.
pub fn try_row(row: &LayerRow, payload: &Path) -> LayerVerdict {
    let (mut held, mut elsewhere) = (Vec::new(), Vec::new());
    for attack in row.attacks {
        if !row.first.is_empty()
            && let Some(how) = is_red(&row.layer, &run_without(attack, &row.first.join(","), payload))
        {
            return LayerVerdict::NotSecond(format!("{attack}: {how}"));
        }
        let off = [row.first, &[row.switch.as_str()]].concat().join(",");
        let outcome = run_without(attack, &off, payload);
        match (is_red(&row.layer, &outcome), outcome) {
            (Some(how), _) => return LayerVerdict::Red(format!("{attack}: {how}")),
            (None, Outcome::NotApplicable(reason)) => elsewhere.push(format!("{attack}: {reason}")),
            (None, outcome) => held.push(format!("{attack}: {outcome}")),
        }
    }
    match (held.is_empty(), elsewhere.is_empty()) {
        (true, true) => LayerVerdict::NotApplicable("no attack is named".to_owned()),
        (true, false) => LayerVerdict::NotApplicable(elsewhere.join("; ")),
        (false, _) => LayerVerdict::Unnoticed(held.join("; ")),
    }
}

/// Runs one attack on the engine of the layers while these are off.
pub fn run_without(attack: &str, off: &str, payload: &Path) -> Outcome {
    in_own_process("native", attack, payload, USUAL, &[(VARIABLE, off)])
        .unwrap_or_else(|error| Outcome::Broken(error.to_string()))
}

/// How an outcome is red: the bait was reached, or the sandbox did not start for want of the layer.
fn is_red(layer: &str, outcome: &Outcome) -> Option<String> {
    let refusing = |detail: &str| REFUSING.iter().any(|(known, text)| *known == layer && detail.contains(text));
    match outcome {
        Outcome::Escaped(detail) => Some(format!("escaped, {detail}")),
        Outcome::Broken(detail) | Outcome::NotApplicable(detail) if refusing(detail) => Some(detail.clone()),
        Outcome::Broken(_) | Outcome::Held(_) | Outcome::NotApplicable(_) => None,
    }
}
