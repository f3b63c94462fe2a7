//! Ways in which a command in a `direct` workspace could have the host's `git` run its code later.
//!
//! Each way is tried twice. The control runs the same text without a sandbox, and the host's `git`
//! then leaves the canary: so the way works. Under polder the canary must stay away.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

/// One way to have code run by a `git` of the host. In each text `BOOM` is a shell command that
/// leaves the canary, and `TOP` the host's path of the workspace.
struct GitWay {
    name: &'static str,
    /// On the host, before the run: a repository with one commit is there already.
    before: &'static str,
    /// Inside.
    inside: &'static str,
    /// On the host, after the run.
    trigger: &'static str,
}

/// Every place has this: a commit, an identity, and a file transport that git lets submodules use.
const SETUP: &str = "git config --global user.name A; git config --global user.email a@example.com
    git config --global protocol.file.allow always; git config --global init.defaultBranch main
    git init -q . && echo one >file && git add . && git commit -qm first";

const HOOK: &str = "mkdir -p $(dirname HOOKFILE); printf '#!/bin/sh\\nBOOM\\n' >HOOKFILE; chmod 755 HOOKFILE";

const WAYS: &[GitWay] = &[
    GitWay {
        name: "hooks-path",
        before: "mkdir .husky; git config core.hooksPath .husky",
        inside: "HOOK=.husky/pre-commit; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hooks-path-renamed",
        before: "mkdir -p tools/hooks; git config core.hooksPath tools/hooks",
        inside: "mv tools old; mkdir -p tools/hooks; HOOK=tools/hooks/pre-commit; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hooks-path-missing",
        before: "git config core.hooksPath tools/hooks",
        inside: "mkdir -p tools/hooks; HOOK=tools/hooks/pre-commit; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hooks-path-husky",
        before: "mkdir -p .husky/_; printf '#!/bin/sh\nsh .husky/pre-commit\n' >.husky/_/pre-commit
            chmod 755 .husky/_/pre-commit; echo true >.husky/pre-commit
            git config core.hooksPath .husky/_",
        inside: "HOOK=.husky/pre-commit; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hooks-path-by-link",
        before: "mkdir real; ln -s real hooks; git config core.hooksPath hooks",
        inside: "HOOK=real/pre-commit; MAKEHOOK; rm hooks; mkdir hooks; cp real/pre-commit hooks",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "include",
        before: "touch .gitshared; git config include.path ../.gitshared",
        inside: "git config -f .gitshared core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "include-missing",
        before: "git config include.path ../.gitshared",
        inside: "git config -f .gitshared core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "include-of-include",
        before: "git config include.path ../.gitshared; git config -f .gitshared include.path more",
        inside: "git config -f more core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "include-if",
        before: "touch .gitshared; git config includeIf.gitdir:/.path ../.gitshared",
        inside: "git config -f .gitshared core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "fsmonitor-program",
        before: "printf '#!/bin/sh\nfalse\n' >fsm.sh; chmod 755 fsm.sh; git config core.fsmonitor ./fsm.sh",
        inside: "HOOK=fsm.sh; MAKEHOOK",
        trigger: "git status",
    },
    GitWay {
        name: "fsmonitor-argument-missing",
        before: "git config core.fsmonitor 'sh fsm.sh'",
        inside: "HOOK=fsm.sh; MAKEHOOK",
        trigger: "git status",
    },
    GitWay {
        name: "filter-program",
        before: "mkdir bin; printf '#!/bin/sh\ncat\n' >bin/clean; chmod 755 bin/clean
            git config filter.f.clean bin/clean; echo '* filter=f' >.gitattributes",
        inside: "HOOK=bin/clean; MAKEHOOK; echo two >new",
        trigger: "git add .",
    },
    GitWay {
        name: "hook-link",
        before: "mkdir tools; printf '#!/bin/sh\n' >tools/check; chmod 755 tools/check
            ln -s ../../tools/check .git/hooks/pre-commit",
        inside: "HOOK=tools/check; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hook-link-dangling",
        before: "ln -s ../../tools/check .git/hooks/pre-commit",
        inside: "mkdir tools; HOOK=tools/check; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "hooks-are-a-link",
        before: "rm -r .git/hooks; mkdir tools; ln -s ../tools .git/hooks",
        inside: "HOOK=tools/pre-commit; MAKEHOOK; rm .git/hooks; ln -s ../tools .git/hooks",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "top-with-commondir",
        before: "",
        inside: "cp -r .git evil; HOOK=evil/hooks/reference-transaction; MAKEHOOK
            echo evil >commondir; echo 'ref: refs/heads/main' >HEAD; rm -f .git/HEAD",
        trigger: "git branch made",
    },
    GitWay {
        name: "top-as-repository",
        before: "",
        inside: "mkdir objects refs; echo 'ref: refs/heads/main' >HEAD; rm -f .git/HEAD
            git config -f config core.worktree TOP; git config -f config core.bare false
            git config -f config core.repositoryformatversion 0
            git config -f config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "rebase-todo",
        before: "",
        inside: "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD >onto
            cp onto orig-head; echo refs/heads/main >head-name; touch interactive quiet
            echo 'exec BOOM' >git-rebase-todo; echo 1 >msgnum; echo 1 >end; touch done",
        trigger: "git rebase --continue",
    },
    GitWay {
        name: "rebase-todo-of-the-user",
        before: "echo two >file; git commit -qam two
            GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD~1",
        inside: "printf '  x\tBOOM\n' >>.git/rebase-merge/git-rebase-todo",
        trigger: "git rebase --continue",
    },
    GitWay {
        name: "rebase-strategy",
        before: "git checkout -q -b topic; echo two >file; git commit -qam two
            git checkout -q main; echo three >other; git add .; git commit -qm three",
        inside: "mkdir git-merge-..; HOOK=git-merge-../x; MAKEHOOK; mkdir .git/rebase-merge
            cd .git/rebase-merge; git rev-parse main >onto; git rev-parse topic >orig-head
            echo refs/heads/topic >head-name; touch interactive quiet done; echo ../x >strategy
            echo pick $(git rev-parse topic) two >git-rebase-todo; echo 1 >msgnum; echo 1 >end",
        trigger: "git rebase --continue",
    },
    GitWay {
        name: "cherry-pick-strategy",
        before: "git checkout -q -b topic; echo two >new; git add .; git commit -qm two
            git checkout -q main",
        inside: "mkdir git-merge-..; HOOK=git-merge-../x; MAKEHOOK; mkdir .git/sequencer
            cd .git/sequencer; git rev-parse main >head; git rev-parse main >abort-safety
            printf '[options]\n\tstrategy = ../x\n' >opts
            echo pick $(git rev-parse topic) two >todo; echo pick $(git rev-parse topic) two >>todo",
        trigger: "git cherry-pick --continue",
    },
    GitWay {
        name: "separate-git-dir",
        before: "git init -q --separate-git-dir data .",
        inside: "git config -f data/config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "separate-git-dir-hook",
        before: "git init -q --separate-git-dir data .",
        inside: "HOOK=data/hooks/pre-commit; MAKEHOOK",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "pointer-replaced",
        before: "git init -q --separate-git-dir data .",
        inside: "cp -r data evil; git config -f evil/config core.fsmonitor 'BOOM; false'
            rm -f .git; echo 'gitdir: evil' >.git",
        trigger: "git status",
    },
    GitWay {
        name: "submodule-config",
        before: SUBMODULE,
        inside: "git config -f .git/modules/sub/config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "submodule-commondir",
        before: SUBMODULE,
        inside: "cp -r .git/modules/sub evil; git config -f evil/config core.fsmonitor 'BOOM; false'
            echo TOP/evil >.git/modules/sub/commondir",
        trigger: "git status",
    },
    GitWay {
        name: "submodule-hooks-missing",
        before: "SUBMODULE; rm -r .git/modules/sub/hooks",
        inside: "mkdir .git/modules/sub/hooks; HOOK=.git/modules/sub/hooks/pre-commit; MAKEHOOK",
        trigger: "git -C sub commit -q --allow-empty -m x",
    },
    GitWay {
        name: "submodule-config-worktree",
        before: "SUBMODULE; git -C sub config extensions.worktreeConfig true",
        inside: "git config -f .git/modules/sub/config.worktree core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "submodule-pointer",
        before: SUBMODULE,
        inside: "cp -r .git/modules/sub evil; git config -f evil/config core.fsmonitor 'BOOM; false'
            git config -f evil/config core.worktree TOP/sub; rm -f sub/.git
            echo 'gitdir: ../evil' >sub/.git",
        trigger: "git status",
    },
    GitWay {
        name: "submodule-made-new",
        before: "git init -q ../other; git -C ../other commit -q --allow-empty -m o",
        inside: "git init -q sub; git -C sub commit -q --allow-empty -m o; mkdir -p .git/modules
            mv sub/.git .git/modules/sub; echo 'gitdir: ../.git/modules/sub' >sub/.git
            git config -f .git/modules/sub/config core.worktree ../../../sub; git add sub
            git config -f .git/modules/sub/config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "worktree-elsewhere-commondir",
        before: "git worktree add -q ../linked",
        inside: "cp -r .git evil; git config -f evil/config core.fsmonitor 'BOOM; false'
            echo TOP/evil >.git/worktrees/linked/commondir",
        trigger: "git -C ../linked status",
    },
    GitWay {
        name: "worktree-elsewhere-config",
        before: "git worktree add -q ../linked; git config extensions.worktreeConfig true",
        inside: "git config -f .git/worktrees/linked/config.worktree core.fsmonitor 'BOOM; false'",
        trigger: "git -C ../linked status",
    },
    GitWay {
        name: "config-worktree",
        before: "git config extensions.worktreeConfig true",
        inside: "git config -f .git/config.worktree core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "config-worktree-there",
        before: "git config extensions.worktreeConfig true; git config --worktree core.x 1",
        inside: "git config -f .git/config.worktree core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "attributes",
        before: "git config filter.f.clean 'BOOM; cat'",
        inside: "mkdir -p .git/info; echo '* filter=f' >.git/info/attributes; echo x >new",
        trigger: "git add new",
    },
    GitWay {
        name: "remotes-file",
        before: "git config --global protocol.ext.allow always",
        inside: "mkdir -p .git/remotes; echo 'URL: ext::BOOM' >.git/remotes/origin",
        trigger: "git fetch origin",
    },
    GitWay {
        name: "branches-file",
        before: "git config --global protocol.ext.allow always",
        inside: "mkdir -p .git/branches; echo 'ext::BOOM' >.git/branches/origin",
        trigger: "git fetch origin",
    },
    GitWay {
        name: "nested-in-index",
        before: "",
        inside: "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub
            git -C sub config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "nested-in-index-elsewhere",
        before: "",
        inside: "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub
            git -C sub config core.fsmonitor 'BOOM; false'; git -C sub config core.worktree TOP/sub
            mkdir a; mv sub/.git a/data; echo 'gitdir: ../a/data' >sub/.git",
        trigger: "git status",
    },
    GitWay {
        name: "nested-from-before",
        before: "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub",
        inside: "git -C sub config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "remote-beside-hook",
        before: "git init -q --bare srv.git; git remote add origin ./srv.git",
        inside: "HOOK=srv.git/hooks/pre-receive; MAKEHOOK",
        trigger: "git push -q origin main",
    },
    GitWay {
        name: "remote-made-new",
        before: "",
        inside: "git init -q --bare srv.git; HOOK=srv.git/hooks/pre-receive; MAKEHOOK
            git remote add origin ./srv.git",
        trigger: "git push -q origin main",
    },
    GitWay {
        name: "message-by-link",
        before: "touch ../profile",
        inside: "ln -sf TOP/../profile .git/COMMIT_EDITMSG; echo 'BOOM' >.git/MERGE_MSG",
        trigger: "GIT_EDITOR=true git commit -q --allow-empty; sh ../profile",
    },
    GitWay {
        name: "log-by-link",
        before: "touch ../profile",
        inside: "mkdir -p .git/logs; ln -sf TOP/../profile .git/logs/HEAD
            git config user.name 'x;BOOM #'",
        trigger: "git commit -q --allow-empty -m x; sh ../profile",
    },
    GitWay {
        name: "config-editor",
        before: "",
        inside: "git config core.editor 'BOOM; true'",
        trigger: "git commit -q --allow-empty",
    },
    GitWay {
        name: "config-ssh-command",
        before: "git remote add origin ssh://localhost/x",
        inside: "git config core.sshCommand 'BOOM; false'",
        trigger: "git fetch",
    },
    GitWay { name: "config-alias", before: "", inside: "git config alias.st '!BOOM'", trigger: "git st" },
    GitWay {
        name: "config-ext-address",
        before: "git config --global protocol.ext.allow always",
        inside: "git remote add origin 'ext::BOOM'",
        trigger: "git fetch origin",
    },
    GitWay {
        name: "config-ext-branch",
        before: "git config --global protocol.ext.allow always",
        inside: "git config branch.main.remote 'ext::BOOM'
            git config branch.main.merge refs/heads/main",
        trigger: "git fetch",
    },
    GitWay {
        name: "config-instead-of",
        before: "git config --global protocol.ext.allow always
            git remote add origin https://localhost/x",
        inside: "git config 'url.ext::BOOM .insteadOf' https://",
        trigger: "git fetch origin",
    },
    GitWay {
        name: "config-submodule-update",
        before: SUBMODULE,
        inside: "git config submodule.sub.update '!BOOM; true'
            git -C sub commit -q --allow-empty -m more",
        trigger: "git submodule update",
    },
    GitWay {
        name: "config-hooks-path",
        before: "",
        inside: "mkdir h; HOOK=h/pre-commit; MAKEHOOK; git config core.hooksPath h",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "config-upload-pack",
        before: "git init -q ../other; git remote add origin ../other",
        inside: "git config remote.origin.uploadpack 'BOOM; git-upload-pack'",
        trigger: "git fetch origin",
    },
    GitWay {
        name: "config-signing",
        before: "git config commit.gpgSign true; git config gpg.program true",
        inside: "HOOK=sign; MAKEHOOK; git config gpg.program ./sign",
        trigger: "git commit -q --allow-empty -m x",
    },
    GitWay {
        name: "config-pager",
        before: "",
        inside: "git config pager.status 'BOOM; cat'; git config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "new-repository-key",
        before: "rm -rf .git",
        inside: "git init -q; git config core.fsmonitor 'BOOM; false'",
        trigger: "git status",
    },
    GitWay {
        name: "new-repository-include",
        before: "rm -rf .git",
        inside: "git init -q; printf '[core]\\n\\tfsmonitor = BOOM; false\\n' >extra; git config include.path ../extra",
        trigger: "git status",
    },
    GitWay {
        name: "new-repository-hook",
        before: "rm -rf .git",
        inside: "git init -q; HOOK=.git/hooks/post-index-change; MAKEHOOK",
        trigger: "git add .",
    },
    GitWay {
        name: "new-repository-moved-in",
        before: "rm -rf .git",
        inside: "git init -q other; HOOK=other/.git/hooks/post-index-change; MAKEHOOK; mv other/.git .git",
        trigger: "git add .",
    },
    GitWay {
        name: "new-repository-closed",
        before: "rm -rf .git",
        inside: "git init -q; git config core.fsmonitor 'BOOM; false'; chmod 000 .git",
        trigger: "chmod 755 .git; git status",
    },
    GitWay {
        name: "new-separate-git-dir",
        before: "rm -rf .git",
        inside: "git init -q --separate-git-dir data; HOOK=data/hooks/post-index-change; MAKEHOOK
            printf 'gitdir: data\\n' >.git",
        trigger: "git add .",
    },
    GitWay {
        name: "new-pointer-to-another-repository",
        before: "git init -q ../other; git -C ../other config core.hooksPath tools; rm -rf .git",
        inside: "printf 'gitdir: TOP/../other/.git\\n' >.git; mkdir tools; HOOK=tools/post-index-change; MAKEHOOK",
        trigger: "git add .",
    },
    GitWay {
        name: "new-symlink-to-another-repository",
        before: "git init -q ../other; git -C ../other config core.hooksPath tools; rm -rf .git",
        inside: "ln -s TOP/../other/.git .git; mkdir tools; HOOK=tools/post-index-change; MAKEHOOK",
        trigger: "git add .",
    },
];

