//! `polder doctor`: what this machine can enforce, found out by trying.

use crate::args::DoctorArgs;
use crate::exit::Failure;
use crate::render::pager::{Listing, Paging};
use crate::render::paint::{Paint, Tone};
use crate::render::{json, matrix};
use polder::{Availability, EngineClass, Guarantee, HostFacts, Mechanism, Probe, Surveyed, Verdict};
use polder_workspace::Store;
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    if args.attack {
        return crate::attack::attack(args.only.as_deref(), args.json);
    }
    let environment = std::env::vars_os().collect();
    let policy = polder_policy::built_in();
    let here = Path::new(".");
    let host = polder_run::gather(&policy, here, here, environment)?;
    let found = polder::survey(&host);
    // What enforces nothing contains nothing, wherever it works.
    let contains = |engine: &&Surveyed| engine.class != EngineClass::None;
    let contained = found.iter().filter(contains).any(|engine| engine.unavailable().is_none());
    let mut listing = Listing::begin(Paging::of(args.no_pager, args.json));
    listing.line(&if args.json {
        as_json(&host, &found, contained).to_string()
    } else {
        as_text(&host, &found, contained, Paint::of(&io::stdout()))
    })?;
    listing.end()?;
    Ok(u8::from(!contained))
}

fn as_text(host: &HostFacts, found: &[Surveyed], contained: bool, paint: Paint) -> String {
    let (works, fails) = (paint.wrap(Tone::Good, "works"), paint.wrap(Tone::Bad, "fails"));
    let mut lines = vec!["MECHANISM           FOUND".to_owned()];
    for mechanism in Mechanism::ALL {
        let name = mechanism.name();
        match host.mechanisms.get(&mechanism) {
            Some(Probe::Works { detail }) => lines.push(format!("{name:<20}{works}: {detail}")),
            Some(Probe::NotNeeded { reason }) => lines.push(format!("{name:<20}not needed: {reason}")),
            Some(Probe::Fails { reason, remedy }) => {
                lines.push(format!("{name:<20}{fails}: {reason}"));
                lines.push(format!("{:<20}remedy: {remedy}", ""));
            }
            None => lines.push(format!("{name:<20}not probed")),
        }
    }
    lines.push(String::new());
    lines.push("ENGINE              CLASS       FOUND".to_owned());
    for Surveyed { id, class, availability, .. } in found {
        let class = class.name();
        match availability {
            Availability::Available { detail } => lines.push(format!("{id:<20}{class:<12}{works}: {detail}")),
            Availability::Unavailable { reason, .. } => lines.push(format!("{id:<20}{class:<12}{reason}")),
        }
    }
    lines.push(String::new());
    lines.extend(matrix::lines(found, paint));
    lines.push(String::new());
    if let Some((place, offers)) = workspaces(host) {
        lines.push(format!("workspaces          {offers}, in `{}`", place.display()));
        lines.push(String::new());
    }
    lines.push(if contained {
        paint.wrap(Tone::Good, "A command can be contained here.")
    } else {
        paint.wrap(Tone::Bad, "Nothing can contain a command here.")
    });
    for Surveyed { id, availability, .. } in found {
        if let (false, Availability::Unavailable { reason, remedy }) = (contained, availability)
            && reason != "not in this build"
        {
            lines.push(format!("{id}: {remedy}"));
        }
    }
    lines.join("\n")
}

/// Where workspaces are kept, and what is used there.
fn workspaces(host: &HostFacts) -> Option<(PathBuf, String)> {
    let place = Store::place_for(&host.environment)?;
    let offers = Store::offers(&place);
    Some((place, offers))
}

fn as_json(host: &HostFacts, found: &[Surveyed], contained: bool) -> Value {
    let mechanisms: Map<String, Value> = host
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
    let engines: Map<String, Value> =
        found.iter().map(|engine| (engine.id.to_owned(), engine_as_json(engine))).collect();
    json!({
        "contained": contained,
        "landlockAbi": host.landlock_abi,
        "mechanisms": mechanisms,
        "workspaces": workspaces(host).map(|(place, offers)| json!({"place": place.to_string_lossy(), "offers": offers})),
        "engines": engines,
        // Objects have no order; this is that of the list, in which `auto` tries.
        "order": found.iter().map(|engine| engine.id).collect::<Vec<_>>(),
    })
}

/// Every field is there for every engine, and every guarantee in `guarantees`.
fn engine_as_json(engine: &Surveyed) -> Value {
    let Surveyed { id: _, aliases, class, about, availability, fit } = engine;
    let (works, detail, reason, remedy) = match availability {
        Availability::Available { detail } => (true, Some(detail), None, None),
        Availability::Unavailable { reason, remedy } => (false, None, Some(reason), Some(remedy)),
    };
    let missing = engine.unavailable().map(|gap| Verdict::Cannot { gap });
    let guarantees: Map<String, Value> = Guarantee::ALL
        .into_iter()
        .filter_map(|guarantee| {
            let judged = missing.as_ref().or_else(|| fit.verdicts.get(&guarantee))?;
            Some((guarantee.name().to_owned(), json::verdict(judged)))
        })
        .collect();
    let impossible: Vec<Value> =
        fit.impossible.iter().map(|gap| json!({"reason": gap.reason, "remedy": gap.remedy})).collect();
    json!({
        "class": class.name(),
        "aliases": aliases,
        "summary": about.summary,
        "platform": about.platform,
        "works": works,
        "detail": detail,
        "reason": reason,
        "remedy": remedy,
        "guarantees": guarantees,
        "impossible": impossible,
    })
}
