use super::super::Nsjail;
use super::*;
use crate::shimmed::testing::{cow, fitted, hostile, hostile_host, layers, linux_host, much, text};
use expect_test::{ExpectFile, expect_file};
use polder_facts::{HostFacts, Mechanism, Origin, Probe, Sourced};
use polder_policy::{Policy, built_in};

fn check(policy: &Policy, host: HostFacts, golden: ExpectFile) {
    let Lowered { staging, configuration, inside } =
        lower(&fitted(&Nsjail, policy, host), layers(policy).as_ref(), None);
    let Staging { identity, scratch_bytes, steps } = &staging;
    let staged = format!("identity {identity:?}\nscratch {scratch_bytes}\n{}", text::steps(steps));
    golden.assert_eq(&format!(
        "# the stage\n{staged}# the configuration\n{configuration}# inside\n{}",
        text::inside(&inside)
    ));
}

#[test]
fn of_an_ordinary_user() {
    check(&built_in(), linux_host(1000), expect_file!["goldens/user.txt"]);
}

#[test]
fn of_root() {
    check(&built_in(), linux_host(0), expect_file!["goldens/root.txt"]);
}

#[test]
fn of_a_policy_that_says_much() {
    check(&much(), linux_host(1000), expect_file!["goldens/much.txt"]);
}

#[test]
fn of_a_workspace_of_layers() {
    check(&cow(built_in()), linux_host(1000), expect_file!["goldens/cow.txt"]);
}

#[test]
fn of_hostile_names() {
    check(&hostile(), hostile_host(1000), expect_file!["goldens/hostile.txt"]);
}

#[test]
fn the_hosts_uid_0_gets_a_process_table_that_it_cannot_write() {
    let mut without = linux_host(0);
    let fails = Probe::Fails { reason: "x".to_owned(), remedy: "y".to_owned() };
    without.mechanisms.insert(Mechanism::IdmappedMounts, fails);
    let mut policy = built_in();
    policy.accept = vec![Sourced::new(polder_facts::Guarantee::Privileges, Origin::Api)];
    let Lowered { staging, configuration, .. } = lower(&fitted(&Nsjail, &policy, without), None, None);
    assert_eq!(staging.identity, Identity::HostRoot);
    let table = configuration.lines().find(|line| line.contains("fstype: \"proc\"")).expect("a process table");
    assert!(table.contains("rw: false"), "{table}");
}

#[test]
fn what_is_shown_in_something_shown_is_mounted_on_the_stage_and_not_by_the_program() {
    let mut policy = much();
    policy.binds[0].value.guest = GuestPath::new("/home/u/repo/hidden").expect("a path");
    policy.deny_read.clear();
    let Lowered { staging, configuration, .. } = lower(&fitted(&Nsjail, &policy, linux_host(1000)), None, None);
    let bound = |step: &Step| matches!(step, Step::Bind { at, .. } if **at == *c("shown/0/hidden"));
    assert!(staging.steps.iter().any(bound));
    assert!(!configuration.contains("repo/hidden"), "the program would make it on the host, or follow a link");
}
