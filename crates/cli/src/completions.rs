//! Completions and man pages, from the same table as the flags.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::exit::Failure;
use clap::CommandFactory;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "polder", &mut script);
    crate::render::text::tolerate_closed(std::io::Write::write_all(&mut std::io::stdout().lock(), &script))?;
    Ok(0)
}

pub(crate) fn man(args: &ManArgs) -> Result<u8, Failure> {
    std::fs::create_dir_all(&args.directory)?;
    clap_mangen::generate_to(Cli::command(), &args.directory)?;
    Ok(0)
}
