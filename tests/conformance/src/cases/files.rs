//! The workspace and the binds: what is shown, where, and whether it can be written.

use crate::scene::{Scene, told};
use polder::{Error, Sandbox};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

pub(super) fn new_files_belong_to_the_caller(scene: &Scene) {
    scene.says(
        &scene.sandbox(),
        "echo x >file && mkdir dir && ln -s file link && mkfifo fifo && test -O file -a -G file",
    );
    let own = fs::metadata(scene.home()).expect("the home");
    for name in ["file", "dir", "link", "fifo"] {
        let made = fs::symlink_metadata(scene.work().join(name)).expect(name);
        assert_eq!((made.uid(), made.gid()), (own.uid(), own.gid()), "{name}");
    }
    // And what the caller made before belongs to the command.
    scene.write("work/mine", "x");
    scene.says(&scene.sandbox(), "test -O mine && chmod 600 mine && echo y >mine");
}

pub(super) fn a_root_caller_keeps_the_owner_of_the_workspace(scene: &Scene) {
    let root = fs::metadata("/").expect("/").uid();
    if fs::metadata(scene.home()).expect("the home").uid() != root {
        return; // Only root can own something for somebody else.
    }
    scene.write("work/theirs", "x");
    let status = Command::new("chown").args(["-R", "1001:1001"]).arg(scene.work()).status().expect("chown");
    assert!(status.success());
    assert_eq!(scene.says(&scene.sandbox(), "id -u; echo y >theirs; echo z >new; cat theirs"), "1001\ny\n");
    for name in ["theirs", "new"] {
        assert_eq!(fs::metadata(scene.work().join(name)).expect(name).uid(), 1001, "{name}");
    }
}

pub(super) fn files_can_be_changed_renamed_linked_and_removed(scene: &Scene) {
    scene.write("work/a", "a");
    scene.write("work/dir/b", "b");
    let script = "echo more >>a && mv a c && ln c d && ln -s c e && chmod 700 c && rm dir/b && rmdir dir \
                  && mkdir -p x/y/z && mv x/y w && truncate -s 2 c && touch -d @1000000000 c && cat e";
    assert_eq!(scene.says(&scene.sandbox(), script), "am");
    let seen = scene.control(&scene.work(), "ls -A && stat -c '%a %h %Y' c && readlink e");
    assert_eq!(seen, "c\nd\ne\nw\nx\n700 2 1000000000\nc\n");
}

pub(super) fn strange_names_are_names(scene: &Scene) {
    let script = "for n in 'a b' \"$(printf 'n\\nl')\" '-rf' '*' \"$(printf '\\377')\" '$(id)'; do echo x >\"./$n\"; done; ls -A | wc -l";
    assert_eq!(scene.says(&scene.sandbox(), script), "7\n");
    assert_eq!(fs::read_dir(scene.work()).expect("the workspace").count(), 6);
    // A workspace with a strange name works as well.
    let strange = scene.dir().join("a b\n'\"$(id)*");
    fs::create_dir(&strange).expect("a directory");
    let sandbox = scene.accepting(scene.sandbox_at(&strange));
    let moved = scene.has_made_world().then(|| sandbox.clone().workdir("/workspace"));
    for sandbox in [sandbox].into_iter().chain(moved) {
        if scene.can_name(&sandbox, &strange) {
            let finished = scene.sh(&sandbox, "echo x >made && pwd");
            assert!(finished.outcome.success(), "{}", told(&finished));
            assert!(strange.join("made").exists());
        }
    }
}

fn works_at(scene: &Scene, sandbox: &Sandbox, directory: &Path, expected: &Path) {
    fs::write(directory.join("from-host"), "seen").expect("a file");
    let seen = scene.says(sandbox, "pwd; pwd -P; cat from-host; echo made >from-inside");
    assert_eq!(seen, format!("{0}\n{0}\nseen", expected.display()));
    assert_eq!(fs::read_to_string(directory.join("from-inside")).expect("made inside"), "made\n");
}

pub(super) fn the_workspace_appears_at_its_host_path(scene: &Scene) {
    works_at(scene, &scene.sandbox(), &scene.work(), &scene.work());
    works_at(scene, &scene.sandbox().workdir("host"), &scene.work(), &scene.work());
}

