//! Names, sizes and times of what is hidden tell a lot, also to who cannot read it.

use crate::answer::{Answer, NO_CALL};
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

const TIME_SECONDS: u64 = 1_000_000_000;

pub(crate) const ATTACK: Attack = Attack {
    id: "T012b",
    name: "a_hidden_tree_tells_nothing_of_itself",
    holds: "a directory under deny_read tells neither the names in it nor their sizes, nor when it was changed",
    bait: |stage| {
        stage.file("ws/vault/monday", "secret")?;
        File::open(stage.workspace.join("vault"))?
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(TIME_SECONDS))?;
        stage.file("deny.yaml", "sandboxes: {a: {deny_read: [vault]}}\nsandbox: a\n")?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.with_configuration_file(stage.root.join("deny.yaml")).observe("exact"),
    attempt,
    judge: |stage, _| stage.must_say("ws/vault/monday", "secret"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let vault = field.workspace("vault");
    let hidden: Vec<i32> = NO_CALL.iter().copied().chain([libc::ENOENT]).collect();
    let listed = fs::read_dir(&vault).map(|entries| entries.flatten().count());
    let names = match listed {
        Ok(0) => Answer::Blocked("the directory is empty".to_owned()),
        other => Answer::of("list", other, &hidden),
    };
    let time = match fs::metadata(&vault) {
        Ok(found) if found.mtime() != TIME_SECONDS as i64 => Answer::Blocked("another time".to_owned()),
        other => Answer::of("time", other, &hidden),
    };
    let size = Answer::of("size", fs::metadata(vault.join("monday")), &hidden);
    Answer::all(field, [names, time, size])
}
