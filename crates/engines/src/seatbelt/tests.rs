use super::*;
use crate::testing::{ROOT, bind, host, host_at, plan, policy, rule, said};
use expect_test::{ExpectFile, expect, expect_file};
use polder_facts::{ByteSize, Entry, GuestPath};
use polder_policy::{Access, Network, NetworkMode, Policy, Workdir};
use std::path::Path;

fn built_in() -> Policy {
    policy("seatbelt")
}

fn check(expected: ExpectFile, policy: &Policy, host: &HostFacts) {
    let plan = plan(World::Ruled, policy, host);
    let text = profile::profile(&plan).expect("a profile");
    assert_balanced(&text);
    expected.assert_eq(&text);
}

/// Every bracket outside of strings and comments has its partner.
fn assert_balanced(text: &str) {
    let (mut depth, mut rest) = (0i32, text);
    while let Some(c) = rest.chars().next() {
        match c {
            '"' => {
                rest = sbpl::tests::read_string(rest).expect("a string that ends").1;
                continue;
            }
            ';' => rest = rest.split_once('\n').map_or("", |(_, after)| after),
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        assert!(depth >= 0, "{text}");
        rest = rest.strip_prefix(c).unwrap_or(rest);
    }
    assert_eq!(depth, 0, "{text}");
}

fn verdicts(policy: &Policy, host: &HostFacts) -> String {
    fit::fit("seatbelt", EngineClass::Policy, &plan(World::Ruled, policy, host)).to_string()
}

#[test]
fn the_built_in_policy() {
    check(expect_file!["goldens/built-in.sb"], &built_in(), &host());
}

#[test]
fn a_read_only_workspace_has_no_rule_for_writing() {
    let mut policy = built_in();
    policy.access = said(Access::ReadOnly);
    check(expect_file!["goldens/read-only.sb"], &policy, &host());
}

#[test]
fn much_of_everything() {
    let mut policy = built_in();
    policy.network = said(Network::of(NetworkMode::Full));
    policy.protect.extend([rule("a/b/secret"), rule("new/dir/file"), rule("**/.env")]);
    policy.deny_read = vec![rule("a/b")];
    policy.binds = vec![
        bind("/Users/u/.gitconfig", "/Users/u/.gitconfig", Access::ReadOnly),
        bind("/var/cache", "/var/cache", Access::ReadWrite),
        bind("/Users/u/repo/vendor", "/Users/u/repo/vendor", Access::ReadOnly),
    ];
    check(expect_file!["goldens/much.sb"], &policy, &host());
}

#[test]
fn a_hostile_path_stays_a_path() {
    let hostile = "/Users/u/a\"))(allow default)(deny x (\"\\ \n;'#(b";
    let mut policy = built_in();
    policy.protect.push(rule("c\")(allow network-outbound)\n"));
    check(expect_file!["goldens/hostile.sb"], &policy, &host_at(hostile, &[]));
}

#[test]
fn a_workspace_among_temporary_files_cannot_be_moved_from_under_its_rules() {
    let file = Entry::File { links: 1 };
    let host = host_at("/private/tmp/x/repo", &[(".git", Entry::Directory), (".git/config", file)]);
    check(expect_file!["goldens/temporary.sb"], &built_in(), &host);
}

#[test]
fn a_path_that_no_profile_can_name_is_refused() {
    let fit =
        fit::fit("seatbelt", EngineClass::Policy, &plan(World::Ruled, &built_in(), &host_at("/Users/u/a\u{1b}", &[])));
    expect!["`/Users/u/a\u{1b}` has bytes that a profile cannot name"].assert_eq(&fit.impossible[0].reason);
}

#[test]
fn nothing_is_granted_after_the_first_protection() {
    let plan = plan(World::Ruled, &built_in(), &host());
    let text = profile::profile(&plan).expect("a profile");
    let (_, after) = text.split_once("; protected and hidden").expect("protections");
    assert!(!after.contains("(allow"), "{after}");
    assert!(after.contains(&format!("(deny file-write* (subpath \"{ROOT}/.git/hooks\"))")), "{after}");
    assert!(after.contains(&format!("(deny file-write-unlink (literal \"{ROOT}/.git\"))")), "{after}");
}

#[test]
fn what_is_kept_and_what_is_not() {
    expect![[r#"
        fs            enforced by rules of a profile that denies by default
        protect       enforced by rules by path, also for names that do not exist yet, and parents that cannot be renamed
        second-layer  cannot: there is one layer of rules and no second
        net           enforced by rules: no socket at all, not even a loopback
        ipc           enforced by rules: listed services only, no host sockets, no shared memory
        processes     weaker: rules that hide host processes, and an end for the process group, but a process that leaves its session outlives the run
        privileges    enforced by the kernel, which executes no setuid program under rules
        syscalls      cannot: the rules speak of actions, not of system calls
        env           enforced by a cleared environment
        pids          enforced by the system's own bound on processes of a user (reaching it is not reported)
    "#]]
    .assert_eq(&verdicts(&built_in(), &host()));
}

#[test]
fn what_cannot_be_had_is_said_with_a_remedy() {
    let mut policy = built_in();
    policy.workdir = said(Workdir::At(GuestPath::new("/workspace").expect("a path")));
    policy.binds = vec![bind("/var/cache", "/cache", Access::ReadWrite)];
    policy.network = said(Network::of(NetworkMode::Restricted));
    policy.limits.memory = Some(said(ByteSize(1 << 30)));
    policy.limits.pids = Some(said(64));
    policy.protect.push(rule("*.lock"));
    let mut host = host();
    host.user.uid = 0;
    expect![[r#"
        fs            enforced by rules of a profile that denies by default
        protect       weaker: rules by path, also for names that do not exist yet, and parents that cannot be renamed, but `*.lock` (flag --test) protects only what exists when the run begins
        second-layer  cannot: there is one layer of rules and no second
        net           cannot: network `restricted` needs the broker, which is not in this build
        ipc           enforced by rules: listed services only, no host sockets, no shared memory
        processes     weaker: rules that hide host processes, and an end for the process group, but a process that leaves its session outlives the run
        privileges    cannot: the command would be the host's uid 0
        syscalls      cannot: the rules speak of actions, not of system calls
        env           enforced by a cleared environment
        memory        cannot: there is no bound for the memory of all processes together
        pids          weaker: the system's own bound on processes of a user, but it counts what the user runs elsewhere, and not the number that was asked for
        impossible    flag --test: `/Users/u/repo` cannot appear at `/workspace`: engine `seatbelt` shows paths where they are
        impossible    flag --test: `/private/var/cache` cannot appear at `/cache`: engine `seatbelt` shows paths where they are
    "#]].assert_eq(&verdicts(&policy, &host));
}

#[test]
fn the_command_comes_last_and_as_it_is() {
    let plan = plan(World::Ruled, &built_in(), &host());
    let started = launch::started(&plan, "PROFILE".to_owned(), Path::new("/private/tmp/polder-1-0"));
    expect![[r#"
        ["/usr/bin/sandbox-exec", "-D", "SCRATCH=/private/tmp/polder-1-0", "-p", "PROFILE", "--", "make", "test"]
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.useConfigOnly", "GIT_CONFIG_VALUE_0": "true", "HOME": "/private/tmp/polder-1-0/home", "PATH": "/opt/homebrew/bin:/usr/bin:/bin", "TMPDIR": "/private/tmp/polder-1-0/tmp", "USER": "u"}
    "#]]
    .assert_eq(&format!("{:?}\n{:?}\n", started.argv, started.env));
}

#[test]
fn the_home_of_a_run_leads_to_what_is_bound_from_the_real_one() {
    let mut policy = built_in();
    policy.binds = vec![bind("/Users/u/.gitconfig", "/Users/u/.gitconfig", Access::ReadOnly)];
    let scratch =
        launch::Scratch::make(&std::env::temp_dir(), &plan(World::Ruled, &policy, &host()), Path::new("/Users/u"))
            .expect("a directory");
    let path = scratch.path.clone();
    let link = |name: &str| std::fs::read_link(path.join("home").join(name)).expect("a link");
    assert_eq!(link(".gitconfig"), Path::new("/Users/u/.gitconfig"));
    assert_eq!(link("repo"), Path::new(ROOT));
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn elsewhere_it_says_what_to_use_instead() {
    if HERE {
        return;
    }
    let Availability::Unavailable { reason, remedy } = Seatbelt.probe(&host()) else { panic!("it works here") };
    expect!["it is part of macOS and works nowhere else; use engine `native` or `auto`"]
        .assert_eq(&format!("{reason}; {remedy}"));
}

#[test]
fn no_entry_is_needed_to_protect_it() {
    // Nothing of the repository exists yet: what must not come into being is still named.
    let text = profile::profile(&plan(World::Ruled, &built_in(), &host_at(ROOT, &[("x", Entry::Directory)])))
        .expect("a profile");
    assert!(text.contains("[gG][iI][tT]"), "{text}");
}
