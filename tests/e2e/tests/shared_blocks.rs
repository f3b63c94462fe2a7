//! File systems that let files share their blocks: a worktree there takes no more than what changes. Made on a loop device, so
//! by root alone.
#![forbid(unsafe_code)]

use polder_e2e::{Place, is_root};
use std::path::PathBuf;
use std::process::Command;

/// A file system of its own in a file, mounted in a place.
struct Mounted {
    at: PathBuf,
}

impl Mounted {
    fn new(place: &Place, make: &str) -> Self {
        let at = place.dir().join("mounted");
        let script = format!(
            "truncate -s 512M ../image && {make} ../image > /dev/null && mkdir ../mounted && mount -o loop ../image ../mounted && mkdir ../mounted/home ../mounted/work"
        );
        let said = place.sh(&script);
        assert_eq!(said.code, 0, "{make}: {said:?}");
        Self { at }
    }

    fn used_kib(&self) -> u64 {
        let synced = Command::new("sync").arg("-f").arg(&self.at).status().expect("sync");
        assert!(synced.success());
        let output = Command::new("df").args(["-k", "--output=used"]).arg(&self.at).output().expect("df");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().nth(1).and_then(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{text}"))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.at).status();
        assert!(unmounted.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// KiB that a worktree with a file of 32 MiB takes, and a workspace that begins with the changes of another.
fn taken(make: &str) -> (u64, u64) {
    let place = Place::new();
    let mounted = Mounted::new(&place, make);
    let (home, work) = (mounted.at.join("home"), mounted.at.join("work"));
    let sh = |script: &str| {
        let said = place.command("sh").args(["-c", script]).current_dir(&work).output().expect("sh");
        assert!(said.status.success(), "{script}: {said:?}");
    };
    sh(
        "git init -q -b main; head -c 32M /dev/urandom > big; git add big; git -c user.name=a -c user.email=a@b commit -qm x",
    );
    let run = |arguments: &[&str]| {
        let said = place.polder(arguments).current_dir(&work).env("HOME", &home).output().expect("polder");
        assert!(said.status.success(), "{arguments:?}: {said:?}");
    };
    let before = mounted.used_kib();
    run(&["run", "--worktree", "--workspace", "w", "--", "sh", "-c", "test $(wc -c < big) = 33554432; echo x > n"]);
    let worktree = mounted.used_kib().saturating_sub(before);
    run(&["workspace", "discard", "w"]);
    run(&["run", "--workspace", "c", "--", "sh", "-c", "head -c 32M /dev/urandom > more; cat big more | cksum > sum"]);
    let before = mounted.used_kib();
    run(&[
        "run",
        "--workspace",
        "d",
        "--from",
        "c",
        "--",
        "sh",
        "-c",
        "test \"$(cat big more | cksum)\" = \"$(cat sum)\"",
    ]);
    let branch = mounted.used_kib().saturating_sub(before);
    run(&["workspace", "apply", "d"]);
    let doctor = place.polder(&["doctor"]).current_dir(&work).env("HOME", &home).output().expect("polder");
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert_eq!(told.contains("share their blocks"), !make.contains("ext4"), "{make}: {told}");
    (worktree, branch)
}

#[test]
fn a_copy_takes_nothing_where_files_share_their_blocks() {
    if !is_root() {
        // Only root mounts a file system from a file.
        return;
    }
    for make in ["mkfs.btrfs -q", "mkfs.xfs -q -m reflink=1"] {
        let (worktree, branch) = taken(make);
        assert!(worktree < 8 << 10 && branch < 8 << 10, "{make}: {worktree} and {branch} KiB");
    }
    // Where they cannot, the same takes its room: the measure sees it.
    let (worktree, branch) = taken("mkfs.ext4 -q -F");
    assert!(worktree >= 32 << 10 && branch >= 32 << 10, "{worktree} and {branch} KiB");
}
