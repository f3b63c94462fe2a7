use super::Directory;
use std::ffi::OsStr;
use std::fs;

#[test]
fn no_name_leads_out_of_a_directory() {
    let base = fs::canonicalize(std::env::temp_dir()).unwrap().join(format!("polder-directory-{}", std::process::id()));
    fs::create_dir_all(base.join("in/side")).unwrap();
    fs::write(base.join("secret"), "s").unwrap();
    std::os::unix::fs::symlink("..", base.join("in/up")).unwrap();
    std::os::unix::fs::symlink("../secret", base.join("in/file")).unwrap();
    std::os::unix::fs::symlink("in", base.join("link")).unwrap();
    let name = OsStr::new;
    let inside = Directory::at(&base.join("in")).unwrap();
    assert!(Directory::at(&base.join("link")).is_err(), "a link in the path");
    assert!(Directory::at(&base.join("link/side")).is_err(), "a link on the way");
    // The control: the same names lead out where links are followed.
    assert!(fs::read(base.join("in/up/secret")).is_ok() && fs::read(base.join("in/file")).is_ok());
    assert!(inside.enter(name("up")).is_err(), "a link to a directory");
    assert!(inside.read(name("file")).is_err(), "a link to a file");
    assert!(inside.mark(name("file")).is_err(), "a mark through a link");
    for outside in ["..", "../secret", "side/..", "", "/"] {
        assert!(inside.enter(name(outside)).is_err() && inside.read(name(outside)).is_err(), "{outside}");
    }
    assert_eq!(inside.link_text(name("file")).unwrap(), "../secret");
    assert!(inside.look(name("file")).unwrap().metadata().unwrap().is_symlink());
    inside.make(name("new"), 0o700).unwrap();
    assert!(inside.rename(name("new"), &inside, name("side")).is_err(), "nothing is replaced");
    inside.rename(name("new"), &inside.enter(name("side")).unwrap(), name("new")).unwrap();
    let mut names = inside.names(10).unwrap();
    names.sort();
    assert_eq!(names, ["file", "side", "up"]);
    fs::remove_dir_all(&base).unwrap();
}
