//! Plans for tests of engines with our shim, and what such engines start as text.

use polder_engine::{Engine, Fitted, Layers};
use polder_facts::{
    ByteSize, CacheFacts, Entry, GuestPath, HostFacts, HostPath, Mechanism, Origin, OtherNames, Probe, Resolved,
    Sourced, SystemPath, TreeFacts, UserFacts,
};
use polder_policy::{
    Access, Bind, Network, NetworkMode, PathPattern, Policy, Workdir, Workspace, WorkspaceMode, built_in,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROOT: &str = "/home/u/repo";

/// A machine on which everything works, with a repository in the workspace.
pub(crate) fn linux_host(uid: u32) -> HostFacts {
    let works = |mechanism| (mechanism, Probe::Works { detail: String::new() });
    let directory = |path: &str| SystemPath { path: path.into(), entry: Entry::Directory };
    let file = Entry::File { links: 1 };
    let entries = [
        (".git", Entry::Directory),
        (".git/hooks", Entry::Directory),
        (".git/config", file.clone()),
        ("hidden", Entry::Directory),
        ("secret", file),
    ];
    HostFacts {
        mechanisms: Mechanism::ALL.into_iter().map(works).collect(),
        landlock_abi: 7,
        memory_bytes: Some(16 << 30),
        cgroup: None,
        user: UserFacts {
            uid,
            gid: uid,
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
            entries: entries.into_iter().map(|(path, entry)| (Path::new(ROOT).join(path), entry)).collect(),
            matches: BTreeMap::new(),
            mounts: Vec::new(),
            other_names: OtherNames::none(),
            captured: None,
            submodules: Vec::new(),
            git: polder_facts::git::GitFacts::default(),
            sources: BTreeMap::from([(
                "/opt/cache".into(),
                Resolved { path: "/opt/cache".into(), entry: Entry::Directory },
            )]),
        },
        caches: CacheFacts::unasked(),
        git_identity: polder_facts::git::GitIdentity::unknown(),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
    }
}

/// A plan that an engine may start, for its own world.
pub(crate) fn fitted(engine: &dyn Engine, policy: &Policy, host: HostFacts) -> Fitted {
    let command = ["sh".into(), "-c".into(), "true".into()];
    let plan = polder_plan::compile_in(engine.world(), policy, &host, &command).expect("a plan");
    let (plan, host) = (Arc::new(plan), Arc::new(host));
    engine.fit(&plan, &host).require(&plan, &host).expect("everything works here")
}

/// A policy that says much.
pub(crate) fn much() -> Policy {
    let pattern = |text: &str| Sourced::new(PathPattern(text.to_owned()), Origin::Api);
    let mut policy = built_in();
    policy.network.value = Network::of(NetworkMode::Full);
    policy.workdir.value = Workdir::Host;
    policy.protect.extend([pattern("new/file"), pattern("**/.env")]);
    policy.deny_read.extend([pattern("hidden"), pattern("secret")]);
    policy.binds.push(Sourced::new(
        Bind {
            host: HostPath::new("/opt/cache").expect("a path"),
            guest: GuestPath::new("/home/u/.cache").expect("a path"),
            access: Access::ReadWrite,
            optional: false,
        },
        Origin::Api,
    ));
    policy.limits.files = Some(Sourced::new(100, Origin::Api));
    policy.limits.disk = Some(Sourced::new(ByteSize(1 << 20), Origin::Api));
    policy
}

/// A name that would end a string, an option, a line or a list, if it were not escaped.
pub(crate) const HOSTILE: &str = "-a b\"'(c)\\\n\t,d}*$(e)\u{e9}";

/// A machine whose workspace has such a name, with such names in it.
pub(crate) fn hostile_host(uid: u32) -> HostFacts {
    let mut host = linux_host(uid);
    let root = Path::new("/home/u").join(HOSTILE);
    host.tree.entries = BTreeMap::from([(root.join(no_pattern()), Entry::Directory)]);
    host.tree.sources =
        BTreeMap::from([(root.join("bound"), Resolved { path: root.join("bound"), entry: Entry::File { links: 1 } })]);
    (host.tree.root, host.tree.start) = (root.clone(), root);
    host
}

/// The same as a path of a rule.
fn no_pattern() -> String {
    HOSTILE.replace('*', "")
}

/// A policy that names them.
pub(crate) fn hostile() -> Policy {
    let mut policy = built_in();
    policy.workdir.value = Workdir::Host;
    policy.protect = vec![Sourced::new(PathPattern(no_pattern()), Origin::Api)];
    policy.deny_read = Vec::new();
    let path = format!("/home/u/{HOSTILE}/bound");
    policy.binds.push(Sourced::new(
        Bind {
            host: HostPath::new(&path).expect("a path"),
            guest: GuestPath::new(format!("/opt/{HOSTILE}")).expect("a path"),
            access: Access::ReadOnly,
            optional: false,
        },
        Origin::Api,
    ));
    policy
}

/// The same policy, with changes kept apart from the real tree, whose size nothing bounds.
pub(crate) fn cow(mut policy: Policy) -> Policy {
    policy.limits.disk = None;
    policy.workspace = Sourced::new(Workspace::of(WorkspaceMode::Cow), Origin::Api);
    policy
}

/// What a workspace of layers is made of, for a policy that asks for one: one that began with another's changes.
pub(crate) fn layers(policy: &Policy) -> Option<Layers> {
    let path = |path: PathBuf| HostPath::new(path).expect("a path");
    (policy.workspace.value.mode == WorkspaceMode::Cow).then(|| Layers {
        lower: vec![path("/store/before/upper".into()), path(linux_host(1000).tree.root)],
        own: path("/store/w".into()),
    })
}

/// What is started, as text.
pub(crate) mod text {
    use polder_sys::{Command, Filtered, Inside, LandlockRule, LandlockSpec, Source, Step};
    use std::ffi::CString;

    fn shown(text: &CString) -> String {
        text.to_string_lossy().into_owned()
    }

    /// One step a line.
    pub(crate) fn steps(steps: &[Step]) -> String {
        let mut lines = Vec::new();
        for step in steps {
            lines.push(match step {
                Step::Directory { at, mode } => format!("directory {} {mode:o}", shown(at)),
                Step::File { at, content, mode } => {
                    let content = content.to_string_lossy();
                    format!("file {} {mode:o} {content:?}", shown(at))
                }
                Step::Symlink { target, at } => format!("symlink {} -> {}", shown(at), shown(target)),
                Step::Bind { source: Source::System { path: from }, at, access } => {
                    format!("bind system {} {} {access:?}", shown(from), shown(at))
                }
                Step::Bind { source: Source::Resolved { path: from }, at, access } => {
                    format!("bind {} {} {access:?}", shown(from), shown(at))
                }
                Step::Bind { source: Source::Private { path: from }, at, access } => {
                    format!("bind private {} {} {access:?}", shown(from), shown(at))
                }
                Step::ShowIfThere { from, at } => format!("show-if-there {} {}", shown(from), shown(at)),
                Step::Device { from, at } => format!("device {} {}", shown(from), shown(at)),
                Step::Scratch { at } => format!("scratch {}", shown(at)),
                Step::Proc { at } => format!("proc {}", shown(at)),
                Step::Terminals { at } => format!("terminals {}", shown(at)),
                Step::Protect { at } => format!("protect {}", shown(at)),
                Step::Pin { at } => format!("pin {}", shown(at)),
                Step::Place { from, at } => format!("place {} {}", shown(from), shown(at)),
                Step::Overlay { lower, upper, work, at, access } => {
                    let [lower, upper, work, at] = [lower, upper, work, at].map(shown);
                    format!("overlay {lower} {upper} {work} {at} {access:?}")
                }
                Step::Settle { upper, work, at } => format!("settle {} {} {}", shown(upper), shown(work), shown(at)),
                Step::Copy { from, at } => format!("copy {} {}", shown(from), shown(at)),
                Step::Cover { from, at } => format!("cover {} {}", shown(from), shown(at)),
                Step::Await {} => "await".to_owned(),
                Step::Withdraw { at } => format!("withdraw {}", shown(at)),
                Step::Remove { at } => format!("remove {}", shown(at)),
                Step::Same { at, device, inode } => format!("same {} {device} {inode}", shown(at)),
                Step::Held { at, hold } => format!("held {} {hold:?}", shown(at)),
                Step::Hide { at, missing } => format!("hide {} {missing:?}", shown(at)),
            });
        }
        lines.iter().map(|line: &String| format!("{line}\n")).collect()
    }

    /// What the shim does.
    pub(crate) fn inside(inside: &Inside) -> String {
        let Inside { made, rlimits, landlock, filter, swept, observe: _, command } = inside;
        let Command { candidates, argv, env, workdir, terminal: _ } = command;
        let list = |list: &[CString]| list.iter().map(shown).collect::<Vec<_>>().join(" ");
        let mut lines: Vec<String> = steps(made).lines().map(str::to_owned).collect();
        lines.extend(rlimits.iter().map(|limit| format!("rlimit {} {}", limit.resource, limit.value)));
        match landlock {
            Some(LandlockSpec { abi, rules }) => {
                lines.push(format!("landlock abi {abi}"));
                let rule = |rule: &LandlockRule| format!("landlock {} {:?}", shown(&rule.path), rule.access);
                lines.extend(rules.iter().map(rule));
            }
            None => lines.push("landlock none".to_owned()),
        }
        lines.push(match filter {
            Filtered::Yes => "filter".to_owned(),
            Filtered::No => "filter none".to_owned(),
        });
        let path_of = |swept: &polder_sys::Swept| {
            let parts = [&swept.tree, &swept.parent, &swept.name].map(shown);
            CString::new(parts.join("/").replace("/./", "/")).expect("no NUL byte")
        };
        let swept: Vec<_> = swept.iter().map(path_of).collect();
        lines.push(format!("swept {}", list(&swept)));
        lines.push(format!("candidates {}", list(candidates)));
        lines.push(format!("argv {}", list(argv)));
        lines.push(format!("env {}", list(env)));
        lines.push(format!("workdir {}", shown(workdir)));
        lines.join("\n") + "\n"
    }
}
