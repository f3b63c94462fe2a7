//! Names alone tell a lot.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use std::fs;

pub(crate) const ATTACK: Attack = Attack {
    id: "T012",
    name: "the_home_directory_is_not_listed",
    holds: "names and sizes in the home directory and beside the workspace are not visible",
    bait: |stage| {
        stage.file("home/diary/monday", "secret")?;
        stage.file("beside", "secret")?;
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let names = |path: std::path::PathBuf| -> Vec<String> {
        let entries = fs::read_dir(path).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let found = [names(field.home("")), names(field.workspace(".."))].concat();
    if found.iter().any(|name| name == "diary" || name == "beside") {
        return Answer::Reached(format!("listed {found:?}"));
    }
    Answer::of("stat", fs::metadata(field.home("diary/monday")), HIDDEN)
}
