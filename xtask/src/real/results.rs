//! What a suite printed, as one result for each test.

use std::collections::BTreeMap;

/// How a suite tells its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `ok 1 - name`, the Test Anything Protocol.
    Tap,
    /// `<testcase name="…">` of JUnit's reports.
    Junit,
    /// The same, or what Python's unittest prints with `-v`.
    Regrtest,
    /// `test name ... ok` of Rust's own tests.
    Libtest,
}

/// How one test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    Failed,
    Skipped,
}

pub(super) type Results = BTreeMap<String, Ended>;

/// The results in a text. Of several tests with one name the worst counts.
pub(super) fn read(format: Format, piece: &str, text: &str) -> Results {
    let found: Vec<(String, Ended)> = match format {
        Format::Tap => text.lines().filter_map(tap).collect(),
        Format::Libtest => text.lines().filter_map(libtest).collect(),
        Format::Regrtest if !text.contains("<testcase ") => unittest(text),
        Format::Junit | Format::Regrtest => text.split("<testcase ").skip(1).filter_map(junit).collect(),
    };
    let mut results = Results::new();
    for (name, ended) in found {
        let place = results.entry(format!("{piece} {name}")).or_insert(ended);
        if ended == Ended::Failed || *place == Ended::Passed {
            *place = ended;
        }
    }
    results
}

fn tap(line: &str) -> Option<(String, Ended)> {
    let (ended, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (Ended::Failed, rest),
        None => (Ended::Passed, line.strip_prefix("ok ")?),
    };
    let (name, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    name.chars().next().filter(char::is_ascii_digit)?;
    let (word, why) = directive.split_once([' ', ':']).unwrap_or((directive, ""));
    match word.to_lowercase().as_str() {
        // `ok 3 # skip its name (missing PREREQUISITE)`
        "skip" => Some((format!("{name} - {}", why.split(" (missing").next()?), Ended::Skipped)),
        // A test that is known to fail does so everywhere.
        "todo" => Some((name.to_owned(), Ended::Skipped)),
        _ => Some((name.to_owned(), ended)),
    }
}

fn libtest(line: &str) -> Option<(String, Ended)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let ended = match result.split([' ', ',']).next()? {
        "ok" => Ended::Passed,
        "ignored" => Ended::Skipped,
        _ => Ended::Failed,
    };
    Some((name.to_owned(), ended))
}

/// `name (module.Class.name) ... ok`; the end of the line may be elsewhere when the test prints something, so that a test
/// counts as passed unless it is said to be something else.
fn unittest(text: &str) -> Vec<(String, Ended)> {
    let id = |line: &str| {
        let (name, rest) = line.split_once(" (")?;
        let id = rest.split(')').next()?;
        (id.ends_with(&format!(".{name}"))).then(|| id.to_owned())
    };
    let ended = |line: &str| {
        let bad = line.strip_prefix("ERROR: ").or_else(|| line.strip_prefix("FAIL: "));
        match bad {
            Some(rest) => Some((id(rest)?, Ended::Failed)),
            None if line.contains(" ... skipped ") => Some((id(line)?, Ended::Skipped)),
            None => Some((id(line)?, Ended::Passed)),
        }
    };
    text.lines().filter_map(ended).collect()
}

/// What follows `<testcase `, up to the next one.
fn junit(text: &str) -> Option<(String, Ended)> {
    let (head, body) = text.split_once('>')?;
    let value = |key: &str| {
        let (_, rest) = head.split_once(&format!("{key}=\""))?;
        rest.split('"').next()
    };
    let class = value("classname").map(|class| format!("{class} ")).unwrap_or_default();
    let name = format!("{class}{}", value(" name").or_else(|| head.strip_prefix("name=\"")?.split('"').next())?);
    let body = if head.ends_with('/') { "" } else { body.split("</testcase>").next()? };
    let ended = if body.contains("<failure") || body.contains("<error") {
        Ended::Failed
    } else if body.contains("<skipped") {
        Ended::Skipped
    } else {
        Ended::Passed
    };
    Some((name, ended))
}

pub(super) fn passed(results: &Results) -> usize {
    results.values().filter(|ended| **ended == Ended::Passed).count()
}

