//! Protected paths cannot be changed and denied ones cannot be read, whatever is renamed, linked or created.

use crate::scene::{Scene, told};
use polder::{Action, EventKind, Finished};
use std::path::Path;

/// Everything at and below a path, with types, modes and contents, or `nothing`.
const STATE: &str = "show() { for p in \"$@\"; do if test -L $p; then echo $p link $(readlink $p); elif test -d $p; then \
                     echo $p dir; show $(ls -d $p/* $p/.[!.]* 2>/dev/null); elif test -f $p; then echo $p file $(cat $p); \
                     elif test -e $p; then echo $p other; else echo $p nothing; fi; done; }; show";

/// Each attempt must change the watched path without the sandbox, and must not change it inside.
fn hold(scene: &Scene, keys: &str, setup: &str, watched: &str, attempts: &[&str]) -> Vec<Finished> {
    let state = |dir: &Path| scene.control(dir, &format!("{STATE} {watched}"));
    let mut runs = Vec::new();
    for attempt in attempts {
        scene.control(scene.dir(), "rm -rf copy work; mkdir copy work");
        scene.control(&scene.work(), setup);
        scene.control(&scene.dir().join("copy"), setup);
        let before = state(&scene.work());
        scene.control(&scene.dir().join("copy"), attempt);
        assert_ne!(state(&scene.dir().join("copy")), before, "the control `{attempt}` changes something");
        let finished = scene.sh(&scene.configured(keys), attempt);
        assert_eq!(state(&scene.work()), before, "`{attempt}` changed it: {}", told(&finished));
        runs.push(finished);
    }
    runs
}

pub(super) fn a_protected_file_holds(scene: &Scene) {
    let attempts = [
        "echo x >held",
        "echo x >>held",
        "truncate -s 0 held",
        "rm -f held",
        "mv held other",
        "echo x >new && mv -f new held",
        "ln -sf /etc/passwd held",
        "rm -f held; mkdir held",
        "ln held alias && echo x >alias",
        "python3 -c \"import os; os.truncate('held', 0)\"",
        "cp /etc/passwd held",
        "chmod 000 held && rm -f held",
        "ln -s held link && echo x >link",
        "mkdir d && ln -s .. d/up && echo x >d/up/held",
    ];
    hold(scene, "{protect: [held]}", "echo kept >held; echo free >free", "held", &attempts);
    assert_eq!(scene.says(&scene.configured("{protect: [held]}"), "cat held; echo y >free"), "kept\n");
    assert_eq!(scene.read("work/free"), "y\n");
}

pub(super) fn a_protected_directory_holds(scene: &Scene) {
    let attempts = [
        "echo x >held/file",
        "echo x >held/new",
        "rm -rf held",
        "mv held other",
        "mkdir held/sub",
        "mv held other && mkdir held && echo x >held/file",
        "echo x >new && mv new held/new",
        "ln held/file alias && echo x >alias",
        "rm held/deep/file",
        "mv held/deep/file moved",
    ];
    let setup = "mkdir -p held/deep; echo kept >held/file; echo kept >held/deep/file";
    hold(scene, "{protect: [held]}", setup, "held", &attempts);
}

pub(super) fn a_protected_path_below_a_directory_holds(scene: &Scene) {
    let attempts = [
        "echo x >a/b/held",
        "mv a c",
        "mv a/b a/c",
        "rm -rf a",
        "mv a c && mkdir -p a/b && echo x >a/b/held",
        "mv a/b c && ln -s /tmp a/b",
        "mv a c && ln -s c a && echo x >c/b/held",
    ];
    hold(
        scene,
        "{protect: [a/b/held]}",
        "mkdir -p a/b; echo kept >a/b/held; echo free >a/b/free",
        "a/b/held",
        &attempts,
    );
    // The directory above stays of use.
    scene.says(
        &scene.configured("{protect: [a/b/held]}"),
        "echo y >a/b/free && echo z >a/new && rm a/new && mkdir a/b/c",
    );
}

