//! One test per engine and case, each in a process of its own.

use crate::cases::{self, Case};
use crate::residue::Before;
use crate::scene::Scene;
use crate::{aide, declared};
use libtest_mimic::{Arguments, Failed, Trial};
use polder::{Availability, Error, Guarantee, HostFacts, Report, Sandbox, Unfit};
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The argument that makes the test program run one case.
const CASE: &str = "--case";
/// No case takes long; one that does hangs.
const CASE_SECONDS_MAX: u64 = 120;

/// The test program: the harness, one case, or an aide of a case.
pub fn main() -> ExitCode {
    polder::become_shim_if_asked();
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|first| first.to_str()) {
        Some(CASE) => {
            let text = |word: Option<std::ffi::OsString>| word.and_then(|word| word.into_string().ok());
            let (engine, name) = (text(arguments.next()), text(arguments.next()));
            run_case(&engine.expect("an engine"), &name.expect("a case"));
            ExitCode::SUCCESS
        }
        Some(aide::FLAG) => aide::live(arguments),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let engines = polder::engines();
    let host = host();
    let declared = declared::names();
    let mut trials = Vec::new();
    for name in &declared {
        let answer = declared::check(name, &engines, &host);
        trials.push(Trial::test(format!("declared::{name}"), move || answer.map_err(Failed::from)));
    }
    for engine in &engines {
        let id = engine.id();
        match engine.probe(&host) {
            Availability::Available { .. } => {
                for case in cases::all() {
                    trials.push(Trial::test(format!("{id}::{}", case.name), move || spawn(id, case.name)));
                }
            }
            Availability::Unavailable { reason, .. } => {
                trials.push(Trial::test(format!("{id}::refuses_where_it_does_not_work"), move || refuses(id)));
                // Listed, so that nobody takes silence for success; a declared one has failed above.
                let listed = Trial::test(format!("{id}::every_case ({reason})"), || Ok(()));
                trials.push(listed.with_ignored_flag(true));
            }
        }
    }
    trials
}

/// What the machine offers to this caller.
fn host() -> HostFacts {
    let dir = std::env::temp_dir().join(format!("polder-conformance-host.{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let planned = Sandbox::in_directory(&dir).environment(std::env::vars_os()).plan(["true"]);
    let host = planned.expect("a plan of nothing special").host().clone();
    std::fs::remove_dir(&dir).expect("an empty directory");
    host
}

/// Starts a process for a case and waits for it.
fn spawn(engine: &str, case: &str) -> Result<(), Failed> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(exe)
        .args([CASE, engine, case])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.as_mut().map(|stream| stream.read_to_string(&mut text));
        let _ = stdout.as_mut().map(|stream| stream.read_to_string(&mut text));
        text
    });
    let deadline = Instant::now() + Duration::from_secs(CASE_SECONDS_MAX);
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break Some(status),
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{status}\n{}", reader.join().unwrap_or_default()).into()),
        None => Err(format!("no end after {CASE_SECONDS_MAX} seconds").into()),
    }
}

/// Runs a case in this process; a panic is the failure.
fn run_case(engine: &str, name: &str) {
    let cases = cases::all();
    let case = cases.iter().find(|case| case.name == name).expect("a case of this name");
    let before = Before::now();
    {
        let scene = Scene::new(engine);
        match case.needs.iter().find(|guarantee| scene.accepted().contains(guarantee)) {
            Some(missing) => refuses_without(&scene, *missing),
            None => (case.run)(&scene),
        }
    }
    let left = before.left();
    assert!(left.is_empty(), "left behind:\n{}", left.join("\n"));
}

/// A guarantee of the built-in policy that the engine does not keep: without `accept` nothing runs.
fn refuses_without(scene: &Scene, guarantee: Guarantee) {
    let sandbox = scene.sandbox_at(&scene.work());
    let sandbox = scene.accepted().iter().filter(|other| **other != guarantee).fold(sandbox, |s, g| s.accept(*g));
    assert!(!scene.keeps(&sandbox, guarantee));
}

/// An engine that does not work here says why and what to do, and starts nothing.
fn refuses(id: &str) -> Result<(), Failed> {
    let dir = std::env::temp_dir().join(format!("polder-conformance-{id}.{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let answer = Sandbox::in_directory(&dir).engine(id).plan(["touch", "ran"]).and_then(|planned| {
        assert!(matches!(planned.report(), Report::Refused(_)), "{}", planned.report());
        planned.run()
    });
    let ran = dir.join("ran").exists();
    std::fs::remove_dir_all(&dir).map_err(|error| error.to_string())?;
    assert!(!ran, "something ran");
    let told = match answer {
        Ok(finished) => return Err(format!("it ran: {finished:?}").into()),
        Err(Error::Configuration(faults)) => faults.to_string(),
        Err(Error::Unfit(Unfit::Unavailable { engine, reason, remedy })) => {
            assert!(!remedy.is_empty(), "{engine} has no remedy");
            format!("{engine}: {reason}")
        }
        Err(Error::Unfit(Unfit::Refused(refused))) => {
            assert!(refused.refusals.iter().any(|refusal| refusal.remedy.is_some()), "no remedy: {refused}");
            refused.to_string()
        }
        Err(other) => return Err(format!("refused for another reason: {other}").into()),
    };
    assert!(told.contains(id), "the refusal must name the engine: {told}");
    Ok(())
}

/// For the list of cases: names are unique, or one would hide another.
pub(crate) fn assert_unique(cases: &[Case]) {
    for (index, case) in cases.iter().enumerate() {
        assert!(!cases[..index].iter().any(|other| other.name == case.name), "two cases are called {}", case.name);
    }
}
