use super::*;
use std::os::unix::fs::symlink;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-records-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    fn records(&self) -> Records {
        Records::at(self.0.join(".local/state/polder/runs"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removed");
    }
}

#[test]
fn the_oldest_go_and_what_a_crash_left_goes_with_them() {
    let place = Place::new("rotation");
    let records = place.records();
    assert_eq!(records.runs().expect("none yet"), [] as [&str; 0]);
    records.keep("0-1-0", "left by a crash").expect("kept");
    fs::rename(records.directory().join("0-1-0.json"), records.directory().join(".0-1-0.json")).expect("renamed");
    for number in 1..=RECORDS_MAX + 5 {
        records.keep(&format!("{number:04x}-1-0"), "{}").expect("kept");
    }
    let runs = records.runs().expect("runs");
    assert_eq!((runs.len(), runs[0].as_str()), (RECORDS_MAX, "0006-1-0"));
    assert_eq!(fs::read_dir(records.directory()).expect("entries").count(), RECORDS_MAX);
    assert_eq!(records.read("0006-1-0").expect("read").as_deref(), Some("{}"));
}

#[test]
fn nobody_else_reads_them_and_no_link_is_followed() {
    let place = Place::new("closed");
    let records = place.records();
    records.keep("1-1-0", "{}").expect("kept");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(records.directory()), mode(&records.directory().join("1-1-0.json"))), (0o700, 0o600));
    let other = place.0.join("other");
    fs::write(&other, "a secret").expect("written");
    symlink(&other, records.directory().join("2-1-0.json")).expect("a link");
    assert!(records.read("2-1-0").is_err(), "a link is not followed");
    for wrong in ["../other", "", "x", "2-1-0.json", "..", "A-1-0"] {
        assert_eq!(records.read(wrong).expect("no error"), None, "{wrong}");
        assert!(records.keep(wrong, "{}").is_err(), "{wrong}");
    }
    assert!(records.keep("3-1-0", &"x".repeat(RECORD_BYTES_MAX + 1)).is_err());
    fs::set_permissions(records.directory(), fs::Permissions::from_mode(0o755)).expect("a mode");
    let error = records.keep("4-1-0", "{}").expect_err("others could read it");
    assert!(error.to_string().contains("0700"), "{error}");
}

#[test]
fn a_home_that_is_gone_is_not_made_again() {
    let place = Place::new("gone");
    let home = place.0.join("home");
    let records = Records::at(home.join(".local/state/polder/runs"));
    records.keep("1-1-0", "{}").expect("nobody is the worse for it");
    assert!(!home.exists());
    fs::create_dir(&home).expect("a home");
    records.keep("1-1-0", "{}").expect("kept");
    assert_eq!(records.runs().expect("runs"), ["1-1-0"], "the control");
}
