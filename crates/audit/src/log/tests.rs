use super::*;
use crate::verify::{Finding, verify};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory of one test, removed with everything in it.
pub(crate) struct Place(pub(crate) PathBuf);

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("polder-audit-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    pub(crate) fn log(&self) -> Log {
        Log::at(&self.0)
    }

    pub(crate) fn anchor(&self) -> PathBuf {
        self.0.with_extension("anchors").join("anchor")
    }

    pub(crate) fn anchored_log(&self) -> Log {
        self.log().with_anchor(Some(self.anchor()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let anchors = self.0.with_extension("anchors");
        let _ = fs::remove_dir_all(&anchors).or_else(|_| fs::remove_file(&anchors));
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

#[test]
fn nothing_is_added_to_a_log_whose_file_is_gone() {
    let place = Place::new();
    for _ in 0..3 {
        place.log().append(Kind::RunBegin, &json!({})).unwrap();
    }
    fs::remove_file(place.0.join(CURRENT)).unwrap();
    for _ in 0..2 {
        let error = place.log().append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
        assert!(error.contains("is empty, and 3 was its last record"), "{error}");
    }
}

#[test]
fn a_file_that_was_set_aside_ends_with_what_was_noted() {
    let place = Place::new();
    let log = place.log().with_file_bytes_max(1);
    log.append(Kind::RunBegin, &json!({})).unwrap();
    log.append(Kind::RunBegin, &json!({})).unwrap();
    let [first, second] = &log.files().unwrap()[..] else { panic!("each in a file of its own") };
    let text = fs::read_to_string(second).unwrap();
    fs::copy(first, second).unwrap();
    let error = log.append(Kind::RunBegin, &json!({})).unwrap_err().to_string();
    assert!(error.contains("ends with another record 1 than the one that was noted"), "{error}");
    // And a note that is gone is missed also where nothing else is in the file that grows.
    fs::write(second, text).unwrap();
    let noted = fs::read_to_string(place.0.join(HEAD)).unwrap();
    fs::remove_file(place.0.join(HEAD)).unwrap();
    assert!(matches!(log.append(Kind::RunBegin, &json!({})), Err(AuditError::Broken { .. })));
    fs::write(place.0.join(HEAD), noted).unwrap();
    assert_eq!(log.append(Kind::RunBegin, &json!({})).unwrap(), 3, "the control");
}

/// A disk that takes everything but one file.
fn refusing(file: &File, name: &str) -> io::Result<()> {
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    if path.ends_with(name) { Err(io::Error::other("not on the disk")) } else { Ok(()) }
}

#[test]
fn what_is_not_on_the_disk_is_not_in_the_log() {
    let place = Place::new();
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    for sync in [|file: &File| refusing(file, CURRENT), |file: &File| refusing(file, "head.new")] {
        let error = place.log().with_sync(sync).append(Kind::RunBegin, &json!({})).unwrap_err();
        assert!(matches!(&error, AuditError::Io { source, .. } if source.to_string() == "not on the disk"), "{error}");
        let verified = verify(&place.log(), None).unwrap();
        assert_eq!((verified.records, verified.findings), (1, vec![]));
    }
    assert_eq!(place.log().append(Kind::RunBegin, &json!({})).unwrap(), 2, "the control");
}

#[test]
fn a_record_that_a_crash_left_without_its_note_counts() {
    let place = Place::new();
    let head = place.0.join(HEAD);
    place.log().append(Kind::RunBegin, &json!({})).unwrap();
    let mut before = fs::read(&head).unwrap();
    for seq in 2..=4 {
        assert_eq!(place.log().append(Kind::RunBegin, &json!({})).unwrap(), seq);
        // As if nobody had come to note it.
        let noted = fs::read(&head).unwrap();
        fs::write(&head, before).unwrap();
        assert_eq!(verify(&place.log(), None).unwrap().findings, vec![]);
        before = noted;
    }
}

/// The note as it was when the line of the last record was written.
fn note_at_the_line(file: &File) -> io::Result<()> {
    let log = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    if log.ends_with(CURRENT) {
        fs::copy(log.with_file_name(HEAD), log.with_file_name("seen"))?;
    }
    Ok(())
}

#[test]
fn log_with_two_kills_between_line_and_note_goes_on() {
    let place = Place::new();
    let log = place.log().with_sync(note_at_the_line);
    log.append(Kind::RunBegin, &json!({"n": 1})).unwrap();
    for n in 2..=4 {
        log.append(Kind::RunBegin, &json!({"n": n})).unwrap();
        // A kill leaves the line, and the note as it was then.
        fs::copy(place.0.join("seen"), place.0.join(HEAD)).unwrap();
    }
    assert_eq!(log.append(Kind::RunBegin, &json!({"n": 5})).unwrap(), 5);
}
