//! Every attack on every engine that works here, as one test each.

use libtest_mimic::{Arguments, Failed, Trial};
use polder::Availability;
use polder_attack::{Outcome, available_engines, hidden, list, run_one};
use std::process::ExitCode;

fn main() -> ExitCode {
    polder::become_shim_if_asked();
    if let Some(code) = hidden() {
        return code;
    }
    let arguments = Arguments::from_args();
    let engines = available_engines().expect("the facts about this machine can be gathered");
    let declared = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    let payload = std::env::current_exe().expect("this executable has a path");
    let mut trials = Vec::new();
    for (engine, availability) in engines {
        match availability {
            Availability::Available { .. } => {}
            Availability::Unavailable { reason, .. } => {
                let is_declared = declared.split(',').any(|name| name.trim() == engine);
                let name = format!("{engine}::is_available");
                let failure = Failed::from(format!("declared in POLDER_TEST_HAS and not available: {reason}"));
                trials.push(Trial::test(name, move || Err(failure)).with_ignored_flag(!is_declared));
                continue;
            }
        }
        for attack in list() {
            let name = format!("{engine}::{}_{}", attack.id, attack.name);
            let (engine, payload) = (engine.clone(), payload.clone());
            trials.push(Trial::ignorable_test(name, move || {
                let verdict = run_one(&engine, attack, &payload);
                match verdict.outcome {
                    Outcome::Held(_) => Ok(libtest_mimic::Completion::Completed),
                    Outcome::NotApplicable(reason) => Ok(libtest_mimic::Completion::ignored_with(reason)),
                    Outcome::Escaped(detail) => Err(format!("{}\n  escaped: {detail}", attack.holds).into()),
                    Outcome::Broken(detail) => {
                        Err(format!("{}\n  the attack is broken: {detail}", attack.holds).into())
                    }
                }
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
