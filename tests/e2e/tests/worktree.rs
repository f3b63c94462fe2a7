//! `polder run --worktree`: a private copy of what git knows, and a repository that nobody touches.
#![forbid(unsafe_code)]

#[path = "worktree/capture.rs"]
mod capture;
#[path = "worktree/projects.rs"]
mod projects;

use polder_e2e::{Place, Said};

/// Git as the host's user has it: a name, and nothing of the machine's.
const GIT: &str = "export GIT_CONFIG_NOSYSTEM=1; git() { command git -c user.name=host -c user.email=host@example.com \
                   -c protocol.file.allow=always \"$@\"; }; ";

/// A place whose tree is a repository with a commit, changes in every state, and a secret that git ignores.
fn repository() -> Place {
    let place = Place::new();
    host(
        &place,
        "git init -q -b main; printf '*.log\\nsecret.env\\n' > .gitignore; mkdir src; echo one > src/a; echo two > b; \
         ln -s b link; git add .; git commit -qm first; echo changed >> b; echo staged > c; git add c; rm src/a; \
         echo new > untracked; echo SECRET > secret.env; mkdir build; echo x > build/x.log",
    );
    place
}

/// A shell text of the host's user, which has to work.
fn host(place: &Place, script: &str) -> String {
    let said = place.sh(&format!("set -e; {GIT} {script}"));
    assert_eq!(said.code, 0, "{script}: {said:?}");
    said.out
}

/// A shell text in a worktree of this name.
fn run(place: &Place, name: &str, script: &str) -> Said {
    place.says(&["run", "--worktree", "--workspace", name, "--", "sh", "-c", script])
}

fn fine(said: Said) -> String {
    assert_eq!(said.code, 0, "{said:?}");
    said.out
}

/// Everything about everything below a directory: names, kinds, bits, numbers, both times, and contents.
const MARK: &str = "{ find DIR -printf '%p %y %m %U %i %n %s %T@ %C@ %l\\n' | sort; find DIR -type f -exec sha256sum {} + | sort; } | sha256sum";

fn mark(place: &Place, directory: &str) -> String {
    host(place, &MARK.replace("DIR", directory))
}

#[test]
fn the_repository_is_the_same_to_the_last_bit() {
    let place = repository();
    let before = mark(&place, ".git");
    let work = "git status --short; echo more >> b; git checkout -qb inside; git add -A; \
                git -c user.name=a -c user.email=a@b commit -qm inside; git stash list; git tag t; git gc -q; git log --oneline | wc -l";
    assert_eq!(fine(run(&place, "w", work)), " M b\nA  c\n D src/a\n2\n");
    for verb in
        [&["workspace", "diff"][..], &["workspace", "apply"], &["workspace", "revert"], &["workspace", "discard"]]
    {
        fine(place.says(verb));
    }
    assert_eq!(mark(&place, ".git"), before);
    // The measure sees the least that git itself does.
    host(&place, "git update-index --refresh || true; git update-index --force-write-index");
    assert_ne!(mark(&place, ".git"), before);
}

#[test]
fn the_copy_has_what_git_knows_as_the_user_has_it() {
    let place = repository();
    let names = "find . -path ./.git -prune -o ! -name . -print | sort; cat b; readlink link; git status --short";
    let known = "./.gitignore\n./b\n./c\n./link\ntwo\nchanged\nb\n M b\nA  c\n D src/a\n";
    assert_eq!(fine(run(&place, "w", names)), known);
    let more = fine(place.says(&["run", "--untracked", "--", "sh", "-c", names]));
    assert_eq!(more, known.replace("./link\n", "./link\n./untracked\n") + "?? untracked\n");
    let file = "sandboxes: {a: {workspace: {mode: worktree, untracked: true}}}\nsandbox: a\n";
    place.write("case.yaml", file);
    let config = place.dir().join("case.yaml").display().to_string();
    assert_eq!(fine(place.says(&["run", "--config", &config, "--", "cat", "untracked"])), "new\n");
}