/// Tests that passed outside and did not pass inside.
pub(super) fn inside_only(outside: &Results, inside: &Results) -> Vec<(String, &'static str)> {
    let good = outside.iter().filter(|(_, ended)| **ended == Ended::Passed);
    let worse = good.filter_map(|(test, _)| match inside.get(test) {
        Some(Ended::Passed) => None,
        Some(Ended::Failed) => Some((test.clone(), "failed")),
        Some(Ended::Skipped) => Some((test.clone(), "skipped")),
        None => Some((test.clone(), "not run")),
    });
    worse.collect()
}

/// Whether a page names a test of a suite, in a table whose first cells are the suite and the test. A `*` stands for
/// any text.
pub(super) fn is_explained(page: &str, suite: &str, test: &str) -> bool {
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(|cell| cell.trim().trim_matches('`'));
        Some((cells.next()?, cells.next()?, cells.next()?))
    });
    rows.into_iter().any(|(of, named, reason)| of == suite && !reason.is_empty() && fits(test, named))
}

/// Whether a name is what a pattern means, in which `*` stands for any text.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((beginning, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(beginning) else { return false };
    name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(&name[at..], rest))
}

#[cfg(test)]
mod tests {
    use super::{Ended, Format, inside_only, is_explained, read};

    fn told(format: Format, text: &str) -> String {
        let results = read(format, "p", text);
        results.iter().map(|(name, ended)| format!("{name}: {ended:?}\n")).collect()
    }

    #[test]
    fn tap_is_read_with_its_directives() {
        let text = "ok 1 - one\nnot ok 2 - two\nok 3 # skip three (missing X)\nnot ok 4 - four # TODO known breakage\n# passed\nok\n1..4\n";
        assert_eq!(
            told(Format::Tap, text),
            "p 1 - one: Passed\np 2 - two: Failed\np 3 - three: Skipped\np 4 - four: Skipped\n"
        );
    }

    #[test]
    fn junit_is_read_with_and_without_classes() {
        let text = r#"<s><testcase classname="C" name="a" time="0"/><testcase name="b"><failure>x</failure></testcase>
            <testcase name="c" t="0"><skipped/></testcase><testcase classname="C" name="a"><error/></testcase></s>"#;
        assert_eq!(told(Format::Junit, text), "p C a: Failed\np b: Failed\np c: Skipped\n");
    }

    #[test]
    fn unittest_is_read_where_there_is_no_report() {
        let text = "test_a (m.C.test_a) ... ok\ntest_b (m.C.test_b)\nWhat it does ... ERROR\ntest_c (m.C.test_c) ... skipped 'x'\n\
                    ERROR: test_b (m.C.test_b)\nnoise (of another kind)\n";
        let read = "p m.C.test_a: Passed\np m.C.test_b: Failed\np m.C.test_c: Skipped\n";
        assert_eq!(told(Format::Regrtest, text), read);
        assert_eq!(told(Format::Regrtest, "<testcase name=\"m.C.test_a\"/>"), "p m.C.test_a: Passed\n");
    }

    #[test]
    fn libtest_is_read_by_line() {
        let text =
            "running 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ignored\ntest result: FAILED. 1 passed\n";
        assert_eq!(told(Format::Libtest, text), "p a::b: Passed\np c: Failed\np d: Skipped\n");
    }

    #[test]
    fn tests_worse_inside_are_listed_and_looked_up() {
        let outside = read(Format::Tap, "p", "ok 1 - a\nok 2 - b\nok 3 - c\nnot ok 4 - d\nok 5 - e\n");
        let inside = read(Format::Tap, "p", "ok 1 - a\nnot ok 2 - b\nnot ok 4 - d\nok 5 # SKIP e\n");
        let only: Vec<_> = inside_only(&outside, &inside);
        assert_eq!(
            only.iter().map(|(test, how)| (test.as_str(), *how)).collect::<Vec<_>>(),
            [("p 2 - b", "failed"), ("p 3 - c", "not run"), ("p 5 - e", "skipped")]
        );
        let page =
            "| suite | test | reason |\n| git | `p 2 - b` | because |\n| git | `p 3*` | |\n| git | `p 5*` | x |\n";
        assert!(is_explained(page, "git", "p 2 - b") && is_explained(page, "git", "p 5 - e"));
        assert!(!is_explained(page, "git", "p 3 - c") && !is_explained(page, "python", "p 2 - b"));
        assert!(
            is_explained("| git | `p *b` | x |", "git", "p 2 - b")
                && !is_explained("| git | `p *b` | x |", "git", "p 2 - bc")
        );
        assert_eq!(outside.get("p 4 - d"), Some(&Ended::Failed));
    }
}
