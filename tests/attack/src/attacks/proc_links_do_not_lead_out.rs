//! `/proc/PID/root` and `/proc/PID/cwd` are doors where a process is in view that stands outside.

use crate::answer::{Answer, HIDDEN};
use crate::attack::Attack;
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T002a",
    name: "proc_links_do_not_lead_out",
    holds: "no root or working directory link of any process leads to a host file",
    bait: |stage| {
        let secret = stage.file("home/.ssh/id", "secret")?;
        let victim = stage.victim("")?;
        stage.tell("secret", secret.display());
        stage.tell("victim", victim);
        Ok(())
    },
    attempt,
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let secret = field.word("secret");
    let victim = field.number("victim");
    let mut paths = vec![
        format!("/proc/self/root{secret}"),
        format!("/proc/1/root{secret}"),
        format!("/proc/{victim}/root{secret}"),
        "/proc/self/cwd/../home/.ssh/id".to_owned(),
    ];
    if field.is_control() {
        // Another user's first process shows its root to nobody; the others are proof enough.
        paths.remove(1);
    }
    Answer::all(field, paths.iter().map(|path| Answer::of(path, std::fs::read(path), HIDDEN)))
}
