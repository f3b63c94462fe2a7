use super::*;
use crate::testing::{bind, host, plan, policy, said};
use expect_test::expect;
use polder_facts::{ByteSize, Guarantee, GuestPath, Origin, Span};
use polder_policy::{Access, EngineChoice, Policy, Workdir};
use std::sync::Arc;
use std::time::Duration;

fn permitted() -> Policy {
    let mut policy = policy("none");
    policy.allow_unsandboxed = Some(said(()));
    policy
}

/// The right to start, or every reason why there is none.
fn judged(policy: &Policy) -> Result<Fitted, String> {
    let host = Arc::new(host());
    let plan = Arc::new(plan(World::Open, policy, &host));
    Unsandboxed.fit(&plan, &host).require(&plan, &host).map_err(|refused| refused.to_string())
}

#[test]
fn every_gap_is_accepted_by_who_permits_it() {
    let mut policy = permitted();
    policy.limits.memory = Some(said(ByteSize(1 << 20)));
    policy.limits.timeout = Some(said(Span(Duration::from_secs(1))));
    let fitted = judged(&policy).expect("it is permitted");
    expect![[r#"
        fs            cannot: engine `none` enforces nothing
        protect       cannot: engine `none` enforces nothing
        second-layer  cannot: engine `none` enforces nothing
        net           cannot: engine `none` enforces nothing
        ipc           cannot: engine `none` enforces nothing
        processes     cannot: engine `none` enforces nothing
        privileges    cannot: engine `none` enforces nothing
        syscalls      cannot: engine `none` enforces nothing
        env           enforced by a cleared environment
        memory        cannot: engine `none` enforces nothing
        pids          cannot: engine `none` enforces nothing
        timeout       enforced by a timer that ends what the command started
    "#]]
    .assert_eq(&fitted.report().to_string());
    assert_eq!(fitted.accepted().len(), 10);
    assert!(fitted.accepted().iter().all(|accepted| accepted.origin == Origin::Flag("--test".to_owned())));
}

#[test]
fn without_a_permission_it_is_refused_and_no_accept_helps() {
    let mut policy = policy("none");
    policy.accept = Guarantee::ALL.into_iter().map(said).collect();
    expect![[r#"
        engine `none` cannot enforce this policy here
          it enforces nothing and is not permitted
            remedy: a user or system file permits it with `allow_unsandboxed: true`"#]]
    .assert_eq(&judged(&policy).expect_err("nobody permits it"));
}

#[test]
fn a_run_that_does_not_ask_for_it_by_name_never_gets_it() {
    for choice in [EngineChoice::Auto, EngineChoice::Named("native".to_owned())] {
        let mut policy = permitted();
        policy.engine = said(choice);
        expect![[r#"
            engine `none` cannot enforce this policy here
              it enforces nothing and was not asked for by name
                remedy: ask for it by name"#]]
        .assert_eq(&judged(&policy).expect_err("nobody asked for it"));
    }
    assert!(crate::auto().iter().all(|engine| engine.class() != EngineClass::None));
}

#[test]
fn what_is_required_stays_required() {
    let mut policy = permitted();
    policy.require = vec![said(Guarantee::Fs), said(Guarantee::Env)];
    expect![[r#"
        engine `none` cannot enforce this policy here
          fs: engine `none` enforces nothing (required by flag --test)
            remedy: use engine `auto`"#]]
    .assert_eq(&judged(&policy).expect_err("it is required"));
}

#[test]
fn paths_are_where_they_are() {
    let mut policy = permitted();
    policy.binds = vec![bind("/var/cache", "/var/cache", Access::ReadWrite)];
    let fitted = judged(&policy).expect("nothing has to move");
    assert_eq!(fitted.plan().workdir.to_string(), "/Users/u/repo");
    policy.workdir = said(Workdir::At(GuestPath::new("/workspace").expect("a path")));
    policy.binds.push(bind("/var/cache", "/cache", Access::ReadOnly));
    expect![[r#"
        engine `none` cannot enforce this policy here
          flag --test: `/Users/u/repo` cannot appear at `/workspace`: engine `none` shows paths where they are
            remedy: use `workdir: host`, or leave `workdir` out
          flag --test: `/private/var/cache` cannot appear at `/cache`: engine `none` shows paths where they are
            remedy: bind it at its own path, or choose an engine that makes a file system"#]]
    .assert_eq(&judged(&policy).expect_err("something has to move"));
}

#[test]
fn the_plan_says_so() {
    let fitted = judged(&permitted()).expect("it is permitted");
    expect![[r#"
        engine      none  # flag --test
        command     make test
        workdir     /Users/u/repo
        world       the host's own, all of it: no rule about files or the network is kept
        user        uid 501 of the host
        workspace   /Users/u/repo at /Users/u/repo (read-write)
        network     none
        env         HOME PATH USER
        changes     direct
        limit       pids 4096
        permitted   running without a sandbox  # flag --test
    "#]]
    .assert_eq(&fitted.plan().to_string());
    let env = &fitted.plan().env;
    assert_eq!(env.get(std::ffi::OsStr::new("PATH")).expect("PATH"), "/opt/homebrew/bin:/usr/bin:/bin:/Users/u/bin");
}
