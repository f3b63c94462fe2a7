//! The files in which people keep their keys.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};

const FILES: [&str; 8] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".npmrc",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".mozilla/firefox/x/cookies.sqlite",
    ".bash_history",
];

pub(crate) const ATTACK: Attack = Attack {
    id: "T001a",
    name: "home_secrets_cannot_be_read",
    holds: "keys, tokens, cookies and histories in the home directory are not readable",
    bait,
    attempt,
    ..Attack::PLAIN
};

fn bait(stage: &mut Stage) -> Result<(), Missing> {
    for file in FILES {
        stage.file(&format!("home/{file}"), "secret")?;
    }
    Ok(())
}

fn attempt(field: &Field) -> Answer {
    Answer::all(field, FILES.map(|file| Answer::of(file, std::fs::read(field.home(file)), HIDDEN)))
}
