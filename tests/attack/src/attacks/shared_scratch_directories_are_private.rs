//! `/tmp` and `/dev/shm` are where programs leave sockets, locks and secrets.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use std::fs;
use std::path::PathBuf;

pub(crate) const ATTACK: Attack = Attack {
    id: "T015c",
    name: "shared_scratch_directories_are_private",
    holds: "files in the host's /tmp, /var/tmp and /dev/shm are neither readable nor writable",
    bait,
    attempt,
    judge: |stage, _| {
        let changed = ["tmp", "var", "shm"]
            .iter()
            .find(|name| fs::read_to_string(stage.word(name)).unwrap_or_default() != "secret");
        changed.map_or(Ok(()), |name| Err(format!("`{}` was changed", stage.word(name))))
    },
    ..Attack::PLAIN
};

/// A file outside of the stage's directory, removed when the stage ends.
struct Left(PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn bait(stage: &mut Stage) -> Result<(), Missing> {
    for (name, place) in [("tmp", "/tmp"), ("var", "/var/tmp"), ("shm", "/dev/shm")] {
        let path = PathBuf::from(format!("{place}/polder-attack-left-{}", std::process::id()));
        fs::write(&path, "secret")?;
        stage.tell(name, path.display());
        stage.hold(Left(path));
    }
    Ok(())
}

fn attempt(field: &Field) -> Answer {
    let read = |name: &str| {
        let path = field.path(name);
        Answer::of(&path.display().to_string(), fs::read(&path), HIDDEN)
    };
    Answer::all(field, ["tmp", "var", "shm"].map(read))
}
