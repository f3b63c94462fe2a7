//! Plans for tests of engines that run on the host's own file system.

use polder_facts::{
    CacheFacts, Entry, GuestPath, HostFacts, HostPath, Origin, OtherNames, Resolved, Sourced, SystemPath, TreeFacts,
    UserFacts,
};
use polder_plan::{Plan, World, compile_in};
use polder_policy::{Access, Bind, EngineChoice, PathPattern, Policy, built_in};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the test's user works.
pub(crate) const ROOT: &str = "/Users/u/repo";

/// A machine with a repository at this place and these entries in it.
pub(crate) fn host_at(root: &str, entries: &[(&str, Entry)]) -> HostFacts {
    let directory = |path: &str| SystemPath { path: path.into(), entry: Entry::Directory };
    let source = |path: &str, to: &str, entry| (path.into(), Resolved { path: to.into(), entry });
    HostFacts {
        mechanisms: BTreeMap::new(),
        landlock_abi: 0,
        memory_bytes: Some(16 << 30),
        cgroup: None,
        user: UserFacts {
            uid: 501,
            gid: 20,
            name: "u".to_owned(),
            inside_uid: 501,
            inside_gid: 20,
            home: "/Users/u".into(),
        },
        system: vec![directory("/usr"), directory("/bin"), directory("/opt/homebrew")],
        tree: TreeFacts {
            root: root.into(),
            start: root.into(),
            worktree: None,
            enclosing: None,
            entries: entries.iter().map(|(path, entry)| (Path::new(root).join(path), entry.clone())).collect(),
            matches: BTreeMap::new(),
            mounts: Vec::new(),
            other_names: OtherNames::none(),
            captured: None,
            submodules: Vec::new(),
            git: polder_facts::git::GitFacts::default(),
            sources: BTreeMap::from([
                source("/Users/u/.gitconfig", "/Users/u/.gitconfig", Entry::File { links: 1 }),
                source("/var/cache", "/private/var/cache", Entry::Directory),
                source("/Users/u/repo/vendor", "/Users/u/repo/vendor", Entry::Directory),
            ]),
        },
        caches: CacheFacts::unasked(),
        git_identity: polder_facts::git::GitIdentity::unknown(),
        environment: [
            ("PATH", "/opt/homebrew/bin:/usr/bin:/bin:/Users/u/bin"),
            ("HOME", "/Users/u"),
            ("USER", "u"),
            ("TOKEN", "secret"),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .into(),
    }
}

/// A repository with hooks and a configuration.
pub(crate) fn host() -> HostFacts {
    let file = Entry::File { links: 1 };
    host_at(
        ROOT,
        &[
            (".git", Entry::Directory),
            (".git/hooks", Entry::Directory),
            (".git/config", file.clone()),
            ("a", Entry::Directory),
            ("a/b", Entry::Directory),
            ("a/b/secret", file),
            ("vendor", Entry::Directory),
        ],
    )
}

/// The built-in policy, by this engine.
pub(crate) fn policy(engine: &str) -> Policy {
    let mut policy = built_in();
    policy.engine = said(EngineChoice::Named(engine.to_owned()));
    policy
}

/// Something that somebody said.
pub(crate) fn said<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Origin::Flag("--test".to_owned()))
}

/// A bind as policies have it.
pub(crate) fn bind(host: &str, guest: &str, access: Access) -> Sourced<Bind> {
    let (host, guest) = (HostPath::new(host).expect("a path"), GuestPath::new(guest).expect("a path"));
    said(Bind { host, guest, access, optional: false })
}

/// A rule of `protect` or `deny_read`.
pub(crate) fn rule(text: &str) -> Sourced<PathPattern> {
    said(PathPattern(text.to_owned()))
}

/// The plan of a policy for a world.
pub(crate) fn plan(world: World, policy: &Policy, host: &HostFacts) -> Plan {
    compile_in(world, policy, host, &["make".into(), "test".into()]).expect("a plan")
}
