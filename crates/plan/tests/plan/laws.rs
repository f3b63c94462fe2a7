//! What holds for every plan.

use crate::sample::{bind, host, lifting, patterns, protecting, with, with_source};
use polder_facts::{Entry, HostFacts, Origin, Sourced};
use polder_plan::{MaskKind, compile};
use polder_policy::{Access, Policy};
use proptest::prelude::*;
use std::ffi::OsString;

/// Paths of a small tree, so that rules meet.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", ".env", ".git"]), 1..4)
        .prop_map(|parts| parts.join("/"))
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        Just(Entry::Directory),
        (1u64..3).prop_map(|links| Entry::File { links }),
        Just(Entry::Symlink("b".into())),
        Just(Entry::Missing),
        Just(Entry::Other),
    ]
}

prop_compose! {
    fn scene()(
        entries in prop::collection::vec((path(), entry()), 0..8),
        protect in prop::collection::vec(path(), 0..5),
        hide in prop::collection::vec(path(), 0..4),
        everywhere in any::<bool>(),
        read_only in any::<bool>(),
        writable_bind in prop::option::of(any::<bool>()),
    ) -> (Policy, HostFacts) {
        let protect: Vec<&str> = protect.iter().map(String::as_str).chain(everywhere.then_some("**/.env")).collect();
        let hide: Vec<&str> = hide.iter().map(String::as_str).collect();
        let mut policy = protecting(&protect);
        policy.deny_read = patterns(&hide);
        if read_only {
            policy.access = Sourced::new(Access::ReadOnly, Origin::Api);
        }
        if let Some(writable) = writable_bind {
            let access = if writable { Access::ReadWrite } else { Access::ReadOnly };
            policy.binds = vec![bind("/opt/x", "/home/u/repo/a", access)];
        }
        let entries: Vec<(&str, Entry)> = entries.iter().map(|(path, entry)| (path.as_str(), entry.clone())).collect();
        (policy, with_source(with(host(), &entries), "/opt/x"))
    }
}

fn command() -> Vec<OsString> {
    vec!["true".into()]
}

proptest! {
    #[test]
    fn the_same_question_has_the_same_answer((policy, host) in scene()) {
        let (first, second) = (compile(&policy, &host, &command()), compile(&policy.clone(), &host.clone(), &command()));
        prop_assert_eq!(&first, &second);
        if let (Ok(first), Ok(second)) = (first, second) {
            prop_assert_eq!(first.to_string(), second.to_string());
            prop_assert_eq!(first.hash(), second.hash());
        }
    }

    #[test]
    fn different_plans_have_different_hashes((policy, host) in scene(), word in "[a-z]{1,5}") {
        let Ok(plan) = compile(&policy, &host, &command()) else { return Ok(()) };
        let other = compile(&policy, &host, &[word.clone().into()]).expect("the command is no part of the view");
        prop_assert_eq!(plan.hash() == other.hash(), word == "true");
    }

    #[test]
    fn every_protection_is_kept_in_some_way((policy, host) in scene()) {
        let Ok(plan) = compile(&policy, &host, &command()) else { return Ok(()) };
        let files = &plan.files;
        for rule in policy.protect.iter().filter(|rule| !rule.value.0.contains('*')) {
            if policy.access.value == Access::ReadOnly {
                continue;
            }
            let guest = plan.workspace_guest().join(&rule.value.0).expect("a path");
            let masked = files.masks.iter().any(|mask| guest.is_within(&mask.path));
            let swept = files.swept.iter().chain(&files.git.missing).any(|swept| guest.is_within(&swept.path));
            prop_assert!(masked || swept, "{} is not kept:\n{}", rule.value.0, plan);
        }
    }

    #[test]
    fn whatever_is_masked_below_a_directory_cannot_move_with_it((policy, host) in scene()) {
        let Ok(plan) = compile(&policy, &host, &command()) else { return Ok(()) };
        let files = &plan.files;
        for mask in &files.masks {
            let mut above = mask.path.as_path().parent();
            while let Some(parent) = above {
                let is_mount = files.shown.iter().any(|shown| shown.guest.as_path() == parent);
                if is_mount {
                    break;
                }
                let held = files.pinned.iter().any(|pin| pin.as_path() == parent)
                    || files.masks.iter().any(|mask| mask.path.as_path() == parent);
                prop_assert!(held, "`{}` above `{}` can be moved:\n{}", parent.display(), mask.path, plan);
                above = parent.parent();
            }
        }
    }

    #[test]
    fn nothing_is_masked_twice_and_nothing_below_what_is_hidden((policy, host) in scene()) {
        let Ok(plan) = compile(&policy, &host, &command()) else { return Ok(()) };
        let masks = &plan.files.masks;
        for (index, mask) in masks.iter().enumerate() {
            for other in &masks[index + 1..] {
                prop_assert_ne!(&mask.path, &other.path);
            }
            let hidden = |other: &&polder_plan::Mask| other.kind == MaskKind::Hide && other.path != mask.path;
            let below = masks.iter().filter(hidden).any(|other| mask.path.is_within(&other.path));
            prop_assert!(!below, "{} lies in what is hidden:\n{}", mask.path, plan);
        }
    }

    #[test]
    fn a_grant_never_adds_a_protection((policy, host) in scene(), grant in path()) {
        let Ok(before) = compile(&policy, &host, &command()) else { return Ok(()) };
        let after = compile(&lifting(policy, &format!("fs.write={grant}")), &host, &command());
        let after = after.expect("less can go wrong with fewer rules");
        for mask in &after.files.masks {
            // Where two rules make one mask, the one that is left is now who asked for it.
            let same = |other: &polder_plan::Mask| (&other.path, other.kind) == (&mask.path, mask.kind);
            prop_assert!(before.files.masks.iter().any(same), "{mask:?}");
        }
        prop_assert!(after.files.reserved.len() <= before.files.reserved.len());
        prop_assert!(after.files.swept.len() <= before.files.swept.len());
    }
}
