//! The table at the end, for people.

use polder::StepResult;
use std::time::Duration;

/// A time as people say it.
pub(super) fn seconds(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 60.. => format!("{}m{:02}s", seconds / 60, seconds % 60),
        0 if span.subsec_millis() > 0 => format!("{}ms", span.subsec_millis()),
        _ if span.subsec_millis() == 0 => format!("{}s", span.as_secs()),
        _ => format!("{}.{}s", span.as_secs(), span.subsec_millis() / 100),
    }
}

/// How a step ended, in one line.
pub(super) fn ending(result: &StepResult) -> String {
    let detail = result.status.detail();
    let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
    let took = if result.engine.is_some() { format!(" ({})", seconds(result.took)) } else { String::new() };
    format!("{}{detail}{took}", result.status.name())
}

/// Every step in its line, and how many of what there are.
pub(super) fn table(results: &[StepResult]) -> Vec<String> {
    let head = ["STEP", "RESULT", "TIME", "ENGINE", "WHY"].map(str::to_owned);
    let row = |result: &StepResult| {
        let ran = result.engine.is_some();
        // Only the first line of a long reason: the rest stands where the step was told.
        let why = result.status.detail().lines().next().unwrap_or_default().to_owned();
        [
            result.name.clone(),
            result.status.name().to_owned(),
            if ran { seconds(result.took) } else { "-".to_owned() },
            result.engine.clone().unwrap_or_else(|| "-".to_owned()),
            why,
        ]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(results.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).chain([counts(results)]).collect()
}

/// `3 steps: 1 passed, 2 skipped`.
pub(super) fn counts(results: &[StepResult]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for result in results {
        let name = result.status.name();
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words: Vec<_> = counts.into_iter().map(|(name, count)| format!("{count} {name}")).collect();
    let noun = if results.len() == 1 { "step" } else { "steps" };
    format!("{} {noun}: {}", results.len(), words.join(", "))
}

#[cfg(test)]
mod tests;
