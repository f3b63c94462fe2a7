//! The private file systems live in memory.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder::LimitKind;
use std::fs::File;
use std::io::Write;

const MIB: usize = 1 << 20;

pub(crate) const ATTACK: Attack = Attack {
    id: "T040e",
    name: "a_disk_filler_is_bounded",
    holds: "/tmp, /dev/shm and the home together hold no more than allowed, and the outcome says so",
    bait: |stage| {
        // In the control the same bytes go where they are removed with the stage.
        let spill = stage.root.join("spill").display().to_string();
        stage.tell("spill", spill);
        Ok(())
    },
    sandbox: |_, sandbox| sandbox.disk("8M"),
    attempt,
    judge: |_, finished| match finished.outcome.limit {
        Some(LimitKind::Disk) => Ok(()),
        other => Err(format!("the limit held, and the outcome names {other:?} instead of the disk limit")),
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let places = if field.is_control() {
        vec![field.path("spill")]
    } else {
        vec!["/tmp/spill".into(), "/dev/shm/spill".into(), field.home("spill")]
    };
    let (mut wrote, mut last) = (0, None);
    for place in places {
        let mut file = match File::create(&place) {
            Ok(file) => file,
            Err(error) => {
                last = Some(error);
                continue;
            }
        };
        for _ in 0..16 {
            match file.write_all(&[1; MIB]) {
                Ok(()) => wrote += 1,
                Err(error) => {
                    last = Some(error);
                    break;
                }
            }
        }
    }
    match last {
        Some(error) if error.raw_os_error() == Some(libc::ENOSPC) && wrote <= 8 => {
            Answer::Blocked(format!("{wrote} MiB, then {error}"))
        }
        Some(error) => Answer::Broken(format!("{wrote} MiB, then {error}")),
        None => Answer::Reached(format!("{wrote} MiB")),
    }
}
