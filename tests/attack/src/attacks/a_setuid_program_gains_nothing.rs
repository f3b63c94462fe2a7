//! su, passwd and their like run as root on the host. A root caller has nothing to gain by them.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};
use std::time::Duration;

const PROGRAMS: [&str; 5] = ["/usr/bin/passwd", "/usr/bin/su", "/usr/bin/chsh", "/usr/bin/newgrp", "/usr/bin/gpasswd"];

pub(crate) const ATTACK: Attack = Attack {
    id: "T038b",
    name: "a_setuid_program_gains_nothing",
    holds: "a setuid program runs with the rights of the command",
    attempt,
    ..Attack::PLAIN
};

fn attempt(_: &Field) -> Answer {
    let own = polder_sys::wait::effective_ids().0;
    if own == 0 {
        return Answer::Lacking("a root caller gains nothing by setuid".to_owned());
    }
    let setuid = |path: &&&str| {
        std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o4000 != 0 && file.uid() != own)
    };
    let Some(program) = PROGRAMS.iter().find(setuid) else {
        return Answer::Lacking("no setuid program here".to_owned());
    };
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Answer::Broken(format!("{program}: {error}")),
    };
    // It waits for a password, unless it saw at once that it has no rights.
    std::thread::sleep(Duration::from_millis(200));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    drop(child.stdin.take());
    let ended = child.try_wait().ok().flatten();
    let _ = child.kill();
    let _ = child.wait();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    let ids: Vec<u32> = line.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    if ids.iter().any(|id| *id != own) {
        return Answer::Reached(format!("{program} runs with uids {ids:?}"));
    }
    if ids.is_empty() && ended.is_none() {
        return Answer::Broken("its uids could not be read".to_owned());
    }
    Answer::Blocked(format!("{program} runs with uids {ids:?}, ended {ended:?}"))
}
