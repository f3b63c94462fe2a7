//! Machines that are made up, so that an answer depends on the code alone.

use polder::{HostFacts, Mechanism, Probe};
use polder_facts::{CacheFacts, CgroupFacts, CgroupVersion, Entry, OtherNames, SystemPath, TreeFacts, UserFacts};
use std::collections::BTreeMap;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    User,
    Root,
}

/// A machine on which everything works.
pub(crate) fn whole(caller: Caller) -> HostFacts {
    let works = |mechanism: Mechanism| (mechanism, Probe::Works { detail: "made up".to_owned() });
    let mut mechanisms: BTreeMap<Mechanism, Probe> = Mechanism::ALL.into_iter().map(works).collect();
    if caller == Caller::User {
        let reason = "only root needs it".to_owned();
        mechanisms.insert(Mechanism::IdmappedMounts, Probe::NotNeeded { reason });
    }
    let uid = if caller == Caller::Root { 0 } else { 1000 };
    let group = Some("/sys/fs/cgroup/made-up".into());
    HostFacts {
        mechanisms,
        landlock_abi: 7,
        memory_bytes: Some(16 << 30),
        cgroup: Some(CgroupFacts {
            version: CgroupVersion::V2,
            memory: group.clone(),
            pids: group.clone(),
            cpu: group,
        }),
        user: UserFacts {
            uid,
            gid: uid,
            name: "u".to_owned(),
            inside_uid: 1000,
            inside_gid: 1000,
            home: "/home/u".into(),
        },
        system: vec![SystemPath { path: "/usr".into(), entry: Entry::Directory }],
        tree: TreeFacts {
            root: "/srv/project".into(),
            start: "/srv/project".into(),
            worktree: None,
            enclosing: None,
            entries: BTreeMap::new(),
            matches: BTreeMap::new(),
            mounts: Vec::new(),
            other_names: OtherNames::none(),
            captured: None,
            submodules: Vec::new(),
            git: polder_facts::git::GitFacts::default(),
            sources: BTreeMap::new(),
        },
        caches: CacheFacts::unasked(),
        git_identity: polder_facts::git::GitIdentity::unknown(),
        environment: BTreeMap::new(),
    }
}

/// A machine on which nothing works.
pub(crate) fn broken(caller: Caller) -> HostFacts {
    let mut host = whole(caller);
    for (mechanism, probe) in &mut host.mechanisms {
        let name = mechanism.name();
        *probe = Probe::Fails { reason: format!("{name} was taken away"), remedy: format!("give {name} back") };
    }
    host.landlock_abi = 0;
    host.cgroup = None;
    host
}
