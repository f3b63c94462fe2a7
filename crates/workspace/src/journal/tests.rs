use super::*;
use std::fs;
use std::process::Command;

fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("polder-journal-{name}-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    place.join("journal")
}

fn no_steps() -> Steps {
    Steps { token: "0a".to_owned(), steps: Vec::new(), owner: None }
}

#[test]
fn a_line_that_was_torn_at_any_length_is_in_nobodys_way() {
    let path = place("torn");
    let left = vec![(Relative::new(Path::new("file")).unwrap(), None)];
    let mut journal = Journal::begin(&path, &no_steps()).unwrap();
    let planned = fs::read(&path).unwrap().len();
    journal.staged(&[]).unwrap();
    journal.applied(&left).unwrap();
    let text = fs::read(&path).unwrap();
    for length in planned..=text.len() {
        fs::write(&path, &text[..length]).unwrap();
        let before = read(&path).unwrap().unwrap();
        Journal::reopen(&path).unwrap().reverting().unwrap();
        let after = read(&path).unwrap_or_else(|error| panic!("{length}: {error}")).unwrap();
        assert!(matches!(after.stage, Stage::Reverting), "{length}: {:?}", after.stage);
        assert_eq!(after.left, before.left, "{length}");
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

const FULL: &str = "POLDER_TEST_JOURNAL";

/// The part that may write files of 1 KiB only.
#[test]
#[ignore = "a part of the test below, which starts it"]
fn child() {
    let Some(path) = std::env::var_os(FULL) else { return };
    let path = Path::new(&path);
    let mut journal = Journal::begin(path, &no_steps()).unwrap();
    let before = fs::read(path).unwrap();
    assert!(journal.staged(&[None; 1000]).is_err());
    assert_eq!(fs::read(path).unwrap(), before);
    journal.reverting().unwrap();
    assert!(matches!(read(path).unwrap().unwrap().stage, Stage::Reverting));
}

#[test]
fn a_line_for_which_there_is_no_room_leaves_nothing_behind() {
    let path = place("full");
    // The signal would end the process before the call can fail.
    let script = r#"trap '' XFSZ; ulimit -f 2 && exec "$0" --exact journal::tests::child --ignored --quiet"#;
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(FULL, &path)
        .output()
        .unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    assert!(output.status.success(), "{output:?}");
}
