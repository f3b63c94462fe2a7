use super::*;
use crate::linux::launched::socket_pair;
use std::os::fd::AsFd;

fn table(denials: &Denials) -> Seen {
    let (file, _) = denials.table.as_ref().unwrap();
    Seen::new(file.try_clone().unwrap())
}

#[test]
fn the_same_thing_is_one_entry_and_counted() {
    let (ours, _theirs) = socket_pair().unwrap();
    let mut denials = Denials::new();
    for _ in 0..1000 {
        denials.note(DenialKind::Read, 2, std::process::id(), b"/opt/x", ours.as_fd());
    }
    denials.note(DenialKind::Write, 2, std::process::id(), b"/opt/x", ours.as_fd());
    let all = table(&denials).all();
    let seen: Vec<_> = all.iter().map(|denial| (denial.kind, denial.target.as_deref(), denial.count)).collect();
    let target = Some(b"/opt/x".as_slice());
    assert_eq!(seen, [(DenialKind::Read, target, 1000), (DenialKind::Write, target, 1)]);
    assert!(all[0].exe.is_some(), "who asked is known");
}

#[test]
fn a_full_table_counts_what_it_does_not_keep() {
    let (ours, _theirs) = socket_pair().unwrap();
    let mut denials = Denials::new();
    for number in 0..ENTRIES_MAX + 77 {
        denials.note(DenialKind::Read, 2, 1, format!("/opt/{number}").as_bytes(), ours.as_fd());
    }
    let table = table(&denials);
    assert_eq!((table.all().len(), table.not_kept()), (ENTRIES_MAX, 77));
}

#[test]
fn a_path_that_is_too_long_is_not_cut_into_another() {
    let (ours, _theirs) = socket_pair().unwrap();
    let mut denials = Denials::new();
    denials.note(DenialKind::Read, 2, 1, &[b'a'; TEXT_BYTES + 1], ours.as_fd());
    assert_eq!(table(&denials).get(1).unwrap().target, None);
}

#[test]
fn denials_look_again_for_paths_that_were_missing() {
    let (ours, _theirs) = socket_pair().unwrap();
    let mut denials = Denials::new();
    let paths = [("/proc/self", 2), ("/proc/self/no/x", 2), ("/no/such", 20), ("/proc/self", 13)];
    for (path, errno) in paths {
        denials.note(DenialKind::Name, errno, 1, path.as_bytes(), ours.as_fd());
    }
    denials.note(DenialKind::Lookup, 2, 1, b"/proc", ours.as_fd());
    assert!(table(&denials).all().iter().all(|denial| denial.at_end.is_none()), "before the end");
    denials.look_again();
    let found: Vec<_> = table(&denials).all().iter().map(|denial| denial.at_end).collect();
    let at_end = |target, parent| Some(FoundAtEnd { target, parent });
    assert_eq!(found, [at_end(true, true), at_end(false, false), at_end(false, false), None, None]);
}
