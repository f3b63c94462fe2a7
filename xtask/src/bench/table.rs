//! Rounds, medians and the table that shows them.

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One thing that is measured.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// Variables besides our own.
    pub(super) env: Vec<(String, String)>,
}

impl Case {
    pub(super) fn new(name: impl Into<String>, command: Vec<String>) -> Self {
        Self { name: name.into(), command, env: Vec::new() }
    }

    /// The command, without input and with nobody who reads its output.
    pub(super) fn call(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(self.env.iter().cloned()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }
}

/// Runs every case once per round, in turn, and gives each case's times, sorted.
pub(super) fn interleaved(cases: &[Case], rounds: usize, prepare: &dyn Fn()) -> Result<Vec<Vec<Duration>>, String> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    // The first rounds warm the caches and are not counted.
    for round in 0..rounds + 2 {
        for (case, times) in cases.iter().zip(&mut times) {
            prepare();
            let mut command = case.call();
            // What polder says about a run is not worth a thousand lines; a failure is told by its code.
            command.stderr(Stdio::null());
            let begin = Instant::now();
            let status = command.status().map_err(|error| format!("{}: {error}", case.name))?;
            let time = begin.elapsed();
            if !status.success() {
                return Err(format!("{} ended with {status}", case.name));
            }
            if round >= 2 {
                times.push(time);
            }
        }
    }
    for times in &mut times {
        times.sort();
    }
    Ok(times)
}

/// A value of a sorted list by its rank.
pub(super) fn rank(times: &[Duration], share: f64) -> Duration {
    let index = ((times.len() as f64 - 1.0) * share).round() as usize;
    times[index.min(times.len() - 1)]
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Median, 95th percentile and the ratio to the median of the case at `base`, one line per case.
pub(super) fn starts(cases: &[Case], times: &[Vec<Duration>], base: usize) -> String {
    let unit = millis(rank(&times[base], 0.5));
    let mut text = format!("| | median ms | p95 ms | median ÷ {} |\n|---|---|---|---|\n", cases[base].name);
    for (case, times) in cases.iter().zip(times) {
        let (median, p95) = (millis(rank(times, 0.5)), millis(rank(times, 0.95)));
        let _ = writeln!(text, "| {} | {median:.2} | {p95:.2} | {:.2} |", case.name, median / unit);
    }
    text
}
