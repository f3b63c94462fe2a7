//! What is told of a run beside what happens in it: that it is not recorded although it should be.

use polder_facts::{Event, EventKind, RunId};
use std::time::SystemTime;

/// Adds warnings to the events of one run, each with a place in their order.
#[derive(Debug)]
pub(crate) struct Warnings {
    /// What was known before the run had a name.
    first: Option<String>,
    added: u64,
    last: Option<(RunId, u64)>,
}

impl Warnings {
    pub(crate) const fn new(first: Option<String>) -> Self {
        Self { first, added: 0, last: None }
    }

    /// This event, and what had to be said as soon as there was one.
    pub(crate) fn pass(&mut self, mut event: Event) -> impl Iterator<Item = Event> + use<> {
        event.seq += self.added;
        self.last = Some((event.run.clone(), event.seq));
        let warning = self.first.take().and_then(|text| self.warning(text));
        std::iter::once(event).chain(warning)
    }

    /// What is said now; nothing where the run never had a name.
    pub(crate) fn warning(&mut self, text: String) -> Option<Event> {
        let (run, seq) = self.last.as_mut()?;
        *seq += 1;
        self.added += 1;
        Some(Event { run: run.clone(), seq: *seq, time: SystemTime::now(), kind: EventKind::Warning(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> Event {
        Event { run: RunId("r".to_owned()), seq, time: SystemTime::now(), kind: EventKind::Ready }
    }

    #[test]
    fn warnings_leave_no_hole_in_the_order() {
        let mut warnings = Warnings::new(Some("early".to_owned()));
        assert!(warnings.warning("nobody's".to_owned()).is_none());
        let mut told: Vec<Event> = warnings.pass(event(1)).collect();
        told.extend(warnings.pass(event(2)));
        told.extend(warnings.warning("late".to_owned()));
        let seqs: Vec<u64> = told.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, [1, 2, 3, 4]);
        assert_eq!(told[1].kind, EventKind::Warning("early".to_owned()));
        assert_eq!(told[3].kind, EventKind::Warning("late".to_owned()));
        let silent = &mut Warnings::new(None);
        assert_eq!(silent.pass(event(7)).map(|event| event.seq).collect::<Vec<_>>(), [7]);
    }
}
