//! Sending what was collected, once, when everything has ended.

use crate::collect::{Collector, Spans};
use crate::destination::Destination;
use crate::encode;
use crate::parent::Parent;
use std::sync::{Arc, Mutex, PoisonError};

/// Why spans were not sent. They are a help: what they tell of happened without them.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// There is no trace to belong to.
    #[error("cannot make a name for a trace")]
    Random(#[from] std::io::Error),
    /// Somebody else listens in this process.
    #[error("somebody else listens to what this process says")]
    Taken,
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

/// Listens, and sends what it heard.
pub struct Exporter {
    destination: Destination,
    spans: Arc<Mutex<Spans>>,
}

/// `TRACEPARENT` for what runs below this span; absent when nobody sends it anywhere.
pub fn traceparent(span: &tracing::Span) -> Option<String> {
    span.with_subscriber(|(id, dispatch)| dispatch.downcast_ref::<Collector>()?.traceparent(id)).flatten()
}

impl Exporter {
    /// Listens from now on, in the trace of the caller where there is one (`TRACEPARENT`).
    pub fn start(destination: Destination, traceparent: Option<&str>) -> Result<Self, SendError> {
        let collector = Collector::new(Parent::of(traceparent)?);
        let spans = Arc::clone(&collector.spans);
        tracing::subscriber::set_global_default(collector).map_err(|_| SendError::Taken)?;
        Ok(Self { destination, spans })
    }

    /// Sends what has ended.
    pub fn finish(self) -> Result<(), SendError> {
        let Self { destination: Destination { address, headers, timeout, service }, spans } = self;
        let ended = std::mem::take(&mut spans.lock().unwrap_or_else(PoisonError::into_inner).ended);
        if ended.is_empty() {
            return Ok(());
        }
        let body = encode::request(&service, &ended);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent("polder")
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
}
