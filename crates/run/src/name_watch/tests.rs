use super::{Urgency, Watched};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

fn urgency(git: Option<&str>, name: &str) -> Urgency {
    let names = BTreeSet::from([OsString::from("polder.yaml")]);
    Watched { path: PathBuf::from("/nowhere"), names, git: git.map(PathBuf::from) }.urgency(OsStr::new(name))
}

#[test]
fn names_without_a_rule_ask_for_no_look() {
    for name in ["src", "polder.yaml.bak", "config", "hooks", ""] {
        assert_eq!(urgency(None, name), Urgency::Never, "{name}");
    }
    for name in ["polder.yaml", "Polder.YAML"] {
        assert_eq!(urgency(None, name), Urgency::Now, "{name}");
    }
}

#[test]
fn names_in_a_git_dir_are_urgent_where_git_obeys_them() {
    let rows = [
        ("", "config", Urgency::Now),
        ("", "commondir", Urgency::Now),
        ("", "hooks", Urgency::Now),
        ("", "info", Urgency::Now),
        ("", "modules", Urgency::Now),
        ("", "index", Urgency::Later),
        ("", "index.lock", Urgency::Later),
        ("", "HEAD", Urgency::Never),
        ("", "config.lock", Urgency::Never),
        ("", "tA1b2C3", Urgency::Never),
        ("", "rebase-merge", Urgency::Never),
        ("hooks", "pre-commit", Urgency::Now),
        ("hooks", "pre-commit.sample", Urgency::Never),
        ("info", "attributes", Urgency::Now),
        ("info", "exclude", Urgency::Never),
        ("modules", "sub", Urgency::Now),
        ("worktrees", "other", Urgency::Now),
    ];
    for (git, name, expected) in rows {
        assert_eq!(urgency(Some(git), name), expected, "{git}/{name}");
    }
}
