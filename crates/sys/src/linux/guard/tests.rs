use super::*;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path as HostPath, PathBuf};
use std::process::{Child, Command, Stdio};

/// A caller that waits in a directory of its own, and a directory that only this process has open.
struct Scene {
    root: PathBuf,
    caller: Child,
    own: File,
}

impl Scene {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("polder-guard-{name}-{}", std::process::id()));
        for directory in ["caller/inner", "own/inner"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        symlink("/proc/self", root.join("link")).unwrap();
        let own = File::open(root.join("own/inner")).unwrap();
        let mut command = Command::new("sleep");
        let caller = command.arg("60").current_dir(root.join("caller/inner")).stdin(Stdio::null()).spawn().unwrap();
        Self { root, caller, own }
    }

    fn place(&self, path: &str) -> Result<(u64, u64), Errno> {
        let mut text = [0u8; PATH_BYTES_MAX];
        text[..path.len()].copy_from_slice(path.as_bytes());
        let place = place_of(open_directory(libc::AT_FDCWD, c"/")?, &text, self.caller.id())?;
        identity_of(place.directory.as_raw_fd(), c"")
    }

    fn identity(&self, below: &str) -> (u64, u64) {
        use std::os::unix::fs::MetadataExt;
        let found = self.root.join(HostPath::new(below)).metadata().unwrap();
        (found.dev(), found.ino())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.caller.kill();
        let _ = self.caller.wait();
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The kernel's Landlock has no part in this: the process of the test is under no rule.
#[test]
fn path_through_proc_resolves_as_the_callers() {
    let scene = Scene::new("callers");
    let link = scene.root.join("link").display().to_string();
    let spellings = ["/proc/self", "/proc/./self", "//proc//self", "/proc/thread-self", "/proc/../proc/self", &link];
    for spelling in spellings {
        assert_eq!(scene.place(&format!("{spelling}/cwd/new")), Ok(scene.identity("caller/inner")), "{spelling}");
        assert_eq!(scene.place(&format!("{spelling}/cwd/../new")), Ok(scene.identity("caller")), "{spelling}");
        let nested = format!("{spelling}/root{spelling}/cwd/new");
        assert_eq!(scene.place(&nested), Ok(scene.identity("caller/inner")), "{nested}");
        let number = scene.own.as_raw_fd();
        for tail in [format!("fd/{number}/new"), format!("fd/{number}/../new")] {
            let path = format!("{spelling}/{tail}");
            assert_eq!(scene.place(&path), Err(Errno(libc::ENOENT)), "{path}");
        }
    }
}

#[test]
fn path_through_the_guards_process_is_refused() {
    let scene = Scene::new("own");
    let (own, number) = (std::process::id(), scene.own.as_raw_fd());
    for tail in [format!("fd/{number}/new"), format!("fd/{number}/../new"), "cwd/new".to_owned(), "root/new".to_owned()]
    {
        for path in [format!("/proc/{own}/{tail}"), format!("/proc/self/root/proc/{own}/task/{own}/{tail}")] {
            assert_eq!(scene.place(&path), Err(Errno(libc::EACCES)), "{path}");
        }
    }
    assert_eq!(scene.place(&format!("/proc/{own}/new")), Err(Errno(libc::EACCES)));
}
