//! What was learnt, as a file that people read: every line says who asked for it. Pure.

use super::given::{Given, GivenBind};
use super::lesson::{Lesson, Worry};
use crate::exit::on_one_line;
use polder::Grant;
use polder_policy::Access;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The longest comment.
const COMMENT_CHARS_MAX: usize = 160;

/// A policy in YAML for the sandbox of this name.
pub(super) fn page(lesson: &Lesson, name: &str, worry: Worry<'_>) -> String {
    let grants = lesson.grants(worry);
    let mut text = format!(
        "# Written by `polder learn` from {} {}. Every line says who asked for it first; take out what you do not want to give.\n\
         # `polder learn` adds to this file as long as nobody else changes it.\nsandboxes:\n  {name}:\n",
        lesson.runs,
        if lesson.runs == 1 { "run" } else { "runs" },
    );
    let mut body = String::new();
    profiles(&mut body, &lesson.given);
    binds(&mut body, lesson, &grants);
    peers(&mut body, lesson, &grants);
    limits(&mut body, lesson, &grants);
    text.push_str(if body.is_empty() { "    {}\n" } else { &body });
    let _ = writeln!(text, "sandbox: {name}");
    list(
        &mut text,
        "Asked for and not granted, because somebody should think first; `--allow` gives it for one run:",
        &lesson.held,
    );
    list(&mut text, "Asked for, and no grant is offered:", &lesson.refused);
    text
}

fn profiles(text: &mut String, Given { binds: _, profiles }: &Given) {
    if !profiles.is_empty() {
        let names: Vec<String> = profiles.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(text, "    profiles: [{}]  # given with --profile", names.join(", "));
    }
}

fn binds(text: &mut String, lesson: &Lesson, grants: &[Grant]) {
    let learnt = grants.iter().filter_map(|grant| match grant {
        Grant::FsRead(path) => Some((grant, path, true)),
        Grant::FsWrite(path) => Some((grant, path, false)),
        Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) | Grant::Limit { .. } => None,
    });
    let learnt = learnt.map(|(grant, path, read_only)| {
        let host = quoted(&path.display().to_string());
        format!("{{host: {host}, read_only: {read_only}}}  # {}", comment(&lesson.askers(grant)))
    });
    let given = lesson.given.binds.iter().map(|(guest, GivenBind { host, access, optional })| {
        let container = if guest == host { String::new() } else { format!(", container: {}", quoted(guest)) };
        let read_only = *access == Access::ReadOnly;
        let optional = if *optional { ", optional: true" } else { "" };
        format!("{{host: {}{container}, read_only: {read_only}{optional}}}  # given with --bind", quoted(host))
    });
    for (index, line) in given.chain(learnt).enumerate() {
        if index == 0 {
            text.push_str("    bind_paths:\n");
        }
        let _ = writeln!(text, "      - {line}");
    }
}

fn peers(text: &mut String, lesson: &Lesson, grants: &[Grant]) {
    let peers: Vec<(&Grant, &String)> = grants
        .iter()
        .filter_map(|grant| match grant {
            Grant::NetConnect(peer) => Some((grant, peer)),
            Grant::FsRead(_) | Grant::FsWrite(_) | Grant::NetFull | Grant::Env(_) | Grant::Limit { .. } => None,
        })
        .collect();
    if !peers.is_empty() {
        text.push_str("    network:\n      mode: restricted\n      allow:\n");
        for (grant, peer) in peers {
            let _ = writeln!(text, "        - {}  # {}", quoted(peer), comment(&lesson.askers(grant)));
        }
    }
}

fn limits(text: &mut String, lesson: &Lesson, grants: &[Grant]) {
    let limits = grants.iter().filter_map(|grant| match grant {
        Grant::Limit { name, value } => Some((grant, name, value)),
        Grant::FsRead(_) | Grant::FsWrite(_) | Grant::NetConnect(_) | Grant::NetFull | Grant::Env(_) => None,
    });
    for (index, (grant, name, value)) in limits.enumerate() {
        if index == 0 {
            text.push_str("    limits:\n");
        }
        let _ = writeln!(text, "      {name}: {value}  # {}", comment(&lesson.askers(grant)));
    }
}

fn list(text: &mut String, heading: &str, entries: &BTreeMap<String, String>) {
    if !entries.is_empty() {
        let _ = writeln!(text, "\n# {heading}");
        for (what, why) in entries {
            let _ = writeln!(text, "#   {}", comment(&format!("{what} ({why})")));
        }
    }
}

/// A text that ends where its line does, whatever a command named its files.
fn comment(text: &str) -> String {
    let line = on_one_line(text);
    match line.char_indices().nth(COMMENT_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// A text in double quotes; JSON's are YAML's, and nothing that needs an escape beyond those is ever granted.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use polder::{Action, Violation, risk};
    use std::path::Path;

    fn denied(target: &str, grant: Option<Grant>) -> Violation {
        let (rule, layer) = (String::new(), String::new());
        let note = grant.is_none().then(|| "nothing does".to_owned());
        let exe = Some("/x\n    network: true".to_owned());
        Violation {
            action: Action::FileRead,
            target: target.to_owned(),
            rule,
            layer,
            pid: None,
            exe,
            count: 1,
            grant,
            note,
        }
    }

    #[test]
    fn every_line_says_why_and_no_name_ends_it() {
        let mut lesson = Lesson::nothing();
        let worry = |path: &Path| risk(path, Path::new("/home/u")).map(str::to_owned);
        let read = |path: &str| denied(path, Some(Grant::FsRead(path.into())));
        lesson.add(
            &[
                read("/opt/a \"b\""),
                read("/home/u/.ssh/id"),
                denied("timeout", Some(Grant::Limit { name: "timeout".to_owned(), value: "4s".to_owned() })),
                denied("evil\nnetwork: true", None),
            ],
            &worry,
        );
        expect![[r##"
            # Written by `polder learn` from 1 run. Every line says who asked for it first; take out what you do not want to give.
            # `polder learn` adds to this file as long as nobody else changes it.
            sandboxes:
              learned:
                bind_paths:
                  - {host: "/opt/a \"b\"", read_only: true}  # file-read of /opt/a "b", by /x\n    network: true
                limits:
                  timeout: 4s  # file-read of timeout, by /x\n    network: true
            sandbox: learned

            # Asked for and not granted, because somebody should think first; `--allow` gives it for one run:
            #   fs.read=/home/u/.ssh/id (it holds keys)

            # Asked for, and no grant is offered:
            #   file-read of evil\nnetwork: true (nothing does)
        "##]]
        .assert_eq(&page(&lesson, "learned", &worry));
    }
}
