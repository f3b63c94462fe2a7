//! `polder run`: the main job.

use crate::args::RunArgs;
use crate::exit::{Failure, say, say_amid};
use crate::put::wait_until;
use crate::render::progress::ProgressLine;
use crate::render::{json, missing, text};
use crate::service::{self, Asked};
use crate::workspace::escaped;
use polder::audit::Unrecorded;
use polder::last::LastCommand;
use polder::{
    Action, Begun, Ending, Event, EventKind, Noting, Observe, Outcome, Output, Plan, Planned, ProgramSearch, Report,
    RunError, Standing, Streams, Supervision, Violation, Wish, World,
};
use polder_run::{EventOutlet, HeadStart, Parting};
use polder_sys::wait::{self, Signals};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Lines that are printed about a run when it is over, also those about what was blocked.
pub(crate) const LINES_MAX: usize = 5;

pub(crate) fn run(args: RunArgs, ahead: Option<HeadStart>) -> Result<u8, Failure> {
    let RunArgs { policy, service, restart, dry_run, json, tty, command } = args;
    if tty {
        return crate::shell::interactive(&policy.sandbox(), command);
    }
    let sandbox = match &service {
        Some(name) => policy.sandbox().service(name.clone()),
        None => policy.sandbox(),
    };
    if dry_run {
        return print_plan(&sandbox.only_look().plan(command)?, json);
    }
    let planned = sandbox.plan(command.clone())?;
    if service.is_some() {
        return service::supervise(&sandbox, planned, &command, Asked { json, restart: restart.into() }, ahead);
    }
    let signals = Signals::watch(&signals_of_a_run())?;
    let around = Around { signals: &signals, ahead, parting: Parting::Leave };
    let outcome = tell(planned, &command[0], json, around, Telling { lines_max: LINES_MAX, hint: true })?;
    if !outcome.success() || outcome.violations > 0 {
        keep_command(&command);
    }
    Ok(code(&outcome))
}

/// Keeps the command for `polder again`. It is a help: the run is over.
fn keep_command(command: &[OsString]) {
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    let options = &words[..words.len().saturating_sub(command.len())];
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let kept = std::env::current_dir().and_then(|directory| {
        LastCommand::of(&directory, options, command).map_or(Ok(()), |last| last.keep(&environment))
    });
    if let Err(error) = kept {
        say(&format!("`polder again` will not know this command: {error}"));
    }
}

/// The signals that concern a run: those that end it, and the one that tells of a new terminal size.
pub(crate) fn signals_of_a_run() -> Vec<i32> {
    [&wait::END_SIGNALS[..], &[wait::WINDOW_CHANGED]].concat()
}

/// What surrounds one run of a command.
pub(crate) struct Around<'a> {
    pub(crate) signals: &'a Signals,
    pub(crate) ahead: Option<HeadStart>,
    pub(crate) parting: Parting,
}

/// Runs a planned command on our own streams, and says what its exit code alone does not.
pub(crate) fn once(planned: Planned, command: &OsString, json: bool, around: Around<'_>) -> Result<Outcome, Failure> {
    tell(planned, command, json, around, Telling { lines_max: LINES_MAX, hint: false })
}

/// How much is said when a run is over.
pub(crate) struct Telling {
    pub(crate) lines_max: usize,
    /// Whether to say how more can be seen, where the run was not watched exactly.
    pub(crate) hint: bool,
}

/// The same, as much as is wanted.
pub(crate) fn tell(
    planned: Planned,
    command: &OsString,
    json: bool,
    around: Around<'_>,
    Telling { lines_max, hint }: Telling,
) -> Result<Outcome, Failure> {
    let home = planned.host().user.home.clone();
    let timeout = planned.policy().limits.timeout.as_ref().map(|limit| limit.value);
    let path = planned.plan().env.get(&OsString::from("PATH")).cloned();
    let search = planned.program_search();
    let Over { plan, outcome, violations, told, changes, recorded } = carry_out(planned, json, around)?;
    if !json {
        let timeout = timeout.map(|span| span.to_string());
        let mut lines = explain(&outcome, command, (path, &search, &home), timeout, &violations);
        let changes = text::changes(changes.as_deref());
        let left = lines_max.saturating_sub(lines.len() + changes.iter().len());
        let needed: Vec<Violation> = violations
            .iter()
            .filter(|violation| !is_survived(violation, &outcome, plan.observe.value))
            .filter(|violation| !told.as_ref().is_some_and(|told| is_same(told, violation)))
            .cloned()
            .collect();
        lines.extend(text::violations(&needed, &home, left));
        let hint = (hint && lines.is_empty()).then(|| unwatched(&plan, &outcome)).flatten();
        lines.iter().chain(&changes).chain(&hint).for_each(|line| say(line));
    }
    recorded?;
    Ok(outcome)
}

