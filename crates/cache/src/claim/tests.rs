use super::*;
use crate::{clear, list};
use polder_facts::{GuestPath, HostPath, Span};
use polder_plan::Scope;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A store that is removed with everything in it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let base = fs::canonicalize(std::env::temp_dir()).unwrap();
        let place = base.join(format!("polder-cache-{name}-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        Self(place)
    }

    fn caches(&self, prefix: &str, fallback: Option<&str>) -> Caches {
        let scope = |prefix: &str| Scope { prefix: prefix.to_owned(), name: format!("{:0>32}", hex(prefix)) };
        Caches {
            store: HostPath::new(self.0.join("cache")).unwrap(),
            repository: "/repo".to_owned(),
            sandbox: None,
            family: "f".repeat(32),
            scope: scope(prefix),
            fallback: fallback.map(scope),
            kept: vec![Kept { guest: GuestPath::new("/c").unwrap(), name: "c".repeat(32), source: None }],
            ttl: Span(Duration::from_secs(3600)),
            max_scopes: 3,
            sharing: Sharing::ReadWrite,
        }
    }

    fn data(&self, caches: &Caches) -> PathBuf {
        caches.store.as_path().join(&caches.family).join(&caches.scope.name).join(&caches.kept[0].name)
    }

    fn prefixes(&self) -> Vec<String> {
        list(&self.0.join("cache"), None).unwrap().into_iter().map(|listed| listed.prefix).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.0).output();
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn take(caches: &Caches) -> Result<Claim, ClaimError> {
    claim(caches, None, &mut |pause| {
        std::thread::sleep(pause);
        ControlFlow::Continue(())
    })
}

fn age(data: &Path, seconds: u64) {
    let used = data.parent().unwrap().join("used");
    File::options()
        .write(true)
        .open(used)
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(seconds))
        .unwrap();
}

