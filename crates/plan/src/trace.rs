//! W3C trace context: what runs inside belongs to the trace of whoever called.
//!
//! Only a well-formed context enters: it is the one thing that passes without being on a list, so it must not be able to
//! carry anything else.

use polder_policy::EnvRules;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// The longest list of vendors that enters; the specification asks for at least this much.
const STATE_BYTES_MAX: usize = 512;

/// By what a command learns of the span that it runs below.
pub const TRACEPARENT: &str = "TRACEPARENT";

/// Whether a policy leaves it to polder which trace its command belongs to.
pub fn carries_trace(rules: &EnvRules) -> bool {
    !speaks_of(rules, TRACEPARENT)
}

fn speaks_of(rules: &EnvRules, name: &str) -> bool {
    let taken_away = rules.pass.iter().any(|pattern| pattern.value.negated && pattern.value.glob == name);
    taken_away || rules.set.iter().any(|set| set.value.0 == name)
}

/// The variables of the caller's trace, unless the policy speaks about them itself.
pub(crate) fn context(rules: &EnvRules, host: &BTreeMap<OsString, OsString>) -> Vec<(OsString, OsString)> {
    let spoken = |name: &str| speaks_of(rules, name);
    let text = |name: &str| host.get(&OsString::from(name)).and_then(|value| value.to_str());
    let Some(parent) = text(TRACEPARENT).filter(|parent| is_parent(parent) && !spoken(TRACEPARENT)) else {
        return Vec::new();
    };
    let mut context = vec![(TRACEPARENT.into(), parent.into())];
    let is_state =
        |state: &&str| state.len() <= STATE_BYTES_MAX && state.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if let Some(state) = text("TRACESTATE").filter(is_state).filter(|_| !spoken("TRACESTATE")) {
        context.push(("TRACESTATE".into(), state.into()));
    }
    context
}

/// `00-TRACE-SPAN-FLAGS` in small hexadecimal digits, neither trace nor span all zero.
fn is_parent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let some = |part: &str| part.bytes().any(|byte| byte != b'0');
    match parts[..] {
        ["00", trace, span, flags] => {
            digits(trace, 32) && some(trace) && digits(span, 16) && some(span) && digits(flags, 2)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_context_is_a_context() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        assert!(is_parent(&format!("00-{trace}-{span}-01")));
        for wrong in [
            String::new(),
            format!("01-{trace}-{span}-01"),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-x"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{trace}-{span}-0\n"),
        ] {
            assert!(!is_parent(&wrong), "{wrong}");
        }
    }
}
