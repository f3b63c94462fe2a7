//! The text of a `.git` file chooses whose objects a worktree borrows, and the tree chooses the text.

use crate::answer::Answer;
use crate::attack::{Attack, Decides, Refusal};
use crate::attacks::host_git::{self, git, git_in};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T019g",
    name: "a_worktree_does_not_show_another_repository",
    holds: "a `.git` file that leads to another repository does not have its history shown in a worktree",
    bait: |stage| {
        host_git::bait(stage)?;
        let other = stage.root.join("other");
        std::fs::create_dir(&other)?;
        let git = |arguments: &[&str]| git_in(&stage.home, &other, arguments);
        git(&["init", "-q", "-b", "main"])?;
        stage.file("other/secret", "SECRET")?;
        git(&["add", "secret"])?;
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "secret"])?;
        std::fs::remove_dir_all(stage.workspace.join(".git"))?;
        stage.file("ws/.git", &format!("gitdir: {}\n", other.join(".git").display()))?;
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.worktree(),
    attempt: |field: &Field| {
        let show = git(field, &field.workspace(""), &["cat-file", "-e", "HEAD:secret"]);
        match show {
            Ok(()) => Answer::Reached("the history of another repository".to_owned()),
            Err(error) => Answer::Blocked(error.to_string()),
        }
    },
    // Polder refuses to make such a worktree.
    refusal: Refusal::Holds,
    decides: Decides::AttemptAndJudge,
    ..Attack::PLAIN
};
