use super::super::Native;
use super::*;
use crate::shimmed::c;
use crate::shimmed::testing::{cow, layers, linux_host, much, text};
use expect_test::{ExpectFile, expect_file};
use polder_facts::{Guarantee, HostFacts, Mechanism, Origin, Probe, Sourced};
use polder_policy::{Policy, built_in};
use polder_sys::{Access, Filtered, Identity, Source, Step};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn fitted(policy: &Policy, host: HostFacts) -> Fitted {
    crate::shimmed::testing::fitted(&Native, policy, host)
}

/// A recipe as text, one step a line.
fn recipe(lowered: &Lowered) -> String {
    let Lowered { ground, inside } = lowered;
    let Ground { identity, net, root: _, scratch_bytes, steps, hostname } = ground;
    let head = format!(
        "identity {identity:?}\nnet {net:?}\nscratch {scratch_bytes}\nhostname {}\n",
        hostname.to_string_lossy()
    );
    head + &text::steps(steps) + &text::inside(inside)
}

fn check(policy: &Policy, host: HostFacts, golden: ExpectFile) {
    golden.assert_eq(&recipe(&lower(&fitted(policy, host), layers(policy).as_ref(), None)));
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
fn no_step_shows_the_real_tree_for_writing_where_changes_are_kept_apart() {
    let policy = cow(much());
    let lowered = lower(&fitted(&policy, linux_host(0)), layers(&policy).as_ref(), None);
    let root = c(linux_host(0).tree.root);
    let shows = |step: &&Step| matches!(step, Step::Bind { source: Source::Resolved { path }, .. } if *path == root);
    let shown: Vec<_> = lowered.ground.steps.iter().filter(shows).collect();
    assert!(matches!(shown.as_slice(), [Step::Bind { access: Access::ReadOnly, .. }]), "{shown:?}");
}

#[test]
fn is_the_same_for_the_same_plan() {
    let once = || recipe(&lower(&fitted(&much(), linux_host(0)), None, None));
    assert_eq!(once(), once());
}

#[test]
fn every_mount_point_is_made_before_it_is_used() {
    for (policy, uid) in [(built_in(), 0), (much(), 1000), (much(), 0), (cow(much()), 1000)] {
        let mut made: Vec<std::path::PathBuf> = vec!["".into()];
        for step in lower(&fitted(&policy, linux_host(uid)), layers(&policy).as_ref(), None).ground.steps {
            let place = |at: &CString| std::path::PathBuf::from(OsStr::from_bytes(at.as_bytes()));
            // What makes its own place needs only its parent; what covers needs the place itself, or a bind above it.
            let (at, makes) = match &step {
                Step::Directory { at, .. } | Step::File { at, .. } => (place(at), true),
                Step::Symlink { at, .. } | Step::ShowIfThere { at, .. } | Step::Device { at, .. } => (place(at), true),
                Step::Scratch { at, .. } | Step::Terminals { at } | Step::Proc { at } => (place(at), false),
                Step::Bind { at, .. } | Step::Overlay { at, .. } => (place(at), false),
                Step::Withdraw { at } => {
                    assert!(made.contains(&place(at)), "{step:?}");
                    continue;
                }
                Step::Remove { at } => {
                    assert!(made.contains(&place(at)), "{step:?}");
                    made.retain(|other| *other != place(at));
                    continue;
                }
                // Below a bind or below /proc: the host has them.
                Step::Protect { .. }
                | Step::Pin { .. }
                | Step::Hide { .. }
                | Step::Held { .. }
                | Step::Await {}
                | Step::Copy { .. }
                | Step::Cover { .. } => {
                    continue;
                }
                Step::Place { .. } | Step::Same { .. } | Step::Settle { .. } => {
                    unreachable!("nobody builds between these steps and us")
                }
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
        let lowered = lower(&fitted(&policy, linux_host(1000)), None, None);
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
    let mut without = linux_host(1000);
    without.mechanisms.insert(Mechanism::Seccomp, fails.clone());
    let mut policy = built_in();
    policy.accept = vec![Sourced::new(Guarantee::Syscalls, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None, None);
    assert!(lowered.inside.filter == Filtered::No && lowered.inside.landlock.is_some());

    let mut without = linux_host(1000);
    without.mechanisms.insert(Mechanism::Landlock, fails.clone());
    without.landlock_abi = 0;
    policy.accept = vec![Sourced::new(Guarantee::SecondLayer, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None, None);
    assert!(lowered.inside.filter == Filtered::Yes && lowered.inside.landlock.is_none());

    // Accepting what is not missing changes nothing.
    let lowered = lower(&fitted(&policy, linux_host(1000)), None, None);
    assert!(lowered.inside.filter == Filtered::Yes && lowered.inside.landlock.is_some());

    let mut without = linux_host(0);
    without.mechanisms.insert(Mechanism::IdmappedMounts, fails);
    policy.accept = vec![Sourced::new(Guarantee::Privileges, Origin::Api)];
    let lowered = lower(&fitted(&policy, without), None, None);
    assert_eq!(lowered.ground.identity, Identity::HostRoot);
    let covers = Step::Protect { at: c("proc/sys") };
    assert!(lowered.ground.steps.contains(&covers), "the host's uid 0 must not write kernel settings");
}
