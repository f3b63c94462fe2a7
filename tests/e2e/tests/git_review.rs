//! Commits of a command in a layer: one change in a review, applied or held as a whole.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use serde_json::Value;

const NAMES: &str = "git config --global user.name A; git config --global user.email a@example.com
    git config --global protocol.file.allow always; git config --global init.defaultBranch main";

/// A repository with one commit on the host.
fn repository() -> Place {
    let place = Place::new();
    host(&place, &format!("{NAMES}; git init -q .; echo one >file; git add .; git commit -qm first"));
    place
}

/// The host's shell in the workspace, which succeeds.
fn host(place: &Place, script: &str) -> String {
    let said = place.sh(&format!("set -e; export LC_ALL=C GIT_EDITOR=true; {script}"));
    assert_eq!(said.code, 0, "{script}: {said:?}");
    said.out
}

/// A run in the layer `w`.
fn run(place: &Place, script: &str) -> Said {
    let said = place.says(&["run", "--workspace", "w", "--", "sh", "-ec", &format!("{NAMES}; {script}")]);
    assert_eq!(said.code, 0, "{script}: {said:?}");
    said
}

fn apply(place: &Place, more: &[&str]) -> Said {
    place.says(&[&["workspace", "apply", "w"], more].concat())
}

fn diff(place: &Place) -> String {
    place.says(&["workspace", "diff", "w", "--stat"]).out
}

const COMMITS: &str = "echo two >file; git commit -qam second; echo x >new; git add new; git commit -qm third";

#[test]
fn commits_are_one_change_and_leave_a_clean_status() {
    let place = repository();
    run(&place, COMMITS);
    // Both write the host's index anew, with other times and the same content.
    host(&place, "sleep 0.01; touch file; git status");
    let seen = place.says(&["workspace", "diff", "w"]).out;
    assert!(seen.contains("git .git: 2 commits on main, index\n") && !seen.contains("objects"), "{seen}");
    assert!(seen.contains(" A: third\n") && seen.contains(" A: second\n") && seen.contains("\n3 changes"), "{seen}");
    // `touch` makes the file itself a conflict, and with it the commits that contain it.
    let torn = apply(&place, &[]);
    assert!(torn.code == 1 && torn.out.contains("the commits contain `file`, which is not applied"), "{torn:?}");
    let said = apply(&place, &["--force", "file"]);
    assert!(said.code == 0 && said.out.contains("applied .git: 2 commits on main, index"), "{said:?}");
    assert_eq!(
        host(&place, "git status --porcelain; git fsck --strict --no-dangling 2>&1; git log --format=%s"),
        "third\nsecond\nfirst\n"
    );
    assert_eq!(diff(&place), "no changes\n");
}

#[test]
fn commits_and_applies_are_reverted_as_a_whole() {
    let place = repository();
    run(&place, COMMITS);
    apply(&place, &[]);
    run(&place, "echo four >file; git commit -qam fourth");
    assert!(diff(&place).contains("git .git: 1 commit on main, index"), "{}", diff(&place));
    apply(&place, &[]);
    assert_eq!(host(&place, "git status --porcelain; git log --format=%s -1"), "fourth\n");
    let back = place.says(&["workspace", "revert", "w"]);
    assert!(back.code == 0 && back.out.contains("1 earlier apply can be taken back"), "{back:?}");
    assert_eq!(host(&place, "git status --porcelain; git log --format=%s -1"), "third\n");
    host(&place, "git branch kept");
    assert_eq!(place.says(&["workspace", "revert", "w"]).code, 0);
    assert_eq!(host(&place, "git status --porcelain; git fsck --no-dangling 2>&1; git log --format=%s -1"), "first\n");
    assert_eq!(host(&place, "git log --format=%s kept"), "third\nsecond\nfirst\n", "objects stay");
    // A commit on top makes the state the user's.
    apply(&place, &[]);
    host(&place, "echo mine >mine; git add mine; git commit -qm mine");
    let refused = place.says(&["workspace", "revert", "w"]);
    assert!(refused.code == 1 && refused.out.contains("refused .git: git worked on it since"), "{refused:?}");
    assert_eq!(host(&place, "git status --porcelain; git fsck --no-dangling 2>&1; git log --format=%s -1"), "mine\n");
}

