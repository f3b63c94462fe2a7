use super::*;
use crate::log::CURRENT;
use crate::log::tests::Place;
use crate::record::Kind;
use serde_json::json;
use std::fs;

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
    fs::write(&path, lines.join("\n") + "\n").unwrap();
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
