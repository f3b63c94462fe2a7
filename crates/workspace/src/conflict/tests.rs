use super::*;
use polder_sys::tree::{Kind, Stat};
use std::path::Path;

fn moment(seconds: i64) -> Moment {
    Moment { seconds, nanoseconds: 0 }
}

fn node(changed: i64) -> Node {
    let stat = Stat {
        kind: Kind::File,
        device: 1,
        inode: 7,
        mode: 0o644,
        links: 1,
        uid: 0,
        gid: 0,
        size: 3,
        allocated: 0,
        device_number: 0,
        modified: moment(0),
        changed: moment(changed),
    };
    Node { kind: NodeKind::File, stat }
}

fn change(what: What, before: Option<Node>) -> Change {
    let path = Relative::new(Path::new("file")).unwrap();
    Change { path, what, before, after: Some(node(0)), copied_from_tree: None }
}

/// Stands for a layer with more copies than renames can explain.
const CROWDED: u64 = 2;

fn judged(change: &Change, known: &Known, file_system: u64) -> bool {
    let began = Began { tick: moment(10), fine: moment(12) };
    let deleted = &BTreeSet::from([0x1234]);
    let (sighted, unsettled) = (&Sightings::none(), &BTreeSet::new());
    let too_many_copies = file_system == CROWDED;
    let since = Since { began, file_system, known, sighted, unsettled, deleted, too_many_copies };
    conflict(change, since, &BTreeMap::new()).is_some()
}

#[test]
fn a_directory_that_was_moved_here_is_known_by_its_number_or_by_its_times() {
    let path = Relative::new(Path::new("dir")).unwrap();
    let left = Known::from([(path.clone(), Some(Stamp::of(&node(50).stat)))]);
    let (none, deleted) = (Known::new(), BTreeSet::new());
    let moved = |known: &Known, modified: i64, changed: i64, seen: Seen<'_>| {
        let began = Began { tick: moment(10), fine: moment(12) };
        let (sighted, unsettled) = (&Sightings::none(), &BTreeSet::new());
        let (file_system, deleted, too_many_copies) = (0xef53, &deleted, false);
        let since = Since { began, file_system, known, sighted, unsettled, deleted, too_many_copies };
        since
            .moved(&path, &Stat { modified: moment(modified), changed: moment(changed), ..node(0).stat }, seen)
            .is_some()
    };
    let (merged, whole) = (Seen::Merged(None), Seen::Whole(None));
    assert!(!moved(&none, 5, 5, merged) && !moved(&none, 5, 5, whole), "nobody touched it");
    assert!(!moved(&none, 20, 20, merged), "it got a name more");
    assert!(moved(&none, 20, 20, whole), "it got a name more, or came from elsewhere and got one then");
    assert!(moved(&none, 5, 20, merged) && moved(&none, 5, 20, Seen::Merged(Some(b""))), "it was renamed");
    assert!(!moved(&left, 5, 20, merged) && !moved(&left, 5, 20, whole), "an apply changed its bits");
    let origin = |number: u8| [&[0_u8; 21][..], &[number, 0, 0, 0, 9, 9, 9, 9]].concat();
    let (same, other) = (&origin(7)[..], &origin(8)[..]);
    for seen in [Seen::Merged, Seen::Whole] {
        assert!(!moved(&none, 5, 20, seen(Some(same))), "it is the same one, with other bits");
        assert!(moved(&none, 20, 20, seen(Some(other))), "it is another one, in which something was made");
    }
}

#[test]
fn what_changed_before_is_no_conflict_and_in_doubt_it_is_one() {
    let modified = |changed| change(What::Modified, Some(node(changed)));
    let (ext4, other) = (0xef53, 0x1);
    for (changed, fine, coarse) in
        [(9, false, false), (10, false, true), (11, false, true), (12, true, true), (13, true, true)]
    {
        assert_eq!(judged(&modified(changed), &Known::new(), ext4), fine, "{changed}");
        assert_eq!(judged(&modified(changed), &Known::new(), other), coarse, "{changed}");
    }
}

#[test]
fn what_an_apply_left_is_no_conflict_until_somebody_touches_it() {
    let path = Relative::new(Path::new("file")).unwrap();
    let known = Known::from([(path.clone(), Some(Stamp::of(&node(50).stat)))]);
    assert!(!judged(&change(What::Modified, Some(node(50))), &known, 1));
    assert!(judged(&change(What::Modified, Some(node(51))), &known, 1));
    assert!(judged(&change(What::Modified, Some(node(9))), &Known::from([(path, None)]), 1), "it was left absent");
}

#[test]
fn a_copy_of_what_the_host_removed_is_a_conflict_unless_it_was_renamed_here() {
    let mut added = change(What::Added, None);
    assert!(!judged(&added, &Known::new(), 1), "a new file");
    let head = [0_u8; 21];
    added.copied_from_tree = Some([&head[..], &[0x34, 0x12, 0, 0, 9, 9, 9, 9]].concat());
    assert!(!judged(&added, &Known::new(), 1), "number 0x1234 is deleted by the layer itself");
    added.copied_from_tree = Some([&head[..], &[0x35, 0x12, 0, 0, 9, 9, 9, 9]].concat());
    assert!(judged(&added, &Known::new(), 1));
    added.copied_from_tree = Some(Vec::new());
    assert!(!judged(&added, &Known::new(), 1), "it may have been renamed by the command");
    assert!(judged(&added, &Known::new(), CROWDED), "nothing was");
    added.after.as_mut().unwrap().kind = NodeKind::Directory;
    assert!(judged(&added, &Known::new(), 1), "directories are not renamed");
}
