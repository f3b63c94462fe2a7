//! What becomes of a cache: names in the store, shown directories, or a fault.

use crate::sample::{ROOT, bind, host, planned, with, with_source};
use expect_test::{Expect, expect};
use polder_facts::{Entry, GuestPath, HostFacts, Origin, Sourced, Span, WorktreeFacts};
use polder_plan::{Caches, Role};
use polder_policy::{Access, Cache, CachePath, Image, Policy, built_in};
use std::path::PathBuf;
use std::time::Duration;

const STORE: &str = "/home/u/.local/state/polder/cache";

fn machine() -> HostFacts {
    let mut host = host();
    host.caches.store = Some(STORE.into());
    host
}

fn caching(paths: &[&str]) -> Policy {
    let path = |text: &&str| match text.strip_prefix("~/") {
        Some(below) => CachePath::InHome(PathBuf::from(below)),
        None => CachePath::At(GuestPath::new(text).expect("a path")),
    };
    let cache = Cache {
        paths: paths.iter().map(path).collect(),
        prefix: None,
        fallback_prefix: Some("main".to_owned()),
        ttl: Span(Duration::from_secs(60)),
        max_scopes: 3,
    };
    let mut policy = built_in();
    policy.cache = Some(Sourced::new(cache, Origin::File { path: "polder.yaml".into(), line: 4 }));
    policy
}

fn caches(policy: &Policy, host: &HostFacts) -> Caches {
    planned(policy, host).expect("a plan").caches.expect("caches").value
}

#[test]
fn a_cache_is_shown_like_a_bind_from_a_place_of_its_own() {
    let plan = planned(&caching(&["~/.cargo", "/cache"]), &machine()).expect("a plan");
    let shown: Vec<_> = plan.files.shown.iter().filter(|shown| shown.role == Role::Cache).collect();
    assert_eq!(shown.iter().map(|shown| shown.guest.to_string()).collect::<Vec<_>>(), ["/cache", "/home/u/.cargo"]);
    for shown in shown {
        assert!(shown.access == Access::ReadWrite && shown.directory);
        assert_eq!(shown.host.as_path().strip_prefix(STORE).expect("in the store").components().count(), 3);
    }
    let text = plan.to_string();
    assert!(
        text.contains(
            "kept        `default`, a new one from `main`, unused for 1m or beyond 3 removed  # polder.yaml:4"
        ),
        "{text}"
    );
}

#[test]
fn repository_sandbox_prefix_and_path_each_make_another_cache() {
    let policy = caching(&["/cache"]);
    let same = caches(&policy, &machine());
    assert_eq!(same, caches(&policy, &machine()));
    let mut elsewhere = machine();
    elsewhere.tree.root = "/home/u/other".into();
    elsewhere.tree.start = "/home/u/other".into();
    assert_ne!(caches(&policy, &elsewhere).family, same.family);
    let mut named = policy.clone();
    named.name = Some("fast".to_owned());
    assert_ne!(caches(&named, &machine()).family, same.family);
    let mut prefixed = policy.clone();
    prefixed.cache.as_mut().expect("a cache").value.prefix = Some("x".to_owned());
    let prefixed = caches(&prefixed, &machine());
    assert_eq!(prefixed.family, same.family, "eviction counts prefixes of one family");
    assert_ne!(prefixed.scope, same.scope);
    assert_ne!(caches(&caching(&["/cache2"]), &machine()).kept[0].name, same.kept[0].name);
}

#[test]
fn linked_worktrees_share_what_their_repository_keeps() {
    let mut linked = machine();
    linked.tree.root = "/home/u/branch".into();
    linked.tree.start = "/home/u/branch".into();
    linked.tree.worktree = Some(WorktreeFacts {
        git_dir: format!("{ROOT}/.git/worktrees/branch").into(),
        common_dir: format!("{ROOT}/.git").into(),
    });
    let policy = caching(&["/cache"]);
    assert_eq!(caches(&policy, &linked).family, caches(&policy, &machine()).family);
}