/// How to see what was denied and not watched, of a command that failed and was told nothing. For people at a terminal in
/// any case; elsewhere only where the command names a path that the host has and the sandbox has not, because many
/// programs end with 1 to say no.
fn unwatched(plan: &Plan, outcome: &Outcome) -> Option<String> {
    let failed = matches!(outcome.ending, Ending::Exited(code) if code != 0);
    let sees_less = plan.observe.value == Observe::Cheap && plan.world == World::Made && plan.image.is_none();
    let at_terminal = polder_sys::terminal::is_terminal(io::stderr().as_fd());
    (failed && sees_less && (at_terminal || names_hidden_path(plan))).then(|| {
        format!("reads were not watched (observe: {}); to see what was denied: polder again", plan.observe.value.name())
    })
}

/// Whether a word of the command is a path that exists on the host and is not shown.
fn names_hidden_path(plan: &Plan) -> bool {
    const WORDS_MAX: usize = 256;
    let home = plan.identity.home.as_path();
    let texts: Vec<String> = plan.command.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words = texts.iter().flat_map(|text| text.split(|c: char| c.is_whitespace() || "'\"=;:,(){}<>|&`".contains(c)));
    let paths = words.filter_map(|word| match word.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None => Some(PathBuf::from(word)).filter(|path| path.is_absolute() && path.components().count() > 2),
    });
    let is_hidden = |path: &PathBuf| {
        matches!(plan.standing(path, Wish::Read), Standing::Denied(_)) && path.symlink_metadata().is_ok()
    };
    paths.take(WORDS_MAX).any(|path| is_hidden(&path))
}

/// Whether a command that ended with 0 did without this: programs ask for updates, send statistics, try a newer system
/// call first. What it could not write is told in any case: such a program may have said so and gone on. With
/// `observe: exact` the user asked for all of it.
fn is_survived(violation: &Violation, outcome: &Outcome, observe: Observe) -> bool {
    observe != Observe::Exact && outcome.success() && matches!(violation.action, Action::Network | Action::Syscall)
}

/// A run that is over.
pub(crate) struct Over {
    pub(crate) plan: Arc<Plan>,
    pub(crate) outcome: Outcome,
    /// What was denied, each once, with how often.
    pub(crate) violations: Vec<Violation>,
    /// The one of them that was told while the command waited for it.
    pub(crate) told: Option<Violation>,
    /// The workspace that holds what the command changed.
    pub(crate) changes: Option<String>,
    /// Whether the end is in the log, where it has to be.
    pub(crate) recorded: Result<(), Unrecorded>,
}

