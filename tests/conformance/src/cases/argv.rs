//! The command receives exactly the arguments that were given.

use crate::scene::{Scene, told};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::Command;

fn printed(scene: &Scene, arguments: &[OsString]) {
    // Each argument followed by a NUL, which no argument can contain.
    let mut command: Vec<OsString> = vec!["/usr/bin/printf".into(), r"%s\0".into()];
    command.extend(arguments.iter().cloned());
    let outside = Command::new(&command[0]).args(&command[1..]).output().expect("printf");
    let finished = scene.sandbox().plan(command).expect("a plan").run().expect("a run");
    assert!(finished.outcome.success(), "{}", told(&finished));
    assert!(outside.stdout == finished.stdout, "inside and outside differ");
    let expected: Vec<u8> = arguments.iter().flat_map(|a| [a.as_encoded_bytes(), b"\0"].concat()).collect();
    assert!(finished.stdout == expected, "{}", told(&finished));
}

pub(super) fn arguments_arrive_byte_by_byte(scene: &Scene) {
    let mut arguments: Vec<OsString> = [
        "plain",
        "",
        " ",
        "two words",
        "a\nb\n",
        "\t",
        "'",
        "\"",
        "\\",
        "`id`",
        "$HOME",
        "$(id)",
        "*",
        "-",
        "--",
        "-x",
        "--help",
        "--json",
        "a=b",
        ";",
        "|",
        "&",
        "#",
        "~",
        "é漢🦀",
        "\r",
        "\u{1b}[31m",
        "",
    ]
    .map(OsString::from)
    .to_vec();
    arguments.push(OsString::from_vec(vec![0xff, 0xfe, b'x', 0x80]));
    arguments.push(OsString::from_vec((1..=255).collect()));
    printed(scene, &arguments);
}

pub(super) fn an_argument_of_100_kb_arrives(scene: &Scene) {
    printed(scene, &["x".repeat(100 * 1024).into(), "end".into()]);
}

pub(super) fn no_shell_stands_between(scene: &Scene) {
    let finished = scene.run(&scene.sandbox(), &["echo", "$HOME; touch made", ">out"]);
    assert_eq!(finished.stdout, b"$HOME; touch made >out\n");
    assert_eq!(std::fs::read_dir(scene.work()).expect("the workspace").count(), 0);
}

pub(super) fn the_first_argument_is_the_command_as_it_was_named(scene: &Scene) {
    let finished = scene.run(&scene.sandbox(), &["sh", "-c", "tr '\\0' '\\n' </proc/$$/cmdline | head -n 1"]);
    assert_eq!(finished.stdout, b"sh\n", "{}", told(&finished));
}
