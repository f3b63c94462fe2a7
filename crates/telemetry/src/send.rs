//! Telling what was collected, once, when everything has ended.

use crate::collect::{Collector, Sent, Spans};
use crate::destination::Destination;
use crate::encode::{self, Span};
use crate::metrics::{Counters, MetricsError};
use crate::parent::Parent;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use ureq::tls::{RootCerts, TlsConfig};

/// Why spans were not sent. They are a help: what they tell of happened without them.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no trace to belong to.
    #[error("cannot make a name for a trace")]
    Random(#[from] std::io::Error),
    /// Somebody else listens in this process.
    #[error("somebody else listens to what this process says")]
    Taken,
    /// They could not be counted.
    #[error(transparent)]
    Uncounted(#[from] MetricsError),
    /// Nobody vouches for the collector.
    #[error("{0}")]
    Authorities(String),
    /// The collector was not reached.
    #[error("`{address}` was not reached: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// What failed.
        reason: String,
    },
    /// The collector did not take them.
    #[error("`{address}` answered {status}")]
    Refused {
        /// Where.
        address: String,
        /// The status.
        status: u16,
    },
}

/// Listens, and tells what it heard: sends it, counts it, or both.
pub struct Exporter {
    destination: Option<Destination>,
    counters: Option<Counters>,
    spans: Arc<Mutex<Spans>>,
}

/// `TRACEPARENT` for what runs below this span; absent when nobody sends it anywhere.
pub fn traceparent(span: &tracing::Span) -> Option<String> {
    span.with_subscriber(|(id, dispatch)| dispatch.downcast_ref::<Collector>()?.traceparent(id)).flatten()
}

impl Exporter {
    /// Listens from now on, in the trace of the caller where there is one (`TRACEPARENT`). What is heard is sent to the
    /// destination and counted in the file, where there is one.
    pub fn start(
        destination: Option<Destination>,
        metrics: Option<&Path>,
        traceparent: Option<&str>,
    ) -> Result<Self, SendError> {
        let counters = metrics.map(Counters::at).transpose()?;
        let sent = if destination.is_some() { Sent::Yes } else { Sent::No };
        let collector = Collector::new(Parent::of(traceparent)?, sent);
        let spans = Arc::clone(&collector.spans);
        tracing::subscriber::set_global_default(collector).map_err(|_| SendError::Taken)?;
        Ok(Self { destination, counters, spans })
    }

    /// Tells of what has ended. What keeps one way from being gone does not keep the other.
    pub fn finish(self) -> Vec<SendError> {
        let Self { destination, counters, spans } = self;
        let ended = std::mem::take(&mut spans.lock().unwrap_or_else(PoisonError::into_inner).ended);
        if ended.is_empty() {
            return Vec::new();
        }
        let counted = counters.map_or(Ok(()), |counters| counters.add(&ended).map_err(SendError::from));
        let sent = destination.map_or(Ok(()), |destination| send(destination, &ended));
        [counted, sent].into_iter().filter_map(Result::err).collect()
    }
}

fn send(destination: Destination, ended: &[Span]) -> Result<(), SendError> {
    let Destination { address, headers, timeout, service, authorities } = destination;
    let authorities = authorities.map_or(Ok(RootCerts::WebPki), |(variable, path)| {
        polder_secrets::authorities(variable, &path).map_err(SendError::Authorities)
    })?;
    let body = encode::request(&service, ended);
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent("polder")
        .tls_config(TlsConfig::builder().root_certs(authorities).build())
        .build();
    let mut request = config.new_agent().post(&address).header("Content-Type", "application/x-protobuf");
    for (name, value) in &headers {
        request = request.header(name.as_str(), value.as_str());
    }
    let answer = request
        .send(&body)
        .map_err(|error| SendError::Unreachable { address: address.clone(), reason: error.to_string() })?;
    match answer.status().as_u16() {
        200..=299 => Ok(()),
        status => Err(SendError::Refused { address, status }),
    }
}