/// Runs what was planned, with our own streams or as events on stdout, to its end.
pub(crate) fn carry_out(
    planned: Planned,
    json: bool,
    Around { signals, ahead, parting }: Around<'_>,
) -> Result<Over, Failure> {
    // Output with a secret in it is looked at before it is passed on, and so is output that is counted.
    let looked_at = json || planned.has_secrets() || planned.policy().limits.output.is_some();
    let (streams, outlets) = if looked_at {
        let outlets = vec![EventOutlet::new(stream(1)?)?, EventOutlet::new(stream(2)?)?];
        (Streams::Events { stdin: stream(0)? }, outlets)
    } else {
        (relayed()?, Vec::new())
    };
    let timeout = planned.policy().limits.timeout.as_ref().map(|limit| limit.value);
    wait_until(timeout.and_then(|span| Instant::now().checked_add(span.0)));
    let home = planned.host().user.home.clone();
    let waiting = Waiting { home, denied: Vec::new(), told: None };
    let mut teller = Teller { json, outlets: &outlets, line: ProgressLine::new(), changes: None, waiting };
    let Begun { chosen, entry, secrets, mut noting } = planned.begin()?;
    let plan = Arc::clone(chosen.fitted.plan());
    entry.warning().iter().for_each(|warning| say(warning));
    if !json {
        text::before(chosen.engine.id(), &chosen.passed_over, chosen.fitted.accepted())
            .iter()
            .for_each(|line| say(line));
    }
    let mut redaction = secrets.redaction();
    let sink = &mut |event| {
        // The watch has taken the signal, so that it waits for no look of ours any more.
        if signals.is_asked() {
            wait_until(Some(Instant::now()));
        }
        redaction.pass(event).into_iter().try_for_each(|event| {
            noting.hear(&event);
            teller.tell(event)
        })
    };
    let supervision = Supervision {
        signals: Some(signals),
        ahead,
        session: None,
        parting,
        outlets: &outlets,
        has_room: &|| true,
        sink,
    };
    let ended = entry.span().in_scope(|| polder_run::run(chosen, streams, supervision));
    hurry(&ended, signals);
    // Best effort: stderr may be closed.
    let _ = teller.line.clear();
    let recorded = entry.end(&ended).map(|warning| warning.iter().for_each(|warning| say(warning)));
    let violations = noting.violations().to_vec();
    keep(noting, &ended);
    let Teller { changes, waiting: Waiting { told, .. }, .. } = teller;
    Ok(Over { plan, outcome: ended?, violations, told, changes, recorded })
}

/// Lets the words about a run that polder itself has ended wait for no reader.
pub(crate) fn hurry(ended: &Result<Outcome, RunError>, signals: &Signals) {
    let is_ended = |outcome: &Outcome| matches!(outcome.ending, Ending::TimedOut | Ending::Interrupted(_));
    if signals.is_asked() || ended.as_ref().is_ok_and(is_ended) {
        wait_until(Some(Instant::now()));
    }
}

/// Keeps what there is to explain of a run. A record is a help: the run is over, and did what it did without it.
pub(crate) fn keep(noting: Noting, ended: &Result<Outcome, RunError>) {
    if let Err(error) = noting.end(ended) {
        say(&format!("`polder explain` will not know this run: {error}"));
    }
}

/// The exit code as the system takes it.
pub(crate) fn code(outcome: &Outcome) -> u8 {
    u8::try_from(outcome.exit_code()).unwrap_or(crate::exit::FAILED)
}

fn print_plan(planned: &Planned, as_json: bool) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    let fits = matches!(planned.report(), Report::Fits { .. });
    let printed = if as_json {
        writeln!(out, "{}", escaped(&json::plan(planned).to_string()))
    } else {
        write!(out, "{}\n{}plan          {}\n", planned.plan(), planned.report(), planned.plan().hash())
    };
    text::tolerate_closed(printed)?;
    Ok(if fits { 0 } else { crate::exit::FAILED })
}

/// One of our own three streams; a closed one is an empty one.
pub(crate) fn stream(number: i32) -> io::Result<OwnedFd> {
    let open = || -> io::Result<OwnedFd> {
        match number {
            0 => wait::duplicate(io::stdin().as_fd()),
            1 => wait::duplicate(io::stdout().as_fd()),
            _ => wait::duplicate(io::stderr().as_fd()),
        }
    };
    if wait::is_open(number) {
        open()
    } else {
        File::options().read(true).write(true).open("/dev/null").map(Into::into)
    }
}

fn relayed() -> io::Result<Streams> {
    Ok(Streams::Relayed { stdin: stream(0)?, stdout: stream(1)?, stderr: stream(2)? })
}

/// Passes events on: as JSON lines, or only the output.
struct Teller<'a> {
    json: bool,
    /// Standard output and standard error, where the command's output comes as events.
    outlets: &'a [EventOutlet],
    /// What is made ready before the command.
    line: ProgressLine,
    /// The workspace that holds what the command changed.
    changes: Option<String>,
    waiting: Waiting,
}

