use super::super::Firejail;
use super::*;
use crate::shimmed::testing::{HOSTILE, hostile, hostile_host, linux_host, much, text};
use expect_test::{ExpectFile, expect_file};
use polder_engine::Engine;
use polder_facts::{Guarantee, Origin, Sourced};
use polder_policy::{Policy, built_in};
use std::sync::Arc;

/// With what every run by this engine has to accept.
fn accepting(mut policy: Policy) -> Policy {
    let gaps = [Guarantee::Fs, Guarantee::SecondLayer, Guarantee::Ipc, Guarantee::Privileges, Guarantee::Disk];
    policy.accept = gaps.map(|gap| Sourced::new(gap, Origin::Api)).to_vec();
    policy
}

fn check(policy: Policy, host: HostFacts, golden: ExpectFile) {
    let fitted = crate::shimmed::testing::fitted(&Firejail, &accepting(policy), host);
    let Lowered { arguments, inside } = lower(&fitted, None).expect("paths that can be said");
    let mut words: String = arguments.iter().map(|word| format!("{}\n", word.to_string_lossy())).collect();
    words.push_str("# inside\n");
    golden.assert_eq(&(words + &text::inside(&inside)));
}

#[test]
fn of_an_ordinary_user() {
    check(built_in(), linux_host(1000), expect_file!["goldens/user.txt"]);
}

#[test]
fn of_root() {
    check(built_in(), linux_host(0), expect_file!["goldens/root.txt"]);
}

#[test]
fn of_a_policy_that_says_much() {
    let mut policy = much();
    // Nothing can appear elsewhere.
    policy.binds[0].value.guest = GuestPath::new("/opt/cache").expect("a path");
    check(policy, linux_host(1000), expect_file!["goldens/much.txt"]);
}

#[test]
fn of_a_workspace_below_tmp() {
    let mut host = linux_host(1000);
    (host.tree.root, host.tree.start) = ("/tmp/a (b)".into(), "/tmp/a (b)".into());
    host.tree.entries.clear();
    check(built_in(), host, expect_file!["goldens/below-tmp.txt"]);
}

fn refusal(policy: &Policy, host: HostFacts) -> String {
    let plan = polder_plan::compile_in(Firejail.world(), policy, &host, &["true".into()]).expect("a plan");
    let (plan, host) = (Arc::new(plan), Arc::new(host));
    Firejail.fit(&plan, &host).require(&plan, &host).expect_err("a refusal").to_string()
}

#[test]
fn a_name_that_cannot_be_said_is_refused_by_name() {
    let said = refusal(&accepting(hostile()), hostile_host(1000));
    assert!(said.contains("firejail has no way to name the path") && said.contains("rename it"), "{said}");
    assert!(said.contains(&format!("{HOSTILE:?}")[1..8]), "{said}");
}

#[test]
fn the_gaps_are_told_and_can_be_accepted_only_by_name() {
    let said = refusal(&built_in(), linux_host(0));
    for gap in ["fs: ", "second-layer: ", "ipc: ", "privileges: the command would be the host's uid 0"] {
        assert!(said.contains(gap), "{gap} in {said}");
    }
    assert!(said.contains("--accept fs"), "{said}");
}

#[test]
fn more_rules_than_it_takes_arguments_are_refused() {
    let mut host = linux_host(1000);
    let mut policy = accepting(built_in());
    for number in 0..100 {
        let path = Path::new("/home/u/repo").join(format!("f{number}"));
        host.tree.entries.insert(path, polder_facts::Entry::File { links: 1 });
        policy.protect.push(Sourced::new(polder_policy::PathPattern(format!("f{number}")), Origin::Api));
    }
    let said = refusal(&policy, host);
    assert!(said.contains("firejail takes 127"), "{said}");
}
