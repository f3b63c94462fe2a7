//! `polder again`: the last command of this directory once more, on a layer that is thrown away, watched exactly.
//!
//! By default polder does not watch what only reads, because that costs every run. So it can tell after a run that failed
//! only a part of what was denied; this is how the rest is seen, without a second effect on the tree.

use crate::args::{self, AgainArgs, RunArgs, Verb};
use crate::exit::{Failure, say};
use crate::run::{Around, Telling, code, signals_of_a_run, tell};
use polder::last::LastCommand;
use polder_run::Parting;
use polder_sys::wait::Signals;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Lines about what was denied: this is what the call is for.
const LINES_MAX: usize = 40;

pub(crate) fn again(args: &AgainArgs) -> Result<u8, Failure> {
    let AgainArgs { observe, allow, env, json } = args;
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let directory = std::env::current_dir()?;
    let last = LastCommand::find(&directory, &environment)?.ok_or_else(|| {
        Failure::new("no command of `polder run` in this directory failed or was denied something, so none is kept")
    })?;
    let given = |name: &String| env.iter().any(|given| given.split_once('=').is_some_and(|(given, _)| given == name));
    let missing: Vec<&str> = last.withheld.iter().filter(|name| !given(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        let flags: Vec<String> = missing.iter().map(|name| format!("--env {name}=VALUE")).collect();
        return Err(Failure::new(format!(
            "values of variables are not kept; give them again: polder again {}",
            flags.join(" ")
        )));
    }
    let RunArgs { mut policy, command, .. } = parsed(last.words)?;
    policy.observe = Some(observe.clone().unwrap_or_else(|| "exact".to_owned()));
    policy.allow.extend(allow.iter().cloned());
    policy.env.extend(env.iter().cloned());
    // A layer of its own: one that has a name stays as it is, and is where this one begins.
    policy.discard = true;
    if let Some(name) = policy.workspace.take() {
        policy.from.get_or_insert(name);
    }
    let planned = policy.sandbox().plan(command.clone())?;
    if planned.policy().workspace.value.keep {
        return Err(Failure::new("this policy has no layer that could be thrown away; nothing was run"));
    }
    if !json {
        say(&format!("running `{}` again on a layer that is thrown away", command[0].display()));
        for place in planned.plan().written_places().filter(|place| !place.starts_with(&planned.host().tree.root)) {
            say(&format!("warning: `{}` is writable and no part of the layer", place.display()));
        }
    }
    let signals = Signals::watch(&signals_of_a_run())?;
    let around = Around { signals: &signals, ahead: None, parting: Parting::Leave };
    let outcome = tell(planned, &command[0], *json, around, Telling { lines_max: LINES_MAX, hint: false })?;
    Ok(code(&outcome))
}

fn parsed(words: Vec<String>) -> Result<RunArgs, Failure> {
    let line: Vec<OsString> =
        ["polder", "run"].map(OsString::from).into_iter().chain(words.into_iter().map(OsString::from)).collect();
    match args::parse(&line) {
        Ok(Verb::Run(args)) => Ok(args),
        Ok(_) | Err(_) => Err(Failure::new("the command that is kept was given to another version of polder")),
    }
}
