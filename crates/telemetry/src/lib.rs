//! What `tracing` says about runs (target `polder::sandbox`), as spans for an OpenTelemetry collector.
//!
//! Nothing is collected and nothing leaves the machine unless the variables of OpenTelemetry name a destination. The form
//! on the wire is a dozen fields of protobuf, written by hand: the official exporter brings an executor and a hundred
//! crates. The tests read it with the official types.
#![forbid(unsafe_code)]

mod collect;
mod destination;
mod encode;
mod metrics;
mod parent;
mod send;

pub use destination::{Destination, DestinationError};
pub use metrics::MetricsError;
pub use send::{Exporter, SendError, traceparent};
