//! The `polder` command: arguments in, façade called, results and exit codes out. One file per verb.
#![forbid(unsafe_code)]

mod again;
mod args;
mod attack;
mod audit;
mod cache;
mod complete;
mod completions;
mod config;
mod doctor;
mod exit;
mod explain;
mod grant;
mod learn;
mod put;
mod render;
mod run;
mod service;
mod shell;
mod steps;
mod telemetry;
mod trust;
mod why;
mod workspace;

use args::Verb;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: polder_sys::arena::Arena = polder_sys::arena::Arena;

fn main() -> ExitCode {
    // What engines that are programs of their own start inside is this program, too.
    polder::become_shim_if_asked();
    // A part of an attack is started as this very program; it is no verb and not in the help.
    if let Some(code) = polder_attack::hidden() {
        return code;
    }
    let line: Vec<_> = std::env::args_os().collect();
    let ahead = args::will_run(&line).and_then(polder_run::begin);
    let verb = match args::parse(&line) {
        Ok(verb) => verb,
        Err(error) => return exit::usage(error, &line),
    };
    let telemetry = telemetry::start();
    let result = match verb {
        Verb::Run(args) => run::run(args, ahead),
        Verb::Again(args) => again::again(&args),
        Verb::Shell(args) => shell::shell(args),
        Verb::Steps(args) => steps::steps(*args),
        Verb::Doctor(args) => doctor::doctor(&args),
        Verb::Explain(args) => explain::explain(&args),
        Verb::Why(args) => why::why(&args),
        Verb::Learn(args) => learn::learn(&args),
        Verb::Grant(args) => grant::grant(&args),
        Verb::Workspace(args) => workspace::workspace(args),
        Verb::Config(args) => config::config(args),
        Verb::Audit(args) => audit::audit(args),
        Verb::Trust(args) => trust::trust(&args),
        Verb::Cache(args) => cache::cache(&args),
        Verb::Completions(args) => completions::completions(&args),
        Verb::Man(args) => completions::man(&args),
        Verb::Complete(args) => complete::complete(&args),
    };
    telemetry::finish(telemetry);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => exit::failed(&failure),
    }
}
