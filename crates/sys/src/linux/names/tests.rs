use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of one test, removed with everything in it.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-names.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, below: &str) -> PathBuf {
        let path = self.0.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, below).unwrap();
        path
    }

    fn link(&self, from: &str, to: &str) -> PathBuf {
        let to = self.0.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::hard_link(self.0.join(from), &to).unwrap();
        to
    }

    fn found(&self, masked: &[(&str, MaskedFor)]) -> Vec<HardLinked> {
        let masked = masked.iter().map(|(below, purpose)| (self.0.join("ws").join(below), *purpose)).collect();
        let tree = |name, written| ShownTree { path: self.0.join(name), written };
        hard_links(&masked, &[tree("ws", true), tree("read-only", false)]).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

use MaskedFor::{Reading, Writing};

#[test]
fn hard_link_in_a_shown_tree_is_found() {
    let place = Place::new();
    let file = place.file("ws/secret/deep/key");
    assert_eq!(place.found(&[("secret", Reading)]), [], "one name");
    let other = place.link("ws/secret/deep/key", "ws/a/b/other");
    let linked = HardLinked { directory: place.0.join("ws/secret"), file, other: OtherLink::At(other) };
    for purpose in [Reading, Writing] {
        assert_eq!(place.found(&[("secret", purpose)]), std::slice::from_ref(&linked), "{purpose:?}");
    }
}

#[test]
fn hard_link_outside_of_the_shown_trees_is_no_fault() {
    let place = Place::new();
    place.file("ws/node_modules/p/index.js");
    place.link("ws/node_modules/p/index.js", "store/1234");
    assert_eq!(place.found(&[("node_modules", Writing)]), []);
}

#[test]
fn hard_link_in_a_read_only_tree_is_a_fault_for_reading() {
    let place = Place::new();
    place.file("ws/vendor/lib.js");
    place.link("ws/vendor/lib.js", "read-only/1234");
    assert_eq!(place.found(&[("vendor", Writing)]), []);
    assert_eq!(place.found(&[("vendor", Reading)]).len(), 1);
}

#[test]
fn hard_links_that_masks_cover_are_no_fault() {
    let place = Place::new();
    place.file("ws/one/file");
    place.link("ws/one/file", "ws/one/again");
    place.link("ws/one/file", "ws/two/file");
    assert_eq!(place.found(&[("one", Reading), ("two", Reading)]), []);
    assert_eq!(place.found(&[("one", Writing), ("two", Reading)]).len(), 1, "`one` can be read");
    assert_eq!(place.found(&[("one", Writing), ("two", Writing)]), []);
    assert_eq!(place.found(&[("one", Writing)]).len(), 1, "`two` can be written");
}

#[test]
fn hard_link_in_a_nested_mask_counts_for_the_narrower_one() {
    let place = Place::new();
    place.file("ws/held/hidden/key");
    place.link("ws/held/hidden/key", "ws/held/key");
    let found = place.found(&[("held", Writing), ("held/hidden", Reading)]);
    assert_eq!(found.len(), 1, "what `held` has can be read");
    assert_eq!(found[0].other, OtherLink::At(place.0.join("ws/held/key")));
    assert_eq!(found[0].file, place.0.join("ws/held/hidden/key"));
}

fn pairs(table: &str, trees: &[&str]) -> Vec<(String, String)> {
    let trees: Vec<_> = trees.iter().map(|path| ShownTree { path: path.into(), written: true }).collect();
    let text = |path: PathBuf| path.display().to_string();
    let pairs = MountTable::parse(table.as_bytes()).pairs(&trees);
    pairs.into_iter().map(|TwinMount { base, at }| (text(base), text(at))).collect()
}

/// Both orders of a pair.
fn both(one: &str, other: &str) -> Vec<(String, String)> {
    let mut pairs = vec![(one.to_owned(), other.to_owned()), (other.to_owned(), one.to_owned())];
    pairs.sort();
    pairs
}

const ROOT: &str = "22 1 254:0 / / rw - ext4 /dev/vda rw\n";

#[test]
fn bind_mount_below_the_tree_is_a_twin() {
    let table = format!("{ROOT}30 22 254:0 /home/u/ws/secret /home/u/ws/copy rw - ext4 /dev/vda rw\n");
    assert_eq!(pairs(&table, &["/home/u/ws"]), both("/home/u/ws/secret", "/home/u/ws/copy"));
    assert_eq!(pairs(&table, &["/home/u/other"]), []);
    // Another file system with the same paths.
    let table = format!("{ROOT}30 22 0:40 /home/u/ws/secret /home/u/ws/copy rw - tmpfs t rw\n");
    assert_eq!(pairs(&table, &["/home/u/ws"]), []);
}

#[test]
fn bind_source_elsewhere_is_a_twin_of_the_tree() {
    let table = format!("{ROOT}30 22 254:0 /home/u/ws/secret /mnt/x rw - ext4 /dev/vda rw\n");
    assert_eq!(pairs(&table, &["/home/u/ws", "/mnt/x"]), both("/home/u/ws/secret", "/mnt/x"));
    assert_eq!(pairs(&table, &["/home/u/ws", "/mnt/x/deep"]), both("/home/u/ws/secret/deep", "/mnt/x/deep"));
    assert_eq!(pairs(&table, &["/home/u/ws", "/home/u"]), [], "a tree in a tree is no mount");
}

#[test]
fn mount_that_shows_more_than_the_tree_is_a_twin() {
    // The workspace is itself a mount of a directory, and the parent of that is shown below it.
    let table = format!(
        "{ROOT}30 22 254:0 /srv/all/ws /ws rw - ext4 /dev/vda rw\n31 30 254:0 /srv/all /ws/all rw - ext4 /dev/vda rw\n"
    );
    assert_eq!(pairs(&table, &["/ws"]), both("/ws", "/ws/all/ws"));
}

#[test]
fn mount_points_with_blanks_are_read() {
    let table = format!("{ROOT}30 22 254:0 /ws/a\\040b /ws/c\\134d rw - ext4 /dev/vda rw\n");
    assert_eq!(pairs(&table, &["/ws"]), both("/ws/a b", "/ws/c\\d"));
    let table = MountTable::parse(table.as_bytes());
    assert_eq!(table.below(Path::new("/ws")), [PathBuf::from("/ws/c\\d")]);
}
