//! `polder trust`: remember that the user has read this very content.

use crate::args::TrustArgs;
use crate::exit::{Failure, printable, say};
use crate::render::text::tolerate_closed;
use polder::config::Files;
use polder::deeds::{Deeds, Kind, Weight};
use polder::{Overrides, trust as store};
use polder_policy::Trust;
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) fn trust(args: &TrustArgs) -> Result<u8, Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let directory = args.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let said = polder::config::read(&directory, &Files::Found, &environment, Overrides::none())?;
    let project = said.project().ok_or_else(|| {
        Failure::new("there is no project configuration here (polder.yaml, polder.toml, .visor.yaml)")
    })?;
    let place = store::store(&environment)
        .ok_or_else(|| Failure::new("there is no home directory to remember trust in; set HOME or XDG_STATE_HOME"))?;
    let hash = project.fingerprint();
    let known = match store::for_call(&environment, false) {
        Trust::Everything => true,
        Trust::Only(hashes) => hashes.iter().any(|known| known == hash),
    };
    let asks = said.asks();
    // Before the effect, like everything in the log.
    let record = |verb: &str| -> Result<(), Failure> {
        let asked: Vec<String> = asks.iter().map(|ask| format!("{}: {}", ask.origin, ask.what)).collect();
        let path = project.path().display().to_string();
        let data = json!({"verb": verb, "project": hash, "path": path, "asks": asked});
        let warning = Deeds::of(&environment)?.record(Kind::Grant, Weight::Heavy, &data)?;
        warning.iter().for_each(|warning| say(warning));
        Ok(())
    };
    let done = if args.revoke {
        record("revoke")?;
        store::forget(&place, hash)?;
        "revoked"
    } else if args.show {
        if known { "trusted" } else { "not trusted" }
    } else {
        if !known {
            record("trust")?;
            store::remember(&place, hash, project.path())?;
        }
        "trusted"
    };
    let mut lines = vec![format!("{done}: {} ({})", project.path().display(), &hash[..12.min(hash.len())])];
    if asks.is_empty() {
        lines.push("  it asks for nothing beyond its own tree".to_owned());
    }
    lines.extend(asks.iter().map(|ask| format!("  {}: {}", ask.origin, ask.what)));
    let text = if args.json {
        let asks: Vec<_> = asks.iter().map(|ask| json!({"origin": ask.origin.to_string(), "what": ask.what})).collect();
        let path = project.path().display().to_string();
        json!({"state": done, "path": path, "hash": hash, "asks": asks}).to_string()
    } else {
        printable(&lines.join("\n"))
    };
    tolerate_closed(writeln!(io::stdout().lock(), "{text}"))?;
    Ok(0)
}
