//! `polder learn`: run a command, see what it is denied, and write the smallest policy that lets it.
//!
//! Every rule stays enforced while it learns, unless `--permissive` is given and permitted (`lend.rs`). So a command comes as far as its first missing thing, or further if it goes on
//! without: another call, or another round, comes further with what was learnt before.

mod given;
mod lend;
mod lesson;
mod memory;
mod page;
mod tighten;
mod worry;

use crate::args::{LearnArgs, PolicyArgs};
use crate::exit::{Failure, say};
use crate::put::{Own, put};
use crate::render::missing;
use crate::render::text::{pasteable, tolerate_closed};
use crate::run::{Around, Over, carry_out, code};
use crate::workspace::escaped;
use lesson::{Lesson, Worry};
use memory::Memory;
use polder::config::{self, Files};
use polder::deeds::{Deeds, Kind, Weight};
use polder::{Ending, Loan, Planned, Sensitive, Standing, Violation, Wish, World, trust};
use polder_run::Parting;
use polder_sys::wait::{self, Signals};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use worry::Ground;

/// The project's file that is written when no other is named.
const FILE: &str = "polder.yaml";
/// A sandbox that has no other name.
const NAME: &str = "learned";

pub(crate) fn learn(args: &LearnArgs) -> Result<u8, Failure> {
    if args.tighten {
        return tighten::tighten(args);
    }
    let LearnArgs { policy, to, rounds, tighten: _, permissive, json, command } = args;
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let mut memory = Memory::of(place(policy, to.as_ref(), &environment)?, &environment)?;
    policy.allow.iter().for_each(|grant| memory.lesson.give(grant));
    let mut policy = watching(policy)?;
    // The file counts before anybody trusts it, because it is what this very command wrote.
    policy.trust |= memory.is_ours && to.is_none();
    let planned = policy.sandbox().plan(command.clone())?;
    memory.lesson.give_places(&planned);
    let (name, mut ground) = ground(&planned);
    let loan = if *permissive { borrow(&planned, &environment)? } else { Loan::none() };
    ground.hidden.extend(loan.hidden.iter().cloned());
    let worry = |path: &Path| worry::worry(path, &ground);
    let mut last = 0;
    for _ in 0..*rounds {
        memory.lesson.review(&worry);
        let mut policy = policy.clone();
        policy.allow.extend(memory.lesson.grants(&worry));
        policy.bind.extend(memory.lesson.given.bind_flags());
        policy.profile.extend(memory.lesson.given.profiles.iter().cloned());
        let violations;
        let planned = policy.sandbox().lend(loan.clone()).plan(command.clone())?;
        memory.lesson.begin(started(&planned, &loan), &worry);
        (violations, last) = once(planned)?;
        if !memory.lesson.add(&violations, &worry) {
            break;
        }
    }
    if memory.lesson.is_empty() {
        say(&nothing_learnt(last));
        return Ok(last);
    }
    let text = page::page(&memory.lesson, name.as_deref().unwrap_or(NAME), &worry);
    memory
        .write(&text)
        .map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", memory.file.display())))?;
    if *json {
        let told =
            json!({"file": memory.file.display().to_string(), "exitCode": last, "lesson": memory.lesson.to_json()});
        // A plain write would wait for its reader beyond the time limit of the run.
        tolerate_closed(put(Own::Stdout, format!("{}\n", escaped(&told.to_string())).as_bytes()))?;
    } else {
        let again = unwritten(&policy);
        summary(&memory, to.is_some(), last, &worry).iter().chain(&again).for_each(|line| say(line));
    }
    Ok(last)
}

/// The name of the sandbox, and what paths are judged by.
fn ground(planned: &Planned) -> (Option<String>, Ground) {
    let written = planned.plan().written_places().map(Path::to_owned).collect();
    let home = planned.host().user.home.clone();
    let hidden = worry::behind(std::slice::from_ref(&home), &Sensitive::in_homes([home.as_path()]));
    (planned.policy().name.clone(), Ground { home, written, hidden, denied: worry::denied(planned) })
}

/// What the command is lent, if somebody permits it. It is in the log before the command starts.
fn borrow(planned: &Planned, environment: &BTreeMap<OsString, OsString>) -> Result<Loan, Failure> {
    let by = config::permissive(environment)?;
    if planned.plan().world != World::Made || planned.plan().image.is_some() {
        return Err(Failure::new(
            "--permissive needs an engine that makes a file system of the host's own programs, such as `native`",
        ));
    }
    let kept = trust::store(environment).and_then(|store| store.parent()?.canonicalize().ok());
    let lend::Found { loan, left_out } = lend::find(planned, kept.as_deref());
    let places: Vec<String> = loan.places.iter().map(|place| place.display().to_string()).collect();
    let data = json!({"verb": "learn --permissive", "by": by.to_string(), "lent": places,
        "hidden": loan.hidden.len(), "words": planned.plan().command.len()});
    let warning = Deeds::of(environment)?.record(Kind::Grant, Weight::Elevation, &data)?;
    warning.iter().for_each(|warning| say(warning));
    say(&format!(
        "warning: --permissive ({by}): the command can read {} places of the host beyond its policy; {} sensitive files in them \
         stay hidden, nothing more can be written or reached",
        places.len(),
        loan.hidden.len(),
    ));
    if let Some(first) = left_out.first() {
        let more = left_out.len() - 1;
        say(&format!("not lent: {first}; and {more} more places"));
    }
    Ok(loan)
}

