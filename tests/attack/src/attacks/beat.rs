//! What the attacks by survival share: a detached process whose heart beats in the workspace.

use crate::answer::Answer;
use crate::field::Field;
use crate::stage::Stage;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

const FILE: &str = "beat";
const PAUSE: Duration = Duration::from_millis(10);
/// The longest life, if nobody ends it.
const BEATS_MAX: u32 = 400;
/// In the control it lives long enough to be seen and no longer.
const BEATS_CONTROL: u32 = 30;

/// Starts the heart and sees it beat.
pub(super) fn start(field: &Field) -> Answer {
    let path = field.workspace(FILE);
    let beats = if field.is_control() { BEATS_CONTROL } else { BEATS_MAX };
    // Opened once, so that a beat needs no name and nobody's leave.
    let file = match File::create(&path) {
        Ok(file) => file,
        Err(error) => return Answer::Broken(error.to_string()),
    };
    let detached = polder_sys::attempt::daemonise(|| {
        for beat in 1..=beats {
            let _ = file.write_all_at(format!("{beat:05}").as_bytes(), 0);
            std::thread::sleep(PAUSE);
        }
    });
    if let Err(error) = detached {
        return Answer::Broken(error.to_string());
    }
    for _ in 0..100 {
        std::thread::sleep(PAUSE);
        if fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
            return Answer::Reached("a detached process lives on".to_owned());
        }
    }
    Answer::Broken("no beat".to_owned())
}

/// Waits until the heart beats, where an engine takes its time to start a command. One that never does is told later.
pub(super) fn await_first(stage: &Stage) {
    for _ in 0..1500 {
        if fs::metadata(stage.workspace.join(FILE)).is_ok_and(|file| file.len() > 0) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// An error if there never was a beat, or if there still is one.
pub(super) fn is_over(stage: &Stage) -> Result<(), String> {
    let read = || fs::read_to_string(stage.workspace.join(FILE)).map_err(|error| format!("no beat at all: {error}"));
    let before = read()?;
    if before.is_empty() {
        return Err("no beat at all".to_owned());
    }
    std::thread::sleep(20 * PAUSE);
    let after = read()?;
    if before == after { Ok(()) } else { Err(format!("a process of the run still lives: beat {before}, then {after}")) }
}
