use super::*;
use std::time::{Duration, SystemTime};

fn span(prefix: &str, sandbox: &str, code: Option<i64>) -> Span {
    let start = SystemTime::UNIX_EPOCH;
    let text = |name: &str, value: &str| (format!("{prefix}.sandbox.{name}"), Value::Text(value.to_owned()));
    let mut attributes = vec![text("name", sandbox), text("engine", "native")];
    attributes.extend(code.map(|code| (format!("{prefix}.sandbox.exit_code"), Value::Number(code))));
    attributes.push((format!("{prefix}.sandbox.violations"), Value::Number(2)));
    Span {
        trace: [0; 16],
        id: [0; 8],
        parent: None,
        name: format!("{prefix}.sandbox.native.exec"),
        start,
        end: start + Duration::from_millis(250),
        attributes,
        events: Vec::new(),
        failed: false,
    }
}

#[test]
fn what_is_written_is_read_back_and_counted_up() {
    let mut series = Series::new();
    count(&span("polder", "a \"quoted\\ name\nwith lines", Some(0)), &mut series);
    count(&span("visor", "b", None), &mut series);
    let text = written_form(&series);
    let mut again = read(&text).expect("our own");
    assert_eq!(again, series);
    count(&span("visor", "b", None), &mut again);
    let text = written_form(&again);
    assert!(text.contains("visor_sandbox_runs_total{engine=\"native\",sandbox=\"b\",result=\"broken\"} 2\n"), "{text}");
    assert!(text.contains("visor_sandbox_run_seconds_total{engine=\"native\",sandbox=\"b\"} 0.5\n"), "{text}");
    assert!(text.contains("visor_sandbox_violations_total{engine=\"native\",sandbox=\"b\"} 4\n"), "{text}");
    assert!(text.contains(r#"sandbox="a \"quoted\\ name\nwith lines""#), "{text}");
}

#[test]
fn what_somebody_else_wrote_is_not_ours() {
    for (text, line) in [
        ("hello\n", 1),
        ("# a comment\nother_total{a=\"b\"} 1\n", 2),
        ("polder_sandbox_runs_total{engine=\"x\"} many\n", 1),
        ("polder_sandbox_runs_total{engine=\"x\"} -1\n", 1),
    ] {
        assert_eq!(read(text), Err(line), "{text}");
    }
}
