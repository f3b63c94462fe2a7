//! What a runtime with a kernel of its own says about a plan. Pure.

use crate::container::fit::has_cgroups;
use crate::container::kind::Kind;
use crate::shimmed::{Judge, enforced, gap, hidden_at_start, protected_by};
use polder_engine::{EngineClass, Fit, Verdict};
use polder_facts::{Gap, Guarantee, HostFacts, Origin};
use polder_plan::Plan;
use polder_policy::{Image, NetworkMode, Observe, WorkspaceMode};
use std::collections::BTreeMap;

pub(in crate::container) fn fit(kind: Kind, runtime: &str, plan: &Plan, host: &HostFacts) -> Fit {
    let kernel = format!("the kernel of the runtime `{runtime}`");
    let mut verdicts = BTreeMap::from([
        (Guarantee::Fs, enforced(format!("a container in {kernel}, with nothing but what is mounted in it"))),
        (Guarantee::Protect, protect(plan)),
        (Guarantee::SecondLayer, second_layer(runtime)),
        (Guarantee::Net, net(plan, &kernel)),
        (Guarantee::Ipc, enforced(format!("{kernel}, in which nothing of the host's is, no host sockets in view"))),
        (Guarantee::Processes, enforced(format!("{kernel}, which ends with the run"))),
        (Guarantee::Privileges, privileges(plan, &kernel)),
        (
            Guarantee::Syscalls,
            enforced(format!("{kernel}, which answers every call; the host's gets the runtime's own")),
        ),
        (Guarantee::Env, enforced("a cleared environment, which reaches the command by the container's input")),
    ]);
    limits(&mut verdicts, kind, plan, host);
    let judge = Judge { plan, host, tried: &[] };
    Fit { engine: kind.id(), class: EngineClass::Vm, verdicts, impossible: impossible(&judge, runtime) }
}

fn another(runtime: &str) -> Option<String> {
    Some(format!("a runtime on this kernel, such as `runc`, instead of `{runtime}`"))
}

fn protect(plan: &Plan) -> Verdict {
    let by = protected_by(plan);
    match plan.files.partial_patterns.first() {
        None => enforced(format!("{by}{}", hidden_at_start(plan))),
        Some(pattern) => {
            let reason =
                format!("`{}` ({}) protects only what exists when the run begins", pattern.value, pattern.origin);
            Verdict::Weaker { by: by.to_owned(), gap: gap(reason, Some("name the files".to_owned())) }
        }
    }
}

fn second_layer(runtime: &str) -> Verdict {
    let reason = format!(
        "there is no Landlock in `{runtime}`: what is shown and hidden rests on its mounts alone, and what is denied is not told"
    );
    Verdict::Cannot { gap: gap(reason, another(runtime)) }
}

fn net(plan: &Plan, kernel: &str) -> Verdict {
    match plan.network.value.mode {
        NetworkMode::None => enforced(format!("{kernel}, which has a loopback only")),
        NetworkMode::Restricted | NetworkMode::Full => Verdict::Cannot {
            gap: gap("a run in a kernel of its own has no network", Some("use `network: false`".to_owned())),
        },
    }
}

fn privileges(plan: &Plan, kernel: &str) -> Verdict {
    let by = format!("no capabilities and no_new_privs, in {kernel}");
    enforced(if plan.identity.caller_is_root { format!("{by}, whose uid 0 is not the host's") } else { by })
}

fn limits(verdicts: &mut BTreeMap<Guarantee, Verdict>, kind: Kind, plan: &Plan, host: &HostFacts) {
    let limits = &plan.limits;
    let held = has_cgroups(kind, plan, host);
    let lacking = || {
        let reason = "a daemon without root's rights sets no such limit with cgroups of version 1";
        Verdict::Cannot { gap: gap(reason, Some("a system with cgroups of version 2".to_owned())) }
    };
    let cgroup = |by: &str| if held { enforced(by) } else { lacking() };
    if limits.memory.is_some() {
        let by = "the container's memory cgroup, which also holds the runtime itself; reaching it ends the run";
        verdicts.insert(Guarantee::Memory, cgroup(by));
    }
    if limits.cpus.is_some() {
        verdicts.insert(Guarantee::Cpus, cgroup("the container's cpu cgroup"));
    }
    if limits.pids.is_some() {
        verdicts
            .insert(Guarantee::Pids, enforced("RLIMIT_NPROC in the runtime's kernel (reaching it is not reported)"));
    }
    if limits.files.is_some() {
        verdicts.insert(Guarantee::Files, enforced("RLIMIT_NOFILE in the runtime's kernel"));
    }
    if limits.disk.is_some() {
        let by = "the sizes of the private places, which have equal parts of it (the workspace is the host's disk)";
        verdicts.insert(Guarantee::Disk, enforced(by));
    }
    if limits.output.is_some() {
        verdicts.insert(Guarantee::Output, enforced("counting what is written"));
    }
    if limits.timeout.is_some() {
        verdicts.insert(Guarantee::Timeout, enforced("a timer that ends the container with its kernel"));
    }
}

/// What cannot be done with this plan, whatever is accepted.
fn impossible(judge: &Judge<'_>, runtime: &str) -> Vec<Gap> {
    let mut gaps = judge.impossible_beside_images();
    let plan = judge.plan;
    let mut refuse = |origin: &Origin, what: &str, remedy: &str| {
        gaps.push(gap(
            format!("{origin}: {what}, and runtime `{runtime}` has a kernel of its own"),
            Some(remedy.to_owned()),
        ));
    };
    match plan.workspace.value.mode {
        WorkspaceMode::Direct => {}
        WorkspaceMode::Cow | WorkspaceMode::Worktree => {
            let what = "changes are kept apart by a layer of this kernel's";
            refuse(&plan.workspace.origin, what, "use `workspace: {mode: direct}`");
        }
    }
    match plan.image.as_ref().map(|image| (&image.value, &image.origin)) {
        Some((Image::Compose { .. }, origin)) => {
            let what = "services of a compose file share a network namespace with the command";
            refuse(origin, what, "use `image`, or a runtime on this kernel");
        }
        Some((Image::Named(_) | Image::Recipe(_) | Image::Inline(_), _)) | None => {}
    }
    match plan.observe.value {
        // Where nobody asked for it, the gap of the second layer says that nothing is told.
        Observe::Cheap | Observe::Exact if plan.observe.origin != Origin::BuiltIn => {
            refuse(&plan.observe.origin, "what is denied is seen by this kernel", "use `observe: off`");
        }
        Observe::Off | Observe::Cheap | Observe::Exact => {}
    }
    gaps
}
