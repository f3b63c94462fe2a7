//! What a Linux engine with our shim says about a plan, guarantee by guarantee. Pure; an engine takes the verdicts that
//! hold for it and says the others itself.

use super::cgroup::{MEMORY_MIN, memory_remedy};
use polder_engine::Verdict;
use polder_facts::{Gap, Guarantee, HostFacts, Mechanism, Origin, Probe, Sourced};
use polder_plan::{Plan, Role};
use polder_policy::{Access, NetworkMode, WorkspaceMode};

pub(crate) fn enforced(by: impl Into<String>) -> Verdict {
    Verdict::Enforced { by: by.into() }
}

pub(crate) fn gap(reason: impl Into<String>, remedy: Option<String>) -> Gap {
    Gap { reason: reason.into(), remedy }
}

/// What protects paths, as the report says it.
pub(crate) fn protected_by(plan: &Plan) -> String {
    let files = &plan.files;
    let mounts = "read-only mounts and pinned parents";
    let watched = if files.swept.is_empty() && files.git.missing.is_empty() {
        ""
    } else {
        "; names that do not exist yet are watched and set aside"
    };
    let reserved = files.reserved.first().map(|reserved| {
        format!("; new files named `{}` are set aside when the run has ended ({})", reserved.name, reserved.origin)
    });
    format!("{mounts}{watched}{}", reserved.unwrap_or_default())
}

/// What the report says about names that `deny_read` does not cover once the command runs.
pub(crate) fn hidden_at_start(plan: &Plan) -> String {
    match plan.files.hidden_at_start.as_slice() {
        [] => String::new(),
        [one] => format!(" (`{}` hides what exists when the run begins, not what the host makes later)", one.value),
        [one, rest @ ..] => format!(
            " (`{}` and {} more entries of deny_read hide what exists when the run begins, not what the host makes later)",
            one.value,
            rest.len()
        ),
    }
}

pub(crate) struct Judge<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) host: &'a HostFacts,
    /// Mechanisms that the engine does not take from the kernel itself: its own trial shows whether they work.
    pub(crate) tried: &'static [Mechanism],
}

