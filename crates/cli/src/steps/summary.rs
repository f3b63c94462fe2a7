//! The table at the end, for people.

use crate::exit::on_one_line;
use crate::render::paint::{Paint, Tone};
use polder::{Status, StepResult};
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

/// How a step ended, without its status: why, and after how long.
pub(super) fn ending(result: &StepResult) -> String {
    let detail = result.status.detail();
    let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
    let took = if result.engine.is_some() { format!(" ({})", seconds(result.took)) } else { String::new() };
    format!("{detail}{took}")
}

/// The word for a status, in its colour.
pub(super) fn painted(status: &Status, columns: usize, paint: Paint) -> String {
    let tone = match status {
        Status::Passed => Tone::Good,
        Status::Skipped(_) | Status::Interrupted(_) => Tone::Doubtful,
        Status::Failed(_) | Status::TimedOut | Status::Limit(_) | Status::Broken(_) => Tone::Bad,
    };
    let (word, padding) = (status.name(), columns.saturating_sub(status.name().len()));
    format!("{}{:padding$}", paint.wrap(tone, word), "")
}

/// The column of the table that has a colour.
const RESULT: usize = 1;

/// Every step in its line, and how many of what there are.
pub(super) fn table(results: &[StepResult], paint: Paint) -> Vec<String> {
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
    let statuses = std::iter::once(None).chain(results.iter().map(|result| Some(&result.status)));
    let line = |(row, status): (&[String; 5], Option<&Status>)| {
        let mut cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        // Names and reasons are words of others.
        cells.iter_mut().for_each(|cell| *cell = on_one_line(cell));
        if let Some(status) = status {
            cells[RESULT] = painted(status, widths[RESULT], paint);
        }
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().zip(statuses).map(line).chain([counts(results)]).collect()
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
