//! Git works inside, and what git on the host would execute later cannot be changed.

use crate::scene::{Scene, told};
use polder::{Error, Report};
use std::path::Path;

/// The host's git, with an identity and without its own configuration.
const GIT: &str = "git -c user.name=host -c user.email=host@example.invalid -c protocol.file.allow=always";

/// Says who the user is, as git's own configuration of the host does.
fn introduce(scene: &Scene) {
    scene.write("home/.gitconfig", "[user]\n\tname = host\n\temail = host@example.invalid\n");
}

fn repository(scene: &Scene, directory: &Path) {
    introduce(scene);
    std::fs::create_dir_all(directory).expect("a directory");
    scene.control(
        directory,
        &format!("git init -q -b main . && echo one >file && git add file && {GIT} commit -qm one"),
    );
}

fn commits(scene: &Scene, directory: &Path) -> String {
    scene.control(directory, "git -c safe.directory='*' log --format=%s")
}

pub(super) fn a_commit_in_a_repository_works(scene: &Scene) {
    repository(scene, &scene.work());
    // No identity is configured inside: the user's own enters.
    scene.says(&scene.sandbox(), "echo two >>file && git add -A && git commit -qm inside && git status --porcelain");
    assert_eq!(commits(scene, &scene.work()), "inside\none\n");
    assert_eq!(scene.control(&scene.work(), "git status --porcelain && git fsck 2>&1"), "");
}

pub(super) fn a_commit_in_a_linked_worktree_works(scene: &Scene) {
    let repo = scene.dir().join("repo");
    repository(scene, &repo);
    std::fs::remove_dir(scene.work()).expect("an empty workspace");
    scene.control(&repo, "git worktree add -q -b side ../work");
    scene.says(&scene.sandbox(), "echo two >>file && git add -A && git commit -qm inside");
    assert_eq!(commits(scene, &scene.work()), "inside\none\n");
    assert_eq!(scene.control(&repo, "git log --format=%s side && git log --format=%s main"), "inside\none\none\n");
}

pub(super) fn a_repository_can_be_made_in_a_subdirectory(scene: &Scene) {
    introduce(scene);
    scene.says(&scene.sandbox(), "git init -q sub && cd sub && echo x >file && git add file && git commit -qm inside");
    assert_eq!(commits(scene, &scene.work().join("sub")), "inside\n");
}

/// Changes that must fail inside, succeed outside, and leave the repository's own files as they are.
fn hold(scene: &Scene, git_dir: &Path, inside: &str, attempts: &[&str]) {
    let state = |dir: &Path| {
        let list = "for f in $(find config hooks | sort); do echo $f; test -f $f && cat $f; done";
        scene.control(dir, list)
    };
    let before = state(git_dir);
    for attempt in attempts {
        // The control works on a copy of the repository.
        let copy = scene.dir().join("copy");
        scene.control(scene.dir(), &format!("rm -rf copy && cp -a {} copy", git_dir.display()));
        scene.control(&copy, attempt);
        assert_ne!(state(&copy), before, "the control `{attempt}` changes something");
        let finished = scene.sh(&scene.sandbox(), &format!("cd {inside} && {attempt}"));
        assert_eq!(state(git_dir), before, "`{attempt}` changed it: {}", told(&finished));
    }
}

const ATTEMPTS: [&str; 10] = [
    "echo 'touch /tmp/pwned' >hooks/post-commit",
    "echo x >>config",
    "echo x >config.new && mv config.new config",
    "rm -f config; echo x >config",
    "mv hooks hooks.old && mkdir hooks && echo x >hooks/post-commit",
    "rm -rf hooks && mkdir hooks && echo x >hooks/pre-commit",
    "ln -sf /tmp/evil config",
    "git config --file config core.fsmonitor evil",
    "truncate -s 0 config",
    "mkdir -p more && echo x >more/post-commit && cp more/post-commit hooks/",
];

pub(super) fn hooks_and_config_of_a_repository_hold(scene: &Scene) {
    repository(scene, &scene.work());
    hold(scene, &scene.work().join(".git"), &scene.work().join(".git").display().to_string(), &ATTEMPTS);
    // The whole directory cannot be moved away and replaced either.
    scene.control(scene.dir(), "cp -a work/.git copy2 && mv copy2 copy3");
    scene.fails(&scene.sandbox(), "mv .git .git2");
    assert!(scene.work().join(".git/config").is_file());
    // Where the hooks are is another way to say what they are.
    scene.says(&scene.sandbox(), "echo x >>file; git commit -qam 'with hooks held'");
}

pub(super) fn hooks_and_config_behind_a_worktree_hold(scene: &Scene) {
    let repo = scene.dir().join("repo");
    repository(scene, &repo);
    std::fs::remove_dir(scene.work()).expect("an empty workspace");
    scene.control(&repo, "git worktree add -q -b side ../work");
    hold(scene, &repo.join(".git"), &repo.join(".git").display().to_string(), &ATTEMPTS);
    let pointer = scene.read("work/.git");
    scene.fails(&scene.sandbox(), "echo 'gitdir: evil' >.git");
    scene.fails(&scene.sandbox(), "rm .git");
    assert_eq!(scene.read("work/.git"), pointer);
}

pub(super) fn hooks_of_a_submodule_hold(scene: &Scene) {
    let part = scene.dir().join("part");
    repository(scene, &part);
    repository(scene, &scene.work());
    scene.control(&scene.work(), &format!("{GIT} submodule add -q ../part part && {GIT} commit -qm part"));
    let git_dir = scene.work().join(".git/modules/part");
    hold(scene, &git_dir, &git_dir.display().to_string(), &ATTEMPTS[..4]);
    let finished = scene.sh(&scene.sandbox(), "cd part && echo x >>file && git add file && git commit -qm inside");
    assert!(finished.outcome.success(), "{}", told(&finished));
}

pub(super) fn a_worktree_is_a_copy_and_another_repository_stands_beside_it(scene: &Scene) {
    let beside = scene.dir().join("beside");
    repository(scene, &scene.work());
    repository(scene, &beside);
    scene.write("work/file", "changed\n");
    let sandbox = scene.sandbox().worktree().project("other", &beside.display().to_string()).workspace("w");
    let planned = scene.plan(&sandbox, &["true"]);
    if let Report::Refused(_) = planned.report() {
        // What cannot keep changes apart says so, and nothing runs in place.
        assert!(matches!(planned.run(), Err(Error::Unfit(_))));
        return;
    }
    let script = "cat file && echo inside >>file && git commit -qam inside && cd ../other && git log --format=%s && \
                  echo two >>file && git commit -qam inside && git status --porcelain";
    assert_eq!(scene.says(&sandbox, script), "changed\none\n");
    assert_eq!((commits(scene, &scene.work()), commits(scene, &beside)), ("one\n".to_owned(), "one\n".to_owned()));
    let both = |scene: &Scene| scene.control(scene.dir(), "cat work/file beside/file");
    assert_eq!(both(scene), "changed\none\n");
    // A second run finds what the first one left, and the same text changes the host's repositories themselves.
    assert_eq!(scene.says(&sandbox, "cat file ../other/file"), "changed\ninside\none\ntwo\n");
    scene.control(
        &scene.work(),
        &script.replace("../other", "../beside").replace("git commit", &format!("{GIT} commit")),
    );
    assert_eq!(both(scene), "changed\ninside\none\ntwo\n");
}
