//! `polder steps`: the steps of the configuration, each in its sandbox.

mod github;
mod junit;
mod kept;
mod lines;
mod report;
mod show;
mod summary;

use crate::args::StepsArgs;
use crate::exit::{Failure, printable, say};
use crate::put::{Own, put, wait_until};
use crate::render::json;
use crate::render::text::tolerate_closed;
use crate::workspace::escaped;
use polder::{Planned, PlannedService, PlannedSteps, Report, StepEvent, StepResult, StepsAsked, steps_exit_code};
use polder_sys::wait::{self, Signals};
use serde_json::{Value, json};
use show::Show;
use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::time::Instant;

pub(crate) fn steps(args: StepsArgs) -> Result<u8, Failure> {
    let StepsArgs { policy, input, max_parallelism, dry_run, json, junit, names } = args;
    let asked = StepsAsked {
        names,
        inputs: inputs(&input)?,
        at_once: max_parallelism.map(Into::into),
        pull_request: github::pull_request()?,
    };
    let sandbox = policy.sandbox();
    let planned = if dry_run { sandbox.only_look() } else { sandbox }.plan_steps(&asked)?;
    if planned.steps().is_empty() {
        return Err(Failure::new("the configuration has no steps; write some below `steps:`"));
    }
    planned.notices().iter().for_each(|notice| say(&format!("warning: {notice}")));
    if let Some(text) = planned.unread() {
        if json && !dry_run {
            print_json(&json!({"type": "warning", "text": text}))?;
        } else {
            say(&format!("warning: {text}"));
        }
    }
    if dry_run {
        return print_plan(&planned, json);
    }
    let planned = planned.judged()?;
    // Before anything runs: a report that cannot be written would be missed only at the end.
    let report = junit.map(|path| report::Report::prepare(&path)).transpose()?;
    let job_summary = github::JobSummary::prepare()?;
    let signals = Signals::watch(&wait::END_SIGNALS)?;
    let names: Vec<String> = planned.steps().iter().map(|step| step.name().to_owned()).collect();
    let mut show = Show::new(names, json, report.is_some());
    let mut lost = None;
    // A signal that the run has taken is no longer pending, so the waits for readers are told of it.
    let heed_end = || {
        if signals.is_asked() {
            wait_until(Some(Instant::now()));
        }
    };
    let results = planned.run(Some(&signals), &mut |event| {
        heed_end();
        let told = if json { tell_json(&event) } else { show.tell(&event) };
        show.keep(&event);
        match told {
            Ok(()) => ControlFlow::Continue(()),
            // Whoever read us is gone, or what we say is lost.
            Err(error) => {
                lost = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    heed_end();
    if let Some(error) = lost {
        tolerate_closed(Err(error))?;
    }
    if json {
        let steps: Vec<_> = results.iter().map(result_json).collect();
        print_json(&json!({"type": "summary", "exitCode": steps_exit_code(statuses(&results)), "steps": steps}))?;
    } else {
        tolerate_closed(show.end(&results))?;
    }
    if let Some(report) = report {
        report.write(&junit::report(&results, show.tails()))?;
    }
    if let Some(summary) = job_summary {
        summary.add(&results)?;
    }
    Ok(steps_exit_code(statuses(&results)))
}

fn statuses(results: &[StepResult]) -> impl Iterator<Item = &polder::Status> {
    results.iter().map(|result| &result.status)
}

fn inputs(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
        pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .ok_or_else(|| Failure::new(format!("--input: `{text}` is not NAME=VALUE")))
    };
    given.iter().map(pair).collect()
}

fn print(text: &str) -> Result<(), Failure> {
    tolerate_closed(put(Own::Stdout, format!("{text}\n").as_bytes())).map_err(Failure::from)
}

/// With nothing in it that speaks to a terminal or to a runner: reasons and paths are words of others.
fn print_json(value: &Value) -> Result<(), Failure> {
    print(&escaped(&value.to_string()))
}

/// Every step with its engine and its plan's hash; what refuses says why.
fn print_plan(planned: &PlannedSteps, as_json: bool) -> Result<u8, Failure> {
    let mut refused = false;
    let mut list = Vec::new();
    for step in planned.steps() {
        let run = step.planned();
        let services = step.services().iter().map(|service| service.planned());
        refused |= services.chain([run]).any(|run| matches!(run.report(), Report::Refused(_)));
        if as_json {
            let mut object = json::plan(run);
            if let Some(object) = object.as_object_mut() {
                object.insert("step".to_owned(), step.name().into());
                object.insert("waitsFor".to_owned(), step.waits_for().into());
                object.insert("services".to_owned(), step.services().iter().map(service_json).collect());
            }
            list.push(object);
            continue;
        }
        let waits = match step.waits_for() {
            [] => String::new(),
            names => format!(", after {}", names.join(", ")),
        };
        print(&printable(&format!("{}: {}{waits}", step.name(), how(run))))?;
        for service in step.services() {
            print(&printable(&format!("  beside it {}: {}", service.name(), how(service.planned()))))?;
        }
    }
    if as_json {
        print_json(&json!({"atOnce": planned.at_once(), "steps": list}))?;
    }
    Ok(if refused { crate::exit::FAILED } else { 0 })
}

/// Where a run goes.
fn how(run: &Planned) -> String {
    let how = match run.report() {
        Report::Fits { fit, reason } => format!("engine {} ({reason})", fit.engine),
        Report::Refused(unfit) => format!("refused: {unfit}"),
    };
    let sandbox = run.plan().sandbox.as_deref().map(|name| format!("sandbox {name}, ")).unwrap_or_default();
    format!("{sandbox}{how}")
}

fn service_json(service: &PlannedService) -> Value {
    let mut object = json::plan(service.planned());
    if let Some(object) = object.as_object_mut() {
        object.insert("service".to_owned(), service.name().into());
    }
    object
}

fn tell_json(event: &StepEvent<'_>) -> io::Result<()> {
    let line = match event {
        // Its first event says the same and more.
        StepEvent::Started(_) | StepEvent::Tick => return Ok(()),
        StepEvent::Warning(text) => json!({"type": "warning", "text": text}),
        StepEvent::Run(place, event) => {
            let mut object = json::event(event);
            if let Some(object) = object.as_object_mut() {
                object.insert("stepIndex".to_owned(), (*place).into());
            }
            object
        }
        StepEvent::Ended(place, result) => {
            let mut object = result_json(result);
            if let Some(object) = object.as_object_mut() {
                object.insert("type".to_owned(), "step".into());
                object.insert("stepIndex".to_owned(), (*place).into());
            }
            object
        }
    };
    put(Own::Stdout, format!("{}\n", escaped(&line.to_string())).as_bytes())
}

fn result_json(result: &StepResult) -> Value {
    let StepResult { name, status, engine, outcome, took } = result;
    let detail = Some(status.detail()).filter(|detail| !detail.is_empty());
    json!({
        "step": name,
        "status": status.name(),
        "detail": detail,
        "exitCode": status.code(),
        "engine": engine,
        "outcome": outcome.as_ref().map(json::outcome),
        "tookMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}