#[test]
fn commits_with_a_held_file_are_held_until_it_is_included() {
    let place = repository();
    run(&place, "echo 'touch canary' >.envrc; echo two >file; git add .; git commit -qm env");
    let said = apply(&place, &[]);
    assert!(said.out.contains("held back .envrc") && said.out.contains("applied file"), "{said:?}");
    assert!(said.out.contains("held back .git: 1 commit on main, index, 1 file held back because"), "{said:?}");
    assert_eq!(host(&place, "git reset -q --hard; git log --format=%s; ls -A"), "first\n.git\nfile\n");
    let said = apply(&place, &["--include-held", ".envrc", "--force", "file"]);
    assert!(said.out.contains("applied .envrc") && said.out.contains("applied .git"), "{said:?}");
    assert_eq!(host(&place, "git status --porcelain; git log --format=%s -1"), "env\n");
    // One that is not checked out comes in with the next checkout, and one that is staged as well.
    for script in [
        "git checkout -q -b evil; mkdir .husky; echo x >.husky/x; git add .; git commit -qm evil; git checkout -q main",
        "mkdir -p .husky; echo x >.husky/x; git add .husky; rm -r .husky",
    ] {
        run(&place, script);
        let said = apply(&place, &[]);
        assert!(said.out.contains("held back .git") && said.out.contains("`.husky/x`"), "{script}: {said:?}");
    }
}

#[test]
fn commits_stay_behind_when_only_files_are_named() {
    let place = repository();
    run(&place, &format!("{COMMITS}; echo loose >loose"));
    let said = apply(&place, &["--path", "loose"]);
    assert!(said.code == 0 && said.out.contains("applied loose"), "{said:?}");
    assert!(said.out.contains("left .git: 2 commits on main, index stay in the workspace"), "{said:?}");
    let part = apply(&place, &["--path", ".git/refs"]);
    assert!(part.code == 1 && part.out.contains("applied as a whole: name `.git`"), "{part:?}");
    let torn = apply(&place, &["--path", ".git"]);
    assert!(torn.code == 1 && torn.out.contains("which is not applied"), "{torn:?}");
    assert_eq!(host(&place, "git log --format=%s"), "first\n");
    assert_eq!(apply(&place, &[]).code, 0);
    assert_eq!(host(&place, "git status --porcelain"), "?? loose\n");
}

#[test]
fn commits_are_in_conflict_with_a_ref_that_the_host_moved() {
    let place = repository();
    run(&place, "git checkout -q -b topic; echo two >other; git add .; git commit -qm topic");
    // Another branch, a stash and a fetch of the host's are none of its business.
    host(&place, "git branch mine; git pack-refs --all; git tag t");
    assert!(!diff(&place).contains("conflict"), "{}", diff(&place));
    host(&place, "git branch topic");
    let said = apply(&place, &[]);
    assert!(said.code == 1 && said.out.contains("the host moved `topic` since the run began"), "{said:?}");
    host(&place, "git branch -D topic -q");
    host(&place, "echo staged >staged; git add staged");
    let said = apply(&place, &[]);
    assert!(said.code == 1 && said.out.contains("the host staged something in the index"), "{said:?}");
    host(&place, "git reset -q; rm staged");
    let said = apply(&place, &[]);
    assert!(said.code == 0 && said.out.contains("HEAD to topic"), "{said:?}");
    assert_eq!(host(&place, "git status --porcelain; git branch --format='%(refname:short)'"), "main\nmine\ntopic\n");
}

