//! What the machine is said to offer, against what it does offer.

use polder::{Availability, Engine, HostFacts, Mechanism, Probe};

/// The names in `POLDER_TEST_HAS`.
pub(crate) fn names() -> Vec<String> {
    let text = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether a declared name is kept by the machine; the text says why not.
pub(crate) fn check(name: &str, engines: &[Box<dyn Engine>], host: &HostFacts) -> Result<(), String> {
    if let Some(engine) = engines.iter().find(|engine| engine.id() == name) {
        return match engine.probe(host) {
            Availability::Available { .. } => Ok(()),
            Availability::Unavailable { reason, remedy } => Err(format!("declared, but {reason}; {remedy}")),
        };
    }
    let Some(mechanism) = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name) else {
        return Err("is neither an engine nor a mechanism".to_owned());
    };
    match host.mechanisms.get(&mechanism) {
        Some(Probe::Works { .. } | Probe::NotNeeded { .. }) => Ok(()),
        Some(Probe::Fails { reason, remedy }) => Err(format!("declared, but {reason}; {remedy}")),
        None => Err("declared, but was not probed".to_owned()),
    }
}
