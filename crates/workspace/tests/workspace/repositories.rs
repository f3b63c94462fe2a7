//! Git's state in a layer: by which parts it is held, and that no kill leaves a repository without its objects.

use crate::crash::killed;
use crate::overlay::in_shell;
use crate::scene::{Scene, run};
use polder_workspace::{Choice, Unwatched, Verdict};

const STEPS_MAX: usize = 200;

fn git(scene: &Scene, arguments: &[&str]) -> String {
    let root = scene.root();
    let own = ["-C", root.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@b"];
    let output = std::process::Command::new("git").args(own).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A tree with a commit, and a layer with two more, one of them in a pack.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.host("file", "one\n");
    git(&scene, &["init", "-q", "-b", "main", "."]);
    git(&scene, &["add", "."]);
    git(&scene, &["commit", "-q", "-m", "first"]);
    in_shell(
        &scene,
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
         echo two >file; git commit -qam second; git branch -q side; git gc -q
         echo three >file; git commit -qam third; git checkout -q -b topic",
    );
    scene
}

#[test]
fn killed_at_any_step_a_repository_has_its_objects() {
    let mut steps = 0;
    // Neighbours differ by one path.
    for step in (1..STEPS_MAX).step_by(3) {
        let scene = scene();
        if !killed(&scene, "apply", step) {
            break;
        }
        steps = step;
        let (root, sound) = (scene.root(), ["fsck", "--no-dangling"]);
        // Nothing is settled yet: this is the repository as the user would find it.
        run("git", &[&["-C", root.to_str().unwrap()], &sound[..]].concat());
        git(&scene, &["log", "--all"]);
        git(&scene, &["--no-optional-locks", "status"]);
        drop(scene.workspace().resume(&mut Unwatched).unwrap());
        git(&scene, &sound);
    }
    assert!(steps > 20, "{steps}");
}

#[test]
fn commits_of_a_layer_are_one_change_with_one_verdict() {
    let scene = scene();
    let review = scene.workspace().review().unwrap();
    let [change] = &review.git[..] else { panic!("{:?}", review.git) };
    assert_eq!(change.summary(), "2 commits on main, branch side new, branch topic new, HEAD to topic, index");
    assert!(review.items.iter().filter(|item| item.git.is_none()).count() == 1, "{:?}", review.items);
    let applied = scene.apply(&Choice::everything());
    assert!(applied.items.iter().all(|(_, verdict)| *verdict == Verdict::Taken), "{applied:?}");
    assert_eq!(git(&scene, &["status", "--porcelain"]), "");
    assert_eq!(git(&scene, &["log", "--format=%s"]), "third\nsecond\nfirst\n");
}

/// What a layer puts into git dirs of the tree, and whether each is held.
#[test]
fn paths_in_git_dirs_are_judged_by_the_tables() {
    let rows = [
        (".git/refs/heads/config", "x", false),
        (".git/logs/refs/heads/hooks/x", "x", false),
        (".git/objects/ab/cdef", "x", false),
        (".git/COMMIT_EDITMSG", "x", false),
        (".git/info/exclude", "x", false),
        (".git/rebase-merge/git-rebase-todo", "pick x\n", false),
        (".git/hooks/x.sample", "x", false),
        (".git/hooks/pre-commit", "x", true),
        (".git/Hooks/pre-commit", "x", true),
        (".git/config", "[core]\n\tbare = false\n[core]\n\tpager = x\n", true),
        (".git/config.worktree", "[core]\n\tpager = x\n", true),
        (".git/info/attributes", "x", true),
        (".git/objects/info/alternates", "x", true),
        (".git/commondir", "x", true),
        (".git/modules/sub/config", "[core]\n\tpager = x\n", true),
        (".git/modules/sub/hooks/x", "x", true),
        (".git/worktrees/w/commondir", "/x", true),
        (".git/remotes/origin", "x", true),
        (".git/branches/x", "x", true),
        (".git/unheard-of", "x", true),
        (".git/refs/heads/bare/hooks/post-update", "x", true),
        ("bare.git/config", "[core]\n\tpager = x\n", true),
        ("bare.git/hooks/update", "x", true),
        ("bare.git/refs/heads/x", "x", false),
        ("plain/HEAD", "x", true),
        ("plain/config", "x", false),
        ("vendor/.git", "gitdir: /elsewhere\n", true),
        (".GIT/config", "x", true),
    ];
    for (path, text, expected) in rows {
        let scene = Scene::new();
        for dir in [".git", ".git/modules/sub", ".git/refs/heads/bare", "bare.git"] {
            for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("objects/x", ""), ("refs/x", "")] {
                scene.host(&format!("{dir}/{name}"), text);
            }
        }
        scene.host(".git/worktrees/w/HEAD", "ref: refs/heads/w\n");
        scene.host(".git/config", "[core]\n\tbare = false\n");
        scene.host("plain/other", "x");
        scene.layer(path, text);
        let review = scene.workspace().review().unwrap();
        let found = review.items.iter().find(|item| item.change.path.as_path().to_str() == Some(path));
        let item = found.unwrap_or_else(|| panic!("{path}: {review:?}"));
        assert_eq!(item.held.is_some(), expected, "{path}: {item:?}");
        assert_eq!(item.git.is_some(), !expected && path != "plain/config", "{path}: {item:?}");
    }
}

#[test]
fn steps_with_a_command_hold_the_whole_state() {
    let scene = scene();
    scene.layer(".git/rebase-merge/git-rebase-todo", "exec touch x\n");
    let applied = scene.apply(&Choice::everything());
    let verdict = scene.verdict(&applied, ".git/rebase-merge/git-rebase-todo");
    assert!(matches!(&verdict, Verdict::Held(why) if why.contains("git runs the steps")), "{verdict:?}");
    assert_eq!(scene.verdict(&applied, ".git/index"), verdict, "as a whole");
    assert_eq!(git(&scene, &["log", "--format=%s", "--all"]), "first\n");
    let all = Choice { include_held: vec![".git".into()], ..Choice::everything() };
    assert_eq!(scene.verdict(&scene.apply(&all), ".git/index"), Verdict::Taken);
}
