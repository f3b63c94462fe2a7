//! Steps for people: the first step that has not been told is live, the others wait for their turn, so that the same
//! steps print in the same order every time.

use super::github;
use super::kept::Kept;
use super::lines::Lines;
use super::summary;
use crate::exit::on_one_line;
use crate::render::{progress, text};
use polder::{Event, EventKind, Output, StepEvent, StepResult, Violation};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// What is kept of a step that waits to be shown.
const WAITING_BYTES_MAX: usize = 8 * 1024 * 1024;
/// What is kept of a step's end for a report.
const TAIL_BYTES_MAX: usize = 64 * 1024;
/// Lines that are printed about what was blocked, for each step.
const VIOLATION_LINES_MAX: usize = 5;

pub(super) struct Show {
    names: Vec<String>,
    lines: Lines,
    /// The step that is live.
    at: usize,
    /// Whether its heading was printed.
    headed: bool,
    waiting: BTreeMap<usize, Kept>,
    ended: BTreeMap<usize, StepResult>,
    violations: BTreeMap<usize, Vec<Violation>>,
    running: BTreeMap<usize, (Instant, String)>,
    /// What is made ready for a step before its command.
    preparing: BTreeMap<usize, String>,
    tails: BTreeMap<usize, Kept>,
    keeps_tails: bool,
    done: usize,
}

impl Show {
    pub(super) fn new(names: Vec<String>, json: bool, keeps_tails: bool) -> Self {
        Self {
            names,
            lines: Lines::new(!json && github::is_here()),
            at: 0,
            headed: false,
            waiting: BTreeMap::new(),
            ended: BTreeMap::new(),
            violations: BTreeMap::new(),
            running: BTreeMap::new(),
            preparing: BTreeMap::new(),
            tails: BTreeMap::new(),
            keeps_tails,
            done: 0,
        }
    }

    /// The end of each step's output, where a report wants it.
    pub(super) fn tails(&mut self) -> BTreeMap<usize, String> {
        let text = |kept: &mut Kept| {
            let bytes: Vec<u8> = kept.take().into_iter().flat_map(|(_, bytes)| bytes).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        self.tails.iter_mut().map(|(place, kept)| (*place, text(kept))).collect()
    }

    pub(super) fn keep(&mut self, event: &StepEvent<'_>) {
        if let StepEvent::Run(place, Event { kind: EventKind::Output(stream, bytes), .. }) = event
            && self.keeps_tails
        {
            self.tails.entry(*place).or_insert_with(|| Kept::new(TAIL_BYTES_MAX)).push(*stream, bytes);
        }
    }

    pub(super) fn tell(&mut self, event: &StepEvent<'_>) -> io::Result<()> {
        match event {
            StepEvent::Started(place) => {
                self.running.insert(*place, (Instant::now(), String::new()));
                Ok(())
            }
            StepEvent::Run(place, event) => self.run_event(*place, event),
            StepEvent::Ended(place, result) => {
                self.running.remove(place);
                self.preparing.remove(place);
                self.done += 1;
                self.ended.insert(*place, (*result).clone());
                self.advance()
            }
            StepEvent::Warning(text) => {
                let line = format!("polder: warning: {}\n", on_one_line(text));
                self.lines.output(Output::Stderr, line.as_bytes())
            }
            StepEvent::Tick => {
                let status = self.status();
                self.lines.status(&status)
            }
        }
    }

    fn run_event(&mut self, place: usize, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Starting { engine, .. } => {
                if let Some((_, known)) = self.running.get_mut(&place) {
                    known.clone_from(engine);
                }
                if place == self.at { self.heading(engine) } else { Ok(()) }
            }
            EventKind::Output(stream, bytes) if place == self.at => self.lines.output(*stream, bytes),
            EventKind::Output(stream, bytes) => {
                self.waiting.entry(place).or_insert_with(|| Kept::new(WAITING_BYTES_MAX)).push(*stream, bytes);
                Ok(())
            }
            EventKind::Violation(violation) => {
                self.violations.entry(place).or_default().push(violation.clone());
                Ok(())
            }
            EventKind::Downgrade { guarantee, reason } => self.note(place, &format!("without `{guarantee}`: {reason}")),
            EventKind::Changes { workspace, changed, kept } => {
                let line = text::changes(Some(workspace)).filter(|_| *changed && *kept);
                line.map_or(Ok(()), |line| self.note(place, &line))
            }
            EventKind::Progress(progress) => {
                if progress.done {
                    self.preparing.remove(&place);
                } else {
                    self.preparing.insert(place, progress::line(progress));
                }
                Ok(())
            }
            EventKind::Warning(text) => self.note(place, &format!("warning: {text}")),
            EventKind::Exit(_) => {
                self.preparing.remove(&place);
                Ok(())
            }
            EventKind::Ready | EventKind::Limit(_) | EventKind::Stopped => Ok(()),
        }
    }

    /// A line of polder's own in the middle of a step.
    fn note(&mut self, place: usize, text: &str) -> io::Result<()> {
        let line = format!("polder: {}\n", on_one_line(text));
        if place == self.at {
            return self.lines.output(Output::Stderr, line.as_bytes());
        }
        let kept = self.waiting.entry(place).or_insert_with(|| Kept::new(WAITING_BYTES_MAX));
        kept.push(Output::Stderr, line.as_bytes());
        Ok(())
    }

    fn heading(&mut self, engine: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.headed, true) {
            return Ok(());
        }
        let name = &self.names[self.at];
        self.lines.begin(&format!("{name} ({engine})"))
    }

    /// Tells everybody whose turn it is: those that have ended in full, the next one as far as it is.
    fn advance(&mut self) -> io::Result<()> {
        while let Some(result) = self.ended.remove(&self.at) {
            let place = self.at;
            // Who never ran has no output, and one line is enough.
            if let Some(engine) = &result.engine {
                self.heading(engine)?;
                self.flush_waiting()?;
            }
            let blocked = self.violations.remove(&place).unwrap_or_default();
            for line in text::violations(&blocked, &text::home(), VIOLATION_LINES_MAX) {
                self.lines.say(&line)?;
            }
            self.lines.end(&result)?;
            if !result.status.passed() {
                self.lines.annotate(&result)?;
            }
            self.at += 1;
            self.headed = false;
        }
        let engine = self.running.get(&self.at).map(|(_, engine)| engine.clone()).filter(|engine| !engine.is_empty());
        if let Some(engine) = engine {
            self.heading(&engine)?;
            self.flush_waiting()?;
        }
        Ok(())
    }

    fn flush_waiting(&mut self) -> io::Result<()> {
        let parts = self.waiting.remove(&self.at).map(|mut kept| kept.take()).unwrap_or_default();
        parts.iter().try_for_each(|(stream, bytes)| self.lines.output(*stream, bytes))
    }

    /// What runs, for how long, and where.
    fn status(&self) -> String {
        let running = self.running.iter().map(|(place, (since, engine))| {
            let engine = if engine.is_empty() { String::new() } else { format!(" {engine}") };
            let preparing = self.preparing.get(place).map(|line| format!(" ({line})")).unwrap_or_default();
            format!("{} {}{engine}{preparing}", self.names[*place], summary::seconds(floor(since.elapsed())))
        });
        let running: Vec<String> = running.collect();
        format!("[{}/{}] {}", self.done, self.names.len(), running.join(" · "))
    }

    pub(super) fn end(&mut self, results: &[StepResult]) -> io::Result<()> {
        self.lines.table(results)
    }
}

/// Whole seconds: a line that changes twenty times a second is nobody's friend.
const fn floor(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs())
}
