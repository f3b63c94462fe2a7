//! `polder run --service`: a command that lives long, on our own streams, and that starts again when it should.
//!
//! Its streams are ours, not copies: nothing is held back between it and whoever speaks to it, and both stay open from one
//! start to the next.

use crate::exit::{Failure, say};
use crate::run::{Around, code, once, stream};
use polder::{Next, Outcome, Patience, Planned, Restart, Sandbox};
use polder_run::{HeadStart, Parting};
use polder_sys::wait::{self, Signals};
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What was asked for besides the sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) json: bool,
    pub(crate) restart: Restart,
}

/// Runs a service until it has ended for good.
pub(crate) fn supervise(
    sandbox: &Sandbox,
    first: Planned,
    command: &[OsString],
    Asked { json, restart }: Asked,
    mut ahead: Option<HeadStart>,
) -> Result<u8, Failure> {
    let mut watched = wait::END_SIGNALS.to_vec();
    watched.push(wait::RESTART);
    let signals = Signals::watch(&watched)?;
    let mut patience = Patience::new(restart);
    let mut planned = first;
    loop {
        let around = Around { signals: &signals, ahead: ahead.take(), parting: Parting::Wait };
        let begun = Instant::now();
        let outcome = once(planned, &command[0], json, around)?;
        let pause = match signals.asked() {
            Some(wait::RESTART) => Some(Duration::ZERO),
            Some(_) => None,
            None => pause(&mut patience, &outcome, begun.elapsed())?,
        };
        let Some(pause) = pause else { return Ok(code(&outcome)) };
        if let Some(signal) = wait_for(pause, &signals)? {
            return Ok(u8::try_from(128 + signal).unwrap_or(crate::exit::FAILED));
        }
        // The tree may be another one by now.
        planned = sandbox.plan(command.to_vec())?;
    }
}

/// How long to wait before the next start; nothing when there is none.
fn pause(patience: &mut Patience, outcome: &Outcome, lived: Duration) -> Result<Option<Duration>, Failure> {
    let next = patience.after(outcome, lived);
    // Nobody speaks to it any more, so nobody would be served.
    if next != Next::End && wait::is_over(stream(0)?.as_fd())? {
        return Ok(None);
    }
    Ok(match next {
        Next::End => None,
        Next::GiveUp { starts } => {
            say(&format!("the service ended again after {starts} new starts in a row; giving up"));
            None
        }
        Next::Start { pause, start, of } => {
            let code = outcome.exit_code();
            say(&format!("the service ended with code {code}; it starts again in {pause:?} ({start} of {of})"));
            Some(pause)
        }
    })
}

/// Waits, unless somebody asks for the end, which is the answer; a request for a new start ends the wait.
fn wait_for(pause: Duration, signals: &Signals) -> Result<Option<i32>, Failure> {
    let until = Instant::now() + pause;
    loop {
        while signals.next().is_some() {}
        match signals.asked() {
            Some(wait::RESTART) => return Ok(None),
            Some(signal) => return Ok(Some(signal)),
            None => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        wait::readable(&[Some(signals.fd())], Some(left))?;
    }
}