#[test]
fn what_the_command_did_comes_into_the_tree_and_nothing_else() {
    let place = repository();
    fine(run(
        &place,
        "w",
        "echo more >> b; rm -r c link; mkdir src; echo n > src/n; mkdir build; echo mine > secret.env; rm .gitignore",
    ));
    assert_eq!(place.read("work/b"), "two\nchanged\n");
    // The user goes on with one of the files, and by doing the same to another.
    place.write("work/src/n", "host's\n");
    place.write("work/c", "staged\n");
    let diff = fine(place.says(&["workspace", "diff", "w"]));
    assert!(!diff.contains("SECRET") && !diff.contains("untracked"), "{diff}");
    let said = place.says(&["workspace", "apply", "w"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(place.read("work/b"), "two\nchanged\nmore\n");
    assert!(!place.has("work/c") && !place.has("work/link") && !place.has("work/.gitignore"), "{said:?}");
    for line in ["conflict src/n: ", "conflict secret.env: the tree has something there that the command could not see"]
    {
        assert!(said.out.contains(line), "{line}: {said:?}");
    }
    let kept = [place.read("work/src/n"), place.read("work/secret.env"), place.read("work/build/x.log")];
    assert_eq!(kept, ["host's\n", "SECRET\n", "x\n"]);
    // What was applied is no conflict when the command goes on with it.
    fine(run(&place, "w", "echo last >> b"));
    let said = place.says(&["workspace", "apply", "w", "--path", "b"]);
    assert_eq!((said.code, place.read("work/b").as_str()), (0, "two\nchanged\nmore\nlast\n"), "{said:?}");
}

#[test]
fn a_directory_stays_for_the_sake_of_what_the_command_could_not_see() {
    let place = repository();
    host(
        &place,
        "mkdir -p lib/deep; echo k > lib/deep/known; git add lib; git commit -qm lib; echo o > lib/deep/own.log",
    );
    fine(run(&place, "w", "rm -r lib; echo f > lib"));
    let said = place.says(&["workspace", "apply", "w"]);
    assert_eq!((said.code, place.read("work/lib/deep/own.log").as_str()), (1, "o\n"), "{said:?}");
    fine(place.says(&["workspace", "discard", "w"]));
    host(&place, "git checkout -q -- lib");
    fine(run(&place, "w", "rm -r lib"));
    let said = place.says(&["workspace", "apply", "w"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!place.has("work/lib/deep/known"));
    assert_eq!(place.read("work/lib/deep/own.log"), "o\n");
}

#[test]
fn runs_share_a_worktree_and_others_begin_with_it() {
    let place = repository();
    fine(run(&place, "w", "echo 1 > one; git add one; git -c user.name=a -c user.email=a@b commit -qm one"));
    host(&place, "echo later >> b; git add -A; git commit -qm later");
    let later = "cat b one; git log --oneline | wc -l";
    assert_eq!(fine(run(&place, "w", later)), "two\nchanged\n1\n2\n", "the copy is of then");
    let from = ["run", "--worktree", "--workspace", "v", "--from", "w", "--", "sh", "-c", later];
    assert_eq!(fine(place.says(&from)), "two\nchanged\n1\n2\n");
    assert_eq!(fine(run(&place, "new", "cat b")), "two\nchanged\nlater\n", "a new one is of now");
    let other = place.says(&["run", "--workspace", "w", "--", "true"]);
    assert_eq!(other.code, 125, "{other:?}");
    assert!(other.err.contains("was begun in mode `worktree`; use it with `--worktree`"), "{other:?}");
    for name in ["w", "v"] {
        fine(place.says(&["workspace", "discard", name]));
    }
    let store = std::fs::read_dir(place.home().join(".local/state/polder/workspaces")).expect("the store");
    assert_eq!(store.count(), 0, "nothing is left");
}

#[test]
fn what_is_half_done_is_refused_with_the_reason() {
    let place = repository();
    host(
        &place,
        "git stash -q; git checkout -qb side; echo side > b; git commit -qam side; git checkout -q main; echo main > b; git commit -qam main",
    );
    let states = [
        ("git merge side", "git merge --abort", "a merge is under way"),
        ("git rebase side", "git rebase --abort", "a rebase is under way"),
        ("git cherry-pick side", "git cherry-pick --abort", "a cherry-pick is under way"),
        (
            "git commit -qam x --allow-empty; echo y > b; git commit -qam y; git revert --no-edit HEAD~2",
            "git revert --abort",
            "a revert",
        ),
        ("git bisect start HEAD HEAD~1", "git bisect reset", "a bisection is under way"),
        ("touch .git/index.lock", "rm .git/index.lock", "another git command is under way"),
        ("git merge side || rm .git/MERGE_*", "git reset -q --hard", "a merge with conflicts is under way"),
    ];
    for (begin, abort, why) in states {
        host(&place, &format!("{{ {begin}; }} > /dev/null 2>&1 || true"));
        let before = mark(&place, ".git");
        let said = run(&place, "w", "true");
        assert_eq!(said.code, 125, "{begin}: {said:?}");
        assert!(said.err.contains(why), "{begin}: {said:?}");
        assert_eq!(mark(&place, ".git"), before);
        host(&place, &format!("{abort} > /dev/null 2>&1"));
        fine(run(&place, "w", "true"));
    }
}

#[test]
fn what_is_no_repository_is_refused_and_never_in_place() {
    let place = Place::new();
    let refused = |why: &str| {
        let said = run(&place, "w", "touch made");
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains(why) && !place.has("work/made"), "{why}: {said:?}");
    };
    refused("is not the root of a git repository");
    host(&place, "git init -q -b main");
    refused("has no commit to begin with");
    host(
        &place,
        "echo x > x; git add x; git commit -qm x; git init -q --bare ../other; git -C ../other config core.bare false",
    );
    host(&place, "echo $PWD/../other/objects > .git/objects/info/alternates");
    refused("borrows the objects of another repository");
    host(&place, "rm .git/objects/info/alternates; echo ../../other > .git/commondir");
    refused("leads git to another repository");
    // A pointer to a repository that knows nothing of it: its objects are not ours to show.
    host(&place, "rm .git/commondir; mv .git ../mine; echo 'gitdir: ../mine' > .git");
    refused("does not lead back");
    host(&place, "rm .git; mv ../mine .git");
    fine(run(&place, "w", "cat x"));
}

#[test]
fn submodules_and_linked_worktrees_are_copied_too() {
    let place = repository();
    host(
        &place,
        "git init -q -b main ../lib; (cd ../lib; echo lib > l; git add l; git commit -qm lib); \
         git submodule --quiet add ../lib vendor/lib; git submodule --quiet add ../lib vendor/bare; git commit -qam sub; git submodule --quiet deinit -f vendor/bare; \
         echo edited >> vendor/lib/l; git worktree add -q ../side; echo side >> ../side/b",
    );
    let before = (mark(&place, ".git"), mark(&place, "../lib"));
    let look = "cat vendor/lib/l; git status --short vendor; ls -A vendor/bare; cd vendor/lib; git log --oneline | wc -l; \
                echo inside >> l; git -c user.name=a -c user.email=a@b commit -qam inside; git log --oneline | wc -l";
    assert_eq!(fine(run(&place, "w", look)), "lib\nedited\n m vendor/lib\n1\n2\n");
    fine(place.says(&["workspace", "apply", "w"]));
    assert_eq!(place.read("work/vendor/lib/l"), "lib\nedited\ninside\n");
    assert_eq!((mark(&place, ".git"), mark(&place, "../lib")), before);
    let side = place.dir().join("side").display().to_string();
    let said = place.says(&["run", "-C", &side, "--worktree", "--", "sh", "-c", "git status --short --branch; cat b"]);
    assert_eq!(fine(said), "## side\n M b\ntwo\nchanged\nside\n");
    assert_eq!((mark(&place, ".git"), mark(&place, "../lib")), before);
    // The pointer of a submodule is text of the tree, and may not lead elsewhere.
    host(&place, "mv .git/modules/vendor/lib ../stolen; echo 'gitdir: ../../../stolen' > vendor/lib/.git");
    let said = run(&place, "other", "true");
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("leads out of the repository"), "{said:?}");
}

/// Every way that a repository has to name a program which git runs while somebody looks at the tree, takes changes in or
/// makes a worktree. Each leaves its name.
const HOSTILE: &str = r#"
    say() { printf 'echo %s >> %s/../canary' "$1" "$PWD"; }
    git config core.fsmonitor "$(say fsmonitor); false"; git config core.sshCommand "$(say ssh)"; git config core.pager "$(say pager)"
    git config core.editor "$(say editor)"; git config core.askPass "$(say askpass)"; git config diff.external "$(say external)"; git config credential.helper "!$(say helper)"
    git config filter.f.clean "$(say clean); cat"; git config filter.f.smudge "$(say smudge); cat"; git config filter.f.required true
    git config diff.d.textconv "$(say textconv); cat"; git config merge.m.driver "$(say driver)"; git config gpg.program "$(say gpg)"
    git config alias.ls-files "!$(say alias)"; git config alias.status "!$(say alias)"; git config uploadpack.packObjectsHook "$(say pack)"
    git config core.alternateRefsCommand "$(say alternate-refs)"; git config core.gitProxy "$(say proxy)"
    printf '[core]
	fsmonitor = "%s; false"
' "$(say included)" > .git/more; git config --add include.path more
    git config extensions.worktreeConfig true; printf '[core]
	fsmonitor = "%s; false"
' "$(say config-worktree)" > .git/config.worktree
    mkdir -p .git/hooks; for hook in post-checkout post-index-change pre-commit reference-transaction pre-auto-gc fsmonitor-watchman; do
        printf '#!/bin/sh
%s
' "$(say $hook)" > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
    printf '* filter=f diff=d merge=m
' > .gitattributes; mkdir -p .git/info; cp .gitattributes .git/info/attributes; echo more >> b
"#;

#[test]
fn a_hostile_repository_runs_nothing_on_the_host() {
    let place = repository();
    host(&place, HOSTILE);
    assert!(!place.has("canary"), "the trap is laid, and nobody has stepped into it");
    let before = mark(&place, ".git");
    fine(run(&place, "w", "cat b; echo x >> b; echo n > n"));
    fine(place.says(&["run", "--untracked", "--workspace", "u", "--", "sh", "-c", "cat untracked; echo x > y"]));
    fine(place.says(&["run", "--worktree", "--dry-run", "--", "true"]));
    for name in ["w", "u"] {
        fine(place.says(&["workspace", "diff", name]));
        fine(place.says(&["workspace", "apply", name]));
        fine(place.says(&["workspace", "revert", name]));
        fine(place.says(&["workspace", "discard", name]));
    }
    assert!(!place.has("canary"), "{}", place.read("canary"));
    assert_eq!(mark(&place, ".git"), before);
    // The same repository, and git as anybody would use it.
    place.sh(&format!("{GIT} git status; git add -A; git diff; git worktree add ../side; git stash"));
    let ran = place.read("canary");
    for name in ["clean", "smudge", "post-checkout", "post-index-change", "reference-transaction", "config-worktree"] {
        assert!(ran.contains(name), "{name}: {ran}");
    }
}

#[test]
fn what_is_hidden_is_hidden_in_the_copy_as_well() {
    let place = repository();
    host(&place, "mkdir keys; echo KEY > keys/known; git add keys; git commit -qm keys; echo KEY2 > keys/own.log");
    place.write(
        "case.yaml",
        "sandboxes: {a: {deny_read: ['keys/*', 'secret.env'], workspace: {mode: worktree}}}\nsandbox: a\n",
    );
    let config = place.dir().join("case.yaml").display().to_string();
    let look = ["run", "--config", &config, "--workspace", "w", "--", "sh", "-c", "cat keys/*; ls keys; echo x > new"];
    let said = place.says(&look);
    assert!(!said.out.contains("KEY"), "{said:?}");
    // Git forgets the file, the copy has it all the same.
    host(&place, "git rm -q --cached keys/known; git commit -qm forget");
    let said = place.says(&look);
    assert!(!said.out.contains("KEY") && said.out.contains("known"), "{said:?}");
    let control = fine(run(&place, "control", "ls keys 2>/dev/null || echo none"));
    assert_eq!(control, "none\n");
}