#[test]
fn commits_speak_json_and_nothing_to_the_terminal() {
    let place = repository();
    let escape = "git -c user.name=\"$(printf 'x\\033[31m')\" commit -q --allow-empty -m \"$(printf 's\\033[2J')\"";
    run(&place, &format!("{escape}; git config core.fsmonitor x; git config branch.main.remote origin"));
    let seen = place.says(&["workspace", "diff", "w"]).out;
    assert!(!seen.contains('\u{1b}') && seen.contains("\\u{1b}[31m: s\\u{1b}[2J"), "{seen}");
    let said = place.says(&["workspace", "diff", "w", "--json"]).out;
    assert!(!said.contains('\u{1b}'), "{said}");
    let told: Value = serde_json::from_str(&said).expect("JSON");
    let git = &told["git"][0];
    assert_eq!(git["repository"], ".git");
    assert_eq!(git["refs"][0]["commits"][0]["subject"], "s\u{1b}[2J");
    assert_eq!(
        (&git["keys"][0], &git["held_keys"][0]["key"]),
        (&"branch.main.remote".into(), &"core.fsmonitor".into())
    );
    let said: Value = serde_json::from_str(&apply(&place, &["--json"]).out).expect("JSON");
    assert_eq!(said["git"][0]["verdict"], "applied");
    assert_eq!(host(&place, "git config branch.main.remote; git config core.fsmonitor || echo none"), "origin\nnone\n");
}

#[test]
fn repositories_that_are_broken_or_forged_are_held() {
    let place = repository();
    host(&place, "git branch other");
    for (script, why) in [
        ("echo 1111111111111111111111111111111111111111 >.git/refs/heads/main", "its commits cannot be read"),
        ("rm .git/HEAD", "without `HEAD` it is no repository"),
        ("f=.git/objects/$(git rev-parse HEAD | sed 's,..,&/,'); chmod u+w $f; echo x >$f", "objects never change"),
    ] {
        run(&place, script);
        let said = apply(&place, &[]);
        assert!(said.out.contains("held back .git") && said.out.contains(why), "{script}: {said:?}");
        assert_eq!(place.says(&["workspace", "discard", "w"]).code, 0);
    }
    // Objects of the host never go with a layer, and locks of a killed git never come with it.
    run(&place, "rm -r .git/objects/??; touch .git/index.lock .git/refs/heads/main.lock");
    assert_eq!(diff(&place), "no changes\n");
    host(&place, "git fsck; git commit -q --allow-empty -m more");
}

/// What people and agents do with git all day.
const WORK: &str = "export GIT_EDITOR=true
    git checkout -q -b topic origin/topic; echo t >>file; git commit -qam topic
    git checkout -q -b old; git branch -m new; git checkout -q main
    git remote add second https://example.com/second.git
    echo m >other; git add .; git commit -qm other
    git rebase -q main topic; git checkout -q main; git merge -q --no-edit new; git merge -q --no-edit topic
    echo s >>file; git stash -q; git stash pop -q; git checkout -q file
    git tag -a v1 -m v1; git gc -q; git sparse-checkout set --cone dir; git init -q --bare srv.git
    git status --short";

#[test]
fn ordinary_work_in_a_layer_is_applied_without_a_word() {
    let place = repository();
    host(
        &place,
        "mkdir dir; echo d >dir/d; git add .; git commit -qm dir; git init -q --bare ../up.git
        git remote add origin ../up.git; git push -q origin main main:topic; git fetch -q",
    );
    run(&place, WORK);
    let said = apply(&place, &[]);
    assert!(said.code == 0 && !said.out.contains("held back"), "{said:?}");
    assert_eq!(host(&place, "git status --porcelain; git fsck --no-dangling 2>&1"), "?? srv.git/\n");
    let seen = |key: &str| host(&place, &format!("git config {key}"));
    assert_eq!(seen("branch.topic.merge"), "refs/heads/topic\n");
    assert_eq!(seen("remote.second.url"), "https://example.com/second.git\n");
    assert_eq!(seen("core.sparseCheckout"), "true\n");
    assert_eq!(host(&place, "git -C srv.git rev-parse --is-bare-repository; git describe --tags"), "true\nv1\n");
}