pub(super) fn a_protected_path_that_does_not_exist_holds(scene: &Scene) {
    let attempts = [
        "echo x >held",
        "mkdir held",
        "ln -s /etc/passwd held",
        "echo x >new && mv new held",
        "echo x >new && ln new held",
        "mkfifo held",
        "cp /etc/passwd held",
        "mkdir d && mv d held",
        "echo x >./held",
        "mkdir d && cd d && echo x >../held",
        "python3 -c \"import os; os.close(os.open('held', os.O_CREAT | os.O_WRONLY))\"",
        "python3 -c \"import os; d = os.open('.', os.O_RDONLY); os.mkdir('held', dir_fd=d)\"",
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('held')\"",
        "ln -s held link && echo x >link",
    ];
    let runs = hold(scene, "{protect: [held]}", "echo free >free", "held", &attempts);
    // The call succeeds where nothing can be mounted; the name is set aside, and that is told.
    for finished in runs {
        assert!(finished.outcome.violations > 0 || finished.outcome.exit_code() != 0, "{}", told(&finished));
    }
    scene.says(&scene.configured("{protect: [held]}"), "echo x >held2 && mkdir sub && echo x >sub/held && rm -r sub");
}

pub(super) fn a_protected_path_without_parents_holds(scene: &Scene) {
    let attempts = [
        "mkdir -p a/b && echo x >a/b/held",
        "mkdir -p c/b && echo x >c/b/held && mv c a",
        "mkdir -p c/b && echo x >c/b/held && ln -s c a",
    ];
    hold(scene, "{protect: [a/b/held]}", "echo free >free", "a/b/held", &attempts);
}

pub(super) fn a_protected_name_holds_at_every_depth(scene: &Scene) {
    let attempts = [
        "echo x >.env",
        "echo x >sub/.env",
        "echo x >empty/.env",
        "rm -f .env",
        "mv sub/.env sub/other",
        "mkdir -p x/y && echo x >x/y/.env",
        "mkdir x && echo x >x/e && mv x/e x/.env",
        "mv sub sub2",
        "mkdir x && ln -s /etc/passwd x/.env",
    ];
    let setup = "mkdir sub empty; echo kept >.env; echo kept >sub/.env";
    hold(scene, "{protect: ['**/.env']}", setup, ".env sub/.env empty/.env x/y/.env x/.env", &attempts);
    assert_eq!(
        scene.says(&scene.configured("{protect: ['**/.env']}"), "cat .env sub/.env; echo x >.env2"),
        "kept\nkept\n"
    );
}

pub(super) fn a_file_with_two_names_is_not_half_protected(scene: &Scene) {
    scene.control(&scene.work(), "echo kept >held && ln held alias && echo x >alias && echo kept >held");
    let answer = scene.configured("{protect: [held]}").plan(["sh", "-c", "echo x >alias"]).map(|planned| planned.run());
    // Either it is refused or the other name is held too.
    if let Err(error) = &answer {
        assert!(error.to_string().contains("held"), "{error}");
    }
    assert_eq!(scene.read("work/held"), "kept\n");
}

pub(super) fn a_link_on_the_way_to_a_protected_path_is_refused(scene: &Scene) {
    scene.control(&scene.work(), "mkdir real && echo kept >real/held && ln -s real link");
    let answer = scene.configured("{protect: [link/held]}").plan(["true"]);
    match answer {
        Err(error) => assert!(error.to_string().contains("symbolic link"), "{error}"),
        Ok(_) => panic!("the link could be turned elsewhere"),
    }
}

/// Each attempt prints the secret without the sandbox, and must not inside.
fn deny(scene: &Scene, keys: &str, setup: &str, attempts: &[&str]) {
    for attempt in attempts {
        scene.control(scene.dir(), "rm -rf copy work; mkdir copy work");
        scene.control(&scene.work(), setup);
        scene.control(&scene.dir().join("copy"), setup);
        let outside = scene.control(&scene.dir().join("copy"), attempt);
        assert!(outside.contains("s3cret"), "the control `{attempt}` reads it: {outside}");
        let finished = scene.sh(&scene.configured(keys), attempt);
        let seen = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert!(!seen.contains("s3cret"), "`{attempt}`: {}", told(&finished));
    }
}

pub(super) fn a_denied_file_cannot_be_read(scene: &Scene) {
    let attempts = [
        "cat hidden",
        "cat ./hidden",
        "cp hidden copy; cat copy",
        "mv hidden other; cat other",
        "ln hidden other; cat other",
        "ln -s hidden other; cat other",
        "python3 -c \"print(open('hidden').read())\"",
        "cat <hidden",
        "grep -r s3cret .",
        "chmod 777 hidden; cat hidden",
        "tar cf - . | strings | grep s3cret",
    ];
    deny(scene, "{deny_read: [hidden]}", "echo s3cret >hidden; echo free >free", &attempts);
    assert_eq!(scene.says(&scene.configured("{deny_read: [hidden]}"), "cat free"), "free\n");
    assert_eq!(scene.read("work/hidden"), "s3cret\n");
}

