//! Waiting until a service is well, and saying what it wrote when it is not.

use super::model::{Check, Failures, PATIENCE_MAX, Service};
use crate::container::api::{ApiError, Client, Deadline, ExecState, ObjectName};
use crate::container::image::Told;
use polder_engine::Lookout;
use serde_json::json;
use std::io::Read;
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often is looked whether a check has ended.
const GLANCE: Duration = Duration::from_millis(50);
/// The longest pause between two checks; a service that says it is asked twice a minute need not make the run wait so long.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How many of its last lines are shown.
const LINES: u32 = 10;
/// The longest of them.
const LINE_CHARACTERS_MAX: usize = 300;

/// Why a service is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwell {
    #[error("service `{name}` ended with code {code}{}", shown(lines))]
    Ended { name: String, code: i64, lines: Vec<String> },
    #[error("service `{name}` is not healthy: its check failed {}{}", times(*retries), shown(lines))]
    Unhealthy { name: String, retries: u32, lines: Vec<String> },
    #[error("service `{name}` was not healthy after {} seconds, the longest wait{}", PATIENCE_MAX.as_secs(), shown(lines))]
    TooLate { name: String, lines: Vec<String> },
    #[error("interrupted by signal {signal} while services started")]
    Interrupted { signal: i32 },
    #[error("cannot look at service `{name}`")]
    Ask { name: String, source: ApiError },
}

fn shown(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  | {line}")).collect()
}

fn times(retries: u32) -> String {
    if retries == 1 { "once".to_owned() } else { format!("{retries} times in a row") }
}

/// Waits until the service says that it is well, or has failed as often as its own numbers allow.
pub(super) fn wait(
    client: &Client,
    id: &ObjectName,
    service: &Service,
    check: &Check,
    lookout: &mut dyn Lookout,
) -> Result<(), Unwell> {
    let mut told = Told::new(format!("wait until service `{}` is well", service.name), lookout);
    let started = Instant::now();
    let mut failures = Failures::none(check);
    loop {
        still_runs(client, id, service, false)?;
        let begun = started.elapsed();
        if is_well(client, id, service, check, &mut told)? {
            return Ok(());
        }
        let name = || service.name.clone();
        if failures.add(begun) {
            return Err(Unwell::Unhealthy { name: name(), retries: check.retries, lines: last_lines(client, id) });
        }
        if started.elapsed() >= PATIENCE_MAX {
            return Err(Unwell::TooLate { name: name(), lines: last_lines(client, id) });
        }
        pause(check.interval.min(PAUSE_MAX), &mut told)?;
    }
}

/// Refuses a service that has failed. `may_be_done` lets one pass that has done its work.
pub(super) fn still_runs(client: &Client, id: &ObjectName, service: &Service, may_be_done: bool) -> Result<(), Unwell> {
    let state = client.inspect_container(id, Deadline::quick()).map_err(|source| ask(service, source))?.state;
    if state.running || (may_be_done && state.exit_code == 0) {
        return Ok(());
    }
    Err(Unwell::Ended { name: service.name.clone(), code: state.exit_code, lines: last_lines(client, id) })
}

/// One check: whether its command ends with 0 in time.
fn is_well(
    client: &Client,
    id: &ObjectName,
    service: &Service,
    check: &Check,
    told: &mut Told<'_>,
) -> Result<bool, Unwell> {
    let description = json!({
        "Cmd": check.test,
        "AttachStdin": false, "AttachStdout": true, "AttachStderr": true,
        "Privileged": false, "Tty": false,
    });
    let begun = Instant::now();
    let exec = match client.create_exec(id, &description, Deadline::quick()) {
        Ok(exec) => exec,
        // Perhaps it ended meanwhile, which says more.
        Err(error) => return still_runs(client, id, service, false).and(Err(ask(service, error))),
    };
    // A check that cannot be started, because there is no such program, has failed.
    let Ok(mut streams) = client.start_exec(&exec, Deadline::after(check.timeout)) else { return Ok(false) };
    // It has ended when its streams have: one daemon keeps saying that a check without streams runs.
    let mut dropped = [0; 4096];
    loop {
        let heard = polder_sys::wait::readable(&[Some(streams.as_fd())], Some(GLANCE));
        let over = match heard.map(|heard| heard.first() == Some(&true)) {
            Ok(true) => !matches!(streams.read(&mut dropped), Ok(1..)),
            Ok(false) => false,
            Err(_) => return Ok(false),
        };
        if over {
            break;
        }
        if begun.elapsed() >= check.timeout {
            return Ok(false);
        }
        pause(Duration::ZERO, told)?;
    }
    loop {
        match client.inspect_exec(&exec, Deadline::quick()) {
            Ok(ExecState { running: false, exit_code: Some(code), .. }) => return Ok(code == 0),
            Ok(_) => {}
            Err(error) if error.is_absent() => return Ok(false),
            Err(error) => return Err(ask(service, error)),
        }
        if begun.elapsed() >= check.timeout {
            return Ok(false);
        }
        pause(GLANCE, told)?;
    }
}

fn ask(service: &Service, source: ApiError) -> Unwell {
    Unwell::Ask { name: service.name.clone(), source }
}

/// A pause, unless somebody wants the run to end.
fn pause(how_long: Duration, told: &mut Told<'_>) -> Result<(), Unwell> {
    let end = Instant::now() + how_long;
    loop {
        if let Some(signal) = told.interrupted() {
            return Err(Unwell::Interrupted { signal });
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        sleep(left.min(GLANCE));
    }
}

/// The last lines that a service wrote; none where the daemon does not say.
fn last_lines(client: &Client, id: &ObjectName) -> Vec<String> {
    // What the caller has to hear about is the service; that its log is missing, too, helps nobody.
    let Ok(logs) = client.container_logs(id, LINES, Deadline::quick()) else { return Vec::new() };
    let mut lines = Vec::new();
    for stream in [logs.stdout, logs.stderr] {
        let text = String::from_utf8_lossy(&stream).into_owned();
        let clean = |line: &str| -> String {
            let line = line.chars().take(LINE_CHARACTERS_MAX);
            line.map(|c| match c {
                '\t' => ' ',
                c if c.is_control() => '\u{fffd}',
                c => c,
            })
            .collect()
        };
        lines.extend(text.lines().map(clean));
    }
    let first = lines.len().saturating_sub(LINES as usize);
    lines.split_off(first)
}
