//! Changes are kept apart from the real tree: whatever a command does, the tree is byte by byte what it was.

use crate::scene::{Scene, told};
use polder::{Error, EventKind, Finished, Guarantee, Report, Sandbox, Unfit};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Every kind of change that a command can make to a tree, and a look at what came of it.
const CHANGES: &str = "echo more >> file; echo new > other; rm gone; mv moved elsewhere; mkdir -p fresh/deep; \
    echo x > fresh/deep/x; chmod 755 mode; touch -d @1 time; ln -sfn other link; ln file second; rm -r directory; \
    echo was-a-directory > directory; mv full renamed; rm -r emptied; mkdir emptied; mkfifo pipe; \
    test \"$(cat file)\" = \"$(printf 'text\\nmore')\" && test ! -e gone && test -x mode && test -f directory && \
    test -e renamed/inner && test -z \"$(ls -A emptied)\" && echo changed";

/// A tree with something for every change.
fn tree(scene: &Scene) {
    for file in ["file", "gone", "moved", "mode", "time", "directory/a", "directory/b/c", "full/inner", "emptied/x"] {
        scene.write(Path::new("work").join(file), "text\n");
    }
    symlink("file", scene.work().join("link")).expect("a link");
}

/// Everything that can be seen of a tree, but for the times of reading.
fn fingerprint(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).expect("an entry");
        let content = match about.file_type() {
            kind if kind.is_dir() => {
                open.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
                String::new()
            }
            kind if kind.is_symlink() => format!("{:?}", fs::read_link(&path).expect("a link")),
            kind if kind.is_file() => format!("{:?}", fs::read(&path).expect("a file")),
            _ => String::new(),
        };
        let (changed, modified) = ((about.ctime(), about.ctime_nsec()), (about.mtime(), about.mtime_nsec()));
        let (mode, owner) = (about.mode(), (about.uid(), about.gid()));
        let text = format!("{mode:o} {owner:?} {} {} {changed:?} {modified:?} {content}", about.ino(), about.nlink());
        seen.insert(path, text);
    }
    seen
}

/// Whether the engine keeps changes apart. If it does not, its refusal has been checked: it says why and what to do, and
/// above all the real tree is not what the command gets instead.
fn keeps_apart(scene: &Scene) -> bool {
    let planned = scene.plan(&scene.sandbox().cow(), &["touch", "ran-in-place"]);
    let Report::Refused(Unfit::Refused(refused)) = planned.report() else { return true };
    let refusal = refused.refusals.iter().find(|refusal| refusal.guarantee.is_none());
    let refusal = refusal.unwrap_or_else(|| panic!("refused for another reason: {refused}"));
    assert!(refusal.remedy.is_some() && !refusal.acceptable, "{refused}");
    assert!(matches!(planned.run(), Err(Error::Unfit(_))), "nothing may run");
    assert!(!scene.work().join("ran-in-place").exists(), "nothing may run");
    false
}

fn store(scene: &Scene) -> PathBuf {
    scene.home().join(".local/state/polder/workspaces")
}

/// The workspaces that are kept, by the directories of the store.
fn kept(scene: &Scene) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(store(scene)) else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn changes(finished: &Finished) -> Option<(String, bool, bool)> {
    finished.events.iter().find_map(|event| match &event.kind {
        EventKind::Changes { workspace, changed, kept } => Some((workspace.clone(), *changed, *kept)),
        _ => None,
    })
}

fn named(scene: &Scene, name: &str) -> Sandbox {
    scene.sandbox().workspace(name)
}

pub(super) fn the_tree_is_what_it_was_after_any_change(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    let before = fingerprint(&scene.work());
    let finished = scene.sh(&scene.sandbox().cow(), CHANGES);
    assert_eq!(String::from_utf8_lossy(&finished.stdout), "changed\n", "{}", told(&finished));
    assert_eq!(fingerprint(&scene.work()), before);
    let (name, changed, kept) = changes(&finished).expect("it is told");
    assert!(changed && kept && !name.is_empty(), "{:?}", finished.events);
    // The same text without a layer changes the tree.
    scene.control(&scene.work(), CHANGES);
    assert_ne!(fingerprint(&scene.work()), before);
}

pub(super) fn the_tree_is_what_it_was_after_a_kill(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    let before = fingerprint(&scene.work());
    let script = format!("{CHANGES}; while :; do sleep 1; done");
    let finished = scene.sh(&scene.sandbox().cow().timeout("2s"), &script);
    assert_eq!(finished.outcome.exit_code(), 124, "{}", told(&finished));
    assert_eq!(fingerprint(&scene.work()), before);
}

