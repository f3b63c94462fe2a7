use super::*;
use crate::linux::spot::Callers;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// A directory with a file, a directory, and a link that leads nowhere.
struct Ground(PathBuf);

impl Ground {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-known-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("d")).unwrap();
        std::fs::write(path.join("d/file"), "").unwrap();
        std::os::unix::fs::symlink("/nowhere/there", path.join("out")).unwrap();
        Self(std::fs::canonicalize(path).unwrap())
    }

    fn spot(&self, name: &str) -> Spot {
        spot(&self.0.join(name))
    }

    fn place(&self, name: &str) -> Text {
        Text::from_bytes(self.0.join(name).as_os_str().as_encoded_bytes()).unwrap()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn spot(path: &Path) -> Spot {
    Callers::new(false).spot(1, libc::AT_FDCWD, path.as_os_str().as_encoded_bytes()).unwrap()
}

#[test]
fn what_is_missing_in_a_shown_mount_is_known_without_following_it() {
    let ground = Ground::new("missing");
    let mut mounts = ShownMounts::new();
    assert!(!mounts.have(&ground.spot("nothing"), Last::MayBeLink), "nothing is learnt yet");
    mounts.learn(&ground.place("nothing"), c"/");
    for missing in ["nothing", "d/nothing", "d/../d/nothing", "no/such/way"] {
        assert!(mounts.have(&ground.spot(missing), Last::IsMissing), "{missing}");
    }
    for missing in ["nothing", "d/nothing", "no/such/way"] {
        assert!(mounts.have(&ground.spot(missing), Last::MayBeLink), "{missing}");
    }
    for leads_elsewhere in ["out", "out/below", "out/far/below", "d/../out/below"] {
        assert!(!mounts.have(&ground.spot(leads_elsewhere), Last::MayBeLink), "{leads_elsewhere}");
    }
    assert!(!mounts.have(&spot(Path::new("/proc/no-such-file")), Last::MayBeLink), "another mount");
    assert!(!mounts.have(&ground.spot("a/b/c/d/e/f/g/h/i/j/k"), Last::MayBeLink), "the long way is for long ones");
}

#[test]
fn only_the_root_of_a_mount_says_something_about_the_rest_of_it() {
    let ground = Ground::new("middle");
    let middle = CString::new(ground.0.join("d").into_os_string().into_encoded_bytes()).unwrap();
    let mut mounts = ShownMounts::new();
    mounts.learn(&ground.place("d/nothing"), &middle);
    assert!(!mounts.have(&ground.spot("d/nothing"), Last::MayBeLink));
}

#[test]
fn more_mounts_than_there_is_room_for_are_not_remembered() {
    let ground = Ground::new("many");
    let mut mounts = ShownMounts { ids: [u64::MAX; MOUNTS_MAX], used: MOUNTS_MAX, own: None };
    mounts.learn(&ground.place("nothing"), c"/");
    assert!(!mounts.have(&ground.spot("nothing"), Last::MayBeLink));
}

#[test]
fn what_is_known_is_the_path_from_its_directory_and_what_was_to_be_done() {
    let mut known = Known::new();
    let mark = |directory, path: &[u8], access| Known::mark(directory, path, access).unwrap();
    known.add(Some(mark(Some(7), b"a/b", Access::Read)));
    known.add(Some(mark(None, b"/usr/lib/x", Access::Read)));
    assert!(known.has(mark(Some(7), b"a/b", Access::Read)) && known.has(mark(None, b"/usr/lib/x", Access::Read)));
    assert!(!known.has(mark(Some(8), b"a/b", Access::Read)), "another directory");
    assert!(!known.has(mark(Some(7), b"a/b", Access::Write)), "another use");
    assert!(!known.has(mark(Some(7), b"a/c", Access::Read)), "another path");
    assert!(Known::mark(None, b"a/b", Access::Read).is_none(), "nobody knows where that is");
    known.forget();
    assert!(!known.has(mark(Some(7), b"a/b", Access::Read)), "names may lead elsewhere");
    assert!(known.has(mark(None, b"/usr/lib/x", Access::Read)), "but not those of the system");
}

#[test]
fn as_many_paths_as_a_compiler_asks_for_are_known_at_once() {
    let mut known = Known::new();
    let paths: Vec<_> = (0..250).map(|n| format!("/usr/include/a{n}/b{}.h", n * 7)).collect();
    let mark = |path: &String| Known::mark(None, path.as_bytes(), Access::Read);
    paths.iter().for_each(|path| known.add(mark(path)));
    let forgotten = paths.iter().filter(|path| !known.has(mark(path).unwrap())).count();
    assert!(forgotten < 10, "{forgotten} of {} exclude each other", paths.len());
}