pub(super) fn a_denied_directory_cannot_be_read(scene: &Scene) {
    let attempts = [
        "cat hidden/file",
        "cat hidden/deep/file",
        "find hidden -type f -exec cat {} +",
        "mv hidden other; cat other/file",
        "cd hidden && cat file",
        "cp -r hidden other; cat other/file",
        "ls hidden hidden/deep; ls -d hidden/s3cret*",
    ];
    let setup =
        "mkdir -p hidden/deep; echo s3cret >hidden/file; echo s3cret >hidden/deep/file; touch hidden/s3cret-name";
    deny(scene, "{deny_read: [hidden]}", setup, &attempts);
}

pub(super) fn a_denied_path_of_a_bind_cannot_be_read(scene: &Scene) {
    scene.write("home/.aws/credentials", "s3cret");
    scene.write("home/notes", "free");
    let elsewhere = scene.configured("{bind_paths: [{host: '~', container: /mnt/home}], deny_read: ['~/.aws']}");
    let (sandbox, home) = if scene.moves_paths(&elsewhere) {
        (elsewhere, Path::new("/mnt/home").to_owned())
    } else {
        (scene.configured("{bind_paths: [{host: '~'}], deny_read: ['~/.aws']}"), scene.home())
    };
    assert_eq!(scene.control(&scene.work(), "cat ~/.aws/credentials"), "s3cret");
    assert_eq!(scene.says(&sandbox, &format!("cat {}/notes", home.display())), "free");
    scene.fails(&sandbox, &format!("cat {}/.aws/credentials", home.display()));
    assert_eq!(scene.read("home/.aws/credentials"), "s3cret");
}

pub(super) fn a_pattern_that_cannot_hold_is_refused(scene: &Scene) {
    // What matches and does not exist yet has no name that could be watched for; an engine may keep it all the same.
    scene.write("work/a.pem", "kept");
    let sandbox = scene.configured("{protect: ['*.pem']}");
    if scene.keeps(&sandbox, polder::Guarantee::Protect) {
        hold(scene, "{protect: ['*.pem']}", "echo kept >a.pem", "a.pem b.pem", &["echo x >a.pem", "echo x >b.pem"]);
    } else {
        let sandbox = sandbox.accept(polder::Guarantee::Protect);
        scene.fails(&sandbox, "echo x >a.pem");
        assert_eq!(scene.read("work/a.pem"), "kept", "what exists holds in any case");
    }
}

pub(super) fn a_refused_name_is_told_and_its_grant_allows_it(scene: &Scene) {
    let sandbox = scene.configured("{protect: [held, '**/.env']}");
    for (attempt, name) in [("echo x >held", "held"), ("mkdir sub; echo x >sub/.env", ".env")] {
        let finished = scene.sh(&sandbox, attempt);
        let found = finished.events.iter().find_map(|event| match &event.kind {
            EventKind::Violation(violation) => Some(violation),
            _ => None,
        });
        let violation = found.unwrap_or_else(|| panic!("no violation: {}", told(&finished)));
        assert_eq!(violation.action, Action::FileWrite);
        assert!(violation.target.ends_with(name), "{violation:?}");
        assert!(violation.rule.contains("polder-case.yaml:"), "the rule has a place: {violation:?}");
        assert_eq!(finished.outcome.violations, 1);
        let grant = violation.grant.clone().unwrap_or_else(|| panic!("no grant: {violation:?}"));
        scene.says(&sandbox.clone().allow(grant), attempt);
        scene.control(&scene.work(), "rm -rf held sub");
    }
}

pub(super) fn no_mask_leaves_a_trace_in_the_workspace(scene: &Scene) {
    scene.write("work/a/held", "kept");
    scene.write("work/hidden/file", "kept");
    let list = "find . | sort";
    let before = scene.control(&scene.work(), list);
    let keys = "{protect: [a/held, b/c, d, '**/.env'], deny_read: [hidden, nowhere]}";
    scene.says(&scene.configured(keys), "true");
    assert_eq!(scene.control(&scene.work(), list), before);
}
