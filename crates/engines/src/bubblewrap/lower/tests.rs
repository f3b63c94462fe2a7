use super::super::Bubblewrap;
use super::*;
use crate::shimmed::testing::{cow, layers};
use expect_test::{ExpectFile, expect_file};
use polder_engine::Engine;
use polder_facts::{
    ByteSize, CacheFacts, Entry, GuestPath, HostFacts, HostPath, Mechanism, Origin, OtherNames, Probe, Resolved,
    Sourced, TreeFacts, UserFacts,
};
use polder_policy::{Bind, EnvPattern, Network, PathPattern, Policy, Workdir, built_in};
use polder_sys::Missing;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

const ROOT: &str = "/home/u/repo";
/// Paths that a shell, a parser of lines or a parser of options would take for something else.
const HOSTILE: [&str; 5] = ["/opt/--bind", "/opt/two words", "/opt/new\nline", "/opt/'\"$(id)`", "/opt/ü\\040"];

/// A machine on which everything works, with a repository in the workspace.
fn host(uid: u32) -> HostFacts {
    let works = |mechanism| (mechanism, Probe::Works { detail: String::new() });
    let file = Entry::File { links: 1 };
    let entries = [
        (".git", Entry::Directory),
        (".git/hooks", Entry::Directory),
        (".git/config", file.clone()),
        ("hidden", Entry::Directory),
        ("secret", file.clone()),
    ];
    let resolved = |path: &str| (path.into(), Resolved { path: path.into(), entry: Entry::Directory });
    let mut sources: BTreeMap<_, _> = HOSTILE.into_iter().chain(["/opt/cache"]).map(resolved).collect();
    sources.insert("/home/u/.gitconfig".into(), Resolved { path: "/home/u/.gitconfig".into(), entry: file });
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
        system: vec![
            SystemPath { path: "/usr".into(), entry: Entry::Directory },
            SystemPath { path: "/bin".into(), entry: Entry::Symlink("usr/bin".into()) },
        ],
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
            sources,
        },
        caches: CacheFacts::unasked(),
        git_identity: polder_facts::git::GitIdentity::unknown(),
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into()), ("TOKEN".into(), "secret".into())]),
    }
}

fn lowered(policy: &Policy, host: HostFacts) -> Lowered {
    let plan = polder_plan::compile(policy, &host, &["sh".into(), "-c".into(), "true".into()]).expect("a plan");
    let (plan, host) = (Arc::new(plan), Arc::new(host));
    let fitted = Bubblewrap.fit(&plan, &host).require(&plan, &host).expect("everything works here");
    lower(&fitted, layers(policy).as_ref(), None)
}

/// What bwrap is told and what the shim finishes: an option with its values on one line.
fn text(lowered: &Lowered) -> String {
    let Lowered { arguments, outer, apart, layered, laid, shown, masks, scratch_bytes, inside: _ } = lowered;
    let word = |text: &CString| format!("{:?}", String::from_utf8_lossy(text.as_bytes()));
    let mut lines: Vec<String> = Vec::new();
    let mut values = 0;
    for argument in arguments {
        match argument {
            // Values may look like options, too; what an option takes is counted, as bwrap does.
            Argument::Word(text) if values == 0 => {
                values = match text.to_str().expect("options are ASCII") {
                    "--unshare-user" | "--unshare-pid" | "--unshare-ipc" | "--unshare-uts" | "--unshare-cgroup"
                    | "--unshare-net" | "--new-session" | "--as-pid-1" | "--die-with-parent" => 0,
                    "--hostname" | "--chdir" | "--cap-drop" | "--cap-add" | "--perms" | "--dir" | "--proc" => 1,
                    "--symlink" | "--bind" | "--ro-bind" | "--ro-bind-try" | "--dev-bind" => 2,
                    other => panic!("`{other}` is not an option that is used"),
                };
                lines.push(text.to_string_lossy().into_owned());
            }
            Argument::Word(text) => {
                values -= 1;
                let line = lines.last_mut().expect("an option came first");
                line.push(' ');
                line.push_str(&word(text));
            }
            Argument::File { content, at, mode } => {
                lines.push(format!("file {} {mode:04o} {}", word(at), word(content)));
            }
            Argument::Copy { from, at } => lines.push(format!("copy {} {}", word(from), word(at))),
        }
    }
    lines.push(format!("outer {outer:?}"));
    lines.push(format!("apart {}", apart.join(" ")));
    lines.push(format!("scratch {scratch_bytes}"));
    lines.extend(layered.iter().map(|(host, at)| format!("same {} {}", word(at), word(host))));
    lines.extend(laid.iter().map(|step| format!("finish {step:?}")));
    lines.extend(shown.iter().map(|(host, at)| format!("same {} {}", word(at), word(host))));
    lines.extend(masks.iter().map(|step| format!("mask {step:?}")));
    lines.join("\n") + "\n"
}

fn check(policy: &Policy, host: HostFacts, golden: ExpectFile) {
    golden.assert_eq(&text(&lowered(policy, host)));
}

fn bind(host: &str, guest: &str, access: Access) -> Sourced<Bind> {
    let (host, guest) = (HostPath::new(host).expect("a path"), GuestPath::new(guest).expect("a path"));
    Sourced::new(Bind { host, guest, access, optional: false }, Origin::Api)
}

