use super::*;
use std::path::PathBuf;

#[test]
fn a_fault_is_one_line_that_a_terminal_cannot_obey() {
    let origin = Origin::File { path: PathBuf::from("polder.yaml"), line: 12 };
    let fault = Fault::new(origin, "unknown key `a\n\u{1b}[31m\u{202e}b`").hint("did you mean `b`?");
    let text = fault.to_string();
    assert_eq!(text, "polder.yaml:12: unknown key `a\u{fffd}\u{fffd}[31m\u{fffd}b`; did you mean `b`?");
    assert_eq!(Faults(vec![fault.clone(), fault]).to_string().lines().count(), 2);
}

#[test]
fn only_a_near_word_is_suggested() {
    let known = ["network", "engine", "env"];
    assert_eq!(nearest("netwrok", known).as_deref(), Some("did you mean `network`?"));
    assert_eq!(nearest("Engine", known).as_deref(), Some("did you mean `engine`?"));
    assert_eq!(nearest("colour", known), None);
    assert_eq!(nearest(&"e".repeat(1000), known), None);
}