/// The program of the command, where it is only lent. Its execution is the one that nobody watches.
fn started(planned: &Planned, loan: &Loan) -> Option<PathBuf> {
    let is_lent = |path: &Path| {
        loan.places.iter().any(|place| path.starts_with(place))
            && matches!(planned.plan().standing(path, Wish::Read), Standing::Denied(_))
    };
    planned.plan().candidates().into_iter().find(|path| path.is_file()).filter(|path| is_lent(path))
}

/// One run on our own streams: what it was denied, and its exit code.
fn once(planned: Planned) -> Result<(Vec<Violation>, u8), Failure> {
    let signals = Signals::watch(&wait::END_SIGNALS)?;
    let (search, home) = (planned.program_search(), planned.host().user.home.clone());
    let around = Around { signals: &signals, ahead: None, parting: Parting::Leave };
    let Over { outcome, violations, recorded, .. } = carry_out(planned, false, around)?;
    recorded?;
    match outcome.ending {
        Ending::Interrupted(_) => Err(Failure::new("interrupted; nothing was written")),
        // What keeps the command from starting is the first thing to learn of it.
        Ending::NotFound | Ending::NotExecutable(_) if !violations.is_empty() => Ok((violations, code(&outcome))),
        Ending::NotFound => Err(Failure::new(format!(
            "the command does not exist in the sandbox, so nothing was learnt; {}",
            missing::advice(&search.look(), &home)
        ))),
        Ending::NotExecutable(_) => {
            Err(Failure::new("the command cannot be executed in the sandbox, so nothing was learnt"))
        }
        Ending::Lost => Err(Failure::new("the sandbox vanished and took the command with it; nothing was written")),
        Ending::Exited(_) | Ending::Signalled(_) | Ending::TimedOut | Ending::LimitReached => {
            Ok((violations, code(&outcome)))
        }
    }
}

/// Everything is watched: that is what this is for.
fn watching(policy: &PolicyArgs) -> Result<PolicyArgs, Failure> {
    if policy.observe.as_ref().is_some_and(|mode| mode != "exact") {
        return Err(Failure::new("learning watches everything; leave --observe out"));
    }
    Ok(PolicyArgs { observe: Some("exact".to_owned()), ..policy.clone() })
}

/// The file that is written.
fn place(
    policy: &PolicyArgs,
    to: Option<&PathBuf>,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<PathBuf, Failure> {
    if let Some(file) = to {
        return Ok(std::path::absolute(file)?);
    }
    let directory = policy.directory.clone().unwrap_or_else(|| PathBuf::from("."));
    let said = config::read(&directory, &Files::Found, environment, policy.overrides())?;
    let file = said.scope.workspace_root.as_path().join(FILE);
    match said.project().map(|project| project.path()) {
        Some(other) if other != file => Err(Failure::new(format!(
            "the project has a configuration, `{}`; name the file to write with --to, and use it with --config",
            other.display()
        ))),
        Some(_) | None => Ok(file),
    }
}

/// What is true of a command that was denied nothing: only one that ended with 0 needs no policy.
fn nothing_learnt(code: u8) -> String {
    if code == 0 {
        return "the command asked for nothing that it does not have; no policy is needed, and none was written"
            .to_owned();
    }
    format!("the command ended with {code}, and nothing that polder watches was denied to it; no policy was written")
}

/// The flags of this call that gave the command something and are not in the file: a run needs them again. The value of a
/// variable is not printed.
fn unwritten(policy: &PolicyArgs) -> Option<String> {
    let PolicyArgs { network, allow_host, env, .. } = policy;
    let named = |flag: &'static str, values: &[String]| -> Vec<String> {
        values.iter().filter_map(|value| pasteable(value)).map(|value| format!("{flag} {value}")).collect()
    };
    let names: Vec<String> = env
        .iter()
        .map(|given| given.split_once('=').map_or_else(|| given.clone(), |(name, _)| format!("{name}=VALUE")))
        .collect();
    let network: Vec<String> = network.iter().cloned().collect();
    let flags = [named("--network", &network), named("--allow-host", allow_host), named("--env", &names)].concat();
    (!flags.is_empty())
        .then(|| format!("the file does not hold what these flags gave; give them again: {}", flags.join(" ")))
}

fn summary(memory: &Memory, named: bool, last: u8, worry: Worry<'_>) -> Vec<String> {
    let Lesson { runs: _, granted, held, refused, given } = &memory.lesson;
    let grants = memory.lesson.grants(worry).len() + given.binds.len() + given.profiles.len();
    let file = memory.file.display();
    let mut lines = vec![format!("wrote {file}: {grants} granted, {} held back", held.len())];
    for (what, why) in held.iter().chain(refused).take(crate::run::LINES_MAX) {
        lines.push(format!("not granted: {what} ({why})"));
    }
    if last != 0 && !granted.is_empty() {
        lines.push(format!(
            "the command ended with {last}; learn once more to see how far it comes with what is granted"
        ));
    }
    lines.push(if named {
        format!("`polder run --config {file}` uses it")
    } else {
        "`polder trust` lets it count in every run here".to_owned()
    });
    lines
}
