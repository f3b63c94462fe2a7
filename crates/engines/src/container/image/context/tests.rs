use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().canonicalize().expect("a directory");
        let path = path.join(format!("polder-context-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("src/deep")).expect("a tree");
        fs::write(path.join("src/a.txt"), "a").expect("a file");
        fs::write(path.join("src/deep/b.txt"), "bb").expect("a file");
        fs::write(path.join("secret"), "hidden").expect("a file");
        Self(path)
    }

    fn gathered(&self, hidden: &[&str], always: Option<&str>) -> Result<Vec<String>, ImageError> {
        let hidden = hidden.iter().map(PathBuf::from).collect();
        let context = Context::gather(&self.0, &hidden, always.map(Path::new))?;
        Ok(context.entries.iter().map(|entry| entry.path.display().to_string()).collect())
    }

    fn digest(&self) -> [u8; 32] {
        Context::gather(&self.0, &BTreeSet::new(), None).expect("a context").packed().digest().expect("a digest")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_build_gets_the_tree_without_what_is_hidden_or_no_file() {
    let tree = Tree::new("tree");
    symlink("/etc/passwd", tree.0.join("link")).expect("a link");
    let _socket = UnixListener::bind(tree.0.join("socket")).expect("a socket");
    let all = ["link", "secret", "src", "src/a.txt", "src/deep", "src/deep/b.txt"];
    assert_eq!(tree.gathered(&[], None).expect("a context"), all, "the control");
    let without = tree.gathered(&["secret", "src/deep"], None).expect("a context");
    assert_eq!(without, ["link", "src", "src/a.txt"]);
    // A link is sent as a link: nothing that it leads to is.
    let context = Context::gather(&tree.0, &BTreeSet::new(), None).expect("a context");
    assert_eq!(context.entries[0].what, What::Link { to: b"/etc/passwd".to_vec() });
}

#[test]
fn the_list_of_what_is_left_out_is_kept_and_must_be_readable() {
    let tree = Tree::new("list");
    fs::write(tree.0.join(".dockerignore"), "src\n!src/deep/b.txt\nsecret\n").expect("a list");
    assert_eq!(tree.gathered(&[], Some("secret")).expect("a context"), [".dockerignore", "secret", "src/deep/b.txt"]);
    fs::write(tree.0.join(".dockerignore"), "[").expect("a list");
    assert!(matches!(tree.gathered(&[], None), Err(ImageError::Ignore { line: 1, .. })));
    // A link, a directory, or one that is hidden: an error, not an empty list.
    fs::remove_file(tree.0.join(".dockerignore")).expect("removed");
    symlink("secret", tree.0.join(".dockerignore")).expect("a link");
    assert!(matches!(tree.gathered(&[], None), Err(ImageError::Context { .. })));
}

#[test]
fn the_digest_is_about_content_and_nothing_else() {
    let tree = Tree::new("digest");
    let first = tree.digest();
    fs::write(tree.0.join("src/a.txt"), "a").expect("written again");
    assert_eq!(tree.digest(), first, "only touched");
    fs::set_permissions(tree.0.join("src/a.txt"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let executable = tree.digest();
    assert_ne!(executable, first);
    fs::write(tree.0.join("src/a.txt"), "b").expect("other content");
    assert_ne!(tree.digest(), executable);
}

#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let tree = Tree::new("swap");
    let context = Context::gather(&tree.0, &BTreeSet::new(), None).expect("a context");
    assert!(context.packed().digest().is_ok(), "the control");
    fs::rename(tree.0.join("src"), tree.0.join("gone")).expect("renamed");
    symlink("gone", tree.0.join("src")).expect("a link");
    assert!(context.packed().digest().is_err());
}
