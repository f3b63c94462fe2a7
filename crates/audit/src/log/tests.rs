use super::*;
use crate::verify::{Finding, verify};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of one test, removed with everything in it.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-audit.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    pub(crate) fn log(&self) -> Log {
        Log::at(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn records_follow_each_other_and_the_directory_is_closed() {
    let place = Place::new();
    for n in 1..=3 {
        assert_eq!(place.log().append(Kind::RunBegin, &json!({"n": n})).unwrap(), n);
    }
    let verified = verify(&place.log(), None).unwrap();
    assert_eq!((verified.records, verified.findings), (3, vec![]));
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(place.0.clone()), mode(place.0.join(CURRENT)), mode(place.0.join(HEAD))), (0o700, 0o600, 0o600));
}

#[test]
fn a_directory_that_others_can_enter_is_refused() {
    let place = Place::new();
    fs::create_dir(&place.0).unwrap();
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(matches!(place.log().append(Kind::RunBegin, &json!({})), Err(AuditError::Open { .. })));
}

#[test]
fn the_chain_goes_on_when_a_file_is_set_aside() {
    let place = Place::new();
    let log = place.log().with_file_bytes_max(400);
    for n in 1..=9 {
        assert_eq!(log.append(Kind::RunEnd, &json!({"n": n})).unwrap(), n);
    }
    assert!(log.files().unwrap().len() > 2, "{:?}", log.files());
    let verified = verify(&log, None).unwrap();
    assert_eq!((verified.records, verified.findings), (9, vec![]));
    // An old file that is gone is missed.
    fs::remove_file(&log.files().unwrap()[0]).unwrap();
    assert!(matches!(verify(&log, None).unwrap().findings[..], [Finding::Missing { from: 1, .. }]));
}

#[test]
fn many_writers_make_one_chain() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let log = place.log();
            scope.spawn(move || {
                for n in 0..10 {
                    log.append(Kind::RunBegin, &json!({"writer": writer, "n": n})).unwrap();
                }
            });
        }
    });
    let verified = verify(&place.log(), None).unwrap();
    assert_eq!((verified.records, verified.findings), (80, vec![]));
}

#[test]
fn what_a_crash_left_of_a_line_goes_and_nothing_else() {
    let place = Place::new();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    let path = place.0.join(CURRENT);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"seq\":2,\"prev\"").unwrap();
    assert_eq!(place.log().append(Kind::RunEnd, &json!({})).unwrap(), 2);
    assert_eq!(verify(&place.log(), None).unwrap().findings, vec![]);
}

#[test]
fn nothing_is_added_to_a_log_that_lost_its_end() {
    let place = Place::new();
    for _ in 0..3 {
        place.log().append(Kind::RunBegin, &json!({})).unwrap();
    }
    let path = place.0.join(CURRENT);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let error = place.log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
    assert!(error.contains("ends at 1, and 3 was its last record"), "{error}");
}
