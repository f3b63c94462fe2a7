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
    let hash = verify(&place.log(), None).unwrap().head.unwrap();
    let kept: KnownHead = hash.parse().unwrap();
    let counted: KnownHead = format!("1:{hash}").parse().unwrap();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    assert_eq!(verify(&place.log(), Some(&kept)).unwrap().findings, vec![]);
    assert_eq!(verify(&place.log(), Some(&counted)).unwrap().findings, vec![]);
    let elsewhere: KnownHead = format!("2:{hash}").parse().unwrap();
    assert_eq!(verify(&place.log(), Some(&elsewhere)).unwrap().findings, [Finding::Replaced]);
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

/// Files with what they hold.
type Files = Vec<(std::path::PathBuf, Vec<u8>)>;

/// A log of four records with an anchor, and what its directory held after each record.
fn anchored() -> (Place, Vec<Files>) {
    let place = Place::new();
    let mut states = Vec::new();
    for n in 1..=4 {
        place.anchored_log().append(Kind::RunBegin, &json!({"n": n})).unwrap();
        let files = [place.0.join(CURRENT), place.0.join(HEAD), place.anchor()];
        states.push(files.map(|path| (path.clone(), fs::read(path).unwrap())).to_vec());
    }
    assert_eq!(verify(&place.anchored_log(), None).unwrap().findings, [], "the control");
    assert_eq!(verify(&place.anchored_log(), None).unwrap().anchored, Some(4));
    (place, states)
}

fn put(files: &[(std::path::PathBuf, Vec<u8>)]) {
    files.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
}

fn found(place: &Place) -> Vec<Finding> {
    verify(&place.anchored_log(), None).unwrap().findings
}

fn refused(place: &Place) -> String {
    place.anchored_log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string()
}

#[test]
fn log_cut_with_its_note_is_found_by_the_anchor() {
    let (place, states) = anchored();
    put(&states[1][..2]);
    assert_eq!(verify(&place.log(), None).unwrap().findings, [], "consistent in itself");
    assert_eq!(found(&place), [Finding::Lost { last: 2, anchored: 4 }]);
    assert!(refused(&place).contains("ends at 2, and 4 was its last record"), "{}", refused(&place));
    put(&states[3]);
    assert_eq!(found(&place), []);
}

#[test]
fn log_that_is_gone_is_found_by_the_anchor() {
    let (place, _) = anchored();
    fs::remove_dir_all(&place.0).unwrap();
    assert_eq!(verify(&place.log(), None).unwrap().findings, [], "nothing is consistent in itself");
    assert_eq!(found(&place), [Finding::Lost { last: 0, anchored: 4 }]);
    let told = refused(&place);
    assert!(told.contains("ends at 0, and 4 was its last record") && told.contains("removed as well"), "{told}");
    // As the message says.
    fs::remove_file(place.anchor()).unwrap();
    fs::remove_dir_all(&place.0).unwrap();
    assert_eq!(place.anchored_log().append(Kind::RunBegin, &json!({})).unwrap(), 1);
    assert_eq!(found(&place), []);
}

#[test]
fn rewritten_log_is_found_by_the_anchor() {
    let (place, _) = anchored();
    fs::remove_dir_all(&place.0).unwrap();
    for n in 1..=6 {
        place.log().append(Kind::RunBegin, &json!({"forged": n})).unwrap();
    }
    assert_eq!(found(&place), [Finding::OtherHistory { seq: 4 }]);
    assert!(refused(&place).contains("has another record 4 than its anchor"), "{}", refused(&place));
}

#[test]
fn missing_anchor_is_found_and_its_renewal_recorded() {
    for spoil in [(|path| fs::remove_file(path).unwrap()) as fn(&std::path::Path), |path| fs::write(path, "").unwrap()]
    {
        let (place, _) = anchored();
        spoil(&place.anchor());
        assert!(matches!(found(&place)[..], [Finding::AnchorMissing | Finding::AnchorBroken]), "{:?}", found(&place));
        assert_eq!(place.anchored_log().append(Kind::RunEnd, &json!({})).unwrap(), 6);
        assert_eq!(found(&place), []);
        let lines = place.log().lines().unwrap();
        let renewed = String::from_utf8_lossy(&lines[4]);
        assert!(renewed.contains("\"kind\":\"anchor-renewed\",\"data\":{\"after\":4}"), "{renewed}");
    }
}

#[test]
fn log_from_before_there_were_anchors_gets_one() {
    let place = Place::new();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    assert_eq!(found(&place), [Finding::AnchorMissing]);
    assert_eq!(place.anchored_log().append(Kind::RunEnd, &json!({})).unwrap(), 2);
    assert_eq!(found(&place), []);
}

#[test]
fn anchor_that_a_crash_left_behind_is_no_finding() {
    let (place, states) = anchored();
    for state in &states[..3] {
        put(&state[2..]);
        assert_eq!(found(&place), []);
    }
    assert_eq!(place.anchored_log().append(Kind::RunEnd, &json!({})).unwrap(), 5);
    assert_eq!(verify(&place.anchored_log(), None).unwrap().anchored, Some(5));
}

/// Against a writer of both directories, only a head that was kept elsewhere tells.
#[test]
fn rollback_of_log_and_anchor_is_found_by_a_kept_head() {
    let (place, states) = anchored();
    let kept: KnownHead = format!("4:{}", verify(&place.log(), None).unwrap().head.unwrap()).parse().unwrap();
    put(&states[1]);
    assert_eq!(found(&place), [], "both are those of an earlier day");
    assert_eq!(verify(&place.anchored_log(), Some(&kept)).unwrap().findings, [Finding::Replaced]);
}

#[test]
fn record_without_its_anchor_is_taken_back() {
    let (place, _) = anchored();
    fs::remove_file(place.anchor()).unwrap();
    fs::remove_dir(place.anchor().parent().unwrap()).unwrap();
    fs::write(place.anchor().parent().unwrap(), "a file").unwrap();
    let error = place.anchored_log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
    assert!(error.contains("the anchor") && error.contains("XDG_DATA_HOME"), "{error}");
    assert_eq!(verify(&place.log(), None).unwrap().findings, []);
    assert_eq!(verify(&place.log(), None).unwrap().records, 4);
}

#[test]
fn writers_of_one_log_share_its_anchor() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let log = place.anchored_log().with_file_bytes_max(2000).with_sync(|_| Ok(()));
                for n in 0..50 {
                    log.append(Kind::RunBegin, &json!({"n": n})).unwrap();
                    assert_eq!(verify(&log, None).unwrap().findings, []);
                }
            });
        }
    });
    let verified = verify(&place.anchored_log(), None).unwrap();
    assert_eq!((verified.records, verified.anchored, verified.findings), (200, Some(200), vec![]));
}

#[test]
fn known_head_is_a_hash_with_or_without_a_count() {
    for wrong in ["", "12", "12:", "x:0", ":", "1:zz", &format!("-1:{BEGINNING}"), &format!("{BEGINNING}0")] {
        assert!(wrong.parse::<KnownHead>().is_err(), "{wrong}");
    }
    assert_eq!(format!("7:{BEGINNING}").parse::<KnownHead>().unwrap().count, Some(7));
}
