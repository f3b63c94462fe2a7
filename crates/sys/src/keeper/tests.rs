use super::*;
use crate::command::{OutputMode, StreamSet};
use std::fs::File;

/// A command with an empty input, and the end of the pipe that its output goes to.
fn command(argv: &[&str]) -> (Command, [OwnedFd; 3], File) {
    let c = |text: &str| CString::new(text).expect("no NUL");
    let null = || OwnedFd::from(File::options().read(true).write(true).open("/dev/null").expect("/dev/null"));
    let (read, write) = std::io::pipe().expect("a pipe");
    let command = Command {
        candidates: vec![c(argv[0])],
        argv: argv.iter().map(|word| c(word)).collect(),
        env: vec![c("PATH=/usr/bin:/bin"), c("ONLY=this")],
        workdir: c("/"),
        terminal: None,
    };
    (command, [null(), write.into(), null()], File::from(OwnedFd::from(read)))
}

/// Runs a shell text to its end; how it ended, and everything that anybody wrote.
fn run(script: &str, limits: &[Rlimit]) -> (Ended, String) {
    let (command, stdio, mut output) = command(&["/bin/sh", "-c", script]);
    let mut kept = start(&command, &stdio, limits).expect("a start");
    drop(stdio);
    let ended = kept.ended().expect("an end");
    let mut text = String::new();
    // Ends only if nobody holds the pipe any more.
    output.read_to_string(&mut text).expect("text");
    (ended, text)
}

#[test]
fn codes_signals_and_output_arrive() {
    let (ended, text) = run("pwd; env | grep -v -e ^PWD -e ^_ -e ^SHLVL | sort; exit 7", &[]);
    assert_eq!((ended.code, ended.signal), (Some(7), None));
    assert_eq!(text, "/\nONLY=this\nPATH=/usr/bin:/bin\n");
    assert_eq!(run("kill -TERM $$", &[]).0.signal, Some(libc::SIGTERM));
}

#[test]
fn what_cannot_be_executed_says_why() {
    for (path, errno) in [("/no/such", libc::ENOENT), ("/etc/passwd", libc::EACCES), ("/", libc::EACCES)] {
        let (command, stdio, _output) = command(&[path]);
        match start(&command, &stdio, &[]) {
            Err(StartError::NotStarted { errno: got }) => assert_eq!(got, Errno(errno), "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    let (mut command, stdio, _output) = command(&["/bin/true"]);
    command.workdir = c"/no/such".to_owned();
    let error = start(&command, &stdio, &[]).expect_err("no such directory");
    assert_eq!(error.to_string(), "cannot enter the working directory: chdir: ENOENT (No such file or directory)");
}

#[test]
fn limits_hold() {
    assert_eq!(
        run("ulimit -n; ulimit -H -n", &[Rlimit { resource: libc::RLIMIT_NOFILE as _, value: 77 }]).1,
        "77\n77\n"
    );
}

#[test]
fn nothing_but_the_three_streams_is_inherited() {
    let _open = File::open("/").expect("a descriptor");
    assert_eq!(run("ls /proc/self/fd | wc -l", &[]).1.trim(), "4", "the three, and the listing itself");
}

#[test]
#[cfg(target_os = "linux")]
fn who_left_the_session_ends_with_the_command() {
    let (ended, text) = run("(trap '' TERM HUP; setsid sleep 600 & setsid setsid sleep 600 &) ; echo started", &[]);
    assert_eq!((ended.code, text.as_str()), (Some(0), "started\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_kill_and_a_drop_end_everybody() {
    for drops in [false, true] {
        let (command, stdio, mut output) = command(&["/bin/sh", "-c", "setsid sleep 600 & echo x; sleep 600"]);
        let mut kept = start(&command, &stdio, &[]).expect("a start");
        drop(stdio);
        let mut first = [0; 2];
        output.read_exact(&mut first).expect("it runs");
        if drops {
            drop(kept);
        } else {
            kept.kill();
            assert_eq!(kept.ended().expect("an end").signal, Some(libc::SIGKILL));
        }
        assert_eq!(output.read(&mut first).expect("the end of the pipe"), 0);
    }
}

#[test]
fn a_signal_reaches_the_group() {
    let (command, stdio, mut output) =
        command(&["/bin/sh", "-c", "trap 'exit 9' TERM; echo x; while :; do sleep 1; done"]);
    let mut kept = start(&command, &stdio, &[]).expect("a start");
    output.read_exact(&mut [0; 2]).expect("it runs");
    kept.signal(libc::SIGTERM);
    assert_eq!(kept.ended().expect("an end").code, Some(9));
}

#[test]
fn a_terminal_is_one() {
    let (mut command, stdio, _output) = command(&["/bin/sh", "-c", "tty >/dev/null && stty size && test -t 0"]);
    command.terminal = Some(Terminal {
        size: TerminalSize { rows: 11, columns: 22 },
        streams: StreamSet::ALL,
        output: OutputMode::Processed,
    });
    let mut kept = start(&command, &stdio, &[]).expect("a start");
    let mut master = File::from(kept.take_master().expect("a terminal"));
    assert_eq!(kept.ended().expect("an end").code, Some(0));
    let mut text = [0; 100];
    let got = master.read(&mut text).expect("what it wrote");
    assert_eq!(&text[..got], b"11 22\r\n");
}