const SUBMODULE: &str = "git init -q ../other; git -C ../other commit -q --allow-empty -m o
    git submodule --quiet add ../other sub 2>/dev/null || git submodule --quiet add \"$PWD/../other\" sub
    git commit -qm sub";

/// A text with its words filled in.
fn text(place: &Place, template: &str) -> String {
    let top = place.work().display().to_string();
    let hook = HOOK.replace("HOOKFILE", "$HOOK");
    let text = template.replace("SUBMODULE", SUBMODULE).replace("MAKEHOOK", &hook);
    let text = text.replace("TOPNAME", "work").replace("TOP", &top);
    text.replace("BOOM", &format!("touch {}", place.dir().join("canary").display()))
}

/// The host's shell, in the workspace.
fn host(place: &Place, script: &str) -> Said {
    place.sh(&format!("export GIT_TERMINAL_PROMPT=0 LC_ALL=C\n{}", text(place, script)))
}

fn prepared(way: &GitWay) -> Place {
    let place = Place::new();
    let said = host(&place, &format!("set -e; {SETUP}\n{}", way.before));
    assert_eq!(said.code, 0, "{}: {said:?}", way.name);
    place
}

/// Whether the host's git runs what the text left, without a sandbox.
fn control(way: &GitWay) -> Result<(), String> {
    let place = prepared(way);
    let inside = host(&place, way.inside);
    if place.has("canary") {
        return Err(format!("{}: it ran before the trigger: {inside:?}", way.name));
    }
    let after = host(&place, way.trigger);
    match place.has("canary") {
        true => Ok(()),
        false => Err(format!("{}: the control ran nothing: {inside:?} {after:?}", way.name)),
    }
}

