//! What a container with our own sandbox in it says about a plan. Pure.

use super::apart;
use super::kind::Kind;
use super::options::Options;
use crate::shimmed::{Judge, enforced, gap};
use polder_engine::{EngineClass, Fit, Verdict};
use polder_facts::{CgroupVersion, Gap, Guarantee, GuestPath, HostFacts, Mechanism, Origin};
use polder_plan::Plan;
use polder_policy::{Image, NetworkMode};
use std::collections::BTreeMap;

pub(super) fn fit(kind: Kind, class: EngineClass, plan: &Plan, host: &HostFacts) -> Fit {
    if let Some(runtime) = Options::of(kind, plan).ok().as_ref().and_then(Options::apart) {
        return apart::fit(kind, runtime, plan, host);
    }
    let judge = Judge { plan, host, tried: &[] };
    let mut verdicts = BTreeMap::from([
        (
            Guarantee::Fs,
            judge.needs(
                &[Mechanism::Namespaces, Mechanism::MountRoot],
                &format!("a container{}, and in it a mount namespace with a root of its own", by_runtime(kind, plan)),
            ),
        ),
        (Guarantee::Protect, judge.protect()),
        (Guarantee::SecondLayer, judge.second_layer()),
        (Guarantee::Net, judge.net()),
        (Guarantee::Ipc, judge.ipc()),
        (
            Guarantee::Processes,
            judge.needs(&[Mechanism::Namespaces], "a pid namespace in the container's, both end with the run"),
        ),
        (Guarantee::Privileges, judge.privileges()),
        (Guarantee::Syscalls, judge.needs(&[Mechanism::Seccomp], "a seccomp allow-list")),
        (Guarantee::Env, enforced("a cleared environment, which reaches the shim by a descriptor")),
    ]);
    verdicts.extend(judge.limits());
    limits(&mut verdicts, kind, plan, host);
    if let Some(Image::Compose { .. }) = plan.image.as_ref().map(|image| &image.value) {
        beside_services(&mut verdicts);
    }
    Fit { engine: kind.id(), class, verdicts, impossible: impossible(&judge, kind) }
}

/// The runtime that makes the container, where the plan names one.
fn by_runtime(kind: Kind, plan: &Plan) -> String {
    let named = Options::of(kind, plan).ok().and_then(|options| options.runtime);
    named.map(|name| format!(" by the runtime `{name}`")).unwrap_or_default()
}

/// Whether the daemon can put the container into cgroups that hold: one of root's always can, one of the user's only
/// where the kernel hands controllers down to users.
pub(super) fn has_cgroups(kind: Kind, plan: &Plan, host: &HostFacts) -> bool {
    let own_daemon = kind == Kind::Podman && !plan.identity.caller_is_root;
    !own_daemon || host.cgroup.as_ref().is_some_and(|facts| facts.version == CgroupVersion::V2)
}

/// Whether the daemon counts the processes. The built-in limit is a safety net, which the rlimit holds just as well.
pub(super) fn counts_pids(kind: Kind, plan: &Plan, host: &HostFacts) -> bool {
    let asked = plan.limits.pids.as_ref().is_some_and(|limit| limit.origin != Origin::BuiltIn);
    asked && has_cgroups(kind, plan, host)
}

fn limits(verdicts: &mut BTreeMap<Guarantee, Verdict>, kind: Kind, plan: &Plan, host: &HostFacts) {
    let held = has_cgroups(kind, plan, host);
    let lacking = || {
        let reason = "a daemon without root's rights sets no such limit with cgroups of version 1";
        gap(reason, Some("a system with cgroups of version 2".to_owned()))
    };
    if plan.limits.memory.is_some() {
        let weaker = |gap: Gap| {
            let reason = format!("it bounds each process, not all together: {}", gap.reason);
            Verdict::Weaker { by: "RLIMIT_DATA".to_owned(), gap: Gap { reason, remedy: gap.remedy } }
        };
        let verdict = if held { enforced("the container's memory cgroup") } else { weaker(lacking()) };
        verdicts.insert(Guarantee::Memory, verdict);
    }
    if plan.limits.cpus.is_some() {
        let verdict = if held { enforced("the container's cpu cgroup") } else { Verdict::Cannot { gap: lacking() } };
        verdicts.insert(Guarantee::Cpus, verdict);
    }
    if plan.limits.pids.is_some() {
        let judge = Judge { plan, host, tried: &[] };
        let rlimit = "RLIMIT_NPROC in the sandbox's own user namespace (reaching it is not reported)";
        let counted = counts_pids(kind, plan, host);
        let verdict = if counted {
            enforced("the container's pids cgroup")
        } else {
            judge.needs(&[Mechanism::ProcessRlimit], rlimit)
        };
        verdicts.insert(Guarantee::Pids, verdict);
    }
}

/// What changes where services of a compose file run beside the command.
fn beside_services(verdicts: &mut BTreeMap<Guarantee, Verdict>) {
    if let Some(Verdict::Enforced { by }) = verdicts.get_mut(&Guarantee::Net) {
        *by = "the container's network namespace, a loopback only, which it shares with its services".to_owned();
    }
    for each in [Guarantee::Memory, Guarantee::Cpus, Guarantee::Pids] {
        if let Some(Verdict::Enforced { by }) = verdicts.get_mut(&each) {
            by.push_str(", and one for each service");
        }
    }
    if let Some(verdict) = verdicts.get_mut(&Guarantee::Disk) {
        let reason = "services write to layers and volumes of the daemon, on the host's disk, without a bound";
        let gap = gap(reason, Some("take `limits.disk` away".to_owned()));
        *verdict = Verdict::Weaker { by: "the size of the private tmpfs".to_owned(), gap };
    }
}

/// What cannot be done with this plan, whatever is accepted.
fn impossible(judge: &Judge<'_>, kind: Kind) -> Vec<Gap> {
    let mut gaps = judge.impossible_beside_images();
    let plan = judge.plan;
    if let Some(image) = &plan.image {
        match image.value {
            Image::Named(_) | Image::Recipe(_) | Image::Inline(_) => {}
            Image::Compose { .. } => match plan.network.value.mode {
                NetworkMode::None => {}
                // They would listen where others can reach them.
                NetworkMode::Restricted | NetworkMode::Full => {
                    let reason = "services of a compose file share a loopback with the command, and no other network";
                    gaps.push(gap(format!("{}: {reason}", image.origin), Some("use `network: false`".to_owned())));
                }
            },
        }
    }
    // Podman 4.3 takes a mount apart at a comma ("invalid mount option"), although it came as JSON.
    let is_taken_apart = |guest: &GuestPath| guest.as_path().to_string_lossy().contains(',');
    if kind == Kind::Podman
        && plan.image.is_some()
        && let Some(shown) = plan.files.shown.iter().find(|shown| is_taken_apart(&shown.guest))
    {
        let reason = format!("podman mounts nothing in an image at `{}`: its path has a comma", shown.guest);
        gaps.push(gap(reason, Some("show it at another path: `--workdir /workspace`, `--bind HOST:GUEST`".to_owned())));
    }
    if let Some(table) = plan.engine_options.get(kind.id())
        && let Err(reason) = Options::of(kind, plan)
    {
        gaps.push(gap(
            format!("{}: {reason}", table.origin),
            Some("its options are `runtime`, `pull`, `pull_timeout` and `build_timeout`".to_owned()),
        ));
    }
    gaps
}
