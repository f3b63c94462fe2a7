//! What nsjail with our shim says about a plan. Pure.

use crate::shimmed::{Judge, enforced};
use polder_engine::{EngineClass, Fit};
use polder_facts::{Guarantee, HostFacts, Mechanism};
use polder_plan::Plan;
use std::collections::BTreeMap;

pub(super) fn fit(engine: &'static str, class: EngineClass, plan: &Plan, host: &HostFacts) -> Fit {
    let judge = Judge { plan, host, tried: &[] };
    let mut verdicts = BTreeMap::from([
        (
            Guarantee::Fs,
            judge.needs(&[Mechanism::Namespaces, Mechanism::MountRoot], "nsjail's mount namespace with a new root"),
        ),
        (Guarantee::Protect, judge.protect()),
        (Guarantee::SecondLayer, judge.second_layer()),
        (Guarantee::Net, judge.net()),
        (Guarantee::Ipc, judge.ipc()),
        (
            Guarantee::Processes,
            judge.needs(&[Mechanism::Namespaces], "nsjail's pid namespace, in which our shim is the first process"),
        ),
        (Guarantee::Privileges, judge.privileges()),
        (Guarantee::Syscalls, judge.needs(&[Mechanism::Seccomp], "a seccomp allow-list")),
        (Guarantee::Env, enforced("a cleared environment")),
    ]);
    verdicts.extend(judge.limits());
    Fit { engine, class, verdicts, impossible: judge.impossible(engine) }
}
