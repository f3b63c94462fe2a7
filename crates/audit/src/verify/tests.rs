use super::*;
use crate::log::tests::Place;
use crate::log::{CURRENT, HEAD};
use crate::record::Kind;
use serde_json::json;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is found after the lines of a good log of four were changed.
fn after(change: impl Fn(&mut Vec<String>)) -> Vec<Finding> {
    let place = Place::new();
    for n in 1..=4 {
        place.log().append(Kind::RunBegin, &json!({"n": n})).unwrap();
    }
    let path = place.0.join(CURRENT);
    let mut lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(verify(&place.log(), None).unwrap().findings, vec![], "the control");
    change(&mut lines);
    fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    verify(&place.log(), None).unwrap().findings
}

#[test]
fn every_way_to_change_history_is_found() {
    let edited = |line| Finding::Edited { line, why: "was changed: its hash is not its own" };
    assert_eq!(after(|lines| lines[1] = lines[1].replace("\"n\":2", "\"n\":9")), [edited(2)]);
    assert_eq!(after(|lines| drop(lines.remove(1))), [Finding::Missing { from: 2, to: 2 }]);
    assert_eq!(after(|lines| drop(lines.drain(..2))), [Finding::Missing { from: 1, to: 2 }]);
    assert_eq!(after(|lines| lines.truncate(2)), [Finding::Truncated { last: 2, noted: 4 }]);
    assert_eq!(after(Vec::clear), [Finding::Truncated { last: 0, noted: 4 }]);
    assert!(!after(|lines| lines.swap(1, 2)).is_empty());
    assert!(after(|lines| lines.insert(2, lines[1].clone())).contains(&Finding::Misplaced { line: 3, seq: 2 }));
    assert!(after(|lines| lines.push("not a record".to_owned())).len() == 1);
    assert_eq!(after(|lines| lines.insert(2, String::new())), [Finding::Edited { line: 3, why: "is empty" }]);
    assert_eq!(after(|lines| lines.push(String::new())), [Finding::Edited { line: 5, why: "is empty" }]);
}

#[test]
fn another_history_is_found() {
    // A record with a hash of its own that follows another one.
    let forged = |prev: &str| Record::line(3, prev, Kind::RunBegin, &json!({"n": 3})).0;
    let findings = after(|lines| lines[2] = forged(BEGINNING));
    assert!(findings.contains(&Finding::Forked { seq: 3 }), "{findings:?}");
    // The whole chain made anew from there: only what was noted tells.
    let findings = after(|lines| {
        let prev = Record::read(lines[1].as_bytes()).unwrap().hash;
        let (third, hash) = Record::line(3, &prev, Kind::RunBegin, &json!({"n": 30}));
        lines[2] = third;
        lines[3] = Record::line(4, &hash, Kind::RunBegin, &json!({"n": 4})).0;
    });
    assert_eq!(findings, [Finding::Replaced]);
}

#[test]
fn a_hash_that_the_caller_kept_must_be_there() {
    let place = Place::new();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    let kept = verify(&place.log(), None).unwrap().head.unwrap();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    assert_eq!(verify(&place.log(), Some(&kept)).unwrap().findings, vec![]);
    // Everything removed, with the note of the end, and begun anew: consistent in itself.
    fs::remove_dir_all(&place.0).unwrap();
    place.log().append(Kind::RunBegin, &json!({"other": true})).unwrap();
    assert_eq!(verify(&place.log(), None).unwrap().findings, vec![]);
    assert_eq!(verify(&place.log(), Some(&kept)).unwrap().findings, [Finding::Replaced]);
}

#[test]
fn a_log_without_its_note_or_with_half_of_it_is_not_whole() {
    let place = Place::new();
    for n in 1..=3 {
        place.log().append(Kind::RunBegin, &json!({"n": n})).unwrap();
    }
    let (path, head) = (place.0.join(CURRENT), place.0.join(HEAD));
    let (text, noted) = (fs::read_to_string(&path).unwrap(), fs::read_to_string(&head).unwrap());
    let found = || verify(&place.log(), None).unwrap().findings;
    let refused = || place.log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
    // The end is cut off, and what says so removed.
    fs::write(&path, text.split_inclusive('\n').next().unwrap()).unwrap();
    fs::remove_file(&head).unwrap();
    assert_eq!(found(), [Finding::Unnoted]);
    assert!(refused().contains("the note of the last one is gone"), "{}", refused());
    // As a crash left it that came before the note was on the disk.
    for half in ["", "{\"seq\":3,", "{}"] {
        fs::write(&head, half).unwrap();
        assert_eq!(found(), [Finding::BrokenNote], "{half}");
        assert!(refused().contains("does not name a record"), "{}", refused());
    }
    fs::write(&path, text).unwrap();
    fs::write(&head, noted).unwrap();
    assert_eq!(found(), [], "the control");
}

#[test]
fn a_longer_log_in_the_place_of_this_one_is_found_and_nothing_is_added_to_it() {
    let (place, other) = (Place::new(), Place::new());
    place.log().append(Kind::RunBegin, &json!({"n": 1})).unwrap();
    for _ in 0..3 {
        other.log().append(Kind::RunBegin, &json!({"forged": true})).unwrap();
    }
    fs::copy(other.0.join(CURRENT), place.0.join(CURRENT)).unwrap();
    let error = place.log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
    assert!(error.contains("ends at 3, which does not follow record 1 as it was noted"), "{error}");
    assert_eq!(verify(&place.log(), None).unwrap().findings, [Finding::Prolonged { last: 3, noted: 1 }]);
    // One record more, of another history.
    let two: String = fs::read_to_string(other.0.join(CURRENT)).unwrap().split_inclusive('\n').take(2).collect();
    fs::write(place.0.join(CURRENT), two).unwrap();
    assert!(place.log().append(Kind::RunBegin, &json!({})).is_err());
    assert_eq!(verify(&place.log(), None).unwrap().findings, [Finding::Replaced]);
}

#[test]
fn a_log_that_is_being_written_is_whole_all_the_time() {
    let place = Place::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Set aside often, so that files come and go, too.
            let log = place.log().with_file_bytes_max(2000).with_sync(|_| Ok(()));
            for n in 0..400 {
                log.append(Kind::RunBegin, &json!({"n": n})).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        let mut seen = 0;
        while !done.load(Ordering::Acquire) {
            let Verified { records, findings, .. } = verify(&place.log(), None).unwrap();
            assert_eq!(findings, [], "after {seen}");
            assert!(records >= seen, "{records} after {seen}");
            seen = records;
        }
    });
    assert_eq!(verify(&place.log(), None).unwrap().records, 400);
}

#[test]
fn a_log_that_begins_while_it_is_read_is_whole() {
    for _ in 0..300 {
        let place = Place::new();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                let log = place.log().with_sync(|_| Ok(()));
                log.append(Kind::RunBegin, &json!({})).unwrap();
            });
            while !first.is_finished() {
                assert_eq!(verify(&place.log(), None).unwrap().findings, []);
            }
        });
    }
}
