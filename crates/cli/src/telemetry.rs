//! Spans for a collector, where the variables of OpenTelemetry name one, and counters in a file, where `POLDER_METRICS_FILE`
//! does. They are a help: a run does not wait for them while it runs, and what keeps them from being told is said and
//! changes no exit code.

use crate::exit::say;
use polder_telemetry::{Destination, Exporter};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The variable that names the file of counters.
const METRICS: &str = "POLDER_METRICS_FILE";

/// Begins to listen; without a variable nothing is looked at but three names.
pub(crate) fn start() -> Option<Exporter> {
    const NAMED: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
    let metrics = std::env::var_os(METRICS).filter(|path| !path.is_empty());
    if metrics.is_none() && NAMED.iter().all(|name| std::env::var_os(name).is_none()) {
        return None;
    }
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let parent = environment.get(&OsString::from("TRACEPARENT")).and_then(|parent| parent.to_str());
    let destination = Destination::from_environment(&environment).unwrap_or_else(|error| {
        say(&format!("no spans are sent: {error}"));
        None
    });
    if destination.is_none() && metrics.is_none() {
        return None;
    }
    let started = Exporter::start(destination, metrics.as_deref().map(Path::new), parent);
    started.inspect_err(|error| say(&format!("nothing is told of this run: {error}"))).ok()
}

/// Tells what there is.
pub(crate) fn finish(exporter: Option<Exporter>) {
    for error in exporter.map(Exporter::finish).unwrap_or_default() {
        say(&untold(&error));
    }
}

fn untold(error: &polder_telemetry::SendError) -> String {
    match error {
        polder_telemetry::SendError::Uncounted(why) => format!("nothing is counted: {why}"),
        other => format!("no spans are sent: {other}"),
    }
}
