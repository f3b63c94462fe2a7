//! `polder doctor`: what this machine can enforce, found out by trying.

use crate::args::DoctorArgs;
use crate::exit::Failure;
use crate::render::text;
use polder::{Availability, EngineClass, HostFacts, Mechanism, Probe};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;

pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    if args.attack {
        return crate::attack::attack(args.only.as_deref(), args.json);
    }
    let environment = std::env::vars_os().collect();
    let policy = polder_policy::built_in();
    let here = Path::new(".");
    let host = polder_run::gather(&policy, here, here, environment)?;
    let findings: Vec<Finding> = polder::engines()
        .iter()
        .map(|engine| Finding { id: engine.id(), class: engine.class().name(), availability: engine.probe(&host) })
        .collect();
    // What enforces nothing contains nothing, wherever it works.
    let contains = |finding: &&Finding| finding.class != EngineClass::None.name();
    let works = |finding: &Finding| matches!(finding.availability, Availability::Available { .. });
    let contained = findings.iter().filter(contains).any(works);
    let mut out = io::stdout().lock();
    let printed = if args.json {
        writeln!(out, "{}", as_json(&host, &findings, contained))
    } else {
        write!(out, "{}", as_text(&host, &findings, contained))
    };
    text::tolerate_closed(printed)?;
    Ok(u8::from(!contained))
}

struct Finding {
    id: &'static str,
    class: &'static str,
    availability: Availability,
}

fn as_text(host: &HostFacts, findings: &[Finding], contained: bool) -> String {
    let mut lines = vec!["MECHANISM           FOUND".to_owned()];
    for mechanism in Mechanism::ALL {
        let name = mechanism.name();
        match host.mechanisms.get(&mechanism) {
            Some(Probe::Works { detail }) => lines.push(format!("{name:<20}works: {detail}")),
            Some(Probe::NotNeeded { reason }) => lines.push(format!("{name:<20}not needed: {reason}")),
            Some(Probe::Fails { reason, remedy }) => {
                lines.push(format!("{name:<20}fails: {reason}"));
                lines.push(format!("{:<20}remedy: {remedy}", ""));
            }
            None => lines.push(format!("{name:<20}not probed")),
        }
    }
    lines.push(String::new());
    lines.push("ENGINE              CLASS       FOUND".to_owned());
    for Finding { id, class, availability } in findings {
        match availability {
            Availability::Available { detail } => lines.push(format!("{id:<20}{class:<12}works: {detail}")),
            Availability::Unavailable { reason, .. } => lines.push(format!("{id:<20}{class:<12}{reason}")),
        }
    }
    lines.push(String::new());
    lines.push(if contained {
        "A command can be contained here.".to_owned()
    } else {
        "Nothing can contain a command here.".to_owned()
    });
    for Finding { id, availability, .. } in findings {
        if let (false, Availability::Unavailable { reason, remedy }) = (contained, availability)
            && reason != "not in this build"
        {
            lines.push(format!("{id}: {remedy}"));
        }
    }
    lines.join("\n") + "\n"
}

fn as_json(host: &HostFacts, findings: &[Finding], contained: bool) -> Value {
    let mechanisms: serde_json::Map<String, Value> = host
        .mechanisms
        .iter()
        .map(|(mechanism, probe)| {
            let value = match probe {
                Probe::Works { detail } => json!({"works": true, "detail": detail}),
                Probe::NotNeeded { reason } => json!({"works": null, "reason": reason}),
                Probe::Fails { reason, remedy } => json!({"works": false, "reason": reason, "remedy": remedy}),
            };
            (mechanism.name().to_owned(), value)
        })
        .collect();
    let engines: serde_json::Map<String, Value> = findings
        .iter()
        .map(|Finding { id, class, availability }| {
            let value = match availability {
                Availability::Available { detail } => json!({"class": class, "works": true, "detail": detail}),
                Availability::Unavailable { reason, remedy } => {
                    json!({"class": class, "works": false, "reason": reason, "remedy": remedy})
                }
            };
            ((*id).to_owned(), value)
        })
        .collect();
    json!({"contained": contained, "landlockAbi": host.landlock_abi, "mechanisms": mechanisms, "engines": engines})
}
