//! In a directory of a repository git works, and only that directory and git's own data can be written.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::path::Path;

const ENGINES: [&str; 2] = ["native", "bubblewrap"];
const GIT: &str = "git -c user.name=a -c user.email=a@b -c protocol.file.allow=always";

fn fine(said: Said) -> String {
    assert_eq!(said.code, 0, "{said:?}");
    said.out
}

/// A repository with a directory in it, where polder is called.
fn repository() -> Place {
    let place = Place::new();
    place.write("work/a/sub/file", "one\n");
    place.write("work/top", "top\n");
    place.write("work/secret", "secret\n");
    fine(place.sh(&format!("git init -q -b main . && {GIT} add -A && {GIT} commit -qm first")));
    place
}

fn run_in(place: &Place, below: &str, flags: &[&str], script: &str) -> Said {
    let directory = place.work().join(below).display().to_string();
    place.says(&[&["run", "-C", &directory][..], flags, &["--", "sh", "-c", script]].concat())
}

fn status(place: &Place) -> String {
    fine(place.sh("git status --short; git log --format=%s"))
}

#[test]
fn commit_in_a_directory_of_a_repository_is_one_on_the_host() {
    for engine in ENGINES {
        let place = repository();
        let script = format!(
            "git status --short; git log --format=%s; cat ../../top; echo two >>file; {GIT} commit -qam inside; \
             git config branch.main.description words; basename $(git rev-parse --show-toplevel)"
        );
        let said = run_in(&place, "a/sub", &["--engine", engine], &script);
        assert_eq!(fine(said), "first\ntop\nwork\n", "{engine}");
        assert_eq!(status(&place), "inside\nfirst\n", "{engine}");
        assert_eq!(fine(place.sh("git config branch.main.description")), "words\n", "{engine}");
    }
}

#[test]
fn repository_around_the_directory_cannot_be_written() {
    let attempts = [
        "echo x >../../top",
        "echo x >../new",
        "rm ../../top",
        "mv ../sub ../bus",
        "echo evil >../../.git/hooks/post-commit",
        "echo x >../../.git/commondir.x && mv ../../.git/hooks ../../.git/hooks.old",
    ];
    for engine in ENGINES {
        let place = repository();
        for attempt in attempts {
            let said = run_in(&place, "a/sub", &["--engine", engine], attempt);
            assert_ne!(said.code, 0, "{engine}: {attempt}: {said:?}");
        }
        assert_eq!(status(&place), "first\n", "{engine}");
        assert!(!place.has("work/.git/hooks/post-commit") && place.has("work/.git/hooks"), "{engine}");
        // What is new in the git dir and what git obeys is set aside, as at the top.
        let made = "mkdir ../../.git/remotes && echo x >../../.git/remotes/origin";
        assert_eq!(fine(place.sh(&made.replace("../../", ""))), "", "the control");
        fine(place.sh("rm -r .git/remotes"));
        let said = run_in(&place, "a/sub", &["--engine", engine], made);
        assert!(said.err.contains("set aside") && !place.has("work/.git/remotes/origin"), "{engine}: {said:?}");
        // The controls: at the top, and where the repository is asked for, the tree can be written.
        fine(run_in(&place, "", &["--engine", engine], "echo x >>top"));
        let whole = format!("{}:rw", place.work().display());
        fine(run_in(&place, "a/sub", &["--engine", engine, "--bind", &whole], "echo x >>../../top && echo x >../new"));
        assert_eq!(place.read("work/top"), "top\nx\nx\n");
        let held = run_in(&place, "a/sub", &["--engine", engine, "--bind", &whole], attempts[4]);
        assert_ne!(held.code, 0, "{engine}: {held:?}");
    }
}

