//! Completions and man pages, from the same table as the flags.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Failure;
use clap::CommandFactory;
use clap_complete::Shell;

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
    crate::render::text::tolerate_closed(std::io::Write::write_all(&mut std::io::stdout().lock(), &script))?;
    Ok(0)
}

pub(crate) fn man(args: &ManArgs) -> Result<u8, Failure> {
    std::fs::create_dir_all(&args.directory)?;
    clap_mangen::generate_to(Cli::command(), &args.directory)?;
    Ok(0)
}
