//! Plans as people read them.

use crate::sample::{bind, host, planned, with_source};
use expect_test::expect;
use polder_facts::{ByteSize, Guarantee, Origin, Sourced, Span};
use polder_plan::compile;
use polder_policy::{Access, EngineChoice, Network, NetworkMode, Workdir, built_in};
use std::time::Duration;

#[test]
fn of_the_built_in_policy() {
    let plan = planned(&built_in(), &host()).expect("a plan");
    expect![[r#"
        engine      auto
        command     true
        workdir     /home/u/repo
        user        u (uid 1000, mapped to itself)
        home        /home/u (empty, private)
        system      /usr (read-only)
        system      /bin -> usr/bin
        workspace   /home/u/repo at /home/u/repo (read-write)
        private     /tmp, /dev/shm and home, 6G together
        set-aside   /home/u/repo/HEAD
        set-aside   /home/u/repo/polder.yaml
        set-aside   /home/u/repo/polder.toml
        set-aside   /home/u/repo/.visor.yaml
        set-aside   /home/u/repo/.visor.yml
        set-aside   what git obeys in /home/u/repo/.git
        network     none
        env         GIT_CONFIG_SYSTEM HOME PATH USER
        git         no name and no address: git asks who commits
        changes     direct
        observe     cheap
        limit       pids 4096
    "#]]
    .assert_eq(&plan.to_string());
    assert_eq!(plan.env[&std::ffi::OsString::from("PATH")], "/usr/bin:/bin", "cut to what exists inside");
}

#[test]
fn of_a_policy_that_says_much() {
    let flag = |name: &str| Origin::Flag(name.to_owned());
    let mut policy = built_in();
    policy.name = Some("fast".to_owned());
    policy.engine = Sourced::new(EngineChoice::Named("some".to_owned()), flag("--engine"));
    policy.network = Sourced::new(Network::of(NetworkMode::Full), flag("--network"));
    policy.access = Sourced::new(Access::ReadOnly, flag("--read-only"));
    policy.workdir = Sourced::new(Workdir::Host, flag("--workdir"));
    let mut missing = bind("/opt/none", "/none", Access::ReadOnly);
    missing.value.optional = true;
    policy.binds = vec![bind("/opt/cache", "/cache", Access::ReadWrite), missing];
    policy.env.set = vec![Sourced::new(("TOKEN".to_owned(), "s3cret".to_owned()), flag("--env"))];
    policy.limits.memory = Some(Sourced::new(ByteSize(2 << 30), flag("--memory")));
    policy.limits.cpus = Some(Sourced::new(1.5, flag("--cpus")));
    policy.limits.timeout = Some(Sourced::new(Span(Duration::from_secs(600)), flag("--timeout")));
    policy.require = vec![Sourced::new(Guarantee::Net, flag("--require"))];
    policy.accept = vec![Sourced::new(Guarantee::Memory, flag("--accept"))];
    let command = ["sh", "-c", "echo 'a b'\n\u{1b}[31m", ""].map(std::ffi::OsString::from);
    let plan = compile(&policy, &with_source(host(), "/opt/cache"), &command).expect("a plan");
    expect![[r#"
        sandbox     fast
        engine      some  # flag --engine
        command     sh -c "echo 'a b'\n\u{1b}[31m" ""
        workdir     /home/u/repo
        user        u (uid 1000, mapped to itself)
        home        /home/u (empty, private)
        system      /usr (read-only)
        system      /bin -> usr/bin
        bind        /opt/cache at /cache (read-write)  # flag --bind
        workspace   /home/u/repo at /home/u/repo (read-only)  # flag --workdir
        skipped     /opt/none (optional bind: the host has nothing there that you can reach)  # flag --bind
        private     /tmp, /dev/shm and home, 6G together
        network     full  # flag --network
        env         GIT_CONFIG_SYSTEM HOME PATH USER
        env         TOKEN  # flag --env
        git         no name and no address: git asks who commits
        changes     direct
        observe     cheap
        limit       memory 2G  # flag --memory
        limit       cpus 1.5  # flag --cpus
        limit       pids 4096
        limit       timeout 10m  # flag --timeout
        require     net  # flag --require
        accept      memory  # flag --accept
    "#]]
    .assert_eq(&plan.to_string());
}

#[test]
fn of_a_root_caller() {
    let mut host = host();
    host.user.uid = 0;
    host.user.gid = 0;
    let plan = planned(&built_in(), &host).expect("a plan");
    assert!(plan.to_string().contains("user        u (uid 1000, mapped from root)\n"), "{plan}");
}

#[test]
fn a_command_that_is_none_is_refused_with_everything_else() {
    let faults = compile(&built_in(), &host(), &[]).expect_err("no command");
    expect!["there is no command; name one after `--`"].assert_eq(&faults.to_string());
    let mut host = host();
    host.tree.root = "/".into();
    let faults = compile(&built_in(), &host, &["".into()]).expect_err("no command and no workspace");
    assert_eq!(faults.0.len(), 2, "{faults}");
}
