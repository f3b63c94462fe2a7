//! What starting costs with each engine that works here. The binary says which ones there are.

use super::sessions;
use super::start::{bubblewrap, make_repository};
use super::table::{Case, interleaved, starts};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The comparison that everything is measured against: the call that a CI tool makes today for the same job.
const BASE: usize = 1;

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let workspace = directory.join("work");
    fs::create_dir(&workspace).map_err(|error| error.to_string())?;
    make_repository(&workspace)?;
    let mut cases =
        vec![Case::new("bare", vec!["/bin/true".to_owned()]), Case::new("plain bwrap", bubblewrap(&workspace))];
    let mut unmeasured = Vec::new();
    for engine in engines(polder)? {
        let case = engine.case(polder, directory, &workspace)?;
        match refusal(&case)? {
            None => cases.push(case),
            Some(reason) => unmeasured.push(format!("- {}: {reason}\n", engine.id)),
        }
    }
    let times = interleaved(&cases, rounds, &|_| ())?;
    let mut text = starts(&cases, &times, BASE);
    if !unmeasured.is_empty() {
        text.push_str("\nNot measured, because the built-in policy is refused here:\n\n");
        text.extend(unmeasured);
    }
    text.push_str(&sessions::measure(polder, directory, rounds)?);
    Ok(text)
}

/// An engine that works here.
struct Engine {
    id: String,
    enforces_nothing: bool,
}

impl Engine {
    fn case(&self, polder: &Path, directory: &Path, workspace: &Path) -> Result<Case, String> {
        let text = |path: &Path| path.display().to_string();
        let words = [&text(polder), "run", "--engine", &self.id, "-C", &text(workspace), "--", "/bin/true"];
        let mut case = Case::new(format!("polder {}", self.id), words.map(str::to_owned).to_vec());
        if self.enforces_nothing {
            // It runs only where a user's own file permits it.
            let config = directory.join("config");
            fs::create_dir_all(config.join("polder")).map_err(|error| error.to_string())?;
            let file = config.join("polder/polder.yaml");
            fs::write(file, "allow_unsandboxed: true\n").map_err(|error| error.to_string())?;
            case.env.push(("XDG_CONFIG_HOME".to_owned(), text(&config)));
        }
        Ok(case)
    }
}

/// The engines that work here, in polder's order.
fn engines(polder: &Path) -> Result<Vec<Engine>, String> {
    let output = Command::new(polder).args(["doctor", "--json"]).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", polder.display()))?;
    let found: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("polder doctor: {error}"))?;
    let order = found["order"].as_array().ok_or("polder doctor names no engines")?;
    let engine = |id: &str| {
        let engine = &found["engines"][id];
        // Containers have a table of their own, with what else they can be compared with.
        let works = engine["works"] == true && engine["class"] != "container";
        works.then(|| Engine { id: id.to_owned(), enforces_nothing: engine["class"] == "none" })
    };
    Ok(order.iter().filter_map(Value::as_str).filter_map(engine).collect())
}

/// Why an engine that works does not run the built-in policy, if it does not: the first thing that it says.
fn refusal(case: &Case) -> Result<Option<String>, String> {
    let output = case.call().output().map_err(|error| format!("{}: {error}", case.name))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.starts_with("  ")).or(said.lines().next()).unwrap_or("it said nothing");
    Ok((!output.status.success()).then(|| line.trim().to_owned()))
}