/// Whether the host's git runs nothing of the text that ran under polder.
fn held(way: &GitWay, engine: &str) -> Result<(), String> {
    let place = prepared(way);
    let config = "git config --global user.name A; git config --global user.email a@example.com
        git config --global protocol.file.allow always; git config --global init.defaultBranch main";
    let script = text(&place, &format!("{config}\n{}", way.inside));
    let run = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
    if run.code == 125 {
        return Err(format!("{}: the run was refused, which shows nothing: {run:?}", way.name));
    }
    let after = host(&place, way.trigger);
    match place.has("canary") {
        true => Err(format!("{}: the host ran it: {run:?} {after:?}", way.name)),
        false => Ok(()),
    }
}

/// Ways that do not come to a run. A copy is made of a repository in which nothing is under way and whose
/// `.git` leads back; a protected path that is a symlink is refused.
const REFUSED: [(&str, &str); 5] = [
    ("--cow", "hooks-are-a-link"),
    ("--worktree", "rebase-todo-of-the-user"),
    ("--worktree", "separate-git-dir"),
    ("--worktree", "pointer-replaced"),
    ("--worktree", "new-"),
];

/// Whether the host's git runs nothing of a text that ran on a layer or a copy which was applied: all of
/// it that is not held back.
fn held_at_apply(way: &GitWay, mode: &str) -> Result<(), String> {
    let place = prepared(way);
    let config = "git config --global user.name A; git config --global user.email a@example.com
        git config --global protocol.file.allow always; git config --global init.defaultBranch main";
    let script = text(&place, &format!("{config}\n{}", way.inside));
    let run = place.says(&["run", mode, "--workspace", "w", "--", "sh", "-c", &script]);
    if run.code == 125 {
        let is_known = REFUSED.iter().any(|(known, name)| *known == mode && way.name.starts_with(name));
        return if is_known { Ok(()) } else { Err(format!("{}: the run was refused: {run:?}", way.name)) };
    }
    let apply = place.says(&["workspace", "apply", "w"]);
    // A command that could write nothing leaves no workspace.
    if apply.code == 125 && !apply.err.contains("there is no workspace") {
        return Err(format!("{}: the apply was refused, which shows nothing: {run:?} {apply:?}", way.name));
    }
    let after = host(&place, way.trigger);
    match place.has("canary") {
        true => Err(format!("{}: the host ran it: {run:?} {apply:?} {after:?}", way.name)),
        false => Ok(()),
    }
}

