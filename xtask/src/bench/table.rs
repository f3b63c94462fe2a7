//! Rounds, medians and the table that shows them.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One thing that is measured.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) command: Vec<String>,
}

/// Runs every case once per round, in turn, and gives each case's times, sorted.
pub(super) fn interleaved(cases: &[Case], rounds: usize, prepare: &dyn Fn()) -> Result<Vec<Vec<Duration>>, String> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    // The first rounds warm the caches and are not counted.
    for round in 0..rounds + 2 {
        for (case, times) in cases.iter().zip(&mut times) {
            prepare();
            let mut command = Command::new(&case.command[0]);
            command.args(&case.command[1..]).stdin(Stdio::null()).stdout(Stdio::null());
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