/// A policy that says much.
fn much() -> Policy {
    let pattern = |text: &str| Sourced::new(PathPattern(text.to_owned()), Origin::Api);
    let mut policy = built_in();
    policy.network.value = Network::of(NetworkMode::Full);
    policy.workdir.value = Workdir::Host;
    policy.protect.extend([pattern("new/file"), pattern("**/.env")]);
    policy.deny_read.extend([pattern("hidden"), pattern("secret")]);
    policy.binds.extend([
        bind("/opt/cache", "/home/u/.cache", Access::ReadWrite),
        bind("/home/u/.gitconfig", "/home/u/.gitconfig", Access::ReadOnly),
        // Below the workspace, and behind a link of the system: both wait for the shim.
        bind("/opt/cache", "/home/u/repo/cache", Access::ReadWrite),
        bind("/opt/cache", "/bin/cache", Access::ReadOnly),
    ]);
    policy.limits.disk = Some(Sourced::new(ByteSize(1 << 20), Origin::Api));
    policy
}

/// A policy whose paths are traps.
fn hostile() -> Policy {
    let mut policy = built_in();
    policy.binds.extend(HOSTILE.map(|path| bind(path, path, Access::ReadWrite)));
    policy
}

#[test]
fn of_an_ordinary_user() {
    check(&built_in(), host(1000), expect_file!["goldens/user.txt"]);
}

#[test]
fn of_root() {
    check(&built_in(), host(0), expect_file!["goldens/root.txt"]);
}

#[test]
fn of_a_policy_that_says_much() {
    check(&much(), host(1000), expect_file!["goldens/much.txt"]);
}

#[test]
fn of_a_workspace_of_layers() {
    check(&cow(built_in()), host(1000), expect_file!["goldens/cow.txt"]);
    check(&cow(built_in()), host(0), expect_file!["goldens/cow-root.txt"]);
}

#[test]
fn of_paths_that_look_like_something_else() {
    check(&hostile(), host(1000), expect_file!["goldens/hostile.txt"]);
}

#[test]
fn of_root_that_accepts_to_stay_root() {
    let mut policy = built_in();
    let mut host = host(0);
    let fails = Probe::Fails { reason: "not here".to_owned(), remedy: String::new() };
    host.mechanisms.insert(Mechanism::IdmappedMounts, fails);
    policy.accept = vec![Sourced::new(polder_facts::Guarantee::Privileges, Origin::Api)];
    let lowered = lowered(&policy, host);
    assert_eq!(lowered.outer, None);
    // The host's uid 0 may write these without any capability.
    assert!(lowered.masks.contains(&Step::Protect { at: c("proc/sys") }));
    let covers = |path: &str| lowered.masks.contains(&Step::Hide { at: c(path), missing: Missing::Skip });
    assert!(["proc/sysrq-trigger", "proc/irq", "proc/bus"].into_iter().all(covers));
}

#[test]
fn nothing_is_made_once_something_is_shown() {
    for (policy, uid) in [(built_in(), 0), (much(), 1000), (much(), 0), (hostile(), 1000), (cow(much()), 0)] {
        let host = host(uid);
        let lowered = lowered(&policy, host);
        let shown = |argument: &Argument| match argument {
            Argument::Word(word) => word.as_bytes() == b"--bind",
            Argument::File { .. } | Argument::Copy { .. } => false,
        };
        let first = lowered.arguments.iter().position(shown).expect("the workspace is shown");
        for argument in &lowered.arguments[first..] {
            let makes = match argument {
                Argument::Word(word) => matches!(word.as_bytes(), b"--dir" | b"--symlink" | b"--perms" | b"--tmpfs"),
                Argument::File { .. } | Argument::Copy { .. } => true,
            };
            assert!(!makes, "{argument:?} comes after something of the host");
        }
    }
}

#[test]
fn nothing_is_mounted_by_path_below_what_a_command_could_write() {
    for uid in [0, 1000] {
        let lowered = lowered(&much(), host(uid));
        let below = |place: &CString| Path::new(OsStr::from_bytes(place.as_bytes())).starts_with("/home/u/repo/");
        let words = lowered.arguments.iter().filter_map(|argument| match argument {
            Argument::Word(word) => Some(word),
            Argument::File { .. } | Argument::Copy { .. } => None,
        });
        let words: Vec<&CString> = words.collect();
        for mount in words.windows(3).filter(|window| window[0].to_bytes().ends_with(b"bind")) {
            assert!(!below(mount[2]) || mount[2].as_bytes() == ROOT.as_bytes(), "{mount:?}");
        }
    }
}

#[test]
fn no_variable_is_on_a_command_line() {
    let mut policy = built_in();
    let pattern = EnvPattern { glob: "TOKEN".to_owned(), negated: false };
    policy.env.pass.push(Sourced::new(pattern, Origin::Api));
    let lowered = lowered(&policy, host(1000));
    assert!(lowered.inside.command.env.iter().any(|entry| entry.as_bytes() == b"TOKEN=secret"), "it is in the recipe");
    assert!(!text(&lowered).contains("secret"), "and nowhere else");
}
