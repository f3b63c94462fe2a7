//! What becomes of a protection: a mask, a pin, a name that is set aside, or a fault.

use crate::sample::{bind, file, host, lifting, patterns, planned, protecting, view, with, with_source};
use expect_test::{Expect, expect};
use polder_facts::git::GitDirFacts;
use polder_facts::{EnclosingFacts, Entry, GuestPath, HostFacts, Sourced, WorktreeFacts};
use polder_plan::Shown;
use polder_policy::{Access, Policy, Workdir, WorkspaceMode, built_in};
use std::path::PathBuf;

fn check(policy: &Policy, host: &HostFacts, expected: Expect) {
    expected.assert_eq(&view(policy, host));
}

#[test]
fn what_exists_is_masked_and_its_parents_are_pinned() {
    let host =
        with(host(), &[("a", Entry::Directory), ("a/b", Entry::Directory), ("a/b/held", file()), ("top", file())]);
    check(
        &protecting(&["a/b/held", "top"]),
        &host,
        expect![[r#"
            protected   /home/u/repo/a/b/held  # polder.yaml:1
            protected   /home/u/repo/top  # polder.yaml:2
            pinned      /home/u/repo/a
            pinned      /home/u/repo/a/b
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn missing_path_is_set_aside_at_its_first_missing_part() {
    let host = with(host(), &[("a", Entry::Directory), ("a/b", Entry::Missing), ("x", Entry::Missing)]);
    check(
        &protecting(&["a/b/held", "x/y/z", "new"]),
        &host,
        expect![[r#"
            pinned      /home/u/repo/a
            set-aside   /home/u/repo/a/b  # polder.yaml:1
            set-aside   /home/u/repo/x  # polder.yaml:2
            set-aside   /home/u/repo/new  # polder.yaml:3
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn missing_name_is_listed_once_for_each_rule() {
    check(
        &protecting(&["new/a", "new/b"]),
        &host(),
        expect![[r#"
            set-aside   /home/u/repo/new  # polder.yaml:1
            set-aside   /home/u/repo/new  # polder.yaml:2
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn a_symbolic_link_on_the_way_is_refused() {
    let host = with(
        host(),
        &[("link", Entry::Symlink("real".into())), ("d", Entry::Directory), ("d/l", Entry::Symlink("/x".into()))],
    );
    check(
        &protecting(&["link/held", "d/l"]),
        &host,
        expect![[r#"
            polder.yaml:1: `/home/u/repo/link` is a symbolic link, which the command could turn elsewhere; name the path that it leads to
            polder.yaml:2: `/home/u/repo/d/l` is a symbolic link, which the command could turn elsewhere; name the path that it leads to
        "#]],
    );
}

#[test]
fn a_file_with_more_names_is_refused() {
    let host = with(host(), &[("held", Entry::File { links: 3 })]);
    check(
        &protecting(&["held"]),
        &host,
        expect![[r#"
            polder.yaml:1: `/home/u/repo/held` has 3 names, and only this one is protected; give it one name (copy it), or take the protection away with --allow fs.write=PATH
        "#]],
    );
}

#[test]
fn a_file_where_a_directory_should_be_is_masked_itself() {
    let host = with(host(), &[("a", file())]);
    check(
        &protecting(&["a/b/held"]),
        &host,
        expect![[r#"
            protected   /home/u/repo/a  # polder.yaml:1
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn what_is_hidden_beats_what_is_protected_and_all_below_it() {
    let entries =
        [("d", Entry::Directory), ("d/held", file()), ("d/e", Entry::Directory), ("d/e/held", file()), ("f", file())];
    let mut policy = protecting(&["d/held", "d/e/held", "f", "d"]);
    policy.deny_read = patterns(&["d", "f"]);
    check(
        &policy,
        &with(host(), &entries),
        expect![[r#"
            hidden      /home/u/repo/d  # polder.yaml:1
            hidden      /home/u/repo/f  # polder.yaml:2
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn missing_hidden_path_is_said_to_be_hidden_at_start_only() {
    let mut policy = protecting(&[]);
    policy.deny_read = patterns(&["nowhere", "a/b"]);
    check(
        &policy,
        &host(),
        expect![[r#"
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
            hidden      nowhere (what exists at the start)  # polder.yaml:1
            hidden      a/b (what exists at the start)  # polder.yaml:2
        "#]],
    );
}

#[test]
fn a_pattern_masks_what_it_matches_and_reserves_a_plain_name() {
    let mut host = with(host(), &[("a", Entry::Directory), ("a/.env", file()), ("k.pem", file())]);
    let found =
        |paths: &[&str]| paths.iter().map(|path| std::path::Path::new(crate::sample::ROOT).join(path)).collect();
    host.tree.matches.insert("**/.env".to_owned(), found(&["a/.env"]));
    host.tree.matches.insert("*.pem".to_owned(), found(&["k.pem"]));
    check(
        &protecting(&["**/.env", "*.pem"]),
        &host,
        expect![[r#"
            protected   /home/u/repo/a/.env  # polder.yaml:1
            protected   /home/u/repo/k.pem  # polder.yaml:2
            pinned      /home/u/repo/a
            set-aside   `.env` in any directory (when the run has ended)  # polder.yaml:1
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
            protected   *.pem (what exists at the start)  # polder.yaml:2
        "#]],
    );
}

#[test]
fn a_grant_lifts_a_protection_and_those_below_it() {
    let host = with(host(), &[("a", Entry::Directory), ("a/held", file()), ("b", file())]);
    check(
        &lifting(protecting(&["a/held", "b", "**/.env"]), "fs.write=a"),
        &host,
        expect![[r#"
            protected   /home/u/repo/b  # polder.yaml:2
            set-aside   `.env` in any directory (when the run has ended)  # polder.yaml:3
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    let policy = lifting(lifting(protecting(&["a/held", "b", "**/.env"]), "fs.write=**/.env"), "fs.write=b");
    check(
        &policy,
        &host,
        expect![[r#"
            protected   /home/u/repo/a/held  # polder.yaml:1
            pinned      /home/u/repo/a
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    // A name that only begins the same is another name.
    let policy = lifting(protecting(&["a/held"]), "fs.write=a/he");
    assert!(view(&policy, &host).contains("protected   /home/u/repo/a/held"));
}

#[test]
fn a_read_only_workspace_needs_no_protection_but_hides_all_the_same() {
    let mut policy = protecting(&["held", "new", "**/.env"]);
    policy.access.value = Access::ReadOnly;
    policy.deny_read = patterns(&["hidden"]);
    let seen = view(&policy, &with(host(), &[("held", file()), ("hidden", file())]));
    assert!(!seen.contains("/home/u/repo/held") && !seen.contains("new"), "{seen}");
    assert!(seen.contains("hidden      /home/u/repo/hidden"), "{seen}");
}

#[test]
fn a_mask_of_a_bind_appears_where_the_bind_does() {
    let host = with_source(with(host(), &[]), "/home/u/.config");
    let host = with(host, &[("/home/u/.config/gh", Entry::Directory), ("/home/u/.config", Entry::Directory)]);
    let mut policy = protecting(&[]);
    policy.binds = vec![bind("/home/u/.config", "/cfg", Access::ReadOnly)];
    policy.deny_read = patterns(&["/home/u/.config/gh", "/home/u/.aws"]);
    check(
        &policy,
        &host,
        expect![[r#"
            hidden      /cfg/gh  # polder.yaml:1
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    policy.deny_read = patterns(&["/home/u/.config"]);
    check(
        &policy,
        &host,
        expect![[r#"
            polder.yaml:1: `/home/u/.config` is shown as a whole and masked as a whole; take one of the two away
        "#]],
    );
}

fn repository() -> HostFacts {
    with(host(), &[(".git", Entry::Directory), (".git/hooks", Entry::Directory), (".git/config", file())])
}

#[test]
fn a_repository_is_held_where_git_would_execute() {
    check(
        &built_in(),
        &repository(),
        expect![[r#"
            protected   /home/u/repo/.git/config
            protected   /home/u/repo/.git/hooks
            pinned      /home/u/repo/.git
            set-aside   /home/u/repo/HEAD
            set-aside   /home/u/repo/.git/commondir
            set-aside   /home/u/repo/.git/config.worktree
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    // A redirect that exists is held like the config.
    check(
        &built_in(),
        &with(repository(), &[(".git/config.worktree", file())]),
        expect![[r#"
            protected   /home/u/repo/.git/config
            protected   /home/u/repo/.git/config.worktree
            protected   /home/u/repo/.git/hooks
            pinned      /home/u/repo/.git
            set-aside   /home/u/repo/HEAD
            set-aside   /home/u/repo/.git/commondir
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    check(
        &lifting(lifting(built_in(), "fs.write=.git/hooks"), "fs.write=.git/config"),
        &repository(),
        expect![[r#"
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
}

#[test]
fn a_linked_worktree_shows_its_repository_and_holds_what_git_obeys() {
    let mut host = with(host(), &[(".git", file())]);
    host.tree.worktree = Some(WorktreeFacts {
        git_dir: "/home/u/main/.git/worktrees/side".into(),
        common_dir: "/home/u/main/.git".into(),
    });
    for (path, entry) in [
        ("/home/u/main/.git/hooks", Entry::Directory),
        ("/home/u/main/.git/config", file()),
        ("/home/u/main/.git/worktrees", Entry::Directory),
        ("/home/u/main/.git/worktrees/side", Entry::Directory),
        ("/home/u/main/.git/worktrees/side/commondir", file()),
        ("/home/u/main/.git/worktrees/side/gitdir", file()),
        ("/home/u/main/.git/worktrees/side/config.worktree", Entry::Missing),
    ] {
        host.tree.entries.insert(path.into(), entry);
    }
    check(
        &built_in(),
        &host,
        expect![[r#"
            protected   /home/u/main/.git/config
            protected   /home/u/main/.git/hooks
            protected   /home/u/main/.git/worktrees/side/commondir
            protected   /home/u/main/.git/worktrees/side/gitdir
            protected   /home/u/repo/.git
            pinned      /home/u/main/.git/worktrees
            pinned      /home/u/main/.git/worktrees/side
            set-aside   /home/u/repo/HEAD
            set-aside   /home/u/main/.git/commondir
            set-aside   /home/u/main/.git/config.worktree
            set-aside   /home/u/repo/polder.yaml
            set-aside   /home/u/repo/polder.toml
            set-aside   /home/u/repo/.visor.yaml
            set-aside   /home/u/repo/.visor.yml
        "#]],
    );
    let plan = planned(&built_in(), &host).expect("a plan").to_string();
    assert!(plan.contains("repository  /home/u/main/.git at /home/u/main/.git (read-write)"), "{plan}");
}

#[test]
fn submodules_are_held_with_their_repository() {
    let mut host = repository();
    for (path, entry) in [
        (".git/modules", Entry::Directory),
        (".git/modules/part", Entry::Directory),
        (".git/modules/part/hooks", Entry::Directory),
        (".git/modules/part/config", file()),
        ("part", Entry::Directory),
        ("part/.git", file()),
    ] {
        let path = std::path::Path::new(crate::sample::ROOT).join(path);
        host.tree.entries.insert(path.clone(), entry);
        if path.ends_with("hooks") || path.ends_with("config") || path.ends_with("part/.git") {
            host.tree.submodules.push(path);
        }
    }
    let seen = view(&built_in(), &host);
    for held in [".git/modules/part/hooks", ".git/modules/part/config", "part/.git"] {
        assert!(seen.contains(&format!("protected   /home/u/repo/{held}\n")), "{seen}");
    }
    assert!(seen.contains("pinned      /home/u/repo/.git/modules/part\n"), "{seen}");
}

#[test]
fn a_workspace_is_one_project() {
    for (root, words) in [
        ("/", "the whole machine"),
        ("/home/u", "the home directory, or holds it"),
        ("/home", "the home directory, or holds it"),
        ("/etc", "a part of the system"),
        ("/proc/self", "a part of the system"),
    ] {
        let mut host = host();
        host.tree.root = root.into();
        host.tree.start = root.into();
        let seen = view(&protecting(&[]), &host);
        assert!(seen.contains(words) && seen.contains("-C"), "{root}: {seen}");
    }
}

/// The workspace is a directory of the repository `/home/u/main`.
fn in_a_repository() -> HostFacts {
    let mut host = host();
    host.tree.root = "/home/u/main/a/sub".into();
    host.tree.start = "/home/u/main/a/sub".into();
    let (tree, git_dir) = ("/home/u/main".into(), PathBuf::from("/home/u/main/.git"));
    host.tree.enclosing = Some(EnclosingFacts { tree, top: "/home/u/main".into(), git_dir: git_dir.clone() });
    let (obeyed, configs) = (vec!["hooks".into()], vec![("config".into(), String::new())]);
    host.tree.git.dirs.push(GitDirFacts { path: git_dir, obeyed, configs, state: Vec::new() });
    for (path, entry) in [
        ("/home/u/main/.git", Entry::Directory),
        ("/home/u/main/.git/hooks", Entry::Directory),
        ("/home/u/main/.git/config", file()),
        ("/home/u/main/a", Entry::Directory),
        ("/home/u/main/a/sub", Entry::Directory),
        ("/home/u/main/secret", file()),
    ] {
        host.tree.entries.insert(path.into(), entry);
    }
    host
}

/// What a plan shows, one a line.
fn shown(policy: &Policy, host: &HostFacts) -> Vec<String> {
    let words = |shown: &Shown| format!("{} {:?} {:?}", shown.guest, shown.access, shown.role);
    planned(policy, host).expect("a plan").files.shown.iter().map(words).collect()
}

#[test]
fn repository_around_the_workspace_is_shown_and_held() {
    let (host, mut policy) = (in_a_repository(), built_in());
    let read_only = "/home/u/main ReadOnly EnclosingTree";
    let workspace = "/home/u/main/a/sub ReadWrite Workspace";
    let git_dir = "/home/u/main/.git ReadWrite Repository";
    assert_eq!(shown(&policy, &host), [read_only, git_dir, workspace]);
    let seen = view(&policy, &host);
    for held in ["protected   /home/u/main/.git/hooks\n", "protected   /home/u/main/.git/config\n"] {
        assert!(seen.contains(held), "{seen}");
    }
    // A rule of the policy holds in all of it.
    policy.deny_read = patterns(&["secret"]);
    assert!(view(&policy, &host).contains("hidden      /home/u/main/secret  # polder.yaml:1\n"));
    // A layer lies over the workspace alone, and elsewhere git would not find the repository.
    policy.workspace.value.mode = WorkspaceMode::Cow;
    assert_eq!(shown(&policy, &host), [read_only, &git_dir.replace("ReadWrite", "ReadOnly"), workspace]);
    let mut moved = built_in();
    moved.workdir = Sourced::built_in(Workdir::At(GuestPath::new("/workspace").expect("a path")));
    assert_eq!(shown(&moved, &host), ["/workspace ReadWrite Workspace"]);
    // Asked for by name, all of it can be written, and git's own part is held as before.
    let host = with_source(host, "/home/u/main");
    let mut asked = built_in();
    asked.binds = vec![bind("/home/u/main", "/home/u/main", Access::ReadWrite)];
    assert_eq!(shown(&asked, &host), ["/home/u/main ReadWrite Bind", git_dir, workspace]);
    assert!(view(&asked, &host).contains("protected   /home/u/main/.git/hooks\n"));
}

#[test]
fn a_workspace_in_a_place_of_the_sandbox_is_told_where_else() {
    for root in ["/tmp", "/var/tmp", "/dev/shm/repo", "/run/polder/repo", "/.polder"] {
        let mut host = host();
        host.tree.root = root.into();
        host.tree.start = root.into();
        let seen = view(&protecting(&[]), &host);
        let fault = format!("`{root}` inside belongs to the sandbox itself; show the workspace elsewhere");
        assert!(seen.starts_with(&fault) && seen.contains("--workdir /workspace"), "{root}: {seen}");
        let mut policy = protecting(&[]);
        policy.workdir = Sourced::built_in(Workdir::At(GuestPath::new("/workspace").expect("a path")));
        planned(&policy, &host).expect("the remedy works");
    }
    for root in ["/tmp/repo", "/var/tmp/repo", "/home/u/deep/repo", "/usr/src/repo", "/etc/repo"] {
        let mut host = host();
        host.tree.root = root.into();
        host.tree.start = root.into();
        assert_eq!(planned(&protecting(&[]), &host).expect("a plan").workdir.to_string(), root);
    }
}

#[test]
fn two_things_at_one_path_and_a_bind_over_the_sandboxs_own_are_refused() {
    let host = with_source(with_source(host(), "/opt/a"), "/opt/b");
    let mut policy = protecting(&[]);
    policy.binds = vec![
        bind("/opt/a", "/home/u/repo", Access::ReadOnly),
        bind("/opt/b", "/proc/x", Access::ReadWrite),
        bind("/opt/c", "/c", Access::ReadOnly),
    ];
    check(
        &policy,
        &host,
        expect![[r#"
            flag --bind: the bind source `/opt/c` does not exist; make it, take the bind out, or let it be missing: `optional: true` (--bind PATH:optional)
            flag --bind: two things are shown at `/home/u/repo`; choose another path for one of them
            flag --bind: `/proc/x` inside belongs to the sandbox itself; choose another path inside
        "#]],
    );
}
