//! A report in the format that every CI system reads.

use polder::{Status, StepResult};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The report; `tails` holds the end of each step's output.
pub(super) fn report(results: &[StepResult], tails: BTreeMap<usize, String>) -> String {
    let count = |wanted: fn(&Status) -> bool| results.iter().filter(|result| wanted(&result.status)).count();
    let failures = count(|status| matches!(status, Status::Failed(_) | Status::TimedOut | Status::Limit(_)));
    let errors = count(|status| matches!(status, Status::Broken(_) | Status::Interrupted(_)));
    let skipped = count(|status| matches!(status, Status::Skipped(_)));
    let time: f64 = results.iter().map(|result| result.took.as_secs_f64()).sum();
    let numbers = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{time:.3}\"",
        results.len()
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {numbers}>\n  <testsuite name=\"polder steps\" {numbers}>\n"
    );
    for (place, result) in results.iter().enumerate() {
        let _ = writeln!(
            text,
            "    <testcase name=\"{}\" classname=\"steps\" time=\"{:.3}\">",
            escaped(&result.name),
            result.took.as_secs_f64()
        );
        let (name, detail) = (result.status.name(), escaped(&result.status.detail()));
        let _ = match &result.status {
            Status::Passed => Ok(()),
            Status::Failed(_) | Status::TimedOut | Status::Limit(_) => {
                writeln!(text, "      <failure type=\"{name}\" message=\"{detail}\"/>")
            }
            Status::Broken(_) | Status::Interrupted(_) => {
                writeln!(text, "      <error type=\"{name}\" message=\"{detail}\"/>")
            }
            Status::Skipped(_) => writeln!(text, "      <skipped message=\"{detail}\"/>"),
        };
        if let Some(output) = tails.get(&place).filter(|output| !output.is_empty()) {
            let _ = writeln!(text, "      <system-out>{}</system-out>", escaped(output));
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Text for an attribute or an element; what XML cannot hold becomes a mark.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\t' | '\n' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests;
