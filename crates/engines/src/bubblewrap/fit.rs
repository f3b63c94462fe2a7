//! What this engine says about a plan. Pure.

use crate::shimmed::{Judge, enforced};
use polder_engine::{EngineClass, Fit};
use polder_facts::{Guarantee, HostFacts, Mechanism};
use polder_plan::Plan;
use std::collections::BTreeMap;

/// What bwrap brings; that it does is shown by the trial, without which the engine is not available. Where a security
/// module gives namespaces to bwrap and not to us, the trial is right and our own probes are not.
const TRIED: [Mechanism; 3] = [Mechanism::Namespaces, Mechanism::NetworkNamespace, Mechanism::MountRoot];

pub(super) fn fit(engine: &'static str, class: EngineClass, plan: &Plan, host: &HostFacts) -> Fit {
    let judge = Judge { plan, host, tried: &TRIED };
    let mut verdicts = BTreeMap::from([
        (Guarantee::Fs, enforced("a mount namespace with a new root, which the shim looks over and seals")),
        (Guarantee::Protect, judge.protect()),
        (Guarantee::SecondLayer, judge.second_layer()),
        (Guarantee::Net, judge.net()),
        (Guarantee::Ipc, judge.ipc()),
        (Guarantee::Processes, enforced("a pid namespace that ends with the run")),
        (Guarantee::Privileges, judge.privileges()),
        (Guarantee::Syscalls, judge.needs(&[Mechanism::Seccomp], "a seccomp allow-list")),
        (Guarantee::Env, enforced("a cleared environment, which reaches the shim by a descriptor")),
    ]);
    verdicts.extend(judge.limits());
    Fit { engine, class, verdicts, impossible: judge.impossible(engine) }
}