impl Judge<'_> {
    pub(crate) fn probe(&self, mechanism: Mechanism) -> Result<(), Gap> {
        if self.tried.contains(&mechanism) {
            return Ok(());
        }
        match self.host.mechanisms.get(&mechanism) {
            Some(Probe::Works { .. } | Probe::NotNeeded { .. }) => Ok(()),
            Some(Probe::Fails { reason, remedy }) => {
                Err(gap(format!("{}: {reason}", mechanism.name()), Some(remedy.clone())))
            }
            // A probe that did not run has shown nothing.
            None => Err(gap(format!("{} was not probed", mechanism.name()), None)),
        }
    }

    pub(crate) fn needs(&self, mechanisms: &[Mechanism], by: &str) -> Verdict {
        match mechanisms.iter().try_for_each(|mechanism| self.probe(*mechanism)) {
            Ok(()) => enforced(by),
            Err(gap) => Verdict::Cannot { gap },
        }
    }

    pub(crate) fn protect(&self) -> Verdict {
        let files = &self.plan.files;
        if let Some(pattern) = files.partial_patterns.first() {
            return Verdict::Weaker {
                by: "read-only mounts".to_owned(),
                gap: gap(
                    format!("`{}` ({}) protects only what exists when the run begins", pattern.value, pattern.origin),
                    Some("name the files, or write `**/NAME`, which also holds for new files".to_owned()),
                ),
            };
        }
        enforced(format!("{}{}", protected_by(self.plan), hidden_at_start(self.plan)))
    }

    pub(crate) fn second_layer(&self) -> Verdict {
        if let Err(gap) = self.probe(Mechanism::Landlock) {
            return Verdict::Cannot { gap };
        }
        let abi = self.host.landlock_abi;
        // Before ABI 3 a file can be emptied without the right to write it.
        if abi < 3 {
            return Verdict::Weaker {
                by: format!("Landlock ABI {abi}"),
                gap: gap("this ABI does not control truncation", Some("a kernel of 6.2 or newer".to_owned())),
            };
        }
        enforced(format!("Landlock ABI {abi} over what is shown (masks inside rest on mounts alone)"))
    }

    pub(crate) fn net(&self) -> Verdict {
        match self.plan.network.value.mode {
            NetworkMode::None => self.needs(&[Mechanism::NetworkNamespace], "a network namespace with a loopback only"),
            NetworkMode::Full => enforced("the policy gives the host's network"),
            NetworkMode::Restricted => Verdict::Cannot {
                gap: gap(
                    "network `restricted` needs the broker, which is not in this build",
                    Some("use `network: none` or `network: full`".to_owned()),
                ),
            },
        }
    }

    pub(crate) fn ipc(&self) -> Verdict {
        if let Err(gap) = self.probe(Mechanism::Namespaces) {
            return Verdict::Cannot { gap };
        }
        // Abstract sockets belong to the network namespace; with the host's, only Landlock keeps them away.
        if self.plan.network.value.mode == NetworkMode::Full && self.host.landlock_abi < 6 {
            return Verdict::Weaker {
                by: "an ipc namespace".to_owned(),
                gap: gap(
                    "with the host's network, abstract sockets of the host can be reached",
                    Some("a kernel of 6.12 or newer, or no network".to_owned()),
                ),
            };
        }
        enforced("an ipc namespace, no host sockets in view, Landlock scopes")
    }

    pub(crate) fn privileges(&self) -> Verdict {
        if let Err(gap) = self.probe(Mechanism::Namespaces) {
            return Verdict::Cannot { gap };
        }
        if !self.plan.identity.caller_is_root {
            return enforced("no capabilities, no_new_privs, nosuid mounts");
        }
        match self.probe(Mechanism::IdmappedMounts) {
            Ok(()) => enforced("root mapped to an unprivileged range, no capabilities, no_new_privs, nosuid mounts"),
            Err(Gap { reason, remedy }) => Verdict::Weaker {
                by: "no capabilities, no_new_privs, /proc/sys covered".to_owned(),
                gap: Gap { reason: format!("the command would be the host's uid 0: {reason}"), remedy },
            },
        }
    }

    pub(crate) fn limits(&self) -> Vec<(Guarantee, Verdict)> {
        let limits = &self.plan.limits;
        let mut verdicts = Vec::new();
        if limits.memory.is_some() {
            verdicts.push((
                Guarantee::Memory,
                match self.probe(Mechanism::CgroupMemory) {
                    Ok(()) => enforced("the memory cgroup"),
                    Err(Gap { reason, remedy }) => Verdict::Weaker {
                        by: "RLIMIT_DATA".to_owned(),
                        gap: Gap { reason: format!("it bounds each process, not all together: {reason}"), remedy },
                    },
                },
            ));
        }
        if limits.cpus.is_some() {
            verdicts.push((
                Guarantee::Cpus,
                match self.probe(Mechanism::CgroupCpu) {
                    Ok(()) => enforced("the cpu cgroup"),
                    Err(gap) => Verdict::Cannot { gap },
                },
            ));
        }
        if let Some(pids) = &limits.pids {
            let rlimit = "RLIMIT_NPROC in the sandbox's own user namespace (reaching it is not reported)";
            let verdict = match self.probe(Mechanism::CgroupPids) {
                Ok(()) if pids.origin != Origin::BuiltIn => enforced("the pids cgroup"),
                Ok(()) | Err(_) => self.needs(&[Mechanism::ProcessRlimit], rlimit),
            };
            verdicts.push((Guarantee::Pids, verdict));
        }
        if limits.files.is_some() {
            verdicts.push((Guarantee::Files, enforced("RLIMIT_NOFILE")));
        }
        if limits.disk.is_some() {
            verdicts.push((Guarantee::Disk, self.disk()));
        }
        if limits.output.is_some() {
            verdicts.push((Guarantee::Output, enforced("counting what is written")));
        }
        if limits.timeout.is_some() {
            verdicts.push((Guarantee::Timeout, enforced("a timer that ends the pid namespace")));
        }
        verdicts
    }

    /// What keeps changes from being kept apart here. Never an excuse to work in place.
    fn cow(&self) -> Vec<Gap> {
        let origin = &self.plan.workspace.origin;
        let mut gaps = Vec::new();
        if let Err(Gap { reason, remedy }) = self.probe(Mechanism::Overlay) {
            gaps.push(gap(format!("{origin}: changes cannot be kept apart: {reason}"), remedy));
        }
        for mount in &self.host.tree.mounts {
            gaps.push(gap(
                format!("{origin}: `{}` is mounted below the workspace, and a layer cannot hold it", mount.display()),
                Some("unmount it, work in a directory without it, or use `workspace: {mode: direct}`".to_owned()),
            ));
        }
        gaps
    }

    /// Private file systems have a size. A layer that keeps changes apart is a part of the host's disk, and quotas are not
    /// for users to set: it can be measured, and the run ended.
    fn disk(&self) -> Verdict {
        let by = "the size of the private tmpfs";
        let Plan { workspace, files, .. } = self.plan;
        let written =
            files.shown.iter().any(|shown| shown.role == Role::Workspace && shown.access == Access::ReadWrite);
        if workspace.value.mode == WorkspaceMode::Direct || !written {
            return enforced(format!("{by} (the workspace is the host's disk)"));
        }
        Verdict::Weaker {
            by: format!("{by}, and measuring the layer again and again: a run whose layer is larger ends"),
            gap: gap(
                format!(
                    "changes that are kept apart ({}) lie on the host's disk: more fits in between two looks, in files \
                     without a name, and in directories that were closed to their owner",
                    workspace.origin
                ),
                Some("take `limits.disk` away, or let nothing be written with `read_only: true`".to_owned()),
            ),
        }
    }

    /// What no such engine can do with this plan, whatever is accepted.
    pub(crate) fn impossible(&self, engine: &str) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let Plan { image, engine_options, .. } = self.plan;
        if let Some(image) = image {
            gaps.push(gap(
                format!("{}: engine `{engine}` uses the host's programs, not an image", image.origin),
                Some("take the image away, or choose an engine that takes one".to_owned()),
            ));
        }
        gaps.extend(self.impossible_beside_images());
        if let Some(options) = engine_options.get(engine) {
            gaps.push(gap(format!("{}: engine `{engine}` has no options", options.origin), None));
        }
        gaps
    }

    /// The same for an engine that takes images and has options.
    pub(crate) fn impossible_beside_images(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let Plan { credentials, workspace, limits, .. } = self.plan;
        if let Some(memory) = limits.memory.as_ref().filter(|memory| memory.value < MEMORY_MIN) {
            let Sourced { value, origin } = memory;
            let why = format!("{origin}: the sandbox itself needs more memory than `limits.memory: {value}`");
            gaps.push(gap(format!("{why}; the least is {MEMORY_MIN}"), Some(memory_remedy())));
        }
        for credential in credentials {
            gaps.push(gap(
                format!("{}: credentials need the broker, which is not in this build", credential.origin),
                None,
            ));
        }
        match workspace.value.mode {
            WorkspaceMode::Direct => {}
            WorkspaceMode::Cow | WorkspaceMode::Worktree => gaps.extend(self.cow()),
        }
        gaps
    }
}
