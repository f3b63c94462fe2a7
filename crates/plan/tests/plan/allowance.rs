use crate::sample::{bind, file, host, planned, with, with_source};
use polder_facts::{Entry, GuestPath, Sourced};
use polder_plan::{Allowance, Says, Wish};
use polder_policy::{Access, PathPattern, Workdir, built_in};
use std::path::Path;

/// A policy with one of everything.
fn allowance(workdir: Workdir) -> Allowance {
    let mut policy = built_in();
    policy.workdir = Sourced::built_in(workdir);
    policy.binds = vec![bind("/srv/data", "/data", Access::ReadOnly)];
    policy.deny_read = vec![Sourced::built_in(PathPattern("secret".to_owned()))];
    let facts = with(host(), &[(".git", Entry::Directory), (".git/config", file()), ("secret", file())]);
    Allowance::of(&planned(&policy, &with_source(facts, "/srv/data")).expect("a plan"))
}

fn said(allowance: &Allowance, path: &str, wish: Wish) -> &'static str {
    match allowance.says(Path::new(path), wish) {
        Says::Yes => "yes",
        Says::YesPrivate => "private",
        Says::Kernel => "kernel",
        Says::Made => "made",
        Says::NotShown => "not shown",
        Says::ReadOnly => "read-only",
        Says::Protected(_) => "protected",
        Says::Hidden => "hidden",
    }
}

#[test]
fn every_place_is_answered_for_and_the_file_says_the_same() {
    let allowance = allowance(Workdir::Host);
    let read_back = Allowance::from_json(&allowance.to_json());
    assert_eq!(read_back, allowance);
    for (path, read, write) in [
        ("/home/u/repo/src/x", "yes", "yes"),
        ("/home/u/repo/.git/config", "yes", "protected"),
        ("/home/u/repo/secret", "hidden", "hidden"),
        ("/data/x", "yes", "read-only"),
        ("/usr/bin/env", "yes", "read-only"),
        ("/bin/sh", "yes", "read-only"),
        ("/etc/passwd", "yes", "read-only"),
        ("/etc/shadow", "not shown", "not shown"),
        ("/tmp/x", "private", "private"),
        ("/dev/shm/x", "private", "private"),
        ("/home/u/.ssh/id", "private", "private"),
        ("/srv/data/x", "not shown", "not shown"),
        ("/proc/1/status", "kernel", "kernel"),
        ("/run/polder/policy.json", "yes", "read-only"),
        ("/home/u/repox", "private", "private"),
        ("/datax", "not shown", "not shown"),
        ("/", "made", "made"),
        ("/run", "made", "made"),
        ("/home", "made", "made"),
        ("/opt", "not shown", "not shown"),
    ] {
        let answers = (said(&read_back, path, Wish::Read), said(&read_back, path, Wish::Write));
        assert_eq!(answers, (read, write), "{path}");
    }
    // What is not there allows nothing.
    let nothing = Allowance::from_json(&"{}".into());
    assert_eq!(said(&nothing, "/home/u/repo", Wish::Read), "not shown");
}

#[test]
fn a_command_learns_nothing_of_the_host_or_of_variables() {
    let workspace = GuestPath::new("/workspace").expect("a path");
    let text = allowance(Workdir::At(workspace)).to_json().to_string();
    for word in ["/srv/data", "/home/u/repo", "s3cret", "TOKEN"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert!(text.contains("/data") && text.contains("fs.write=.git/config"), "the control: {text}");
}
