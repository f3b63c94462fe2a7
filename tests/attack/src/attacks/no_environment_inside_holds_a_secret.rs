//! Not only the own environment: every process that can be seen.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T067b",
    name: "no_environment_inside_holds_a_secret",
    holds: "a secret of the caller's environment is in no file of any process in /proc",
    bait: |stage| {
        stage.environment.insert("HOST_SECRET".into(), "polder-attack-secret".into());
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let needle = b"polder-attack-secret";
    let entries = match std::fs::read_dir("/proc") {
        Ok(entries) => entries,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    // Also numbers that the listing hides.
    let hidden = (1..64).map(|number| std::path::PathBuf::from(format!("/proc/{number}")));
    for dir in entries.flatten().map(|entry| entry.path()).chain(hidden) {
        let Ok(text) = std::fs::read(dir.join("environ")) else { continue };
        if text.windows(needle.len()).any(|part| part == needle) {
            return Answer::Reached(format!("in {}", dir.display()));
        }
    }
    Answer::Blocked("in no environment that can be read".to_owned())
}
