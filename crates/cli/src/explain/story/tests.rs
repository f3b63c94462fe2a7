use super::*;
use expect_test::expect;
use serde_json::json;

fn record() -> Value {
    let denied = |action: &str, target: &str, layer: &str, rule: &str, grant: Option<&str>| {
        json!({"action": action, "target": target, "layer": layer, "rule": rule, "count": 2, "pid": 3,
               "exe": "/usr/bin/cat", "suggestedCapability": grant, "note": null})
    };
    json!({
        "run": "19a8-1-0", "time": "2026-11-16T14:00:00.000Z", "command": {"name": "sh", "words": 3},
        "workspace": "/w", "engine": {"id": "first", "reason": "asked for"}, "observe": "cheap",
        "outcome": {"state": "exited", "exitCode": 1, "wallMs": 12, "limit": null},
        "violations": [
            denied("file-read", "/opt/x", "mounts", "not shown", Some("fs.read=/opt/x")),
            denied("file-read", "/opt/\u{1b}]0;x\n\nplan: fine", "mounts", "not shown", Some("fs.read=/opt/\u{1b}]0;x")),
            denied("syscall", "mount", "seccomp", "not on the list", None),
        ],
        "violationsLeftOut": 4, "report": {"fs": {"verdict": "enforced", "by": "mounts"}},
        "hash": "abc", "plan": ["network     none"], "planLinesLeftOut": 0,
    })
}

#[test]
fn by_layer_and_rule_with_the_plan_and_nothing_hostile_reaches_the_terminal() {
    expect![[r#"
        run         19a8-1-0 at 2026-11-16T14:00:00.000Z
        command     sh (3 words)
        workspace   /w
        engine      first (asked for)
        ended       exit code 1 after 12 ms
        observed    cheap: reading, removing, changing rights and much of writing were not watched; `polder again` sees them

        denied by mounts
          rule: not shown
            file-read of /opt/x, 2 times, by /usr/bin/cat (process 3 inside)
              allow: --allow fs.read=/opt/x
            file-read of /opt/\u{1b}]0;x\n\nplan: fine, 2 times, by /usr/bin/cat (process 3 inside)
              allow: no grant does

        denied by seccomp
          rule: not on the list
            syscall of mount, 2 times, by /usr/bin/cat (process 3 inside)
              allow: no grant does
          and 4 more denials that were not kept

        to allow what has no known risk (not verified: `polder again` tries it)
          --allow fs.read=/opt/x

        guarantees
          fs            enforced by mounts

        plan abc
          network     none
    "#]]
    .assert_eq(&story(&record()));
}

#[test]
fn a_list_has_a_line_for_a_run() {
    expect!["19a8-1-0  2026-11-16T14:00:00.000Z  sh: exit code 1 after 12 ms, 3 denied\n"].assert_eq(&line(&record()));
    let failed = json!({"outcome": {"error": "no\u{7}"}, "command": {"name": "a\nb"}});
    expect!["-  -  a\\nb: not started: no\\u{7}\n"].assert_eq(&line(&failed));
}
