//! Every test, as root and as an ordinary user.

use crate::daemons::{Daemons, Whose};
use crate::machine::{self, Shared};
use crate::run::{self, Outcome, call, copy, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What this kind of machine offers: declared and missing fails the tests that need it.
const HAS: &str = "native,bubblewrap,nsjail,firejail,none";
/// What it offers beside that while the container daemons are up.
const HAS_BY_DAEMONS: &str = "docker,podman";

pub(crate) fn all(filter: Option<&str>) -> Outcome {
    machine::install_packages()?;
    machine::install_from_wheel()?;
    machine::install_runner()?;
    if filter.is_none() {
        step("format");
        call(cargo().args(["fmt", "--all", "--check"]))?;
        step("lints");
        call(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        check_dependencies()?;
    }
    step("build");
    let binary = run::build()?;
    let daemons = if machine::is_root() {
        Some(Daemons::start()?)
    } else {
        println!("== skipped: tests with container daemons (only root can start them)");
        None
    };
    let daemons = daemons.as_ref();
    if daemons.is_some() && !machine::has_runsc() {
        println!("== skipped: tests with a runtime that has a kernel of its own ({} is missing)", machine::RUNSC);
    }
    let mut failed = Vec::new();
    let mut note = |what: &str, result: Result<(), String>| {
        if let Err(message) = result {
            println!("{what}: {message}");
            failed.push(what.to_owned());
        }
    };
    let here = if machine::is_root() { "root" } else { "this user" };
    println!("== tests as {here}");
    note("tests", nextest(cargo().arg("nextest"), filter, &binary, daemons));
    if filter.is_none() {
        println!("== examples in the documentation");
        note("examples", call(cargo().args(["test", "--quiet", "--doc", "--workspace"])));
    }
    if machine::is_root() {
        println!("== tests as an ordinary user");
        note("tests as an ordinary user", as_ordinary_user(filter, &binary, daemons));
    } else {
        println!("== skipped: tests as another user (only root can change to one)");
    }
    if filter.is_none() {
        println!("== layers, each switched off");
        note("layers", crate::mutate::layers(None).map(drop));
    }
    if failed.is_empty() { Ok(0) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root());
    command
}

/// Named before it begins, so that a long one is known by its name.
fn step(what: &str) {
    println!("== {what}");
}

fn nextest(
    command: &mut Command,
    filter: Option<&str>,
    binary: &Path,
    daemons: Option<&Daemons>,
) -> Result<(), String> {
    // What a filter names may be among those below.
    command.args(["run", "--workspace", "--no-fail-fast", "--no-tests=warn"]).args(filter);
    let environment = told(daemons, Whose::Root);
    let all = call(command.env("POLDER_TEST_BIN", binary).envs(environment.clone()));
    if daemons.is_none() {
        return all;
    }
    all.and(call(cargo().arg("nextest").arg("run").args(WITH_DAEMONS_ONLY).args(filter).envs(environment)))
}

/// What runs the tests inside of a crate that need a daemon. They are ignored, so that nobody takes them for passed where
/// none is.
const WITH_DAEMONS_ONLY: [&str; 5] =
    ["--workspace", "--no-fail-fast", "--run-ignored=only", "--no-tests=warn", "-Etest(container::acceptance::)"];

/// What the tests of a user are told about the machine.
fn told(daemons: Option<&Daemons>, whose: Whose) -> Vec<(String, String)> {
    let has = match daemons {
        Some(_) => format!("{HAS},{HAS_BY_DAEMONS}"),
        None => HAS.to_owned(),
    };
    let mut told = daemons.map_or_else(Vec::new, |daemons| daemons.environment(whose));
    told.push(("POLDER_TEST_HAS".to_owned(), has));
    told.push(("NEXTEST_TEST_THREADS".to_owned(), threads().to_string()));
    told
}

/// Tests wait for processes and daemons: with one thread for each CPU, half of the machine has nothing to do.
fn threads() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    cpus + cpus.div_ceil(2)
}

/// The same test binaries once more, in a directory that the other user can read.
fn as_ordinary_user(filter: Option<&str>, binary: &Path, daemons: Option<&Daemons>) -> Result<(), String> {
    machine::make_user()?;
    let shared = Shared::new()?;
    let sources = shared.copy_sources()?;
    let archive = shared.path().join("tests.tar.zst");
    call(cargo().args(["nextest", "archive", "--workspace", "--archive-file"]).arg(&archive))?;
    let runner = copy(&runner()?, &shared.path().join("cargo-nextest"))?;
    let polder = copy(binary, &shared.path().join("polder"))?;
    let run = |which: &[&str]| {
        let mut command = machine::as_user(Path::new("env"));
        command
            .current_dir(&sources)
            .arg(format!("POLDER_TEST_BIN={}", polder.display()))
            .args(told(daemons, Whose::OrdinaryUser).into_iter().map(|(name, value)| format!("{name}={value}")))
            .arg(&runner)
            .args(["nextest", "run", "--archive-file"])
            .arg(&archive)
            .arg("--workspace-remap")
            .arg(&sources)
            .args(which)
            .args(filter);
        call(&mut command)
    };
    let all = run(&["--no-fail-fast", "--no-tests=warn"]);
    if daemons.is_none() {
        return all;
    }
    // An archive knows its workspace.
    all.and(run(&WITH_DAEMONS_ONLY[1..]))
}

fn runner() -> Result<PathBuf, String> {
    let output =
        Command::new("sh").args(["-c", "command -v cargo-nextest"]).output().map_err(|error| error.to_string())?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if path.is_empty() { Err("cargo-nextest is not on PATH".to_owned()) } else { Ok(path.into()) }
}

/// Licences, sources and duplicates; needs a tool that takes minutes to build, so its absence is said, not fatal.
fn check_dependencies() -> Result<(), String> {
    println!("== dependencies");
    let there = Command::new("cargo").args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("skipped: cargo-deny is not installed (cargo install --locked cargo-deny)");
        return Ok(());
    }
    call(cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}
