//! Directories that are kept between runs.

use crate::scene::Scene;
use polder::Sandbox;
use std::fs;

const KEYS: &str = "{cache: {paths: [/kept, ~/.cache/tool], ttl: 1d, max_scopes: 2}}";

/// A sandbox with caches, unless the engine keeps none: then its refusal has been checked.
fn caching(scene: &Scene) -> Option<Sandbox> {
    let sandbox = scene.configured(KEYS);
    scene.moves_paths(&sandbox).then_some(sandbox)
}

pub(super) fn a_cache_outlives_its_run(scene: &Scene) {
    let Some(sandbox) = caching(scene) else { return };
    let missing = scene.fails(&sandbox, "cat /kept/file");
    assert!(missing.contains("No such file"), "{missing}");
    scene.says(&sandbox, "umask 022; echo one >/kept/file; mkdir /kept/dir; echo two >~/.cache/tool/file");
    let seen = scene.says(&sandbox, "cat /kept/file ~/.cache/tool/file; test -O /kept -a -O /kept/file; echo $?");
    assert_eq!(seen, "one\ntwo\n0\n");
    scene.says(&sandbox, "rm -r /kept/file /kept/dir && echo three >/kept/more");
    assert_eq!(scene.says(&sandbox, "ls -A /kept"), "more\n");
    // Only the cache is kept: what is beside it is as private as ever.
    scene.says(&sandbox, "echo x >~/.cache/beside");
    scene.fails(&sandbox, "cat ~/.cache/beside");
    // And on the host it lies where nobody else can look.
    let store = scene.home().join(".local/state/polder/cache");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&store).expect("the store").permissions());
    assert_eq!(mode & 0o777, 0o700);
    assert!(!scene.home().join(".cache/tool").exists() && !scene.work().join("kept").exists());
}

pub(super) fn another_repository_does_not_see_a_cache(scene: &Scene) {
    let Some(sandbox) = caching(scene) else { return };
    scene.says(&sandbox, "echo ours >/kept/file");
    let other = scene.dir().join("other");
    fs::create_dir(&other).expect("a directory");
    let keys = format!("sandboxes:\n  case: {KEYS}\nsandbox: case\n");
    let file = scene.write("polder-other.yaml", keys);
    let theirs = scene.accepting(scene.sandbox_at(&other)).with_configuration_file(file);
    assert_eq!(scene.says(&theirs, "ls -A /kept; echo theirs >/kept/file"), "");
    assert_eq!(scene.says(&sandbox, "cat /kept/file"), "ours\n");
    // The store itself is out of reach, also by its name on the host.
    let store = scene.home().join(".local/state/polder/cache");
    let look = format!("ls -A '{}'", store.display());
    assert!(!scene.control(&scene.work(), &look).is_empty(), "the control: the caller sees it");
    scene.fails(&sandbox, &look);
}

pub(super) fn an_untrusted_run_cannot_change_a_cache(scene: &Scene) {
    let Some(sandbox) = caching(scene) else { return };
    let untrusted = sandbox.clone().untrusted();
    // What is not there is not made.
    scene.fails(&untrusted, "test -d /kept");
    assert!(!scene.home().join(".local/state/polder/cache").exists());
    scene.says(&sandbox, "echo good >/kept/file; mkdir /kept/dir");
    assert_eq!(scene.says(&untrusted, "cat /kept/file"), "good\n");
    for change in [
        "echo bad >/kept/file",
        "echo bad >>/kept/file",
        "rm /kept/file",
        "mv /kept/file /kept/other",
        "touch /kept/new",
        "chmod 777 /kept/file",
        "touch -d @1 /kept/file",
        "rmdir /kept/dir",
        "ln /kept/file /kept/link",
    ] {
        scene.fails(&untrusted, change);
    }
    assert_eq!(scene.says(&sandbox, "cat /kept/file; ls -A /kept"), "good\ndir\nfile\n");
    // The control: the same changes are possible for a run that is trusted.
    scene.says(&sandbox, "echo x >>/kept/file; chmod 777 /kept/file; mv /kept/file /kept/other; rmdir /kept/dir");
}

pub(super) fn runs_at_the_same_time_share_a_cache(scene: &Scene) {
    let Some(sandbox) = caching(scene) else { return };
    let runs: Vec<_> =
        (0..4).map(|number| (number, scene.plan(&sandbox, &["touch", &format!("/kept/{number}")]))).collect();
    let threads: Vec<_> = runs.into_iter().map(|(_, planned)| std::thread::spawn(move || planned.run())).collect();
    for thread in threads {
        let finished = thread.join().expect("a thread").expect("a run");
        assert!(finished.outcome.success(), "{finished:?}");
    }
    assert_eq!(scene.says(&sandbox, "ls -A /kept"), "0\n1\n2\n3\n");
}
