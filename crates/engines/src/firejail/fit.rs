//! What firejail with our shim says about a plan. Pure.

use super::lower::{ARGUMENTS_MAX, arguments};
use crate::in_place;
use crate::shimmed::{Judge, enforced, gap};
use polder_engine::{EngineClass, Fit, Verdict};
use polder_facts::{Gap, Guarantee, HostFacts, Mechanism, Origin, Probe};
use polder_plan::Plan;
use polder_policy::NetworkMode;
use std::collections::BTreeMap;

/// What to use instead.
const STRONGER: &str = "use engine `native`, which makes a root of its own";

pub(super) fn fit(engine: &'static str, class: EngineClass, plan: &Plan, host: &HostFacts) -> Fit {
    let judge = Judge { plan, host, tried: &[] };
    let mut verdicts = BTreeMap::from([
        (Guarantee::Fs, fs(&judge)),
        (Guarantee::Protect, judge.protect()),
        (Guarantee::SecondLayer, second_layer(&judge)),
        (Guarantee::Net, net(&judge)),
        (Guarantee::Ipc, ipc()),
        (Guarantee::Processes, enforced("firejail's pid namespace, which ends with the run")),
        (Guarantee::Privileges, privileges(plan)),
        (Guarantee::Syscalls, judge.needs(&[Mechanism::Seccomp], "a seccomp allow-list")),
        (Guarantee::Env, enforced("a cleared environment")),
    ]);
    verdicts.extend(judge.limits());
    if let Some(limit) = &plan.limits.pids {
        verdicts.insert(Guarantee::Pids, pids(&limit.origin, host));
    }
    if plan.limits.disk.is_some() {
        let gap = gap("firejail's private file systems have no size of their own", Some(STRONGER.to_owned()));
        verdicts.insert(Guarantee::Disk, Verdict::Cannot { gap });
    }
    Fit { engine, class, verdicts, impossible: impossible(engine, plan) }
}

fn weaker(by: &str, reason: &str, remedy: &str) -> Verdict {
    Verdict::Weaker { by: by.to_owned(), gap: gap(reason, Some(remedy.to_owned())) }
}

fn fs(judge: &Judge<'_>) -> Verdict {
    // The root is the host's, so what cannot be read rests on Landlock.
    if let Err(gap) = judge.probe(Mechanism::Landlock) {
        return Verdict::Cannot { gap };
    }
    weaker(
        "read-only mounts, and Landlock over the host's own root",
        "firejail leaves `/` in place: names and attributes outside of the view can be seen, and attributes of your own \
         files outside of the home directory changed",
        STRONGER,
    )
}

fn second_layer(judge: &Judge<'_>) -> Verdict {
    if let Err(gap) = judge.probe(Mechanism::Landlock) {
        return Verdict::Cannot { gap };
    }
    weaker("Landlock beside read-only mounts", "what is read is guarded by Landlock alone", STRONGER)
}

fn net(judge: &Judge<'_>) -> Verdict {
    match judge.plan.network.value.mode {
        NetworkMode::None => enforced("firejail's network namespace with a loopback only"),
        NetworkMode::Full | NetworkMode::Restricted => judge.net(),
    }
}

fn ipc() -> Verdict {
    weaker(
        "an ipc namespace, `/run` and `/tmp` hidden, Landlock scopes",
        "a unix socket that lies elsewhere on the host's disk can be connected to",
        STRONGER,
    )
}

fn privileges(plan: &Plan) -> Verdict {
    if plan.identity.caller_is_root {
        let by = "no capabilities, no_new_privs, kernel settings read-only";
        return weaker(by, "the command would be the host's uid 0", "run polder as an ordinary user");
    }
    enforced("no capabilities, no_new_privs")
}

fn pids(origin: &Origin, host: &HostFacts) -> Verdict {
    match origin {
        // Nobody asked for a number: what matters is that a fork bomb ends.
        Origin::BuiltIn => {
            enforced("RLIMIT_NPROC, which counts what the user runs elsewhere, too (reaching it is not reported)")
        }
        _ if host.mechanisms.get(&Mechanism::CgroupPids).is_some_and(Probe::works) => enforced("the pids cgroup"),
        _ => Verdict::Cannot {
            gap: gap("without a cgroup only all processes of the user can be counted", Some(STRONGER.to_owned())),
        },
    }
}

fn impossible(engine: &str, plan: &Plan) -> Vec<Gap> {
    let mut gaps = in_place::impossible(engine, plan);
    match arguments(plan) {
        Ok(words) if words.len() > ARGUMENTS_MAX => {
            let reason = format!("the rules are {} arguments, and firejail takes {ARGUMENTS_MAX}", words.len());
            gaps.push(gap(reason, Some("protect fewer paths, or a common parent".to_owned())));
        }
        Ok(_) => {}
        Err(unspeakable) => gaps.push(gap(unspeakable.to_string(), Some("rename it".to_owned()))),
    }
    gaps
}
