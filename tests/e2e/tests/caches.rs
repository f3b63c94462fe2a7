//! `cache`, `--untrusted` and `polder cache`, as people use them.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

fn configure(place: &Place, cache: &str) {
    let text = format!("sandboxes:\n  a:\n    cache: {{paths: [/kept], {cache}}}\nsandbox: a\n");
    place.write("work/polder.yaml", text);
}

fn run(place: &Place, cache: &str, script: &str) -> Said {
    configure(place, cache);
    place.says(&["run", "--", "sh", "-c", script])
}

fn listed(place: &Place) -> Vec<serde_json::Value> {
    let said = place.says(&["cache", "list", "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    serde_json::from_str(&said.out).expect("JSON")
}

fn prefixes(place: &Place) -> Vec<String> {
    listed(place).iter().map(|entry| entry["prefix"].as_str().expect("a prefix").to_owned()).collect()
}

/// The files that record the last use, of every scope in the store.
fn marks(place: &Place) -> Vec<PathBuf> {
    let store = place.home().join(".local/state/polder/cache");
    let inside = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    inside(store).flat_map(inside).map(|scope| scope.join("used")).filter(|mark| mark.exists()).collect()
}

fn age(marks: &[PathBuf], seconds: u64) {
    for mark in marks {
        let file = File::options().write(true).open(mark).expect("a mark");
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
    }
}

#[test]
fn the_least_recently_used_prefix_goes_first() {
    let place = Place::new();
    for prefix in ["z", "a", "m"] {
        let said = run(&place, &format!("prefix: {prefix}, max_scopes: 3"), "echo x >/kept/file");
        assert_eq!(said.code, 0, "{said:?}");
    }
    // Used again: now `a` is the one that nobody used for the longest time, and the newest by name is not asked.
    assert_eq!(run(&place, "prefix: z, max_scopes: 3", "cat /kept/file").out, "x\n");
    assert_eq!(run(&place, "prefix: n, max_scopes: 3", "ls /kept").out, "");
    assert_eq!(prefixes(&place), ["m", "n", "z"]);
    assert_eq!(run(&place, "prefix: z, max_scopes: 1", "cat /kept/file").out, "x\n");
    assert_eq!(prefixes(&place), ["z"]);
}

/// Trust lies beside the caches, and a project's file cannot give it to itself through a bind of the user's.
#[test]
fn a_command_cannot_write_what_polder_remembers() {
    for there in [true, false] {
        let place = Place::new();
        let state = place.home().join(".local/state");
        fs::create_dir_all(if there { state.join("polder") } else { state.clone() }).expect("a directory");
        let bind = format!("{}:/state:rw", state.display());
        let write = |name: &str| {
            let script = format!("mkdir -p /state/{name} && echo forged >/state/{name}/trusted");
            place.says(&["run", "--bind", &bind, "--", "sh", "-c", &script]).code
        };
        assert_eq!(write("other"), 0, "the control");
        assert!(state.join("other/trusted").exists(), "the control");
        assert_ne!(write("polder"), 0);
        assert!(!state.join("polder/trusted").exists(), "there before: {there}");
    }
}

#[test]
fn what_nobody_used_for_its_time_is_gone() {
    let place = Place::new();
    run(&place, "prefix: old, ttl: 1h", "echo x >/kept/file");
    age(&marks(&place), 3000);
    assert_eq!(run(&place, "prefix: old, ttl: 1h", "cat /kept/file").out, "x\n", "the last use counts, not the age");
    age(&marks(&place), 4000);
    run(&place, "prefix: new, ttl: 1h", "true");
    assert_eq!(prefixes(&place), ["new"]);
}

#[test]
fn a_new_prefix_starts_from_the_fallback_and_goes_its_own_way() {
    let place = Place::new();
    run(&place, "prefix: main", "echo main >/kept/file; mkdir /kept/ro; touch /kept/ro/x; chmod 555 /kept/ro");
    let branch = "prefix: branch, fallback_prefix: main";
    assert_eq!(run(&place, branch, "cat /kept/file; ls /kept/ro; echo branch >/kept/file").out, "main\nx\n");
    assert_eq!(run(&place, branch, "cat /kept/file").out, "branch\n");
    assert_eq!(run(&place, "prefix: main", "cat /kept/file").out, "main\n");
    // An untrusted run on a branch of its own sees what its fallback has, and leaves nothing.
    configure(&place, "prefix: theirs, fallback_prefix: main");
    let said = place.says(&["run", "--untrusted", "--", "sh", "-c", "cat /kept/file; echo bad >/kept/file"]);
    assert_eq!((said.out.as_str(), said.code), ("main\n", 2), "{said:?}");
    let said = place.polder(&["run", "--", "sh", "-c", "touch /kept/x"]).env("POLDER_UNTRUSTED", "1").output();
    assert!(!said.expect("polder").status.success());
    assert_eq!(prefixes(&place), ["branch", "main"]);
}

#[test]
fn a_cache_that_is_in_use_is_not_cleared() {
    let place = Place::new();
    configure(&place, "prefix: p");
    let mut running = place.polder(&["run", "--", "sh", "-c", "echo ready; read line"]);
    let mut running =
        running.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().expect("polder");
    let mut line = [0; 6];
    std::io::Read::read_exact(running.stdout.as_mut().expect("a pipe"), &mut line).expect("ready");
    assert_eq!(listed(&place)[0]["inUse"], true);
    assert_eq!(place.says(&["cache", "clear"]).out, "removed 0, 1 in use\n");
    drop(running.stdin.take());
    running.wait().expect("an end");
    assert_eq!(place.says(&["cache", "clear", "--json"]).out, "{\"inUse\":0,\"removed\":1}\n");
    assert_eq!(place.says(&["cache", "list"]).out, "nothing is kept\n");
    let store = place.home().join(".local/state/polder/cache");
    assert_eq!(fs::read_dir(store).expect("the store").count(), 0);
}

#[test]
fn only_the_caches_of_this_repository_are_listed_and_cleared() {
    let place = Place::new();
    run(&place, "prefix: p", "true");
    fs::create_dir(place.dir().join("other")).expect("a directory");
    let other = place.dir().join("other").display().to_string();
    assert_eq!(place.says(&["cache", "list", "-C", &other]).out, "nothing is kept\n");
    assert_eq!(place.says(&["cache", "clear", "-C", &other]).out, "removed 0\n");
    let entry = &listed(&place)[0];
    assert_eq!(entry["repository"], place.work().display().to_string());
    assert_eq!((entry["sandbox"].as_str(), entry["paths"][0].as_str()), (Some("a"), Some("/kept")));
    assert_eq!(place.says(&["cache", "clear", "--all"]).out, "removed 1\n");
}

#[test]
fn a_store_that_others_can_enter_is_refused() {
    let place = Place::new();
    let store = place.home().join(".local/state/polder/cache");
    fs::create_dir_all(&store).expect("a directory");
    fs::set_permissions(&store, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("rights");
    let said = run(&place, "prefix: p", "touch ran");
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("others can enter") && said.err.contains("XDG_STATE_HOME"), "{said:?}");
    assert!(!place.has("work/ran"));
}

#[test]
fn a_cache_that_would_cover_something_is_refused_with_its_line() {
    let place = Place::new();
    let target = place.work().join("target");
    let paths = format!("[{}, /usr/lib/x, /tmp]", target.display());
    place.write("work/polder.yaml", format!("sandboxes:\n  a:\n    cache: {{paths: {paths}}}\nsandbox: a\n"));
    // A run has a directory for its record before it is planned, so that the plan hides it.
    for (arguments, made) in
        [(["run", "--dry-run", "true"], "home/.local"), (["run", "--", "true"], "home/.local/state/polder/cache")]
    {
        let said = place.says(&arguments);
        assert_eq!(said.code, 125, "{said:?}");
        assert_eq!(said.err.matches("polder.yaml:3: a cache at").count(), 3, "{said:?}");
        assert!(!place.has(made), "deciding makes nothing");
    }
}
