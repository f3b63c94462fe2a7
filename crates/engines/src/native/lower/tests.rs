use super::super::Native;
use super::*;
use expect_test::{ExpectFile, expect_file};
use polder_engine::Engine;
use polder_facts::HostFacts;
use polder_facts::{ByteSize, Entry, Guarantee, Mechanism, Origin, Probe, Sourced, SystemPath, TreeFacts, UserFacts};
use polder_policy::{Bind, Network, PathPattern, Policy, Workdir, built_in};
use polder_sys::{Command, LandlockRule, LandlockSpec, Reserved, syscalls};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

const ROOT: &str = "/home/u/repo";

/// A machine on which everything works, with a repository in the workspace.
fn host(uid: u32) -> HostFacts {
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
            entries: entries.into_iter().map(|(path, entry)| (Path::new(ROOT).join(path), entry)).collect(),
            matches: BTreeMap::new(),
            submodules: Vec::new(),
            sources: BTreeMap::from([(
                "/opt/cache".into(),
                polder_facts::Resolved { path: "/opt/cache".into(), entry: Entry::Directory },
            )]),
        },
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
    }
}

fn fitted(policy: &Policy, host: HostFacts) -> Fitted {
    let plan = polder_plan::compile(policy, &host, &["sh".into(), "-c".into(), "true".into()]).expect("a plan");
    let (plan, host) = (Arc::new(plan), Arc::new(host));
    Native.fit(&plan, &host).require(&plan, &host).expect("everything works here")
}

/// A recipe as text, one step a line.
fn text(lowered: &Lowered) -> String {
    let Lowered { ground, inside } = lowered;
    let Ground { identity, net, scratch_bytes, steps, hostname } = ground;
    let Inside { rlimits, landlock, filter, reserved, swept, command } = inside;
    let Command { candidates, argv, env, workdir, terminal: _ } = command;
    let shown = |text: &CString| text.to_string_lossy().into_owned();
    let list = |list: &[CString]| list.iter().map(shown).collect::<Vec<_>>().join(" ");
    let mut lines = vec![
        format!("identity {identity:?}"),
        format!("net {net:?}"),
        format!("scratch {scratch_bytes}"),
        format!("hostname {}", shown(hostname)),
    ];
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
            Step::ShowIfThere { from, at } => format!("show-if-there {} {}", shown(from), shown(at)),
            Step::Device { from, at } => format!("device {} {}", shown(from), shown(at)),
            Step::Scratch { at } => format!("scratch {}", shown(at)),
            Step::Proc { at } => format!("proc {}", shown(at)),
            Step::Terminals { at } => format!("terminals {}", shown(at)),
            Step::Protect { at } => format!("protect {}", shown(at)),
            Step::Pin { at } => format!("pin {}", shown(at)),
            Step::Hide { at, missing } => format!("hide {} {missing:?}", shown(at)),
            Step::Place { .. } | Step::Same { .. } => unreachable!("nobody builds between these steps and us"),
        });
    }
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
        Some(syscalls::Guarded::Yes) => "filter guarded".to_owned(),
        Some(syscalls::Guarded::No) => "filter".to_owned(),
        None => "filter none".to_owned(),
    });
    for Reserved { directory, name } in reserved {
        lines.push(format!("reserved {} in {}", shown(name), directory.as_ref().map_or("*".to_owned(), shown)));
    }
    let swept: Vec<_> = swept.iter().map(|swept| swept.path.clone()).collect();
    lines.push(format!("swept {}", list(&swept)));
    lines.push(format!("candidates {}", list(candidates)));
    lines.push(format!("argv {}", list(argv)));
    lines.push(format!("env {}", list(env)));
    lines.push(format!("workdir {}", shown(workdir)));
    lines.join("\n") + "\n"
}

fn check(policy: &Policy, host: HostFacts, golden: ExpectFile) {
    golden.assert_eq(&text(&lower(&fitted(policy, host), None)));
}

#[test]
fn of_an_ordinary_user() {
    check(&built_in(), host(1000), expect_file!["goldens/user.txt"]);
}

#[test]
fn of_root() {
    check(&built_in(), host(0), expect_file!["goldens/root.txt"]);
}

/// A policy that says much.
fn much() -> Policy {
    let pattern = |text: &str| Sourced::new(PathPattern(text.to_owned()), Origin::Api);
    let mut policy = built_in();
    policy.network.value = Network::of(NetworkMode::Full);
    policy.workdir.value = Workdir::Host;
    policy.protect.extend([pattern("new/file"), pattern("**/.env")]);
    policy.deny_read.extend([pattern("hidden"), pattern("secret")]);
    policy.binds.push(Sourced::new(
        Bind {
            host: polder_facts::HostPath::new("/opt/cache").expect("a path"),
            guest: GuestPath::new("/home/u/.cache").expect("a path"),
            access: polder_policy::Access::ReadWrite,
        },
        Origin::Api,
    ));
    policy.limits.files = Some(Sourced::new(100, Origin::Api));
    policy.limits.disk = Some(Sourced::new(ByteSize(1 << 20), Origin::Api));
    policy
}

