//! Tokens live in variables.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;

const NAMES: [&str; 6] =
    ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD", "BASH_ENV", "NODE_OPTIONS"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T067a",
    name: "variables_of_the_caller_do_not_enter",
    holds: "variables that were not named do not enter, neither secrets nor those that make programs load code",
    bait: |stage| {
        for name in NAMES {
            // Empty for the loader's: a path that is not there would be complained about.
            let value = if name == "LD_PRELOAD" { "" } else { "secret" };
            stage.environment.insert(name.into(), value.into());
        }
        Ok(())
    },
    attempt: |field: &Field| {
        Answer::all(
            field,
            NAMES.map(|name| match std::env::var_os(name) {
                Some(_) => Answer::Reached(format!("{name} is set")),
                None => Answer::Blocked(format!("{name} is not set")),
            }),
        )
    },
    ..Attack::PLAIN
};