/// A command that waits for a network which it does not have: package managers try again for minutes without a word.
struct Waiting {
    home: PathBuf,
    /// What it was denied of the network.
    denied: Vec<Violation>,
    /// What was told of it.
    told: Option<Violation>,
}

impl Waiting {
    /// Takes a denial; gives the lines for a command that was denied the same before, once.
    fn hear(&mut self, violation: Violation) -> Vec<String> {
        if violation.action != Action::Network || self.told.is_some() {
            return Vec::new();
        }
        // The observer tells the same thing twice only where it is tried again after a while.
        if !self.denied.iter().any(|earlier| is_same(earlier, &violation)) {
            self.denied.push(violation);
            return Vec::new();
        }
        // How often is known when the command has ended.
        let violation = self.told.insert(Violation { count: 1, ..violation });
        text::violations(std::slice::from_ref(violation), &self.home, 1)
    }
}

/// Whether two denials are of the same thing.
fn is_same(one: &Violation, other: &Violation) -> bool {
    (one.action, &one.target) == (other.action, &other.target)
}

impl Teller<'_> {
    fn tell(&mut self, event: Event) -> ControlFlow<()> {
        let written = if self.json {
            self.outlets[0].write(format!("{}\n", escaped(&json::event(&event).to_string())).as_bytes())
        } else {
            self.pass(event)
        };
        // Whoever read us is gone; the command ends as it would without us in between.
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pass(&mut self, event: Event) -> io::Result<()> {
        match event.kind {
            EventKind::Output(Output::Stdout, bytes) => return self.outlets[0].write(&bytes),
            EventKind::Output(Output::Stderr, bytes) => return self.outlets[1].write(&bytes),
            EventKind::Progress(progress) => return self.line.show(&progress),
            EventKind::Warning(text) => {
                self.line.clear()?;
                say(&format!("warning: {text}"));
            }
            EventKind::Changes { workspace, changed: true, kept: true } => self.changes = Some(workspace),
            EventKind::Changes { .. } => {}
            EventKind::Violation(violation) => self.waiting.hear(violation).iter().for_each(|line| say_amid(line)),
            // Told before the start, or when it has ended, together.
            EventKind::Downgrade { .. }
            | EventKind::Starting { .. }
            | EventKind::Ready
            | EventKind::Limit(_)
            | EventKind::Exit(_)
            | EventKind::Stopped => {}
        }
        Ok(())
    }
}

/// What the exit code alone does not say.
fn explain(
    outcome: &Outcome,
    command: &OsString,
    (path, search, home): (Option<OsString>, &ProgramSearch, &Path),
    timeout: Option<String>,
    violations: &[Violation],
) -> Vec<String> {
    let name = command.display();
    let ending = match outcome.ending {
        Ending::TimedOut => {
            let way = text::next_step(violations, "timeout").map(|flag| format!("; {flag} lets it run longer"));
            Some(format!("timed out after {}{}", timeout.unwrap_or_default(), way.unwrap_or_default()))
        }
        Ending::NotFound => {
            let path = path.map(|path| path.display().to_string()).unwrap_or_default();
            let place = if name.to_string().contains('/') { String::new() } else { format!(" (PATH={path})") };
            Some(format!("`{name}` does not exist in the sandbox{place}; {}", missing::advice(&search.look(), home)))
        }
        Ending::NotExecutable(errno) => Some(format!("`{name}` cannot be executed: {}", polder_sys::Errno(errno))),
        Ending::Lost => Some("the sandbox vanished and took the command with it".to_owned()),
        Ending::LimitReached | Ending::Exited(_) | Ending::Signalled(_) | Ending::Interrupted(_) => None,
    };
    let limit = outcome.limit.map(|limit| {
        let flag = text::next_step(violations, limit.name()).unwrap_or_else(|| format!("--{}", limit.name()));
        let bound = text::bound(violations, limit.name()).map(|bound| format!(" ({bound})")).unwrap_or_default();
        format!("the {} limit was reached{bound}; {flag} raises it", limit.name())
    });
    ending.into_iter().chain(limit).collect()
}
