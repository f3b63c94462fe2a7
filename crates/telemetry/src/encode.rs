//! Spans as OTLP has them: `ExportTraceServiceRequest` of opentelemetry-proto 1, in protobuf. Pure.

use std::time::{SystemTime, UNIX_EPOCH};

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
}

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: String,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    pub(crate) attributes: Vec<(String, Value)>,
    pub(crate) events: Vec<Event>,
    pub(crate) failed: bool,
}

/// Something that happened in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) time: SystemTime,
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, Value)>,
}

/// `SPAN_KIND_INTERNAL`, `STATUS_CODE_OK` and `STATUS_CODE_ERROR`.
const INTERNAL: u64 = 1;
const OK: u64 = 1;
const ERROR: u64 = 2;

/// The body of a request with these spans.
pub(crate) fn request(service: &str, spans: &[Span]) -> Vec<u8> {
    let mut scope_spans = Message::new();
    scope_spans.message(1, Message::new().text(1, "polder").text(2, env!("CARGO_PKG_VERSION")));
    for span in spans {
        scope_spans.message(2, &encoded(span));
    }
    let mut resource = Message::new();
    resource.message(1, &attribute("service.name", &Value::Text(service.to_owned())));
    let mut resource_spans = Message::new();
    resource_spans.message(1, &resource).message(2, &scope_spans);
    Message::new().message(1, &resource_spans).0.clone()
}

fn encoded(span: &Span) -> Message {
    let Span { trace, id, parent, name, start, end, attributes, events, failed } = span;
    let mut message = Message::new();
    message.bytes(1, trace).bytes(2, id);
    if let Some(parent) = parent {
        message.bytes(4, parent);
    }
    message.text(5, name).number(6, INTERNAL).fixed(7, nanos(*start)).fixed(8, nanos(*end));
    for (key, value) in attributes {
        message.message(9, &attribute(key, value));
    }
    for Event { time, name, attributes } in events {
        let mut event = Message::new();
        event.fixed(1, nanos(*time)).text(2, name);
        for (key, value) in attributes {
            event.message(3, &attribute(key, value));
        }
        message.message(11, &event);
    }
    message.message(15, Message::new().number(3, if *failed { ERROR } else { OK }));
    message
}

fn attribute(key: &str, value: &Value) -> Message {
    let mut any = Message::new();
    match value {
        Value::Text(text) => any.text(1, text),
        Value::Flag(flag) => any.number(2, u64::from(*flag)),
        // A negative number is written as the ten bytes of its two's complement.
        Value::Number(number) => any.number(3, number.cast_unsigned()),
    };
    let mut pair = Message::new();
    pair.text(1, key).message(2, &any);
    pair
}

fn nanos(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A message as bytes.
struct Message(Vec<u8>);

impl Message {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number as u8) | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn fixed(&mut self, field: u64, number: u64) -> &mut Self {
        self.varint(field << 3 | 1);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(&mut self, field: u64, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }
}
