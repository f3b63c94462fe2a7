//! How a run ends is how the command ended.

use crate::scene::{Scene, told};
use polder::Ending;
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(super) fn exit_codes_are_the_commands_own(scene: &Scene) {
    for code in [0, 1, 2, 42, 124, 125, 126, 127, 128, 255] {
        let finished = scene.sh(&scene.sandbox(), &format!("exit {code}"));
        assert_eq!(finished.outcome.ending, Ending::Exited(code), "{}", told(&finished));
        assert_eq!(finished.outcome.exit_code(), code);
        assert_eq!(finished.outcome.success(), code == 0);
    }
}

pub(super) fn a_signal_is_128_and_its_number(scene: &Scene) {
    for signal in [1, 2, 3, 6, 9, 11, 13, 14, 15] {
        let finished = scene.sh(&scene.sandbox(), &format!("kill -{signal} $$"));
        assert_eq!(finished.outcome.ending, Ending::Signalled(signal), "{}", told(&finished));
        assert_eq!(finished.outcome.exit_code(), 128 + signal);
    }
}

pub(super) fn what_cannot_be_executed_is_126(scene: &Scene) {
    let script = scene.write("work/script", "#!/bin/sh\nexit 0\n");
    let rights = |mode| fs::set_permissions(&script, fs::Permissions::from_mode(mode)).expect("rights");
    rights(0o755);
    assert_eq!(scene.run(&scene.sandbox(), &["./script"]).outcome.exit_code(), 0, "the control");
    rights(0o644);
    scene.write("work/garbage", [0u8, 1, 2, 3]);
    fs::set_permissions(scene.work().join("garbage"), fs::Permissions::from_mode(0o755)).expect("rights");
    let inside = scene.inside().display().to_string();
    for command in ["./script", &format!("{inside}/script"), &inside, "./garbage"] {
        let finished = scene.run(&scene.sandbox(), &[command]);
        assert!(matches!(finished.outcome.ending, Ending::NotExecutable(_)), "{command}: {}", told(&finished));
        assert_eq!(finished.outcome.exit_code(), 126);
    }
}

pub(super) fn what_does_not_exist_is_127(scene: &Scene) {
    for command in ["no-such-command", "./no-such-file", "/no/such/path", "no/such"] {
        let finished = scene.run(&scene.sandbox(), &[command]);
        assert_eq!(finished.outcome.ending, Ending::NotFound, "{command}: {}", told(&finished));
        assert_eq!(finished.outcome.exit_code(), 127);
    }
}

pub(super) fn a_later_directory_of_path_is_found(scene: &Scene) {
    // What cannot be executed in an earlier directory does not hide what can in a later one, as in every shell.
    scene.write("work/first/tool", "");
    let tool = scene.write("work/second/tool", "#!/bin/sh\necho second\n");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).expect("rights");
    let inside = scene.inside().display().to_string();
    let sandbox = scene.sandbox().env(format!("PATH={inside}/first:{inside}/second:/usr/bin:/bin"));
    let finished = scene.run(&sandbox, &["tool"]);
    assert_eq!(finished.stdout, b"second\n", "{}", told(&finished));
}
