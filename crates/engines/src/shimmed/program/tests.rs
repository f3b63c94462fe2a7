use super::*;
use crate::testing;
use std::os::unix::fs::symlink;

/// No system has a program of this name.
const TOOL: &str = "polder-no-such-tool";

/// A directory that goes away again, with a program in each of its directories.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-find-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(fs::canonicalize(path).expect("a path without links"))
    }

    fn program(&self, directory: &str, mode: u32) -> PathBuf {
        let directory = self.0.join(directory);
        fs::create_dir_all(&directory).expect("a directory");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("a mode");
        let path = directory.join(TOOL);
        fs::write(&path, "#!/bin/sh\n").expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        path
    }

    /// A machine whose PATH has these directories, and whose workspace is `work`.
    fn host(&self, directories: &[&str]) -> HostFacts {
        let mut host = testing::host();
        host.user.uid = polder_sys::wait::effective_ids().0;
        host.tree.root = self.0.join("work");
        let path = std::env::join_paths(directories.iter().map(|directory| self.0.join(directory))).expect("a PATH");
        host.environment.insert("PATH".into(), path);
        host
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_first_that_can_be_trusted_is_found() {
    let place = Place::new("first");
    place.program("plain", 0o644);
    let good = place.program("good", 0o755);
    place.program("later", 0o755);
    let found = find(TOOL, &place.host(&["missing", "plain", "good", "later"]), None);
    assert_eq!(found, Ok(Program { path: good }));
}

#[test]
fn one_that_others_can_change_is_passed_over_and_named() {
    let place = Place::new("others");
    place.program("file", 0o757);
    place.program("directory", 0o755);
    fs::set_permissions(place.0.join("directory"), fs::Permissions::from_mode(0o777)).expect("a mode");
    let reason = find(TOOL, &place.host(&["file", "directory"]), None).expect_err("nothing to trust");
    assert!(reason.contains("file/polder-no-such-tool` can be changed by others"), "{reason}");
    assert!(reason.contains("directory/polder-no-such-tool` can be changed by others"), "{reason}");
}

#[test]
fn one_that_a_command_can_write_is_passed_over_also_behind_a_link() {
    let place = Place::new("command");
    let hostile = place.program("work/bin", 0o755);
    fs::create_dir(place.0.join("links")).expect("a directory");
    fs::set_permissions(place.0.join("links"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink(hostile, place.0.join("links/polder-no-such-tool")).expect("a link");
    let reason = find(TOOL, &place.host(&["work/bin", "links"]), None).expect_err("nothing to trust");
    assert_eq!(reason.matches("lies where a command can write").count(), 2, "{reason}");
}

#[test]
fn a_relative_entry_of_the_path_is_no_place() {
    let place = Place::new("relative");
    let mut host = place.host(&[]);
    host.environment.insert("PATH".into(), "bin:.::".into());
    assert_eq!(find(TOOL, &host, None), Err("there is no program `polder-no-such-tool` on PATH".to_owned()));
}
