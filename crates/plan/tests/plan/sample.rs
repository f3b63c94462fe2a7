//! A machine and a policy to plan with: nothing is read from the real ones.

use polder_facts::{
    CacheFacts, Entry, Grant, GuestPath, HostFacts, HostPath, Origin, OtherNames, Resolved, Sourced, SystemPath,
    TreeFacts, UserFacts,
};
use polder_plan::{Faults, Plan, compile};
use polder_policy::{Access, Bind, PathPattern, Policy, built_in};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The workspace of the samples.
pub(crate) const ROOT: &str = "/home/u/repo";

/// An ordinary user in an empty workspace.
pub(crate) fn host() -> HostFacts {
    let directory = |path: &str| SystemPath { path: path.into(), entry: Entry::Directory };
    let environment = [("PATH", "/usr/bin:/home/u/bin:/bin"), ("HOME", "/home/u"), ("USER", "u"), ("TOKEN", "s3cret")];
    HostFacts {
        mechanisms: BTreeMap::new(),
        landlock_abi: 7,
        memory_bytes: Some(16 << 30),
        cgroup: None,
        user: UserFacts {
            uid: 1000,
            gid: 1000,
            name: "u".to_owned(),
            inside_uid: 1000,
            inside_gid: 1000,
            home: "/home/u".into(),
        },
        system: vec![directory("/usr"), SystemPath { path: "/bin".into(), entry: Entry::Symlink("usr/bin".into()) }],
        tree: TreeFacts {
            root: ROOT.into(),
            start: ROOT.into(),
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
        environment: environment.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
    }
}

/// A plain file.
pub(crate) fn file() -> Entry {
    Entry::File { links: 1 }
}

/// Adds what stands at a path of the workspace, or at an absolute path.
pub(crate) fn with(mut host: HostFacts, entries: &[(&str, Entry)]) -> HostFacts {
    for (path, entry) in entries {
        host.tree.entries.insert(Path::new(ROOT).join(path), entry.clone());
    }
    host
}

/// Adds a bind source that is a directory.
pub(crate) fn with_source(mut host: HostFacts, path: &str) -> HostFacts {
    host.tree.sources.insert(path.into(), Resolved { path: path.into(), entry: Entry::Directory });
    host
}

fn line(number: u32) -> Origin {
    Origin::File { path: PathBuf::from("polder.yaml"), line: number }
}

/// Exactly these protections, one a line of a file, and no built-in one.
pub(crate) fn protecting(paths: &[&str]) -> Policy {
    let mut policy = built_in();
    policy.protect = patterns(paths);
    policy
}

/// Patterns, one a line of a file.
pub(crate) fn patterns(paths: &[&str]) -> Vec<Sourced<PathPattern>> {
    let rule = |(index, path): (usize, &&str)| Sourced::new(PathPattern((*path).to_owned()), line(index as u32 + 1));
    paths.iter().enumerate().map(rule).collect()
}

/// A bind.
pub(crate) fn bind(host: &str, guest: &str, access: Access) -> Sourced<Bind> {
    let bind = Bind {
        host: HostPath::new(host).expect("a host path"),
        guest: GuestPath::new(guest).expect("a guest path"),
        access,
        optional: false,
    };
    Sourced::new(bind, Origin::Flag("--bind".to_owned()))
}

/// A policy in which a grant has lifted a protection.
pub(crate) fn lifting(mut policy: Policy, grant: &str) -> Policy {
    let Ok(Grant::FsWrite(path)) = grant.parse() else { panic!("not a grant: {grant}") };
    policy.unprotect.push(Sourced::new(PathPattern(path.display().to_string()), Origin::Flag("--allow".to_owned())));
    policy
}

/// The plan for `true`.
pub(crate) fn planned(policy: &Policy, host: &HostFacts) -> Result<Plan, Faults> {
    compile(policy, host, &[OsString::from("true")])
}

/// The masks, pins and sweeps of a plan, one a line; or the faults.
pub(crate) fn view(policy: &Policy, host: &HostFacts) -> String {
    let plan = match planned(policy, host) {
        Ok(plan) => plan,
        Err(faults) => return format!("{faults}\n"),
    };
    let words = ["protected", "hidden", "pinned", "set-aside"];
    let ours = |line: &&str| words.contains(&line.split_whitespace().next().unwrap_or_default());
    plan.to_string().lines().filter(ours).map(|line| format!("{line}\n")).collect()
}
