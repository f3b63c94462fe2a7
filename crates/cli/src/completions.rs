//! Completions and man pages, from the same table as the flags.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Failure;
use crate::render::text::tolerate_closed;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// The scripts for bash, zsh and fish ask polder, which knows the names of sandboxes, steps and workspaces. Those for
/// other shells know verbs and flags.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let script = match args.shell {
        Shell::Bash => include_bytes!("completions/polder.bash").to_vec(),
        Shell::Zsh => include_bytes!("completions/polder.zsh").to_vec(),
        Shell::Fish => include_bytes!("completions/polder.fish").to_vec(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "polder", &mut script);
            script
        }
    };
    tolerate_closed(std::io::stdout().lock().write_all(&script))?;
    Ok(0)
}

/// On a terminal shown by `man`, elsewhere the source.
pub(crate) fn man(args: &ManArgs) -> Result<u8, Failure> {
    if let Some(directory) = &args.output {
        std::fs::create_dir_all(directory)?;
        clap_mangen::generate_to(Cli::command(), directory)?;
        return Ok(0);
    }
    let mut table = Cli::command();
    table.build();
    let mut command = &table;
    for verb in &args.verb {
        let known: Vec<&str> =
            command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name).collect();
        let found = command.find_subcommand(verb).filter(|_| known.contains(&verb.as_str()));
        command = found.ok_or_else(|| {
            Failure::new(format!("there is no page for `{verb}`; {}", polder_policy::defined(verb, &known)))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    if std::io::stdout().is_terminal() && shown_by_man(&page)? {
        return Ok(0);
    }
    tolerate_closed(std::io::stdout().lock().write_all(&page))?;
    Ok(0)
}

/// Whether `man` showed it; where there is none it did not.
fn shown_by_man(page: &[u8]) -> Result<bool, Failure> {
    // `-l -` takes the page from stdin (man(1) of man-db).
    let Ok(mut man) = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else { return Ok(false) };
    if let Some(mut pipe) = man.stdin.take() {
        tolerate_closed(pipe.write_all(page))?;
    }
    Ok(man.wait()?.success())
}