#[test]
fn an_untrusted_run_sees_what_is_there_and_nothing_else() {
    let mut policy = caching(&["/cache", "/own"]);
    let trusted = caches(&policy, &machine());
    policy.untrusted = Some(Sourced::new((), Origin::Flag("--untrusted".to_owned())));
    let nothing = planned(&policy, &machine()).expect("a plan");
    assert!(!nothing.files.shown.iter().any(|shown| shown.role == Role::Cache));
    assert!(nothing.to_string().contains("kept        nothing yet for /cache"), "{nothing}");
    // Its own where there is one, else the fallback's, and read-only both.
    let mut host = machine();
    let place = |scope: &str, index: usize| {
        PathBuf::from(STORE).join(&trusted.family).join(scope).join(&trusted.kept[index].name)
    };
    let fallback = trusted.fallback.as_ref().expect("a fallback");
    host.caches.present = [place(&fallback.name, 0), place(&trusted.scope.name, 1), place(&fallback.name, 1)].into();
    let plan = planned(&policy, &host).expect("a plan");
    let shown: Vec<_> = plan.files.shown.iter().filter(|shown| shown.role == Role::Cache).collect();
    assert_eq!(
        shown.iter().map(|shown| shown.host.as_path().to_owned()).collect::<Vec<_>>(),
        [place(&fallback.name, 0), place(&trusted.scope.name, 1)]
    );
    assert!(shown.iter().all(|shown| shown.access == Access::ReadOnly));
}

fn refused(policy: &Policy, host: &HostFacts, expected: Expect) {
    let faults = planned(policy, host).expect_err("must be refused");
    expected.assert_eq(&format!("{faults}\n"));
}

#[test]
fn a_cache_stands_in_for_nothing_else() {
    let mut policy =
        caching(&["/home/u/repo/target", "/opt", "/home/u", "/usr/local/x", "/proc/x", "/data", "/a", "/a/b"]);
    policy.binds = vec![bind("/srv/d", "/data/d", Access::ReadOnly)];
    refused(
        &policy,
        &with_source(machine(), "/srv/d"),
        expect![[r#"
        polder.yaml:4: a cache at `/opt` would stand in for a part of the system; choose another path inside
        polder.yaml:4: a cache at `/home/u` would stand in for the home directory; choose another path inside
        polder.yaml:4: `/a/b` is kept twice, by itself or below another; leave one out
        polder.yaml:4: a cache at `/home/u/repo/target` lies in `/home/u/repo`, which is shown there; what is shown from the host stays by itself; choose another path for the cache
        polder.yaml:4: a cache at `/usr/local/x` lies in `/usr`, which is the host's; choose a path outside of the system's directories, such as one below `~`
        polder.yaml:4: a cache at `/data` would hide `/data/d`, which is shown there; what is shown from the host stays by itself; choose another path for the cache
        polder.yaml:4: `/proc/x` inside belongs to the sandbox itself; choose another path inside
    "#]],
    );
    // An image has a system of its own.
    let mut policy = caching(&["/usr/local/x"]);
    policy.image = Some(Sourced::built_in(Image::Named("x".to_owned())));
    planned(&policy, &machine()).expect("a plan");
}

#[test]
fn nobody_is_shown_the_store() {
    let mut policy = caching(&["/cache"]);
    policy.binds = vec![bind("/home/u/.local", "/local", Access::ReadOnly)];
    let host = with_source(machine(), "/home/u/.local");
    refused(
        &policy,
        &host,
        expect![[r#"
        polder.yaml:4: `/home/u/.local` is shown inside, and the caches are kept at `/home/u/.local/state/polder/cache`; show less of the host, or keep caches elsewhere with XDG_STATE_HOME
    "#]],
    );
    // Without a cache of one's own, those of others are hidden, and so is all that lies beside them.
    policy.cache = None;
    let host = with(
        host,
        &[
            ("/home", Entry::Directory),
            ("/home/u", Entry::Directory),
            ("/home/u/.local", Entry::Directory),
            ("/home/u/.local/state", Entry::Directory),
            ("/home/u/.local/state/polder", Entry::Directory),
            (STORE, Entry::Directory),
        ],
    );
    let plan = planned(&policy, &host).expect("a plan").to_string();
    assert!(plan.contains("hidden      /local/state/polder\n"), "{plan}");
}

#[test]
fn without_a_home_there_is_no_cache() {
    refused(
        &caching(&["/cache"]),
        &host(),
        expect![[r#"
        polder.yaml:4: there is no place to keep a cache; set HOME or XDG_STATE_HOME
    "#]],
    );
}