/// The home is private and empty but for the directories on the way; the workspace in it is the real one.
pub(super) fn the_workspace_appears_at_its_host_path_below_the_home(scene: &Scene) {
    scene.write("home/src/beside/file", "secret");
    let directory = scene.home().join("src/project");
    fs::create_dir(&directory).expect("a workspace");
    let sandbox = scene.accepting(scene.sandbox_at(&directory));
    works_at(scene, &sandbox, &directory, &directory);
    assert_eq!(scene.control(&directory, "cat ../beside/file"), "secret");
    scene.fails(&sandbox, "cat ../beside/file");
    if scene.has_made_world() {
        let seen = scene.says(&sandbox, "ls -A ~; ls -A ~/src; echo x >~/y && cat ~/y");
        assert_eq!(seen, "src\nproject\nx\n");
        assert!(!scene.home().join("y").exists(), "the home inside is another one");
    }
}

/// The path is the canonical one, whichever way led to the workspace.
pub(super) fn the_workspace_appears_at_its_path_without_links(scene: &Scene) {
    let link = scene.dir().join("link");
    std::os::unix::fs::symlink("work", &link).expect("a link");
    let sandbox = scene.accepting(scene.sandbox_at(&link));
    works_at(scene, &sandbox, &scene.work(), &scene.work());
    assert_eq!(scene.says(&sandbox, "echo $PWD; basename \"$PWD\""), format!("{}\nwork\n", scene.work().display()));
}

pub(super) fn the_workspace_appears_at_its_host_path_below_tmp(scene: &Scene) {
    works_below(scene, "/tmp");
}

pub(super) fn the_workspace_appears_at_its_host_path_below_var_tmp(scene: &Scene) {
    works_below(scene, "/var/tmp");
}

