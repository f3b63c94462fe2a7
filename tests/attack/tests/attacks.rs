//! Every attack on every engine that works here, as one test each.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use polder::Availability;
use polder_attack::{Listed, Outcome, Verdict, available_engines, hidden, list, run_observed, run_one};
use std::process::ExitCode;

/// Attacks on processes, on the first of them, and on what is hidden: the observer is a process, and looks at all of that.
const ON_THE_OBSERVER: [&str; 4] = ["T012", "T013", "T034", "T035"];

fn completed(attack: Listed, verdict: Verdict) -> Result<Completion, Failed> {
    match verdict.outcome {
        Outcome::Held(_) => Ok(Completion::Completed),
        Outcome::NotApplicable(reason) => Ok(Completion::ignored_with(reason)),
        Outcome::Escaped(detail) => Err(format!("{}\n  escaped: {detail}", attack.holds).into()),
        Outcome::Broken(detail) => Err(format!("{}\n  the attack is broken: {detail}", attack.holds).into()),
    }
}

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
            let (of, with) = (engine.clone(), payload.clone());
            trials.push(Trial::ignorable_test(name, move || completed(attack, run_one(&of, attack, &with))));
            if !ON_THE_OBSERVER.iter().any(|number| attack.id.starts_with(number)) {
                continue;
            }
            let name = format!("{engine}::{}_{}_while_everything_is_watched", attack.id, attack.name);
            let (of, with) = (engine.clone(), payload.clone());
            let run = move || completed(attack, run_observed(&of, attack, &with, "exact"));
            trials.push(Trial::ignorable_test(name, run));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
