use super::*;
use expect_test::expect;
use polder::{Gap, Guarantee, Origin, Refusal, Refused};

#[test]
fn the_first_engine_without_a_gap_is_not_worth_a_word() {
    assert!(before("first", &[], &[]).is_empty());
}

#[test]
fn one_line_for_each_engine_that_was_passed_over_and_for_each_reason() {
    let refusal = |guarantee, reason: &str| Refusal {
        guarantee,
        reason: reason.to_owned(),
        remedy: Some("not told here".to_owned()),
        acceptable: true,
    };
    let refusals = vec![refusal(Some(Guarantee::Memory), "no cgroup"), refusal(None, "no image")];
    let passed_over = [
        Unfit::Refused(Refused { engine: "first", refusals }),
        Unfit::Unavailable { engine: "second".to_owned(), reason: "no socket".to_owned(), remedy: String::new() },
    ];
    let accepted = |guarantee| Accepted {
        guarantee,
        gap: Gap { reason: "nobody counts".to_owned(), remedy: None },
        origin: Origin::Api,
    };
    let accepted = [accepted(Guarantee::Cpus), accepted(Guarantee::Disk)];
    expect![[r#"
        engine `third`, because `first` cannot enforce this policy: memory: no cgroup, and 1 more
        engine `third`, because `second` does not work here: no socket
        without `cpus`, `disk`: nobody counts"#]]
    .assert_eq(&before("third", &passed_over, &accepted).join("\n"));
}

fn blocked(action: Action, target: &str, grant: Option<Grant>, count: u64) -> Violation {
    let (rule, layer, note) = (String::new(), String::new(), None);
    Violation { action, target: target.to_owned(), rule, layer, pid: None, exe: None, count, grant, note }
}

#[test]
fn siblings_are_one_line_and_secrets_are_never_grouped() {
    let read = |path: &str| blocked(Action::FileRead, path, Some(Grant::FsRead(path.into())), 1);
    let found = [
        read("/opt/x/a"),
        read("/opt/x/b"),
        read("/opt/x/b"),
        read("/home/u/.ssh/id"),
        read("/home/u/.ssh/known_hosts"),
        read("/srv/y/a"),
        Violation { note: Some("think first".to_owned()), ..read("/srv/y/.env") },
        blocked(Action::Syscall, "mount", None, 7),
    ];
    expect![[r#"
        blocked read of /home/u/.ssh/id; to allow it: --allow fs.read=/home/u/.ssh/id
        blocked read of /home/u/.ssh/known_hosts; to allow it: --allow fs.read=/home/u/.ssh/known_hosts
        blocked read of /opt/x/a and 1 more beside it (3 times); to allow it: --allow fs.read=/opt/x
        blocked read of /srv/y/.env; to allow it: --allow fs.read=/srv/y/.env (think first)
        blocked read of /srv/y/a; to allow it: --allow fs.read=/srv/y/a
        blocked system call mount (7 times)"#]]
    .assert_eq(&violations(&found, Path::new("/home/u"), 6).join("\n"));
}

#[test]
fn five_lines_are_enough_and_a_grant_can_be_pasted() {
    let many: Vec<_> = (0..9).map(|n| blocked(Action::Syscall, &format!("call{n}"), None, 1)).collect();
    let lines = violations(&many, Path::new("/home/u"), 5);
    assert_eq!((lines.len(), lines[4].as_str()), (5, "and 5 more things were blocked; `polder explain` lists them"));
    let odd = blocked(Action::FileRead, "/opt/a b's", Some(Grant::FsRead("/opt/a b's".into())), 1);
    let line = &violations(&[odd], Path::new("/home/u"), 5)[0];
    assert!(line.contains(r"to allow it: --allow 'fs.read=/opt/a b'\''s'"), "{line}");
    let bad = blocked(Action::FileRead, "/opt/\u{1b}]0;x", Some(Grant::FsRead("/opt/\u{1b}]0;x".into())), 1);
    assert!(!violations(&[bad], Path::new("/home/u"), 5)[0].contains("--allow"));
}

#[test]
fn what_is_made_in_a_directory_needs_that_directory_and_not_the_one_around_it() {
    let make = |path: &str| blocked(Action::FileWrite, path, Some(Grant::FsWrite("/srv/d/e".into())), 1);
    let lines = violations(&[make("/srv/d/e/n1"), make("/srv/d/e/n2")], Path::new("/home/u"), 5);
    assert!(lines.iter().all(|line| line.ends_with("; to allow it: --allow fs.write=/srv/d/e")), "{lines:?}");
}

#[test]
fn a_flag_is_said_once_whatever_it_allows() {
    let name = |n: u64| blocked(Action::Network, &format!("h{n}:1"), Some(Grant::NetFull), 1);
    let hook = |path: &str| blocked(Action::FileWrite, path, Some(Grant::FsWrite(".git/hooks".into())), 1);
    let tool = |action| blocked(action, "/opt/x/tool", Some(Grant::FsRead("/opt/x/tool".into())), 1);
    let hooks = [hook("/workspace/.git/hooks/a"), hook("/workspace/.git/hooks/b"), hook("/workspace/.git/hooks")];
    let swept = Violation { layer: "sweep".to_owned(), ..hook("/workspace/.git/hooks/c") };
    let mut found: Vec<Violation> = (0..7).map(name).collect();
    found.extend(hooks);
    found.extend([swept, tool(Action::Exec), tool(Action::FileRead)]);
    expect![[r#"
        blocked execution and read of /opt/x/tool (2 times); to allow it: --allow fs.read=/opt/x/tool
        blocked write to /workspace/.git/hooks/a and 2 more; to allow it: --allow fs.write=.git/hooks
        blocked connection to h0:1 and 6 more; to allow it: --allow net=full
        set aside /workspace/.git/hooks/c; to allow it: --allow fs.write=.git/hooks"#]]
    .assert_eq(&violations(&found, Path::new("/home/u"), 5).join("\n"));
}
