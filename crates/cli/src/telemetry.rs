//! Spans for a collector, where the variables of OpenTelemetry name one. They are a help: a run does not wait for them
//! while it runs, and what keeps them from being sent is told and changes no exit code.

use crate::exit::say;
use polder_telemetry::{Destination, Exporter};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Begins to listen; without a variable nothing is looked at but two names.
pub(crate) fn start() -> Option<Exporter> {
    const NAMED: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    if NAMED.iter().all(|name| std::env::var_os(name).is_none()) {
        return None;
    }
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let parent = environment.get(&OsString::from("TRACEPARENT")).and_then(|parent| parent.to_str());
    let told = |error: &dyn std::error::Error| say(&format!("no spans are sent: {error}"));
    match Destination::from_environment(&environment) {
        Ok(Some(destination)) => Exporter::start(destination, parent).inspect_err(|error| told(error)).ok(),
        Ok(None) => None,
        Err(error) => {
            told(&error);
            None
        }
    }
}

/// Sends what there is.
pub(crate) fn finish(exporter: Option<Exporter>) {
    if let Some(Err(error)) = exporter.map(Exporter::finish) {
        say(&format!("no spans are sent: {error}"));
    }
}
