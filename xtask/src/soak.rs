//! Killing polder again and again, as root and as an ordinary user: what is left is counted.

use crate::machine::{self, Shared};
use crate::run::{self, Outcome, copy};
use std::path::Path;
use std::process::Command;

/// The engines that need no daemon. With `cargo xtask daemons -- cargo xtask soak kill --engine docker`
/// the others can be named.
const ENGINES: [&str; 5] = ["native", "bubblewrap", "nsjail", "firejail", "none"];
const KILLS: &str = "1000";
const USAGE: &str = "cargo xtask soak kill [--engine ID] [--kills N] [--user]";

pub(crate) fn soak(words: &[String]) -> Outcome {
    let (mut engines, mut kills) = (ENGINES.map(str::to_owned).to_vec(), KILLS.to_owned());
    let mut only_user = false;
    let mut words = words.iter().map(String::as_str);
    if words.next() != Some("kill") {
        return Err(USAGE.to_owned());
    }
    while let Some(word) = words.next() {
        match word {
            "--engine" => engines = vec![words.next().ok_or(USAGE)?.to_owned()],
            "--kills" => kills = words.next().ok_or(USAGE)?.to_owned(),
            "--user" => only_user = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let shared = Shared::new()?;
    let tool = copy(&run::build_tool("polder-e2e", "soak")?, &shared.path().join("soak"))?;
    let polder = match std::env::var_os("POLDER_TEST_BIN") {
        Some(path) => path.into(),
        None => run::build()?,
    };
    let polder = copy(&polder, &shared.path().join("polder"))?;
    println!("engine       user  kills  at work  processes  mounts  cgroups  containers  files");
    let mut left = Vec::new();
    for engine in &engines {
        if !only_user && !soak_one(Command::new("env"), &tool, &polder, engine, &kills)? {
            left.push(format!("{engine} as root"));
        }
        if machine::is_root() {
            machine::make_user()?;
            if !soak_one(machine::as_user(Path::new("env")), &tool, &polder, engine, &kills)? {
                left.push(format!("{engine} as an ordinary user"));
            }
        }
    }
    if left.is_empty() { Ok(0) } else { Err(format!("something is left: {}", left.join(", "))) }
}

/// Whether nothing is left of an engine's runs.
fn soak_one(mut command: Command, tool: &Path, polder: &Path, engine: &str, kills: &str) -> Result<bool, String> {
    for name in ["DOCKER_HOST", "CONTAINER_HOST"] {
        command.args(std::env::var(name).map(|value| format!("{name}={value}")));
    }
    command.arg(format!("POLDER_TEST_BIN={}", polder.display())).arg(tool).args([engine, kills]);
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    Ok(status.success())
}
