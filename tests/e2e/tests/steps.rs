//! `polder steps`: order, values, failures, reports.
#![forbid(unsafe_code)]

use expect_test::expect;
use polder_e2e::{Held, Place, Said, hold, on_a_terminal, until};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A place with this configuration of its own.
fn place(text: &str) -> Place {
    let place = Place::new();
    place.write("work/polder.yaml", text);
    place
}

fn steps(place: &Place, arguments: &[&str]) -> Said {
    let mut all = vec!["steps"];
    all.extend(arguments);
    place.says(&all)
}

/// What polder said, without times.
fn timeless(text: &str) -> String {
    let word = |word: &str| {
        let digits = word.trim_start_matches('(').trim_end_matches(')');
        let number = digits.trim_end_matches("ms").trim_end_matches('s');
        let is_time = digits.ends_with('s') && !number.is_empty() && number.parse::<f64>().is_ok();
        if is_time { word.replace(digits, "T") } else { word.to_owned() }
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n";
    text.lines().map(line).collect()
}

#[test]
fn steps_run_in_order_and_tell_how_they_ended() {
    let place = place(
        "steps:
  lint: {exec: 'echo linted'}
  build: {exec: 'echo building; echo broken >&2; exit 3', depends_on: [lint]}
  test: {exec: 'touch tested', depends_on: [build]}
  docs: {exec: 'echo documented', depends_on: 'build|lint'}
  slow: {exec: 'sleep 60', timeout: 200ms}
  never: {exec: 'touch never', if: 'steps.lint.status == \"failed\"', depends_on: [lint]}
",
    );
    let said = steps(&place, &[]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.out, "linted\nbuilding\ndocumented\n");
    expect![[r#"
        == lint (native)
        == lint passed (T)
        == build (native)
        broken
        == build failed: exit code 3 (T)
        == test skipped: `build` failed
        == docs (native)
        == docs passed (T)
        == slow (native)
        == slow timed-out: its time was up (T)
        == never skipped: its `if` does not hold
        STEP RESULT TIME ENGINE WHY
        lint passed T native
        build failed T native exit code 3
        test skipped - - `build` failed
        docs passed T native
        slow timed-out T native its time was up
        never skipped - - its `if` does not hold
        6 steps: 2 passed, 1 failed, 2 skipped, 1 timed-out
    "#]]
    .assert_eq(&timeless(&said.err));
    assert_eq!(place.names(), ["polder.yaml"]);
    // Only what is named, and what that waits for.
    let said = steps(&place, &["docs", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(said.out.lines().last().expect("a summary")).expect("JSON");
    let names: Vec<_> = summary["steps"].as_array().expect("steps").iter().map(|step| &step["step"]).collect();
    assert_eq!(names, ["lint", "build", "docs"]);
    assert_eq!((said.code, summary["exitCode"].as_u64()), (1, Some(1)));
}

#[test]
fn output_comes_in_the_same_order_however_long_steps_take() {
    let text: String = (0..6).map(|n| format!("  s{n}: {{exec: 'sleep 0.{}; echo {n}'}}\n", 6 - n)).collect();
    let place = place(&format!("max_parallelism: 6\nsteps:\n{text}"));
    let said = steps(&place, &[]);
    assert_eq!((said.code, said.out.as_str()), (0, "0\n1\n2\n3\n4\n5\n"), "{}", said.err);
}

#[test]
fn a_value_is_never_a_part_of_the_program() {
    let hostile = "x'; touch ran; echo '$(touch ran)`touch ran`\"";
    let text = "steps:
  say: {command: [printf, '%s', '{{ inputs.title }}']}
  bare: {exec: 'printf \"<%s>\\n\" {{ outputs.say }}', depends_on: say}
  quoted: {exec: \"printf '<%s>\\\\n' 'a {{ outputs.say }}'\", depends_on: say}
  double: {exec: 'printf \"<%s>\\n\" \"a {{ outputs.say }}\"', depends_on: say}
  env: {exec: 'printf \"<%s>\\n\" \"$TITLE\"', env: {TITLE: '{{ outputs.say }}'}, depends_on: say}
  input: {exec: 'printf \"<%s>\\n\" \"$(cat)\"', stdin: '{{ outputs.say }}', depends_on: say}
";
    let place = place(text);
    let said = steps(&place, &["--input", &format!("title={hostile}"), "-j", "1"]);
    assert_eq!(said.code, 0, "{said:?}");
    let wanted = format!("{hostile}<{hostile}>\n<a {hostile}>\n<a {hostile}>\n<{hostile}>\n<{hostile}>\n");
    assert_eq!(said.out, wanted);
    assert!(!place.has("work/ran"));
    // The control: the same value in the text of a program runs.
    let script = format!("printf '<%s>' '{hostile}'");
    let _ = place.says(&["run", "--", "sh", "-c", &script]);
    assert!(place.has("work/ran"));
}

#[test]
fn all_faults_come_before_anything_runs() {
    let place = place(
        "steps:
  first: {exec: 'touch ran'}
  a: {exec: 'echo {{ outputs.first }}'}
  b: {exec: 'echo {{ nonsense }}'}
  c: {exec: 'echo {{ inputs.x }}'}
  d: {exec: 'x', if: 'deploy()'}
  e: {exec: 'echo $(( {{ inputs.x }} ))'}
",
    );
    let said = steps(&place, &[]);
    assert_eq!((said.code, said.out.as_str()), (125, ""));
    for wanted in [
        "add `first` to its `depends_on`",
        "`nonsense` is not known in a template",
        "there is no function `deploy`",
        "stands in `(( ))`",
    ] {
        assert!(said.err.contains(wanted), "{wanted}: {}", said.err);
    }
    let said = steps(&place, &["c"]);
    assert!(said.err.contains("the input `x` has no value; give it with --input x=…"), "{}", said.err);
    place.write(
        "work/polder.yaml",
        "steps: {a: {exec: x, depends_on: c}, b: {exec: x, depends_on: a}, c: {exec: x, depends_on: b}}",
    );
    let said = steps(&place, &[]);
    assert!(said.err.contains("`a` waits for `c` waits for `b` waits for `a`"), "{}", said.err);
    assert!(!place.has("work/ran"));
}

#[test]
fn a_step_that_no_engine_can_run_stops_all_of_them_before_the_first() {
    let place = place(
        "sandboxes: {far: {engine: seatbelt}}\nsteps: {a: {exec: 'touch ran'}, b: {exec: 'true', sandbox: far}}\n",
    );
    let said = steps(&place, &["--trust"]);
    assert_eq!(said.code, 125);
    assert!(said.err.contains("the step `b` cannot run: "), "{}", said.err);
    assert!(!place.has("work/ran"));
    assert_eq!(steps(&place, &["a"]).code, 0);
    assert!(place.has("work/ran"), "the control");
}

#[test]
fn without_a_sandbox_only_where_it_is_permitted() {
    let text = "steps: {a: {exec: 'touch ran', sandbox: none}}\n";
    let refused = place(text);
    let said = steps(&refused, &[]);
    assert!(said.code == 125 && said.err.contains("is not permitted"), "{said:?}");
    assert!(!refused.has("work/ran"));
    let permitted = place(text);
    permitted.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
    assert_eq!(steps(&permitted, &[]).code, 125, "a step of an untrusted project");
    let said = steps(&permitted, &["--trust"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(permitted.has("work/ran") && said.err.contains("enforces nothing"), "{said:?}");
}

#[test]
fn two_hundred_steps_at_once() {
    let text: String = (0..200).map(|n| format!("  s{n}: {{exec: 'echo {n}'}}\n")).collect();
    let place = place(&format!("steps:\n{text}"));
    let said = steps(&place, &["-j", "200"]);
    let wanted: String = (0..200).map(|n| format!("{n}\n")).collect();
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(said.out, wanted);
}

#[test]
fn an_interrupted_run_ends_every_step_and_starts_no_other() {
    let place = place(&format!(
        "steps:\n  first: {{exec: {}}}\n  second: {{exec: 'echo begun > begun; sleep 600'}}\n  third: {{exec: 'touch third', depends_on: second}}\n",
        serde_json::Value::from(hold("sleep 600"))
    ));
    let held = Held::new(&place);
    let child = place.polder(&["steps"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("polder");
    held.begun(&place);
    until("the second step", || place.has("work/begun"));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let said: Said = child.wait_with_output().expect("polder").into();
    held.ended();
    assert_eq!(said.code, 130, "{}", said.err);
    assert!(!place.has("work/third"));
    assert!(said.err.contains("third skipped: "), "{}", said.err);
}

#[test]
fn on_github_the_output_is_grouped_and_no_step_gives_commands() {
    let hostile = "::error::forged\\n  ::add-mask::x\\n##[error]forged\\n::stop-commands::t\\n";
    let place = place(&format!(
        "steps:\n  evil: {{exec: \"printf '{}'\"}}\n  bad: {{exec: 'exit 2'}}\n",
        hostile.replace('\\', "\\\\")
    ));
    let summary = place.write("summary.md", "");
    let mut command = place.polder(&["steps", "-j", "1"]);
    let said: Said =
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary).output().expect("polder").into();
    assert_eq!(said.code, 1, "{said:?}");
    // A runner that reads the log as GitHub's does: what counts as a command, and what only looks like one.
    let (mut obeyed, mut stopped) = (Vec::new(), None::<String>);
    for line in said.out.lines() {
        let word = line.trim_start().strip_prefix("::").and_then(|rest| rest.split("::").next());
        let old = line.contains("##[");
        match (&stopped, word) {
            (Some(token), Some(word)) if word == token => stopped = None,
            (Some(_), _) => {}
            (None, Some("stop-commands")) => stopped = line.rsplit("::").next().map(str::to_owned),
            (None, Some(word)) => obeyed.push(word.split(' ').next().unwrap_or_default().to_owned()),
            (None, None) => assert!(!old, "{line}"),
        }
    }
    assert_eq!(obeyed, ["group", "endgroup", "group", "endgroup", "error"], "{}", said.out);
    assert!(said.out.contains("::error::forged"), "the text itself is still there");
    assert!(said.out.contains("::error title=step bad failed::exit code 2"), "{}", said.out);
    assert!(place.read("summary.md").contains("| bad | failed |"), "{}", place.read("summary.md"));
    // Nobody stops commands around JSON, and none is in it.
    let said: Said = place.polder(&["steps", "--json"]).env("GITHUB_ACTIONS", "true").output().expect("polder").into();
    assert!(said.out.contains("##\\u005berror]forged") && !said.out.contains("##["), "{}", said.out);
    // Neither in the reasons of the summary nor in a plan.
    let bad = "steps: {bad: {exec: \"echo {{ outputs.a | join: '##[' }}\", depends_on: a}, a: {exec: 'echo \"##[x\"'}}";
    place.write("work/polder.yaml", bad);
    let said = place.says(&["steps", "--json"]);
    assert!(said.code == 125 && said.out.contains("join: '##\\u005b'") && !said.out.contains("##["), "{said:?}");
    let said = place.says(&["steps", "--json", "--dry-run"]);
    assert!(said.out.contains("##\\u005bx") && !said.out.contains("##["), "{said:?}");
    let said = place.says(&["run", "--json", "--dry-run", "--", "echo", "##[x"]);
    assert!(said.out.contains("##\\u005bx") && !said.out.contains("##["), "{said:?}");
    let said = place.says(&["run", "--json", "--", "printf", "##[error]\u{9b}2J"]);
    assert!(said.out.contains("##\\u005berror]\\u009b2J"), "{}", said.out);
}

#[test]
fn what_a_pull_request_says_is_a_value() {
    let place = place("steps: {a: {exec: 'echo {{ pr.title }} {{ pr.number }}'}}\n");
    let event = place.write("event.json", r#"{"pull_request": {"number": 7, "title": "x; touch ran"}}"#);
    let mut command = place.polder(&["steps"]);
    let said: Said =
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_PATH", &event).output().expect("polder").into();
    assert!(said.code == 0 && said.out.contains("\nx; touch ran 7\n"), "{said:?}");
    assert!(!place.has("work/ran"));
    let said = steps(&place, &[]);
    assert!(said.code == 125 && said.err.contains("there is no pull request here"), "{said:?}");
}

#[test]
fn reports_are_written_and_one_that_cannot_be_stops_before_anything_runs() {
    let place = place("steps: {a: {exec: 'echo hello; touch ran; exit 1'}}\n");
    let said = steps(&place, &["--junit", "../no/such/report.xml"]);
    assert!(said.code == 125 && !place.has("work/ran"), "{said:?}");
    assert_eq!(steps(&place, &["--junit", "../report.xml"]).code, 1);
    let report = place.read("report.xml");
    assert!(report.contains("failures=\"1\"") && report.contains("hello"), "{report}");
}

#[test]
fn a_summary_of_the_job_that_cannot_be_written_stops_before_anything_runs_with_its_name() {
    let place = place("steps: {a: {exec: 'touch ran'}}\n");
    let summary = place.dir().join("no/such/summary.md");
    let run = |actions: &str| -> Said {
        let mut command = place.polder(&["steps"]);
        command.env("GITHUB_ACTIONS", actions).env("GITHUB_STEP_SUMMARY", &summary).output().expect("polder").into()
    };
    let said = run("true");
    let wanted = format!("cannot write the job's summary `{}`: No such file", summary.display());
    assert!(said.code == 125 && said.err.contains(&wanted), "{said:?}");
    assert!(said.err.contains("; let GITHUB_STEP_SUMMARY name a file that can be written, or unset it"), "{said:?}");
    assert!(!place.has("work/ran"));
    // The control: elsewhere the variable says nothing.
    assert!(run("false").code == 0 && place.has("work/ran"));
}

#[test]
fn steps_change_what_their_sandbox_says() {
    let place = place(
        "sandboxes: {a: {env: {WHO: sandbox}}}
sandbox: a
steps:
  ro: {exec: 'touch file', read_only: true}
  env: {exec: 'echo $WHO', env: {WHO: step}}
  always: {exec: 'echo {{ steps.ro.status }}', if: 'always()', depends_on: ro}
  goes-on: {exec: 'exit 1', continue_on_failure: true}
  after: {exec: 'echo after', depends_on: goes-on}
",
    );
    let said = steps(&place, &[]);
    assert_eq!((said.code, said.out.as_str()), (1, "step\nfailed\nafter\n"), "{}", said.err);
    assert!(!place.has("work/file"));
}

#[test]
fn nothing_to_run_and_wrong_names_are_errors() {
    let none = place("max_parallelism: 2\n");
    assert!(steps(&none, &[]).err.contains("the configuration has no steps"));
    let one = place("steps: {lint: {exec: 'true'}}\n");
    assert!(steps(&one, &["lnit"]).err.contains("there is no step `lnit`; did you mean `lint`? defined are lint"));
    assert!(steps(&one, &["--input", "x"]).err.contains("is not NAME=VALUE"));
}

#[test]
fn an_event_that_cannot_be_read_is_not_taken_for_no_pull_request() {
    let place = place("steps:\n  ok: {exec: 'true'}\n");
    place.write("event.json", "{\"pull_request\": {");
    let said = |event: &str| -> Said {
        let mut command = place.polder(&["steps"]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_EVENT_PATH", place.dir().join(event));
        command.output().expect("polder").into()
    };
    for event in ["event.json", "no-such-event.json"] {
        let said = said(event);
        assert!(said.code == 125 && said.err.contains("event"), "{said:?}");
    }
    place.write("event.json", "{}");
    assert_eq!(said("event.json").code, 0);
}

#[test]
fn a_step_does_not_write_the_report() {
    let script =
        "rm -f report.xml; ln -s ../elsewhere.xml report.xml; for f in .polder-report-*; do echo forged > $f; done";
    let place = place(&format!("steps:\n  forge: {{exec: '{script}'}}\n"));
    let said = steps(&place, &["--junit", "report.xml"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.read("work/report.xml").contains("<testsuite"));
    assert!(!place.has("elsewhere.xml"));
}

#[test]
fn output_that_is_lost_is_an_error() {
    let place = place("steps:\n  ok: {exec: 'echo text'}\n");
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let said: Said = place.polder(&["steps"]).stdout(full()).output().expect("polder").into();
    assert_eq!(said.code, 125, "{said:?}");
}

#[test]
fn on_a_terminal_one_line_says_what_runs_and_leaves_no_trace() {
    let place = place(
        "steps: {quick: {exec: 'echo q'}, slow: {exec: 'echo s; while ! test -e go; do sleep 0.05; done; exit 3'}, \
         also-slow-and-with-a-name-that-does-not-fit-into-one-line: {exec: 'while ! test -e go; do sleep 0.05; done'}}\n",
    );
    let said = on_a_terminal(
        &place,
        r"
t = Terminal([POLDER, 'steps'], columns=60)
found = t.see(r'\r\x1b\[K(\[1/3\] slow \ds native . also-slow[a-z-]*)')
line = found.group(1)
if len(line) >= 60: sys.exit(f'too long: {line!r}')
# Time goes on, in the same line.
t.see(r'\r\x1b\[K\[1/3\] slow 1s native')
t.size(24, 30)
t.see(r'\r\x1b\[K\[1/3\] slow 2s native . a[a-z-]{0,6}(?![a-z-])')
open('go', 'w').close()
code = t.end()
if code != 1: sys.exit(f'code {code}: {t.seen!r}')
# The line is gone before anything else is said, and does not come again.
if not re.search(r'\r\x1b\[K(\[2/3\][^\r]*\r\x1b\[K)?== slow \x1b\[31mfailed\x1b\[0m: exit code 3', t.seen): sys.exit(repr(t.seen))
table = t.seen.split('STEP')[1]
if '\x1b[K' in table or 'passed' not in table: sys.exit(repr(table))
",
    );
    assert_eq!(said.code, 0, "{said:?}");
    // The control: elsewhere there are only lines.
    let said = steps(&place, &[]);
    assert!(!said.err.contains('\x1b') && !said.err.contains("[1/3]"), "{said:?}");
}

#[test]
fn a_condition_asks_about_everything_that_its_step_waits_for_and_about_nothing_else() {
    let place = place(
        "steps:
  one: {exec: 'echo first'}
  two: {exec: 'true', depends_on: one}
  three: {exec: 'echo one {{ steps.one.status }}', depends_on: two, if: 'steps.one.status == \"passed\"'}
  bad: {exec: 'echo x; exit 1', continue_on_failure: true}
  after-bad: {exec: 'echo {{ outputs.bad }}', depends_on: bad}
  far: {exec: 'echo far failure', depends_on: after-bad, if: 'failure()'}
  far-too: {exec: 'echo never', depends_on: after-bad, if: 'success()'}
  apart: {exec: 'echo apart', depends_on: two, if: 'success()'}
",
    );
    // One after the other, so that what `apart` does not wait for has ended before it, too.
    let said = steps(&place, &["-j", "1"]);
    assert_eq!((said.code, said.out.as_str()), (1, "first\none passed\nx\nx\nfar failure\napart\n"), "{}", said.err);
    assert!(said.err.contains("== far-too skipped: its `if` does not hold"), "{}", said.err);
}

#[test]
fn a_limit_of_descriptors_does_not_count_what_others_have_on_their_way() {
    let place = Place::new();
    // Three hundred that nobody receives: more than the limit, of which the kernel allows a user as many on their way.
    let hold = "import socket, sys\na, b = socket.socketpair()\nfor _ in range(3): socket.send_fds(a, [b'x'], [0] * 100)\n\
                print('held', flush=True)\nsys.stdin.read()";
    let mut holder = place
        .command("python3")
        .args(["-c", hold])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut held = String::new();
    BufReader::new(holder.stdout.take().expect("its output")).read_line(&mut held).expect("a line");
    assert_eq!(held, "held\n");
    let said = place.says(&["run", "--files", "24", "--", "sh", "-c", "ulimit -n"]);
    assert_eq!((said.code, said.out.as_str()), (0, "24\n"), "{said:?}");
    drop(holder.stdin.take());
    holder.wait().expect("its end");
}

#[test]
fn a_limit_of_descriptors_is_the_steps_own_however_many_run_at_once() {
    let text: String = (0..30).map(|n| format!("  s{n}: {{exec: 'ulimit -n; sleep 0.5'}}\n")).collect();
    let place = place(&format!("sandboxes: {{few: {{limits: {{files: 24}}}}}}\nsandbox: few\nsteps:\n{text}"));
    let said = steps(&place, &["-j", "30"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(said.out, "24\n".repeat(30));
}

#[test]
fn steps_at_once_take_turns_in_one_workspace() {
    let place = place(
        "sandboxes: {box: {engine: native, workspace: {mode: cow, name: shared}}}
sandbox: box
steps:
  one: {exec: 'echo 1 >> log; sleep 0.4; echo 1 >> log'}
  two: {exec: 'echo 2 >> log; sleep 0.4; echo 2 >> log'}
  three: {exec: 'echo 3 >> log; sleep 0.4; echo 3 >> log'}
",
    );
    let said = steps(&place, &["-j", "3"]);
    assert_eq!(said.code, 0, "{said:?}");
    let applied = place.says(&["workspace", "apply", "shared"]);
    assert_eq!(applied.code, 0, "{applied:?}");
    let log = place.read("work/log");
    let turns: Vec<_> = log.lines().collect();
    assert!(turns.len() == 6 && turns.chunks(2).all(|turn| turn[0] == turn[1]), "{log}");
}

/// A limit is neither a failure nor a fault of polder's, wherever it is told, and stops those who wait.
#[test]
fn a_step_that_reaches_a_limit_says_so_everywhere_and_stops_those_who_wait() {
    let place = place(
        "steps:
  loud: {exec: 'yes', limits: {output: 64K}}
  waits: {exec: 'touch ran', depends_on: loud}
  goes: {exec: 'echo {{ steps.loud.status }}', depends_on: loud, if: 'always()'}
  fails: {exec: 'exit 137'}
",
    );
    let said = steps(&place, &["--junit", "../report.xml"]);
    assert_eq!(said.code, 1, "{}", said.err);
    let row = |name: &str| {
        said.err.lines().filter(|line| line.starts_with(name)).map(timeless).collect::<Vec<_>>().join("\n")
    };
    assert!(row("loud ").contains("limit") && row("loud ").contains("the output limit was reached"), "{}", said.err);
    assert!(row("waits ").contains("skipped") && row("waits ").contains("`loud` limit"), "{}", said.err);
    assert!(row("fails ").contains("failed") && row("fails ").contains("exit code 137"), "{}", said.err);
    assert!(said.err.contains("4 steps: 1 limit, 1 skipped, 1 passed, 1 failed"), "{}", said.err);
    assert!(said.out.ends_with("limit\n"), "a condition can ask for it");
    assert!(!place.has("work/ran"));
    let report = place.read("report.xml");
    assert!(report.contains("failures=\"2\" errors=\"0\" skipped=\"1\""), "{report}");
    assert!(report.contains("<failure type=\"limit\" message=\"the output limit was reached\"/>"), "{report}");
    assert!(report.contains("<failure type=\"failed\" message=\"exit code 137\"/>"), "{report}");
    let said = steps(&place, &["--json", "loud", "waits"]);
    let last: serde_json::Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!((said.code, &last["exitCode"]), (1, &1.into()));
    assert_eq!(
        (&last["steps"][0]["status"], &last["steps"][0]["outcome"]["limit"]),
        (&"limit".into(), &"output".into())
    );
    assert_eq!(last["steps"][1]["status"], "skipped");
}

/// The network of a step is its own word, whatever its sandbox says.
#[test]
fn a_step_without_a_network_reaches_nobody_and_one_with_it_does() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let reach = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let place = Place::new();
    place.write(
        "work/.visor.yaml",
        format!(
            "sandboxes: {{open: {{engine: native}}}}
sandbox: open
steps:
  control: {{type: command, command: [bash, -c, '{reach}']}}
  apart: {{type: command, command: [bash, -c, '{reach}'], network: false}}
"
        ),
    );
    let said = steps(&place, &["--trust", "control"]);
    assert_eq!((said.code, said.out.as_str()), (0, "reached\n"), "the control: {}", said.err);
    let said = steps(&place, &["--trust", "apart"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{}", said.err);
    assert!(said.err.contains("Connection refused"), "{}", said.err);
}
