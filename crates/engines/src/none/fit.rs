//! What running without a sandbox says about a plan: very little. Pure.

use crate::in_place;
use polder_engine::{EngineClass, Fit, Verdict};
use polder_facts::{Gap, Guarantee};
use polder_plan::Plan;
use polder_policy::Limits;

/// What a sandbox would keep whatever the policy says.
const NOT_KEPT: [Guarantee; 8] = [
    Guarantee::Fs,
    Guarantee::Protect,
    Guarantee::SecondLayer,
    Guarantee::Net,
    Guarantee::Ipc,
    Guarantee::Processes,
    Guarantee::Privileges,
    Guarantee::Syscalls,
];

pub(super) fn fit(engine: &'static str, class: EngineClass, plan: &Plan) -> Fit {
    let cannot = || Verdict::Cannot {
        gap: Gap {
            reason: format!("engine `{engine}` enforces nothing"),
            remedy: Some("use engine `auto`".to_owned()),
        },
    };
    let enforced = |by: &str| Verdict::Enforced { by: by.to_owned() };
    let Limits { memory, cpus, pids, disk, files, output, timeout } = &plan.limits;
    let limits = [
        (memory.is_some(), Guarantee::Memory, cannot()),
        (cpus.is_some(), Guarantee::Cpus, cannot()),
        (pids.is_some(), Guarantee::Pids, cannot()),
        (disk.is_some(), Guarantee::Disk, cannot()),
        (files.is_some(), Guarantee::Files, enforced("RLIMIT_NOFILE")),
        (output.is_some(), Guarantee::Output, enforced("counting what is written")),
        (timeout.is_some(), Guarantee::Timeout, enforced("a timer that ends what the command started")),
    ];
    let mut verdicts = NOT_KEPT.into_iter().map(|guarantee| (guarantee, cannot())).collect::<Vec<_>>();
    verdicts.push((Guarantee::Env, enforced("a cleared environment")));
    verdicts.extend(limits.into_iter().filter(|(set, ..)| *set).map(|(_, guarantee, verdict)| (guarantee, verdict)));
    Fit { engine, class, verdicts: verdicts.into_iter().collect(), impossible: in_place::impossible(engine, plan) }
}
