use super::*;

fn led(path: &str, follow: bool) -> String {
    let pid = std::process::id();
    String::from_utf8(resolve(pid, libc::AT_FDCWD, path.as_bytes(), follow).unwrap().bytes().to_vec()).unwrap()
}

#[test]
fn a_path_leads_where_the_kernel_would_go() {
    let dir = std::fs::canonicalize(std::env::temp_dir()).unwrap().join(format!("polder-text-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("a/b")).unwrap();
    std::os::unix::fs::symlink("/nowhere/there", dir.join("out")).unwrap();
    std::os::unix::fs::symlink("a/b", dir.join("in")).unwrap();
    let at = |name: &str| format!("{}/{name}", dir.display());
    assert_eq!(led(&at("a//./b/../b/x"), true), at("a/b/x"));
    assert_eq!(led(&at("in/../x"), true), at("a/x"), "the kernel leaves a link by its target's parent");
    assert_eq!(led(&at("out/key"), true), "/nowhere/there/key");
    assert_eq!(led(&at("out"), false), at("out"));
    assert_eq!(led("/..//", true), "/");
    let here = std::fs::canonicalize(".").unwrap();
    assert_eq!(led("no-such-name", true), here.join("no-such-name").display().to_string());
    std::fs::remove_dir_all(&dir).unwrap();
}
