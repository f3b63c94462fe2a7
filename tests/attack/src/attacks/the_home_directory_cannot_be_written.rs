//! Start-up files of the shell, cron, units: what the host runs later.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Decides};
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T015a",
    name: "the_home_directory_cannot_be_written",
    holds: "nothing that is written to the home directory inside is there on the host",
    bait: |stage| {
        stage.file("home/.profile", "old")?;
        Ok(())
    },
    attempt,
    // The home inside is a writable one of the sandbox's own, so only the host can tell.
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if !String::from_utf8_lossy(&finished.stdout).contains("polder-attack: ") {
            return Err("no answer from inside".to_owned());
        }
        stage.must_say("home/.profile", "old")?;
        stage.must_not_exist("home/.bashrc")?;
        stage.must_not_exist("home/.config/systemd")?;
        stage.must_not_exist("canary")
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let write = |path: std::path::PathBuf| {
        let made = fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(&path, "new"));
        Answer::of(&path.display().to_string(), made, HIDDEN)
    };
    Answer::all(
        field,
        [
            write(field.home(".profile")),
            write(field.home(".bashrc")),
            write(field.home(".config/systemd/user/x.service")),
            write(field.home("../canary")),
            write(field.workspace("../canary")),
        ],
    )
}