#[test]
fn of_a_policy_that_says_much() {
    check(&much(), host(1000), expect_file!["goldens/much.txt"]);
}

#[test]
fn is_the_same_for_the_same_plan() {
    let once = || text(&lower(&fitted(&much(), host(0)), None));
    assert_eq!(once(), once());
}

#[test]
fn every_mount_point_is_made_before_it_is_used() {
    for (policy, uid) in [(built_in(), 0), (much(), 1000), (much(), 0)] {
        let mut made: Vec<std::path::PathBuf> = vec!["".into()];
        for step in lower(&fitted(&policy, host(uid)), None).ground.steps {
            let place = |at: &CString| std::path::PathBuf::from(OsStr::from_bytes(at.as_bytes()));
            // What makes its own place needs only its parent; what covers needs the place itself, or a bind above it.
            let (at, makes) = match &step {
                Step::Directory { at, .. } | Step::File { at, .. } => (place(at), true),
                Step::Symlink { at, .. } | Step::ShowIfThere { at, .. } | Step::Device { at, .. } => (place(at), true),
                Step::Scratch { at, .. } | Step::Terminals { at } | Step::Proc { at } => (place(at), false),
                Step::Bind { at, .. } => (place(at), false),
                // Below a bind or below /proc: the host has them.
                Step::Protect { .. } | Step::Pin { .. } | Step::Hide { .. } => continue,
                Step::Place { .. } | Step::Same { .. } => unreachable!("nobody builds between these steps and us"),
            };
            let parent = at.parent().expect("a path below the root").to_owned();
            assert!(made.contains(&parent), "{step:?} needs {}", parent.display());
            assert!(
                makes || made.contains(&at) || matches!(step, Step::Scratch { .. } | Step::Terminals { .. }),
                "{step:?}"
            );
            made.push(at);
        }
    }
}

#[test]
fn the_second_layer_lets_nothing_be_written_that_the_first_does_not() {
    for policy in [built_in(), much()] {
        let lowered = lower(&fitted(&policy, host(1000)), None);
        let writable = |path: &Path| {
            lowered.ground.steps.iter().any(|step| match step {
                Step::Bind { at, access: Access::ReadWrite, .. } | Step::Scratch { at, .. } => {
                    Path::new("/").join(OsStr::from_bytes(at.as_bytes())) == path
                }
                _ => false,
            })
        };
        for rule in lowered.inside.landlock.expect("a second layer").rules {
            let path = Path::new(OsStr::from_bytes(rule.path.as_bytes())).to_owned();
            // The kernel guards these by itself.
            let own = ["/dev", "/proc"].iter().any(|own| path == Path::new(own));
            assert!(rule.access == Access::ReadOnly || own || writable(&path), "{}", path.display());
        }
    }
}

#[test]
fn a_gap_that_was_accepted_leaves_its_layer_out_and_no_other() {
    let fails = Probe::Fails { reason: "x".to_owned(), remedy: "y".to_owned() };
    let mut without = host(1000);
    without.mechanisms.insert(Mechanism::Seccomp, fails.clone());
    let mut policy = built_in();
    policy.accept = vec![Sourced::new(Guarantee::Syscalls, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None);
    assert!(lowered.inside.filter.is_none() && lowered.inside.landlock.is_some());

    let mut without = host(1000);
    without.mechanisms.insert(Mechanism::Landlock, fails.clone());
    without.landlock_abi = 0;
    policy.accept = vec![Sourced::new(Guarantee::SecondLayer, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None);
    assert!(lowered.inside.filter.is_some() && lowered.inside.landlock.is_none());

    // Accepting what is not missing changes nothing.
    let lowered = lower(&fitted(&policy, host(1000)), None);
    assert!(lowered.inside.filter.is_some() && lowered.inside.landlock.is_some());

    let mut without = host(0);
    without.mechanisms.insert(Mechanism::IdmappedMounts, fails);
    policy.accept = vec![Sourced::new(Guarantee::Privileges, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None);
    assert_eq!(lowered.ground.identity, Identity::HostRoot);
    let covers = Step::Protect { at: c("proc/sys") };
    assert!(lowered.ground.steps.contains(&covers), "the host's uid 0 must not write kernel settings");
}
