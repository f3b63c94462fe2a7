use super::*;
use polder::Action;

fn denied(action: Action, target: &str, grant: Option<Grant>) -> Violation {
    let (rule, layer) = (String::new(), String::new());
    let exe = Some("/usr/bin/cat".to_owned());
    Violation { action, target: target.to_owned(), rule, layer, pid: Some(2), exe, count: 1, grant, note: None }
}

fn read(path: &str) -> Violation {
    denied(Action::FileRead, path, Some(Grant::FsRead(path.into())))
}

fn write(path: &str) -> Violation {
    denied(Action::FileWrite, path, Some(Grant::FsWrite(path.into())))
}

fn worry(path: &Path) -> Option<String> {
    polder::risk(path, Path::new("/home/u")).map(str::to_owned)
}

fn grants(lesson: &Lesson) -> Vec<String> {
    lesson.grants(&worry).iter().map(ToString::to_string).collect()
}

#[test]
fn runs_are_merged_and_nothing_is_granted_twice() {
    let mut lesson = Lesson::nothing();
    assert!(lesson.add(&[read("/opt/x/a"), read("/srv/w")], &worry));
    assert!(!lesson.add(&[read("/opt/x/a"), read("/srv/w/inner")], &worry), "what is in a directory is read with it");
    assert_eq!(grants(&lesson), ["fs.read=/opt/x/a", "fs.read=/srv/w"]);
    assert!(lesson.add(&[read("/opt/x/b"), read("/opt/x/c")], &worry));
    assert_eq!(grants(&lesson), ["fs.read=/opt/x", "fs.read=/srv/w"], "three of a directory are the directory");
    assert_eq!(lesson.askers(&Grant::FsRead("/opt/x".into())), "file-read of /opt/x/a, by /usr/bin/cat, and 2 more");
    assert_eq!(lesson.runs, 3);
    assert_eq!(Lesson::from_json(&lesson.to_json()), lesson);
}

#[test]
fn what_a_person_has_to_decide_is_held_back() {
    let mut lesson = Lesson::nothing();
    let thought = Violation { note: Some("think first: a service".to_owned()), ..read("/srv/socket") };
    let grown = lesson.add(
        &[
            read("/home/u/.ssh/id_ed25519"),
            read("/home/u/.bash_history"),
            read("/srv/tls.key"),
            read("/home/u/.config/chromium/Default/Cookies"),
            write("/etc/ssh"),
            write("/srv/w"),
            thought,
            denied(Action::FileWrite, "/workspace/.git/config", Some(Grant::FsWrite(".git/config".into()))),
            denied(Action::Network, "example.com:443", Some(Grant::NetFull)),
            denied(Action::Syscall, "mount", None),
            read("/opt/a\u{1b}]0;x"),
            read("/opt/a\nb"),
        ],
        &worry,
    );
    assert!(!grown && grants(&lesson).is_empty(), "{lesson:?}");
    assert_eq!((lesson.held.len(), lesson.refused.len()), (11, 1), "{lesson:?}");
    // Several of them do not become a directory either.
    let keys = ["a", "b", "c", "d"].map(|name| read(&format!("/home/u/.aws/{name}")));
    assert!(!lesson.add(&keys, &worry));
    let near = ["a", "b", "c"].map(|name| read(&format!("/home/u/{name}")));
    assert!(lesson.add(&near, &worry));
    assert_eq!(grants(&lesson), ["fs.read=/home/u/a", "fs.read=/home/u/b", "fs.read=/home/u/c"]);
}

#[test]
fn the_last_step_of_a_limit_counts() {
    let mut lesson = Lesson::nothing();
    for value in ["2s", "4s"] {
        let grant = Grant::Limit { name: "timeout".to_owned(), value: value.to_owned() };
        assert!(lesson.add(&[denied(Action::Limit, "timeout", Some(grant))], &worry));
    }
    assert_eq!(grants(&lesson), ["limits.timeout=4s"]);
}
