//! The one entry point: `cargo xtask VERB`. CI calls nothing else.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the terminal")]

mod bench;
mod daemons;
mod generate;
mod machine;
mod mutate;
mod order;
mod real;
mod run;
mod soak;
mod test;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask VERB

  run -- COMMAND ARGS…   build polder and run a command in a sandbox
  build                  build the static binary and print its path
  test [FILTER]          install what the tests need and run all of them, as root and as an ordinary user
  daemons -- COMMAND     run a command while container daemons of its own are up (DOCKER_HOST, CONTAINER_HOST)
  bench start|work|workspace|streams  measure, side by side, and print a table (--write keeps it in docs/bench/)
  bench start --engines  the start of every engine that works here, in one table
  soak kill [--engine ID] [--kills N] [--user]  kill runs at random times and count what they leave
  real [SUITE…] [root|user] [--keep]  run the suites of real programs outside and inside, and list what only fails inside
  mutate [FILTER]        switch every layer of a sandbox off in turn and print which attack notices
  order                  list the functions that a run passes through, for the linker to put them side by side
  generate               write the generated files anew: schemas, man pages, filters, the page of engines
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let result = match args.first().map(String::as_str) {
        Some("run") => run::polder(rest),
        Some("build") => run::build().map(|path| {
            println!("{}", path.display());
            0
        }),
        Some("test") => test::all(rest.first().map(String::as_str)),
        Some("daemons") => daemons::with(rest),
        Some(daemons::KEEPER) => daemons::keep(),
        Some("bench") => bench::bench(rest),
        Some("real") => real::real(rest),
        Some("soak") => soak::soak(rest),
        Some("mutate") => mutate::layers(rest.first().map(String::as_str)),
        Some("order") => order::order(),
        Some("generate") => generate::all(),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
