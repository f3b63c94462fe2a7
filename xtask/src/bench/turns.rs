//! Work measured turn by turn: workers that do one unit of their work whenever they are asked to.
//!
//! A machine that others share changes its speed several times a second. A unit takes milliseconds, and the same unit by the other
//! workers comes soon before or after it, so that most of a change meets all. Workers are made anew for every round:
//! two processes that do the same differ by some hundredths for as long as they live. Neither their start nor their end is measured.

use super::table::Case;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// Turns that the workers of a round take.
pub(super) const TURNS: usize = 10;

/// A process that reads a line, does a unit of its work and answers with a line, until its input ends.
struct Worker<'a> {
    name: &'a str,
    child: Child,
    /// Closed, it is the worker's end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl<'a> Worker<'a> {
    fn start(case: &'a Case) -> Result<Self, String> {
        let mut command = case.call();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| format!("{}: {error}", case.name))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err(format!("{} has no pipes", case.name)) };
        Ok(Self { name: &case.name, child, input: Some(input), output: BufReader::new(output) })
    }

    /// One unit, and how long it took.
    fn turn(&mut self) -> Result<Duration, String> {
        let fault = |error: std::io::Error| format!("{}: {error}", self.name);
        let mut answer = String::new();
        let begin = Instant::now();
        self.input.as_mut().ok_or("it has ended")?.write_all(b"\n").map_err(fault)?;
        self.output.read_line(&mut answer).map_err(fault)?;
        let time = begin.elapsed();
        if answer == "done\n" { Ok(time) } else { Err(format!("{} answered `{}`", self.name, answer.trim())) }
    }

    fn end(mut self) -> Result<(), String> {
        drop(self.input.take());
        let status = self.child.wait().map_err(|error| format!("{}: {error}", self.name))?;
        if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", self.name)) }
    }
}

impl Drop for Worker<'_> {
    /// What another one's failure leaves behind: one that was waited for is not ended twice.
    fn drop(&mut self) {
        if self.input.take().is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The times of every case, in the same order for all. Every second turn begins with another case, and the one after it goes
/// backwards, so that none always follows the same.
pub(super) fn turns(cases: &[Case], rounds: usize) -> Result<Vec<Vec<Duration>>, String> {
    let mut times = vec![Vec::with_capacity(rounds * TURNS); cases.len()];
    for _ in 0..rounds {
        let mut workers = cases.iter().map(Worker::start).collect::<Result<Vec<_>, _>>()?;
        // The first unit warms the caches and is not counted.
        for worker in &mut workers {
            worker.turn()?;
        }
        for turn in 0..TURNS {
            for place in 0..cases.len() {
                let place = if turn % 2 == 0 { place } else { cases.len() - 1 - place };
                let number = (place + turn / 2) % cases.len();
                times[number].push(workers[number].turn()?);
            }
        }
        for worker in workers {
            worker.end()?;
        }
    }
    Ok(times)
}