fn works_below(scene: &Scene, place: &str) {
    let directory = format!("{place}/polder-work-{}", std::process::id());
    fs::create_dir(&directory).expect("a workspace");
    let sandbox = scene.accepting(scene.sandbox_at(Path::new(&directory)));
    let result = std::panic::catch_unwind(|| {
        works_at(scene, &sandbox, Path::new(&directory), Path::new(&directory));
    });
    fs::remove_dir_all(&directory).expect("the workspace");
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

pub(super) fn the_workspace_appears_at_a_path_of_choice(scene: &Scene) {
    for place in ["/workspace", "/srv/some/where"] {
        let sandbox = scene.sandbox().workdir(place);
        if scene.moves_paths(&sandbox) {
            works_at(scene, &sandbox, &scene.work(), Path::new(place));
        }
    }
}

pub(super) fn a_read_only_workspace_cannot_be_changed(scene: &Scene) {
    scene.write("work/file", "x");
    let attempts =
        ["echo y >file", "rm -f file", "mv file other", "touch new", "chmod 777 file", "mkdir dir", "ln file hard"];
    for attempt in attempts {
        scene.fails(&scene.sandbox().read_only(), attempt);
        assert_eq!(scene.control(&scene.work(), "ls -A; cat file; stat -c %a file"), "file\nx644\n", "{attempt}");
    }
    assert_eq!(scene.says(&scene.sandbox().read_only(), "echo ok >/tmp/x && echo ok >~/x && cat /tmp/x"), "ok\n");
    for attempt in attempts {
        scene.control(scene.dir(), "rm -rf copy && mkdir copy && cp -a work/file copy/");
        scene.control(&scene.dir().join("copy"), attempt);
        scene.says(&scene.sandbox(), attempt);
        scene.control(&scene.work(), "rm -rf * && printf x >file && chmod 644 file");
    }
}

pub(super) fn a_bind_is_read_only_unless_said_otherwise(scene: &Scene) {
    let file = scene.write("shared/file", "seen");
    let shared = scene.dir().join("shared").display().to_string();
    let sandbox = scene.sandbox().bind(&shared);
    assert_eq!(scene.says(&sandbox, &format!("cat {}", file.display())), "seen");
    scene.fails(&sandbox, &format!("echo x >{}", file.display()));
    scene.fails(&sandbox, &format!("touch {shared}/new"));
    scene.control(scene.dir(), "echo x >shared/file && printf seen >shared/file");
    let sandbox = scene.sandbox().bind(format!("{shared}:/opt/other/place"));
    assert_eq!(scene.says(&sandbox, "cat /opt/other/place/file"), "seen");
    scene.fails(&sandbox, "echo x >/opt/other/place/file");
    scene.fails(&sandbox, &format!("cat {}", file.display()));
    assert_eq!(scene.read("shared/file"), "seen");
}

pub(super) fn a_bind_that_can_be_written_reaches_the_host(scene: &Scene) {
    scene.write("shared/file", "old");
    let shared = scene.dir().join("shared").display().to_string();
    let elsewhere = scene.sandbox().bind(format!("{shared}:/opt/cache:rw"));
    if scene.moves_paths(&elsewhere) {
        scene.says(&elsewhere, "echo new >/opt/cache/file && echo x >/opt/cache/made");
        assert_eq!((scene.read("shared/file"), scene.read("shared/made")), ("new\n".to_owned(), "x\n".to_owned()));
    }
    scene.says(
        &scene.sandbox().bind(format!("{shared}:rw")),
        &format!("echo again >{shared}/file; echo x >{shared}/made"),
    );
    assert_eq!(scene.read("shared/file"), "again\n");
    let own = fs::metadata(scene.home()).expect("the home");
    assert_eq!(fs::metadata(scene.dir().join("shared/made")).expect("made").uid(), own.uid());
}

pub(super) fn a_bind_of_a_file_shows_only_the_file(scene: &Scene) {
    let file = scene.write("home/.gitconfig", "[user]\n\tname = bound\n");
    scene.write("home/.secret", "secret");
    let sandbox = scene.sandbox().bind("~/.gitconfig");
    assert_eq!(scene.says(&sandbox, "git config user.name; ls -A ~"), "bound\n.gitconfig\n");
    scene.fails(&sandbox, "echo x >>~/.gitconfig");
    scene.fails(&sandbox, "cat ~/.secret");
    assert_eq!(scene.control(&scene.work(), "cat ~/.secret"), "secret");
    let sandbox = scene.sandbox().bind(format!("{}:/opt/config:rw", file.display()));
    scene.says(&sandbox, "echo '# more' >>/opt/config");
    assert!(scene.read("home/.gitconfig").ends_with("# more\n"));
}

pub(super) fn a_bind_appears_inside_the_workspace(scene: &Scene) {
    scene.write("shared/file", "bound");
    scene.write("work/sub/file", "covered");
    let shared = scene.dir().join("shared");
    let sandbox = scene.sandbox().bind(format!("{}:{}/sub", shared.display(), scene.work().display()));
    if !scene.moves_paths(&sandbox) {
        return;
    }
    assert_eq!(scene.says(&sandbox, "cat sub/file"), "bound");
    scene.fails(&sandbox, "echo x >sub/file");
    assert_eq!(scene.says(&scene.sandbox(), "cat sub/file"), "covered");
}

pub(super) fn a_bind_appears_below_tmp_and_home(scene: &Scene) {
    scene.write("home/cache/file", "cached");
    scene.write("shared/file", "shared");
    let sandbox =
        scene.sandbox().bind("~/cache:rw").bind(format!("{}:/tmp/shared", scene.dir().join("shared").display()));
    if !scene.moves_paths(&sandbox) {
        return;
    }
    assert_eq!(
        scene.says(&sandbox, "cat ~/cache/file /tmp/shared/file; echo x >~/cache/new; echo x >~/y; echo x >/tmp/y"),
        "cachedshared"
    );
    assert_eq!(scene.read("home/cache/new"), "x\n");
    assert!(!scene.home().join("y").exists());
}

pub(super) fn a_missing_bind_source_is_refused(scene: &Scene) {
    let missing = scene.dir().join("missing");
    let answer = scene.sandbox().bind(missing.display().to_string()).plan(["true"]);
    match answer {
        Err(Error::Plan(error)) => assert!(error.to_string().contains("missing"), "{error}"),
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(_) => panic!("a plan"),
    }
    assert!(!missing.exists(), "nothing may be made on the host");
}