#[test]
fn deny_read_holds_in_the_repository_around_the_directory() {
    for engine in ENGINES {
        let place = repository();
        place.write("work/a/.env", "secret\n");
        let text = "sandboxes: {d: {deny_read: ['**/.env', secret]}}\nsandbox: d\n";
        let config = place.write("deny.yaml", text).display().to_string();
        let script = "cat ../.env ../../secret; git log --format=%s; echo x >made";
        assert_eq!(
            run_in(&place, "a/sub", &["--engine", engine], script).out,
            "secret\nsecret\nfirst\n",
            "the control"
        );
        let said = run_in(&place, "a/sub", &["--engine", engine, "--config", &config], script);
        assert_eq!((said.code, said.out.as_str()), (0, "first\n"), "{engine}: {}", said.err);
        assert!(place.has("work/a/sub/made"), "{engine}: the workspace is the real one");
    }
}

#[test]
fn layer_over_a_directory_shows_the_repository_to_read() {
    for engine in ENGINES {
        let place = repository();
        let script = format!("echo two >>file; git status --short; {GIT} commit -qam inside || echo refused");
        let said = run_in(&place, "a/sub", &["--engine", engine, "--cow", "--discard"], &script);
        assert_eq!(said.out, " M file\nrefused\n", "{engine}: {}", said.err);
        assert_eq!(status(&place), "first\n", "{engine}");
        let looked = run_in(&place, "a/sub", &["--engine", engine, "--cow", "--discard"], "git status --short");
        assert_eq!((looked.code, looked.err.as_str()), (0, ""), "{engine}: looking is not told as a denial");
    }
}

#[test]
fn directories_of_worktrees_and_submodules_have_their_repository() {
    let place = repository();
    let made = format!(
        "git init -q ../part && {GIT} -C ../part commit -q --allow-empty -m part && \
         {GIT} submodule add -q ../part part && {GIT} commit -qm added && git worktree add -q ../side && \
         mkdir -p ../side/deep/hooks part/deep && git config core.hooksPath deep/hooks"
    );
    fine(place.sh(&made));
    let commit =
        format!("{GIT} -c core.hooksPath=/none commit -q --allow-empty -m inside && git log --format=%s | head -2");
    for (below, before) in [("../side/deep", "added"), ("part", "part"), ("part/deep", "inside")] {
        let directory = place.work().join(below);
        let directory = std::fs::canonicalize(directory).expect("a directory").display().to_string();
        let said = place.says(&["run", "-C", &directory, "--", "sh", "-c", &commit]);
        assert_eq!(fine(said), format!("inside\n{before}\n"), "{below}");
        let log = fine(place.sh(&format!("git -C {directory} log --format=%s | head -1")));
        assert_eq!(log, "inside\n", "{below}");
    }
    // The hooks of a linked worktree that lie in the directory are held.
    let side = place.dir().join("side/deep").display().to_string();
    let said = place.says(&["run", "-C", &side, "--", "sh", "-c", "echo evil >hooks/pre-commit"]);
    assert!(said.code != 0 && !Path::new(&side).join("hooks/pre-commit").exists(), "{said:?}");
}

#[test]
fn pointer_above_the_directory_shows_no_other_repository() {
    let place = Place::new();
    place.write("other/file", "secret\n");
    fine(place.sh(&format!("cd ../other && git init -q . && {GIT} add -A && {GIT} commit -qm other")));
    place.write("work/a/sub/file", "one\n");
    place.write("work/beside", "beside\n");
    let other = place.dir().join("other");
    place.write("work/.git", format!("gitdir: {}/.git\n", other.display()));
    let script = format!("cat {}/.git/HEAD; cat ../../beside", other.display());
    assert_eq!(
        fine(place.sh(&format!("cd a/sub && git log --format=%s; {script}"))),
        "other\nref: refs/heads/master\nbeside\n"
    );
    let said = run_in(&place, "a/sub", &[], &script);
    assert!(said.code != 0 && said.out.is_empty(), "{said:?}");
    // Neither does a repository that is the whole home directory show it.
    let home = place.write("home/project/file", "x");
    place.write("home/.ssh/key", "secret\n");
    fine(place.sh("cd ~ && git init -q ."));
    let home = home.parent().expect("a directory").display().to_string();
    let said = place.says(&["run", "-C", &home, "--", "sh", "-c", "cat ~/.ssh/key || ls -A .."]);
    assert_eq!((said.code, said.out.as_str()), (0, "project\n"), "{said:?}");
}
