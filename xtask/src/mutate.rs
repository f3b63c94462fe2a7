//! `cargo xtask mutate`: every layer of a sandbox switched off in turn, as root and as an ordinary user.
//!
//! The program that does it is built with a feature that no other build has. A layer whose absence no attack notices, of
//! either user, is a failure, unless SECURITY.md names it.

use crate::machine::{self, Shared};
use crate::run::{Outcome, call, copy, root, target_directory};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one user found out about one layer.
struct Found {
    first: String,
    word: String,
    detail: String,
}

/// Everything that one user found out, by layer.
type Findings = BTreeMap<String, Found>;

/// The heading in SECURITY.md below which layers without a test are named.
const UNTESTED: &str = "## Layers and their tests";

/// Prints the table; an error names what went unnoticed.
pub(crate) fn layers(filter: Option<&str>) -> Outcome {
    let program = build()?;
    let (order, here) = findings(Command::new(&program).args(filter))?;
    let there = if machine::is_root() {
        machine::make_user()?;
        let shared = Shared::new()?;
        let program = copy(&program, &shared.path().join("layers"))?;
        findings(machine::as_user(&program).args(filter).current_dir("/"))?.1
    } else {
        println!("== skipped: layers as another user (only root can change to one)");
        Findings::new()
    };
    let named = untested()?;
    let mut failed = Vec::new();
    for layer in &order {
        let found: Vec<&Found> = [&here, &there].into_iter().filter_map(|found| found.get(layer)).collect();
        let is_red = found.iter().any(|found| found.word == "red");
        let is_shown = found.iter().all(|found| found.word != "not-second");
        let is_named = named.contains(&format!("`{layer}`"));
        let verdict = match (is_red && is_shown, is_named) {
            (true, false) => "red",
            (false, true) => "untested, as SECURITY.md says",
            (true, true) => "RED, but SECURITY.md calls it untested",
            (false, false) => "NOT NOTICED",
        };
        if (is_red && is_shown) == is_named {
            failed.push(layer.as_str());
        }
        print_row(layer, verdict, &[("root", here.get(layer)), ("user", there.get(layer))]);
    }
    println!("{} layers, {} not noticed", order.len(), failed.len());
    if failed.is_empty() { Ok(0) } else { Err(format!("layers without a red test: {}", failed.join(", "))) }
}

fn print_row(layer: &str, verdict: &str, found: &[(&str, Option<&Found>)]) {
    let first = found.iter().find_map(|(_, found)| found.map(|found| found.first.as_str())).unwrap_or_default();
    let off = if first.is_empty() { String::new() } else { format!(" (with {first} off)") };
    println!("{layer}{off}: {verdict}");
    for (user, found) in found {
        if let Some(Found { word, detail, .. }) = found {
            let short: String = detail.chars().take(120).collect();
            println!("    {user}: {word}: {short}");
        }
    }
}

/// Builds the one program that can do without layers.
fn build() -> Result<PathBuf, String> {
    call(Command::new("cargo").current_dir(root()).args([
        "build",
        "--quiet",
        "--package",
        "polder-attack",
        "--features",
        "mutate",
        "--example",
        "layers",
    ]))?;
    Ok(target_directory().join("debug/examples/layers"))
}

/// Runs the program and reads its lines: the layers in their order, and what was found out about each.
fn findings(command: &mut Command) -> Result<(Vec<String>, Findings), String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status));
    }
    let (mut order, mut findings) = (Vec::new(), Findings::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [layer, first, word, detail] = fields.as_slice() else {
            return Err(format!("not a line of the table: `{line}`"));
        };
        let own = |text: &str| text.to_owned();
        order.push(own(layer));
        findings.insert(own(layer), Found { first: own(first), word: own(word), detail: own(detail) });
    }
    Ok((order, findings))
}

/// The part of SECURITY.md that names layers without a test.
fn untested() -> Result<String, String> {
    let path: &Path = &root().join("SECURITY.md");
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let (_, after) = text.split_once(UNTESTED).ok_or_else(|| format!("SECURITY.md has no `{UNTESTED}`"))?;
    Ok(after.split("\n## ").next().unwrap_or_default().to_owned())
}
