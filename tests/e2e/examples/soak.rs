//! `soak ENGINE KILLS`: kills runs of an engine at random times and prints what they left.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(engine), Some(kills)) = (words.next(), words.next().and_then(|word| word.parse().ok())) else {
        println!("soak ENGINE KILLS");
        return ExitCode::from(2);
    };
    let report = polder_e2e::soak_kill(&engine, kills);
    println!("{report}");
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
