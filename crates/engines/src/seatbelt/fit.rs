//! What the rules of macOS say about a plan. Pure.

use super::profile::profile;
use crate::in_place;
use polder_engine::{EngineClass, Fit, Verdict};
use polder_facts::{Gap, Guarantee, Origin};
use polder_plan::Plan;
use polder_policy::{Limits, NetworkMode};
use std::collections::BTreeMap;

/// A profile travels as an argument, and all arguments together may have one MiB.
const PROFILE_BYTES_MAX: usize = 512 * 1024;

pub(super) fn fit(engine: &'static str, class: EngineClass, plan: &Plan) -> Fit {
    let mut verdicts = BTreeMap::from([
        (Guarantee::Fs, enforced("rules of a profile that denies by default")),
        (Guarantee::Protect, protect(plan)),
        (Guarantee::SecondLayer, cannot("there is one layer of rules and no second", None)),
        (Guarantee::Net, net(plan)),
        (Guarantee::Ipc, enforced("rules: listed services only, no host sockets, no shared memory")),
        (
            Guarantee::Processes,
            Verdict::Weaker {
                by: "rules that hide host processes, and an end for the process group".to_owned(),
                gap: gap("a process that leaves its session outlives the run", None),
            },
        ),
        (Guarantee::Privileges, privileges(plan)),
        (Guarantee::Syscalls, cannot("the rules speak of actions, not of system calls", None)),
        (Guarantee::Env, enforced("a cleared environment")),
    ]);
    verdicts.extend(limits(&plan.limits));
    Fit { engine, class, verdicts, impossible: impossible(engine, plan) }
}

fn enforced(by: impl Into<String>) -> Verdict {
    Verdict::Enforced { by: by.into() }
}

fn gap(reason: &str, remedy: Option<&str>) -> Gap {
    Gap { reason: reason.to_owned(), remedy: remedy.map(str::to_owned) }
}

fn cannot(reason: &str, remedy: Option<&str>) -> Verdict {
    Verdict::Cannot { gap: gap(reason, remedy) }
}

fn protect(plan: &Plan) -> Verdict {
    let by = "rules by path, also for names that do not exist yet, and parents that cannot be renamed";
    match plan.files.partial_patterns.first() {
        None => enforced(by),
        Some(pattern) => Verdict::Weaker {
            by: by.to_owned(),
            gap: gap(
                &format!("`{}` ({}) protects only what exists when the run begins", pattern.value, pattern.origin),
                Some("name the files, or write `**/NAME`, which also holds for new files"),
            ),
        },
    }
}

fn net(plan: &Plan) -> Verdict {
    match plan.network.value.mode {
        NetworkMode::None => enforced("rules: no socket at all, not even a loopback"),
        NetworkMode::Full => enforced("the policy gives the host's network"),
        NetworkMode::Restricted => cannot(
            "network `restricted` needs the broker, which is not in this build",
            Some("use `network: none` or `network: full`"),
        ),
    }
}

fn privileges(plan: &Plan) -> Verdict {
    if plan.identity.caller_is_root {
        return cannot("the command would be the host's uid 0", Some("run polder as an ordinary user"));
    }
    enforced("the kernel, which executes no setuid program under rules")
}

fn limits(limits: &Limits) -> Vec<(Guarantee, Verdict)> {
    let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
    let together = |what: &str| cannot(&format!("there is no bound for the {what} of all processes together"), None);
    let pids = pids.as_ref().map(|limit| match limit.origin {
        // Nobody asked for a number: what matters is that a fork bomb ends.
        Origin::BuiltIn => enforced("the system's own bound on processes of a user (reaching it is not reported)"),
        _ => Verdict::Weaker {
            by: "the system's own bound on processes of a user".to_owned(),
            gap: gap("it counts what the user runs elsewhere, and not the number that was asked for", None),
        },
    });
    let verdicts = [
        (Guarantee::Memory, memory.as_ref().map(|_| together("memory"))),
        (Guarantee::Cpus, cpus.as_ref().map(|_| together("processor time"))),
        (Guarantee::Pids, pids),
        (Guarantee::Disk, disk.as_ref().map(|_| cannot("private files lie on the host's own disk", None))),
        (Guarantee::Files, files.as_ref().map(|_| enforced("RLIMIT_NOFILE"))),
        (Guarantee::Output, output.as_ref().map(|_| enforced("counting what is written"))),
        (Guarantee::Timeout, timeout.as_ref().map(|_| enforced("a timer that ends the process group"))),
    ];
    verdicts.into_iter().filter_map(|(guarantee, verdict)| Some((guarantee, verdict?))).collect()
}

fn impossible(engine: &str, plan: &Plan) -> Vec<Gap> {
    let mut gaps = in_place::impossible(engine, plan);
    match profile(plan) {
        Ok(text) if text.len() > PROFILE_BYTES_MAX => {
            let reason = format!("the rules have {} bytes, and a profile may have {PROFILE_BYTES_MAX}", text.len());
            gaps.push(gap(&reason, Some("protect fewer paths, or a common parent")));
        }
        Ok(_) => {}
        Err(unspeakable) => gaps.push(gap(&unspeakable.to_string(), Some("rename it"))),
    }
    gaps
}
