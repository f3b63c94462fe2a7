//! `polder shell` and `polder run --tty`: a terminal of the sandbox's own, relayed to ours.

use crate::args::ShellArgs;
use crate::exit::{Failure, say};
use crate::render::progress::ProgressLine;
use crate::render::text;
use crate::run::{LINES_MAX, code, hurry, keep, signals_of_a_run};
use polder::{Begun, EventKind, Sandbox, Streams, Supervision};
use polder_sys::terminal;
use polder_sys::wait::{self, Signals};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;

pub(crate) fn shell(args: ShellArgs) -> Result<u8, Failure> {
    let ShellArgs { policy, shell } = args;
    let shell = shell.unwrap_or_else(|| {
        let bash = ["/usr/bin/bash", "/bin/bash"].into_iter().find(|path| Path::new(path).exists());
        bash.unwrap_or("/bin/sh").into()
    });
    let sandbox = match prompt(&shell) {
        Some(prompt) => policy.sandbox().prompt(prompt),
        None => policy.sandbox(),
    };
    interactive(&sandbox, vec![shell])
}

/// A prompt that says that this is a sandbox, and where in it. Each shell has its own word for the directory; the home
/// has no file that would set another one.
fn prompt(shell: &OsStr) -> Option<&'static str> {
    match Path::new(shell).file_name()?.to_str()? {
        "bash" => Some(r"[polder] \w\$ "),
        "zsh" => Some("[polder] %~ %# "),
        // Parameters are expanded in a prompt of every POSIX shell (sh(1p), `PS1`).
        "sh" | "dash" | "ash" | "ksh" | "mksh" => Some("[polder] $PWD $ "),
        _ => None,
    }
}

/// Runs a command on a terminal. The caller's terminal hands every key through, so Ctrl-C and Ctrl-Z belong to the
/// programs inside.
pub(crate) fn interactive(sandbox: &Sandbox, command: Vec<OsString>) -> Result<u8, Failure> {
    let (input, output) = (io::stdin(), io::stdout());
    if !terminal::is_terminal(input.as_fd()) || !terminal::is_terminal(output.as_fd()) {
        return Err(Failure::new("standard input and output must be a terminal; use `polder run` without --tty"));
    }
    // Before the size is read: a change that comes in between must not be lost.
    let signals = Signals::watch(&signals_of_a_run())?;
    let size = terminal::size(output.as_fd())?;
    let planned = sandbox.plan(command)?;
    let home = planned.host().user.home.clone();
    if planned.gives_secrets() {
        return Err(Failure::new(
            "the policy gives the command a credential as a variable, and nobody could keep it from a terminal; use `polder run` without --tty",
        ));
    }
    // Whoever sits at the terminal has them: an agent that is talked to needs its key.
    let passed: Vec<_> = planned.passes_secrets().collect();
    if !passed.is_empty() {
        say(&format!("{} passes, and nobody keeps it from this terminal", passed.join(", ")));
    }
    let Begun { chosen, entry, secrets, mut noting } = planned.begin()?;
    let mut redaction = secrets.redaction();
    entry.warning().iter().for_each(|warning| say(warning));
    let streams =
        Streams::Terminal { input: wait::duplicate(input.as_fd())?, output: wait::duplicate(output.as_fd())?, size };
    // Before the terminal is ours: afterwards every line would begin where the last one ended.
    text::before(chosen.engine.id(), &chosen.passed_over, chosen.fitted.accepted()).iter().for_each(|line| say(line));
    let (mut changes, mut warnings) = (None, Vec::new());
    let mut line = ProgressLine::new();
    let span = entry.span();
    let inside = span.enter();
    let result = polder_run::run(
        chosen,
        streams,
        Supervision {
            signals: Some(&signals),
            ahead: None,
            session: None,
            parting: polder_run::Parting::Leave,
            outlets: &[],
            has_room: &|| true,
            sink: &mut |event| {
                for event in redaction.pass(event) {
                    noting.hear(&event);
                    match event.kind {
                        // Whoever does not want to wait for it can press Ctrl-C as long as the keys are not the command's.
                        EventKind::Progress(progress) => drop(line.show(&progress)),
                        EventKind::Warning(text) => warnings.push(text),
                        EventKind::Changes { workspace, changed: true, kept: true } => changes = Some(workspace),
                        _ => {}
                    }
                }
                ControlFlow::Continue(())
            },
        },
    );
    drop(inside);
    hurry(&result, &signals);
    // Our own words come after the terminal is as it was.
    let _ = line.clear();
    warnings.iter().for_each(|text| say(&format!("warning: {text}")));
    let recorded = entry.end(&result).map(|warning| warning.iter().for_each(|warning| say(warning)));
    let blocked = text::violations(noting.violations(), &home, LINES_MAX.saturating_sub(changes.iter().len()));
    keep(noting, &result);
    recorded?;
    let outcome = result?;
    for line in blocked {
        say(&line);
    }
    text::changes(changes.as_deref()).iter().for_each(|line| say(line));
    Ok(code(&outcome))
}
