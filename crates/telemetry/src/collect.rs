//! Listening to `tracing`: spans with target `polder::sandbox` that have a `name`, and what is said while they are open.

use crate::encode::{Event, Span, Value};
use crate::parent::{self, Parent, random};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

/// What is listened to.
const TARGET: &str = "polder::sandbox";
/// Events of one span, and spans of one call.
const EVENTS_MAX: usize = 1000;
const SPANS_MAX: usize = 10_000;

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Spans that are open, and those that have ended.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    open: BTreeMap<u64, (Span, usize)>,
    pub(crate) ended: Vec<Span>,
}

/// Who listens.
pub(crate) struct Collector {
    pub(crate) spans: Arc<Mutex<Spans>>,
    parent: Parent,
    sent: Sent,
    next: AtomicU64,
}

/// Whether anybody will ever find the spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// They are only counted.
    No,
}

impl Collector {
    pub(crate) fn new(parent: Parent, sent: Sent) -> Self {
        Self { spans: Arc::default(), parent, sent, next: AtomicU64::new(1) }
    }

    /// A span that is open, as what runs below it names it.
    pub(crate) fn traceparent(&self, id: &Id) -> Option<String> {
        self.with(|spans| {
            let (span, _) = spans.open.get(&id.into_u64())?;
            // Without random bytes it has no name, and nobody can be below it.
            (self.sent == Sent::Yes && span.id != [0; 8]).then(|| parent::written(span.trace, span.id))
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Spans) -> T) -> T {
        act(&mut self.spans.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let prefix = fields.take("prefix").unwrap_or_else(|| "polder".to_owned());
        let name = fields.take("name").unwrap_or_else(|| attributes.metadata().name().to_owned());
        let now = SystemTime::now();
        let span = Span {
            trace: self.parent.trace,
            // Without random bytes there is no name for it; a collector drops such a span, and the run goes on.
            id: random().unwrap_or_default(),
            parent: self.parent.span,
            name: format!("{prefix}.sandbox.{name}"),
            start: now,
            end: now,
            attributes: fields.named(&prefix),
            events: Vec::new(),
            failed: false,
        };
        self.with(|spans| spans.open.insert(number, (span, 1)));
        Id::from_u64(number)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.with(|spans| {
            if let Some((span, _)) = spans.open.get_mut(&id.into_u64()) {
                let prefix = prefix_of(span);
                span.failed |= fields.0.iter().any(|(name, value)| is_failure(name, value));
                span.attributes.extend(fields.named(&prefix));
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let Some(number) = ENTERED.with_borrow(|entered| entered.last().copied()) else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = fields.take("message").unwrap_or_else(|| event.metadata().name().to_owned());
        self.with(|spans| {
            if let Some((span, _)) = spans.open.get_mut(&number)
                && span.events.len() < EVENTS_MAX
            {
                let prefix = prefix_of(span);
                let (time, name) = (SystemTime::now(), format!("{prefix}.sandbox.{name}"));
                span.events.push(Event { time, name, attributes: fields.named(&prefix) });
            }
        });
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(place) = entered.iter().rposition(|entered| *entered == id.into_u64()) {
                entered.remove(place);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.with(|spans| {
            if let Some((_, holders)) = spans.open.get_mut(&id.into_u64()) {
                *holders += 1;
            }
        });
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        self.with(|spans| {
            let number = id.into_u64();
            let Some((_, holders)) = spans.open.get_mut(&number) else { return false };
            *holders -= 1;
            if *holders > 0 {
                return false;
            }
            if let Some((mut span, _)) = spans.open.remove(&number)
                && spans.ended.len() < SPANS_MAX
            {
                span.end = SystemTime::now();
                spans.ended.push(span);
            }
            true
        })
    }
}

/// Whether this says that a run failed: its command did, or it never came to a code.
fn is_failure(name: &str, value: &Value) -> bool {
    match name {
        "exit_code" => *value != Value::Number(0),
        "error" => *value == Value::Flag(true),
        _ => false,
    }
}

/// The word in front of the names of a span.
fn prefix_of(span: &Span) -> String {
    span.name.split('.').next().unwrap_or_default().to_owned()
}

/// The fields of a span or an event, in order.
#[derive(Default)]
struct Fields(Vec<(String, Value)>);

impl Fields {
    /// Takes a text out.
    fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        match self.0.remove(place).1 {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Flag(_) => None,
        }
    }

    /// The rest, as attributes.
    fn named(self, prefix: &str) -> Vec<(String, Value)> {
        let named = |(name, value): (String, Value)| {
            // A sandbox's own name is called so by the seed.
            let name = if name == "sandbox" { "name".to_owned() } else { name };
            (format!("{prefix}.sandbox.{name}"), value)
        };
        self.0.into_iter().map(named).collect()
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name().to_owned(), Value::Number(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name().to_owned(), Value::Flag(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name().to_owned(), Value::Text(value.to_owned())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name().to_owned(), Value::Text(format!("{value:?}"))));
    }
}

#[cfg(test)]
mod tests;
