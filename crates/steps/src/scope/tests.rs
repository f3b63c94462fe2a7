use super::*;
use crate::expression::parse;
use serde_json::json;

fn scope() -> Scope {
    let text = |text: &str| Output::Text(text.to_owned());
    let outputs = [
        ("lint", text("{\"n\": 3, \"list\": [\"a\", \"b\"]}\n")),
        ("plain", text("hello\n\n")),
        ("long", Output::TooLong),
    ];
    Scope {
        inputs: [("level".to_owned(), "strict".to_owned())].into(),
        env: [("CI".to_owned(), "true".to_owned())].into(),
        pr: Some(json!({"title": "x; rm -rf /"})),
        outputs: outputs.map(|(name, output)| (name.to_owned(), output)).into(),
        statuses: [("lint".to_owned(), Status::Passed), ("plain".to_owned(), Status::Failed(3))].into(),
    }
}

fn value(text: &str) -> Value {
    scope().value(&parse(text).unwrap()).unwrap()
}

#[test]
fn every_name_has_its_value() {
    for (text, wanted) in [
        ("outputs.lint.n", json!(3)),
        ("outputs.lint.list[1]", json!("b")),
        ("outputs.lint.list.length", json!(2)),
        ("outputs_raw.plain", json!("hello\n\n")),
        ("outputs.plain", json!("hello")),
        ("outputs_history.lint[0].n", json!(3)),
        ("outputs.plain.n", Value::Null),
        ("steps.plain.status", json!("failed")),
        ("steps.plain.exit_code", json!(3)),
        ("inputs.level", json!("strict")),
        ("args.level", json!("strict")),
        ("env.CI", json!("true")),
        ("env.HOME", Value::Null),
        ("pr.title", json!("x; rm -rf /")),
    ] {
        assert_eq!(value(text), wanted, "{text}");
    }
}

#[test]
fn conditions_compare_by_kind() {
    for (text, wanted) in [
        ("outputs.lint.n > 2", true),
        ("outputs.lint.n == 3.0", true),
        ("outputs.lint.n == '3'", false),
        ("outputs.lint.n > '2'", false),
        ("outputs.missing && true", false),
        ("!outputs.missing", true),
        ("contains(outputs.lint.list, 'a')", true),
        ("contains('abc', 'b') && startsWith('abc', 'a') && endsWith('abc', 'c')", true),
        ("failure()", true),
        ("success()", false),
        ("always()", true),
        ("inputs.level != 'lax' || false", true),
    ] {
        assert_eq!(scope().holds(&parse(text).unwrap()), Ok(wanted), "{text}");
    }
}

#[test]
fn filters_change_values_or_say_why_not() {
    assert_eq!(value("outputs.missing | default: 'x'"), json!("x"));
    assert_eq!(value("outputs.lint.list | join: '+'"), json!("a+b"));
    assert_eq!(value("outputs.lint.list | json"), json!("[\"a\",\"b\"]"));
    assert_eq!(value("outputs.lint.list | first | upcase"), json!("A"));
    assert_eq!(value("outputs.plain | size"), json!(5));
    assert!(scope().value(&parse("outputs.lint.n | upcase").unwrap()).is_err());
    assert!(scope().value(&parse("outputs.long").unwrap()).unwrap_err().0.contains("too long"));
}

#[test]
fn only_a_whole_output_is_json() {
    assert_eq!(output_value("log\n{\"issues\": []}\n"), json!("log\n{\"issues\": []}"));
    assert_eq!(output_value("{\"a\": 1} trailing"), json!("{\"a\": 1} trailing"));
    assert_eq!(output_value("42\n"), json!("42"));
}
