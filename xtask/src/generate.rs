//! Files that are generated and committed; tests say when they are stale.

use crate::run::{self, Outcome, call, root};
use std::fs;
use std::process::Command;

pub(crate) fn all() -> Outcome {
    let binary = run::build()?;
    let write = |args: &[&str], file: &str| -> Result<(), String> {
        let output = Command::new(&binary).args(args).output().map_err(|error| error.to_string())?;
        let path = root().join(file);
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|error| error.to_string())?;
        fs::write(&path, output.stdout).map_err(|error| format!("{file}: {error}"))?;
        println!("{file}");
        Ok(())
    };
    write(&["config", "schema"], "docs/schema/polder.schema.json")?;
    write(&["config", "schema", "--visor"], "docs/schema/visor.schema.json")?;
    call(Command::new(&binary).args(["man", "--output"]).arg(root().join("docs/man")))?;
    println!("docs/man");
    // What only tests know how to make: they write it when they are told to, and compare it otherwise.
    bless(&["--package", "polder-sys", "--lib", "compiled_programs"])?;
    bless(&["--package", "polder", "--test", "engines", "engines_page"])?;
    println!("docs/engines.md");
    Ok(0)
}

fn bless(test: &[&str]) -> Result<(), String> {
    call(Command::new("cargo").current_dir(root()).env("POLDER_TEST_BLESS", "1").args(["test", "--quiet"]).args(test))
}
