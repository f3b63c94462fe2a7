//! Input and output are streams: any bytes, any amount, each on its own.

use crate::scene::{Scene, told};
use polder::Streams;
use std::fs::File;
use std::io::Write;

/// Bytes that look like nothing, the same every time.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..bytes.div_ceil(8)).flat_map(|_| next()).take(bytes).collect()
}

pub(super) fn ten_megabytes_pass_through_both_ways(scene: &Scene) {
    let bytes = noise(10 << 20);
    let file = scene.write("input", &bytes);
    let planned = scene.plan(&scene.sandbox(), &["cat"]);
    let finished = planned.run_with_input(File::open(file).expect("input").into()).expect("a run");
    assert!(finished.outcome.success(), "{:?}", finished.outcome);
    assert!(finished.stdout == bytes, "{} bytes came back", finished.stdout.len());
}

pub(super) fn a_pipe_as_input_passes_through(scene: &Scene) {
    let bytes = noise(10 << 20);
    let (read, mut write) = std::io::pipe().expect("a pipe");
    let copy = bytes.clone();
    let writer = std::thread::spawn(move || write.write_all(&copy));
    let planned = scene.plan(&scene.sandbox(), &["cat"]);
    let finished = planned.run_with_input(read.into()).expect("a run");
    writer.join().expect("the writer").expect("everything was read");
    assert!(finished.outcome.success(), "{:?}", finished.outcome);
    assert!(finished.stdout == bytes);
}

pub(super) fn the_two_output_streams_stay_apart(scene: &Scene) {
    let script = "i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done";
    let finished = scene.sh(&scene.sandbox(), script);
    let lines = |word: &str| (0..2000).map(|i| format!("{word} {i}\n")).collect::<String>().into_bytes();
    assert!(finished.outcome.success(), "{:?}", finished.outcome);
    assert!(finished.stdout == lines("out") && finished.stderr == lines("err"), "{}", told(&finished));
}

pub(super) fn the_callers_own_descriptors_are_used(scene: &Scene) {
    let input = scene.write("input", "in\n");
    let file = |name: &str| File::create(scene.dir().join(name)).expect("a file");
    let streams = Streams::Relayed {
        stdin: File::open(input).expect("input").into(),
        stdout: file("stdout").into(),
        stderr: file("stderr").into(),
    };
    let planned = scene.plan(&scene.sandbox(), &["sh", "-c", "cat; echo err >&2; exit 3"]);
    let outcome = planned.run_with(streams, &mut |_| ()).expect("a run");
    assert_eq!(outcome.exit_code(), 3);
    assert_eq!((scene.read("stdout"), scene.read("stderr")), ("in\n".to_owned(), "err\n".to_owned()));
}

pub(super) fn input_that_nobody_reads_does_not_block(scene: &Scene) {
    let (read, mut write) = std::io::pipe().expect("a pipe");
    let writer = std::thread::spawn(move || write.write_all(&noise(10 << 20)));
    let planned = scene.plan(&scene.sandbox(), &["true"]);
    let finished = planned.run_with_input(read.into()).expect("a run");
    assert!(finished.outcome.success(), "{}", told(&finished));
    assert!(writer.join().expect("the writer").is_err(), "everybody who could read is gone");
}

pub(super) fn no_descriptor_but_the_three_is_inherited(scene: &Scene) {
    // Rust closes its own descriptors on exec, so one is made that stays open.
    let keeper = std::os::unix::net::UnixStream::pair().expect("sockets");
    let script = "ls /proc/self/fd | tr '\\n' ' '";
    // `ls` itself has the directory open as 3.
    assert_eq!(scene.says(&scene.sandbox(), script), "0 1 2 3 ");
    drop(keeper);
    // With one that is inherited: the aide gets a descriptor 7 from its shell.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 7</etc/passwd; \"$@\"", "sh"]);
    let aide = crate::aide::command(scene.engine(), &scene.work(), &["sh", "-c", script]);
    shell.arg(aide.get_program()).args(aide.get_args()).env_clear().envs(scene.environment());
    let output = shell.output().expect("an aide");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 1 2 3 ", "{output:?}");
    let mut control = std::process::Command::new("sh");
    let control = control.args(["-c", "exec 7</etc/passwd; ls /proc/self/fd"]).output().expect("the control");
    assert!(String::from_utf8_lossy(&control.stdout).contains("7\n"), "the control inherits it");
}