fn all(try_way: impl Fn(&GitWay) -> Result<(), String> + Sync) {
    let one = std::env::var("POLDER_TEST_WAY").ok();
    let chosen = WAYS.iter().filter(|way| one.as_ref().is_none_or(|one| way.name == one));
    let failed: Vec<String> = chosen.filter_map(|way| try_way(way).err()).collect();
    assert!(failed.is_empty(), "{} ways:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn git_of_the_host_runs_each_way_without_a_sandbox() {
    all(control);
}

#[test]
fn git_of_the_host_runs_no_way_after_native() {
    all(|way| held(way, "native"));
}

#[test]
fn git_of_the_host_runs_no_way_after_bubblewrap() {
    all(|way| held(way, "bubblewrap"));
}

#[test]
fn git_of_the_host_runs_no_way_after_an_applied_layer() {
    all(|way| held_at_apply(way, "--cow"));
}

#[test]
fn git_of_the_host_runs_no_way_after_an_applied_copy() {
    all(|way| held_at_apply(way, "--worktree"));
}

/// What people and agents do with git all day.
const WORK: &str = "set -e; export GIT_EDITOR=true
    git config --global user.name A; git config --global user.email a@example.com
    git config --global protocol.file.allow always; git config --global init.defaultBranch main
    git fetch -q origin
    git checkout -q -b topic origin/topic; echo t >>file; git commit -qam topic
    git checkout -q -b old; git branch -m new; git checkout -q main
    git remote add second https://example.com/second.git
    echo m >other; git add .; git commit -qm other; git push -q origin main
    git rebase -q main topic; git checkout -q main; git merge -q --no-edit new; git merge -q --no-edit topic
    echo s >>file; git stash -q; git stash pop -q; git checkout -q file
    git worktree add -q wt -b side; git -C wt commit -q --allow-empty -m side
    git submodule --quiet update --init; git -C sub checkout -q -b work
    git gc -q; git tag -a v1 -m v1; git sparse-checkout set --cone dir; git status --short
    echo done";

/// A tree with a remote beside it in the workspace, a topic there, and a submodule not yet there.
const WORKING: &str = "git init -q --bare srv.git; git init -q lib.git; git -C lib.git commit -q --allow-empty -m l
    printf 'srv.git\\nlib.git\\nwt\\n' >.git/info/exclude; mkdir dir; echo d >dir/d
    git remote add origin ./srv.git; git submodule --quiet add ../lib.git sub; git add .; git commit -qm all
    git submodule deinit -q -f sub; rm -rf .git/modules; git push -q origin main
    git push -q origin main:topic; git update-ref -d refs/remotes/origin/topic";

fn ordinary_work(engine: &str) {
    let place = Place::new();
    let said = host(&place, &format!("set -e; {SETUP}\n{WORKING}"));
    assert_eq!(said.code, 0, "{said:?}");
    let run = place.says(&["run", "--engine", engine, "--", "sh", "-c", WORK]);
    assert!(run.code == 0 && run.out.ends_with("done\n"), "{run:?}");
    assert!(!run.err.contains("set aside"), "{run:?}");
    let seen = |key: &str| host(&place, &format!("git config {key}")).out;
    assert_eq!(seen("branch.topic.merge"), "refs/heads/topic\n", "{run:?}");
    assert_eq!(seen("branch.new.remote"), "", "a branch that follows nothing");
    assert_eq!(seen("remote.second.url"), "https://example.com/second.git\n");
    assert_eq!(seen("core.sparseCheckout"), "true\n", "{run:?}");
    assert_eq!(seen("submodule.sub.active"), "true\n");
    let after = host(&place, "set -e; git status --short; git fsck; git log --oneline topic; git -C sub status");
    assert_eq!(after.code, 0, "{after:?}");
    let locks = host(&place, "find .git -name '*.lock' -o -name '*.from-sandbox'");
    assert_eq!(locks.out, "");
}

#[test]
fn git_works_inside_native_as_outside() {
    ordinary_work("native");
}

#[test]
fn git_works_inside_bubblewrap_as_outside() {
    ordinary_work("bubblewrap");
}

#[test]
fn rebase_of_the_user_from_before_a_run_keeps_its_steps() {
    let place = Place::new();
    let begun = "echo two >file; git commit -qam two; echo three >file; git commit -qam three
        git rebase -q -x 'test -e go' -x 'touch finished' HEAD~1 2>/dev/null; test -e .git/rebase-merge";
    let said = host(&place, &format!("{SETUP}\n{begun}"));
    assert_eq!(said.code, 0, "{said:?}");
    let todo = "work/.git/rebase-merge/git-rebase-todo";
    let before = place.read(todo);
    assert!(before.contains("touch finished"), "{before}");
    let run = place.says(&["run", "--", "sh", "-c", "git status >/dev/null; echo more >new"]);
    assert!(run.code == 0 && !run.err.contains("set aside"), "{run:?}");
    assert_eq!(place.read(todo), before);
    let after = host(&place, "touch go; git rebase --continue 2>&1");
    assert!(after.code == 0 && place.has("work/finished"), "{after:?}");
}

/// A grant is relative to the workspace, and the configuration of a linked worktree lies elsewhere.
#[test]
fn held_config_outside_the_workspace_offers_no_grant() {
    let place = Place::new();
    let made = "git init -q . && git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && \
                git worktree add -q ../linked";
    assert_eq!(place.sh(made).code, 0);
    let run = ["run", "--", "git", "config", "core.fsmonitor", "/tmp/x"];
    let said = place.says(&run);
    assert!(said.err.contains("--allow fs.write=.git/config"), "the control: {said:?}");
    let said: Said = place.polder(&run).current_dir(place.dir().join("linked")).output().expect("polder").into();
    assert!(said.err.contains("work/.git/config (no grant lifts it)"), "{said:?}");
    assert!(!said.err.contains("--allow"), "{said:?}");
}
