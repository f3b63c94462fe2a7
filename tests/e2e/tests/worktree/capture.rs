//! A copy that does not come to its end.

use crate::{fine, host, repository};
use polder_e2e::until;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

#[test]
fn a_pipe_by_the_name_of_a_list_keeps_nobody_waiting() {
    let place = repository();
    host(&place, "mkdir deep; mkfifo deep/.gitignore deep/pipe; echo x > deep/file");
    let said = place.says(&["run", "--untracked", "--", "touch", "ran"]);
    let name = place.work().join("deep/.gitignore").display().to_string();
    assert!(said.code == 125 && said.err.contains(&format!("`{name}` is no file, and git would wait")), "{said:?}");
    // Other pipes are nothing to git, and without new files their lists are not asked for.
    assert_eq!(fine(place.says(&["run", "--worktree", "--", "ls"])), "b\nc\nlink\n");
    host(&place, "rm deep/.gitignore");
    assert_eq!(fine(place.says(&["run", "--untracked", "--", "ls", "deep"])), "file\n");
}

#[test]
fn what_a_killed_copy_leaves_is_swept_by_the_next_start() {
    let place = repository();
    // So many files that copying them takes a while.
    host(&place, "mkdir many; seq 4000 | (cd many; xargs touch); git add many; git commit -qm many");
    let before = host(&place, "git status --short; ls -A .git");
    let store = place.home().join(".local/state/polder/workspaces");
    let half = || -> Vec<PathBuf> {
        let entries = fs::read_dir(&store).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.join("base/many").exists()).collect()
    };
    let is_unnamed = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(".new-");
    // Whoever looks can come too late; then the copy is whole, and it is tried again.
    let killed = (0..20).find_map(|_| {
        let mut copying = place.polder(&["run", "--worktree", "--workspace", "w", "--", "true"]).spawn().unwrap();
        until("a half of a copy, or the end", || !half().is_empty() || copying.try_wait().unwrap().is_some());
        copying.kill().unwrap();
        copying.wait().unwrap();
        let left = half().pop().filter(is_unnamed);
        if left.is_none() {
            place.says(&["workspace", "discard", "w"]);
        }
        left
    });
    let left = killed.expect("a copy that was killed half done");
    assert!(fine(place.says(&["workspace", "list"])).starts_with("no workspaces"), "it is one to nobody");
    assert_eq!(host(&place, "git status --short; ls -A .git"), before);
    // Its maker may live in another pid namespace, so it has to be quiet for an hour first.
    assert!(left.exists());
    fs::File::open(&left).unwrap().set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    assert_eq!(fine(place.says(&["run", "--worktree", "--workspace", "w", "--", "ls", "b"])), "b\n");
    assert!(!left.exists() && half().is_empty(), "{:?}", half());
}
