//! The trace that polder was called in, from `TRACEPARENT`, or a new one.

use std::io::Read;

/// A trace, and the span of whoever called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: Option<[u8; 8]>,
}

impl Parent {
    /// The caller's, if the text is one; else a new trace.
    pub(crate) fn of(text: Option<&str>) -> std::io::Result<Self> {
        match text.and_then(read) {
            Some(parent) => Ok(parent),
            None => Ok(Self { trace: random()?, span: None }),
        }
    }
}

/// Bytes that nobody else has.
pub(crate) fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// `00-TRACE-SPAN-FLAGS`.
fn read(text: &str) -> Option<Parent> {
    let parts: Vec<&str> = text.split('-').collect();
    let ["00", trace, span, _] = parts[..] else { return None };
    let (trace, span) = (digits(trace)?, digits(span)?);
    (trace != [0; 16] && span != [0; 8]).then_some(Parent { trace, span: Some(span) })
}

/// The same for a span of ours, which is sent.
pub(crate) fn written(trace: [u8; 16], span: [u8; 8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("00-{}-{}-01", hex(&trace), hex(&span))
}

fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let plain = text.len() == 2 * N && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2).filter(|_| plain)?, 16).ok()?;
    }
    Some(bytes)
}