#[test]
fn a_cache_outlives_its_run_in_a_store_of_the_callers_alone() {
    let place = Place::new("outlives");
    let caches = place.caches("a", None);
    let data = place.data(&caches);
    drop(take(&caches).unwrap());
    fs::write(data.join("x"), "kept").unwrap();
    drop(take(&caches).unwrap());
    assert_eq!(fs::read_to_string(data.join("x")).unwrap(), "kept");
    assert_eq!(fs::metadata(place.0.join("cache")).unwrap().mode() & 0o777, 0o700);
    // A store that others can enter is not one.
    fs::set_permissions(place.0.join("cache"), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(matches!(take(&caches), Err(ClaimError::Store(StoreError::Exposed { .. }))));
}

#[test]
fn a_link_in_the_place_of_anything_is_not_followed() {
    let place = Place::new("link");
    let caches = place.caches("a", None);
    fs::create_dir_all(place.0.join("elsewhere")).unwrap();
    drop(take(&caches).unwrap());
    let scope = place.data(&caches).parent().unwrap().to_owned();
    fs::rename(&scope, place.0.join("moved")).unwrap();
    symlink(place.0.join("elsewhere"), &scope).unwrap();
    assert!(take(&caches).is_err());
    assert_eq!(fs::read_dir(place.0.join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn the_least_recently_used_goes_and_never_one_in_use() {
    let place = Place::new("lru");
    let all = ["a", "b", "c", "d", "e"].map(|prefix| place.caches(prefix, None));
    let held = take(&all[0]).unwrap();
    for (caches, seconds) in all[..3].iter().zip([500, 100, 300]) {
        drop(take(caches).unwrap());
        age(&place.data(caches), seconds);
    }
    // `a` is the oldest and in use; `c` is the oldest that is not, whatever the order of names or of making.
    drop(take(&all[3]).unwrap());
    assert_eq!(place.prefixes(), ["a", "b", "d"]);
    drop(held);
    drop(take(&all[4]).unwrap());
    assert_eq!(place.prefixes(), ["b", "d", "e"]);
}

#[test]
fn other_families_are_neither_counted_nor_touched() {
    let place = Place::new("families");
    for prefix in ["a", "b", "c"] {
        drop(take(&place.caches(prefix, None)).unwrap());
        age(&place.data(&place.caches(prefix, None)), 3000);
    }
    let mut other = place.caches("a", None);
    other.family = "e".repeat(32);
    other.repository = "/other".to_owned();
    other.max_scopes = 1;
    other.ttl = Span(Duration::from_secs(1));
    drop(take(&other).unwrap());
    assert_eq!(place.prefixes(), ["a", "a", "b", "c"]);
    assert_eq!(clear(other.store.as_path(), Some("/other")).unwrap().removed, 1);
    assert_eq!(place.prefixes(), ["a", "b", "c"]);
}

#[test]
fn what_nobody_used_for_its_time_is_gone_also_for_itself() {
    let place = Place::new("ttl");
    let (a, b) = (place.caches("a", None), place.caches("b", None));
    for caches in [&a, &b] {
        drop(take(caches).unwrap());
        fs::write(place.data(caches).join("x"), "old").unwrap();
    }
    age(&place.data(&a), 3000);
    age(&place.data(&b), 4000);
    drop(take(&a).unwrap());
    assert!(place.data(&a).join("x").exists(), "used in time");
    assert_eq!(place.prefixes(), ["a"]);
    age(&place.data(&a), 4000);
    drop(take(&a).unwrap());
    assert!(!place.data(&a).join("x").exists(), "it started anew");
}

#[test]
fn a_new_cache_starts_as_a_copy_that_can_do_no_more_than_its_content() {
    let place = Place::new("copy");
    let main = place.caches("main", None);
    drop(take(&main).unwrap());
    let from = place.data(&main);
    fs::create_dir_all(from.join("d/e")).unwrap();
    fs::write(from.join("d/e/file"), "content").unwrap();
    fs::set_permissions(from.join("d/e/file"), PermissionsExt::from_mode(0o4755)).unwrap();
    File::options()
        .write(true)
        .open(from.join("d/e/file"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
        .unwrap();
    symlink("/etc/passwd", from.join("d/link")).unwrap();
    assert!(Command::new("mkfifo").arg(from.join("pipe")).status().unwrap().success());
    fs::set_permissions(from.join("d/e"), PermissionsExt::from_mode(0o555)).unwrap();
    let branch = place.caches("branch", Some("main"));
    drop(take(&branch).unwrap());
    let to = place.data(&branch);
    let file = fs::metadata(to.join("d/e/file")).unwrap();
    assert_eq!((file.mode() & 0o7777, file.mtime(), file.len()), (0o755, 1_000_000_000, 7));
    assert_eq!(fs::metadata(to.join("d/e")).unwrap().mode() & 0o777, 0o555);
    assert_eq!(fs::read_link(to.join("d/link")).unwrap(), Path::new("/etc/passwd"));
    assert!(!to.join("pipe").exists());
    // Two caches from here on.
    fs::write(to.join("own"), "").unwrap();
    assert!(!from.join("own").exists());
}

#[test]
fn a_copy_that_was_cut_off_is_never_taken_for_a_whole_one() {
    let place = Place::new("cut");
    let main = place.caches("main", None);
    drop(take(&main).unwrap());
    for number in 0..50 {
        fs::write(place.data(&main).join(number.to_string()), "x").unwrap();
    }
    let branch = place.caches("branch", Some("main"));
    let mut files = 0;
    let cut = claim(&branch, None, &mut |_| {
        files += 1;
        if files > 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(cut, Err(ClaimError::Interrupted)));
    assert!(!place.data(&branch).exists(), "half a cache");
    let family = branch.store.as_path().join(&branch.family);
    assert!(family.join(format!("{ASIDE}{}", branch.kept[0].name)).is_dir(), "the control: there was a half copy");
    drop(take(&branch).unwrap());
    assert_eq!(fs::read_dir(place.data(&branch)).unwrap().count(), 50);
    assert!(!family.join(format!("{ASIDE}{}", branch.kept[0].name)).exists());
}

#[test]
fn an_untrusted_run_makes_nothing() {
    let place = Place::new("restore");
    let mut caches = place.caches("a", None);
    caches.sharing = Sharing::RestoreOnly;
    drop(take(&caches).unwrap());
    assert!(!place.0.join("cache").exists());
    // What was there when the plan was made must still be there.
    caches.kept[0].source = Some(caches.scope.name.clone());
    assert!(take(&caches).is_err());
    assert!(!place.0.join("cache").exists());
    drop(take(&place.caches("a", None)).unwrap());
    let held = take(&caches).unwrap();
    assert_eq!(clear(caches.store.as_path(), None).unwrap().in_use, 1, "it is held while it is shown");
    drop(held);
    assert_eq!(clear(caches.store.as_path(), None).unwrap().removed, 1);
    assert_eq!(fs::read_dir(place.0.join("cache")).unwrap().count(), 0);
}

#[test]
fn first_uses_at_the_same_time_make_one_directory() {
    let place = Place::new("together");
    let caches = place.caches("a", None);
    let inodes: Vec<u64> = std::thread::scope(|scope| {
        let one = || {
            let _held = take(&caches).unwrap();
            fs::metadata(place.data(&caches)).unwrap().ino()
        };
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(inodes.iter().all(|inode| *inode == inodes[0]));
}

#[test]
fn any_tree_can_be_removed() {
    let place = Place::new("any");
    let caches = place.caches("a", None);
    drop(take(&caches).unwrap());
    let data = place.data(&caches);
    // Deeper than a process has descriptors, longer than a path can be, without rights, with our own names for passing.
    fs::create_dir_all(data.join("up-1")).unwrap();
    fs::write(data.join("up-1/x"), "").unwrap();
    let mut deep = Directory::at(&data).unwrap();
    for _ in 0..1500 {
        deep.make(OsStr::new("dddddddd"), 0o700).unwrap();
        deep = deep.enter(OsStr::new("dddddddd")).unwrap();
    }
    drop(deep.create(OsStr::new("end"), 0).unwrap());
    deep.file().set_permissions(PermissionsExt::from_mode(0o000)).unwrap();
    symlink(&place.0, data.join("link")).unwrap();
    fs::write(place.0.join("stays"), "").unwrap();
    fs::set_permissions(&data, PermissionsExt::from_mode(0o500)).unwrap();
    assert_eq!(clear(caches.store.as_path(), None).unwrap().removed, 1);
    assert!(place.0.join("stays").exists());
    assert_eq!(fs::read_dir(place.0.join("cache")).unwrap().count(), 0);
}
