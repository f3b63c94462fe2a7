use super::*;
use polder::Status;
use std::time::Duration;

fn broken(why: &str) -> StepResult {
    let status = Status::Broken(why.to_owned());
    StepResult { name: "a,b:c".to_owned(), status, engine: None, outcome: None, took: Duration::ZERO }
}

#[test]
fn words_of_others_are_no_commands() {
    assert_eq!(harmless("a\n  ::set-env name=x::y\n##[error]x"), "a\n|  ::set-env name=x::y\n## [error]x");
    let line = annotation(&broken("100%\n::error::x"));
    assert_eq!(line, "::error title=step a%2Cb%3Ac broken::100%25%0A::error::x");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn a_cell_stays_a_cell() {
    let text = markdown(&[broken("a | b\n<img src=x> `c` [l](u) @team")]);
    let row = text.lines().nth(4).unwrap();
    assert_eq!(row, "| a,b:c | broken |  |  | a \\| b &lt;img src=x&gt; \\`c\\` \\[l\\](u) \\@team |");
}

#[test]
fn tokens_differ() {
    assert_ne!(token().unwrap(), token().unwrap());
    assert_eq!(token().unwrap().len(), 32);
}
