//! `polder config`: check, show, describe.

use crate::args::{ConfigArgs, ConfigCheckArgs, ConfigShowArgs, ConfigVerb};
use crate::exit::{Failure, printable};
use crate::render::pager::{Listing, Paging};
use crate::render::text::tolerate_closed;
use polder::config::Files;
use polder::{Error, Overrides, trust};
use polder_policy::{Dialect, schema, show, to_json};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) fn config(args: ConfigArgs) -> Result<u8, Failure> {
    match args.verb {
        ConfigVerb::Check(args) => check(&args),
        ConfigVerb::Show(args) => show_policy(&args),
        ConfigVerb::Schema(args) => {
            let dialect = if args.visor { Dialect::Visor } else { Dialect::Own };
            print(&format!("{:#}", schema(dialect)))?;
            Ok(0)
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    tolerate_closed(writeln!(io::stdout().lock(), "{text}")).map_err(Failure::from)
}

/// Exit code 1 when something is wrong: the check did its part.
fn check(args: &ConfigCheckArgs) -> Result<u8, Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let files = args.file.clone().map_or(Files::Found, Files::FoundAnd);
    let checked = polder::config::read(Path::new("."), &files, &environment, Overrides::none())
        .and_then(|said| said.check().map(|()| said));
    match checked {
        Ok(said) => {
            let read: Vec<_> =
                said.layers.documents.iter().map(|document| document.path().display().to_string()).collect();
            if args.json {
                print(&json!({"ok": true, "files": read, "faults": []}).to_string())?;
            } else if read.is_empty() {
                print("no configuration file; the built-in policy holds")?;
            } else {
                print(&format!("ok: {}", read.join(", ")))?;
            }
            for ask in said.asks().iter().filter(|_| !args.json) {
                print(&printable(&format!("needs trust: {}: {}", ask.origin, ask.what)))?;
            }
            Ok(0)
        }
        Err(Error::Configuration(faults)) if args.json => {
            let faults: Vec<_> = faults
                .0
                .iter()
                .map(|fault| json!({"origin": fault.origin.to_string(), "message": fault.message, "hint": fault.hint}))
                .collect();
            print(&json!({"ok": false, "faults": faults}).to_string())?;
            Ok(1)
        }
        Err(Error::Configuration(faults)) => {
            print(&printable(&faults.to_string()))?;
            Ok(1)
        }
        Err(other) => Err(other.into()),
    }
}

fn show_policy(args: &ConfigShowArgs) -> Result<u8, Failure> {
    let ConfigShowArgs { policy, json, no_pager } = args;
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let directory = policy.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let files = policy.config.clone().map_or(Files::Found, Files::FoundAnd);
    let said = polder::config::read(&directory, &files, &environment, policy.overrides())?;
    let resolved = said.policy(&trust::for_call(&environment, policy.trust))?;
    let mut listing = Listing::begin(Paging::of(*no_pager, *json));
    if *json {
        listing.line(&to_json(&resolved).to_string())?;
    } else {
        listing.line(show(&resolved).trim_end())?;
    }
    listing.end()?;
    Ok(0)
}
