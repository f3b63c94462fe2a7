//! `polder cache`: what is kept between runs.

use crate::args::{CacheArgs, CacheVerb, CacheWhichArgs};
use crate::exit::{Failure, printable};
use crate::render::text::tolerate_closed;
use polder::caches::{self, Cleared, Listed, Whose};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) fn cache(args: &CacheArgs) -> Result<u8, Failure> {
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let text = match &args.verb {
        CacheVerb::List(args) => {
            let listed = caches::list(&whose(args), &environment)?;
            if args.json { Value::from_iter(listed.iter().map(as_json)).to_string() } else { as_text(&listed) }
        }
        CacheVerb::Clear(args) => {
            let Cleared { removed, in_use } = caches::clear(&whose(args), &environment)?;
            match (args.json, in_use) {
                (true, _) => json!({"removed": removed, "inUse": in_use}).to_string(),
                (false, 0) => format!("removed {removed}"),
                (false, _) => format!("removed {removed}, {in_use} in use"),
            }
        }
    };
    tolerate_closed(writeln!(io::stdout().lock(), "{text}"))?;
    Ok(0)
}

fn whose(args: &CacheWhichArgs) -> Whose {
    if args.all {
        return Whose::All;
    }
    Whose::RepositoryOf(args.directory.clone().unwrap_or_else(|| PathBuf::from(".")))
}

fn as_json(listed: &Listed) -> Value {
    let Listed { repository, sandbox, prefix, paths, used, bytes, in_use } = listed;
    json!({
        "repository": repository,
        "sandbox": sandbox,
        "prefix": prefix,
        "paths": paths,
        "lastUsed": humantime::format_rfc3339_seconds(*used).to_string(),
        "bytes": bytes,
        "inUse": in_use,
    })
}

fn as_text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "nothing is kept".to_owned();
    }
    let line = |listed: &Listed| {
        let Listed { repository, sandbox, prefix, paths, used, bytes, in_use } = listed;
        let sandbox = sandbox.as_ref().map(|name| format!(" sandbox {name}")).unwrap_or_default();
        let in_use = if *in_use { ", in use" } else { "" };
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let used = humantime::format_rfc3339_seconds(*used);
        format!("{repository}{sandbox} `{prefix}`: {} ({bytes} bytes, last used {used}{in_use})", paths.join(", "))
    };
    // What stands in a store of one's own came from configuration files.
    printable(&listed.iter().map(line).collect::<Vec<_>>().join("\n"))
}
