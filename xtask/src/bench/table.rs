//! Rounds, medians and the table that shows them.

use super::turns::TURNS;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// Runs every case once per round, each round in another order, so that none always follows the same: the kernel is still at
/// work on what the one before has left. Gives each case's times in the order of the rounds. `prepare` is told which case
/// comes.
pub(super) fn interleaved(
    cases: &[Case],
    rounds: usize,
    prepare: &dyn Fn(usize),
) -> Result<Vec<Vec<Duration>>, String> {
    let mut times = vec![Vec::with_capacity(rounds); cases.len()];
    // The first rounds warm the caches and are not counted.
    for round in 0..rounds + 2 {
        for number in shuffled(cases.len(), round) {
            let case = &cases[number];
            prepare(number);
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
                times[number].push(time);
            }
        }
    }
    Ok(times)
}

/// The numbers up to a bound in an order that each round has for itself, and has again when everything is measured again.
fn shuffled(count: usize, round: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_by_cached_key(|number| {
        let mut hasher = DefaultHasher::new();
        (round, number).hash(&mut hasher);
        hasher.finish()
    });
    numbers
}

/// A value by its rank.
pub(super) fn rank(times: &[Duration], share: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    let index = ((sorted.len() as f64 - 1.0) * share).round() as usize;
    sorted[index.min(sorted.len() - 1)]
}

/// What a case takes of what another one takes at the same turn, a machine that is slow for a while being slow for both: the
/// median of each round, and of those the median, and between which values it lies with 95 %, by the ranks that the
/// binomial distribution gives. Rounds do not depend on each other; the turns of one do.
pub(super) fn compared(times: &[Duration], base: &[Duration]) -> String {
    let ratios = times.iter().zip(base).map(|(time, base)| time.as_secs_f64() / base.as_secs_f64());
    let ratios: Vec<f64> = ratios.collect();
    let rounds = sorted(ratios.chunks(TURNS).map(|round| middle(&sorted(round.iter().copied()))));
    let at = |rank: f64| rounds[(rank.round().max(0.0) as usize).min(rounds.len() - 1)];
    let count = rounds.len() as f64;
    let (centre, aside) = ((count - 1.0) / 2.0, 0.98 * count.sqrt());
    format!("{:.2} ({:.2}–{:.2})", middle(&rounds), at(centre - aside), at(centre + aside))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { (sorted[half - 1] + sorted[half]) / 2.0 } else { sorted[half] }
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

#[cfg(test)]
mod tests {
    use super::shuffled;
    use std::collections::BTreeMap;

    #[test]
    fn every_case_follows_every_other_about_as_often() {
        let mut follows = BTreeMap::new();
        for round in 0..300 {
            let order = shuffled(3, round);
            assert!((0..3).all(|number| order.contains(&number)), "{order:?}");
            for pair in order.windows(2) {
                *follows.entry((pair[0], pair[1])).or_insert(0) += 1;
            }
        }
        assert!(follows.len() == 6 && follows.values().all(|times| (70..=130).contains(times)), "{follows:?}");
    }
}