pub(super) fn files_of_a_layer_have_the_owner_of_the_tree(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    scene.says(&named(scene, "w"), "echo x > new; echo more >> file; mkdir -p deep/er; touch deep/er/y");
    let owner = fs::metadata(scene.work()).expect("the tree").uid();
    let [workspace] = kept(scene).try_into().expect("one workspace");
    for path in ["upper", "upper/new", "upper/file", "upper/deep", "upper/deep/er/y"] {
        let about = fs::symlink_metadata(workspace.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(about.uid(), owner, "{path}");
    }
    assert_eq!(fs::metadata(store(scene)).expect("the store").permissions().mode() & 0o077, 0, "closed to others");
}

pub(super) fn a_named_workspace_is_shared_by_runs(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    let before = fingerprint(&scene.work());
    scene.says(&named(scene, "w"), "echo one > one; rm gone; mv full renamed");
    scene.says(&named(scene, "w"), "test ! -e gone && test -e renamed/inner && echo two >> one");
    assert_eq!(scene.says(&named(scene, "w"), "cat one"), "one\ntwo\n");
    assert_eq!(scene.says(&named(scene, "other"), "test -e gone && test ! -e one && echo apart"), "apart\n");
    assert_eq!(fingerprint(&scene.work()), before);
}

pub(super) fn a_workspace_begins_with_the_changes_of_another(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    scene.says(&named(scene, "w"), "echo one > one; rm gone");
    let branch = || named(scene, "branch").from_workspace("w");
    scene.says(&branch(), "test ! -e gone && cat one && rm one && echo back > gone && rm -r directory");
    // Twice, so that the layers are found again by the branch's own name.
    assert_eq!(
        scene.says(&named(scene, "branch"), "test ! -e one && cat gone && ls"),
        "back\n".to_owned() + "emptied\nfile\nfull\ngone\nlink\nmode\nmoved\ntime\n"
    );
    // Both go on by themselves.
    assert_eq!(scene.says(&named(scene, "w"), "test ! -e gone && echo more >> one && cat one"), "one\nmore\n");
    scene.says(&named(scene, "branch"), "test ! -e one && test -e gone");
    let thrown_away = scene.sandbox().from_workspace("w").discard();
    assert_eq!(scene.says(&thrown_away, "cat one"), "one\nmore\n");
    let unknown = scene.plan(&scene.sandbox().from_workspace("nobody"), &["true"]).run();
    assert!(unknown.is_err_and(|error| error.to_string().contains("nobody")), "there is none of that name");
}

pub(super) fn a_second_run_in_one_workspace_is_refused(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    scene.write("work/file", "text\n");
    let script = "echo here > mark; read line";
    let mut command = crate::aide::command_in(scene.engine(), &scene.work(), "w", &["sh", "-c", script]);
    command.envs(scene.environment()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut aide = command.spawn().expect("an aide");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !kept(scene).iter().any(|workspace| workspace.join("upper/mark").exists()) {
        assert!(aide.try_wait().expect("a state").is_none(), "the aide ended");
        assert!(Instant::now() < deadline, "the first run never came");
        std::thread::sleep(Duration::from_millis(5));
    }
    let refused = scene.plan(&named(scene, "w"), &["true"]).run().expect_err("it is in use");
    assert!(refused.to_string().contains("in use"), "{refused}");
    assert_eq!(scene.says(&named(scene, "another"), "echo free"), "free\n");
    // Whoever has it may be killed: the kernel lets go.
    aide.kill().expect("a kill");
    aide.wait().expect("an end");
    let said = loop {
        match scene.plan(&named(scene, "w"), &["cat", "mark"]).run() {
            Ok(finished) => break finished.stdout,
            Err(error) => assert!(Instant::now() < deadline, "it is never free again: {error}"),
        }
    };
    assert_eq!(said, b"here\n");
}

pub(super) fn what_is_thrown_away_or_unchanged_leaves_nothing(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    let finished = scene.sh(&scene.sandbox().discard(), CHANGES);
    assert_eq!(
        changes(&finished).map(|(_, changed, kept)| (changed, kept)),
        Some((true, false)),
        "{}",
        told(&finished)
    );
    assert!(kept(scene).is_empty(), "{:?}", kept(scene));
    let finished = scene.sh(&scene.sandbox().cow(), "cat file");
    assert_eq!(
        changes(&finished).map(|(_, changed, kept)| (changed, kept)),
        Some((false, false)),
        "{}",
        told(&finished)
    );
    assert!(kept(scene).is_empty(), "{:?}", kept(scene));
    let missing = scene.sh(&scene.sandbox().cow(), "exec ./no-such-command");
    assert_ne!(missing.outcome.exit_code(), 0);
    assert!(kept(scene).is_empty(), "{:?}", kept(scene));
    // Throwing away what this run did not make is not meant by anybody.
    scene.says(&named(scene, "w"), "echo x > new");
    let refused = scene.plan(&named(scene, "w").discard(), &["true"]).run().expect_err("it has changes already");
    assert!(refused.to_string().contains("earlier runs"), "{refused}");
    assert_eq!(kept(scene).len(), 1);
}

pub(super) fn protected_and_denied_paths_hold_in_a_layer(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    for file in [".git/config", ".git/hooks/a", "secret", "kept/inner"] {
        scene.write(Path::new("work").join(file), "text\n");
    }
    scene.write("work/.git/HEAD", "ref: refs/heads/main\n");
    let keys =
        "{workspace: {mode: cow, name: w}, deny_read: [secret], protect: [.git/hooks, .git/config, kept, new/name]}";
    let sandbox = scene.configured(keys);
    for denied in [
        "cat secret",
        "echo x > .git/config",
        "echo x > .git/hooks/pre-commit",
        "rm kept/inner",
        "mv kept other",
        "mv .git other",
    ] {
        scene.fails(&sandbox, denied);
        scene.control(
            &scene.work(),
            &format!("rm -rf /tmp/c$$; cp -a . /tmp/c$$ && cd /tmp/c$$ && {denied}; r=$?; rm -rf /tmp/c$$; exit $r"),
        );
    }
    assert_eq!(scene.says(&sandbox, "echo x > .git/index && echo y > beside && cat beside"), "y\n");
    // A name that does not exist yet can be made, and is set aside in the layer.
    scene.says(&sandbox, "mkdir -p new && echo x > new/name");
    assert_eq!(scene.says(&sandbox, "test ! -e new/name && echo gone"), "gone\n");
}

pub(super) fn the_layers_are_out_of_reach(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    scene.write("work/file", "text\n");
    let store = store(scene);
    let script = format!(
        "! grep -q -e {} -e dir=/ /proc/self/mountinfo && ! ls {} && ! ls /run/polder/layers && \
         ! ls /run/polder/lower-0 && echo hidden > file && echo none",
        store.display(),
        store.display()
    );
    // At its own path the tree's name is known inside; the layers' are not.
    assert_eq!(scene.says(&named(scene, "w"), &script), "none\n");
    scene.control(&scene.work(), &format!("ls {}", store.display()));
    // Nor by a descriptor of whoever laid them; the search finds one of the command's own.
    let script = "exec 9<file && ls -l /proc/self/fd > seen && grep -q /file seen && \
                  ! grep -e volatile -e layers -e upper seen && rm seen && echo none";
    assert_eq!(scene.says(&named(scene, "w"), script), "none\n");
    // A bind that shows the store would be another way to the layers.
    let shown = named(scene, "w").bind(format!("{}:/store:rw", scene.home().display()));
    let refused = scene.plan(&shown, &["true"]).run().expect_err("the store would be shown");
    assert!(refused.to_string().contains("XDG_STATE_HOME"), "{refused}");
}

pub(super) fn a_bound_on_a_layer_is_kept_or_refused(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    scene.keeps(&scene.sandbox().cow().disk("16M"), Guarantee::Disk);
}

pub(super) fn a_read_only_layer_cannot_be_changed(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    scene.write("work/file", "text\n");
    scene.says(&named(scene, "w"), "echo x > new");
    scene.fails(&named(scene, "w").read_only(), "echo y > new");
    assert_eq!(scene.says(&named(scene, "w").read_only(), "cat new"), "x\n");
}

pub(super) fn many_layers_over_one_tree_do_not_disturb_each_other(scene: &Scene) {
    if !keeps_apart(scene) {
        return;
    }
    tree(scene);
    let before = fingerprint(&scene.work());
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..20)
            .map(|number| {
                let sandbox = scene.sandbox().cow();
                scope.spawn(move || {
                    let script = format!("echo {number} > file; rm gone; sleep 0.2; cat file; ls | wc -l");
                    (number, scene.says(&sandbox, &script))
                })
            })
            .collect();
        for run in runs {
            let (number, said) = run.join().expect("a run");
            assert_eq!(said, format!("{number}\n8\n"));
        }
    });
    assert_eq!(fingerprint(&scene.work()), before);
    assert_eq!(kept(scene).len(), 20);
}
