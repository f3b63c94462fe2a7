//! Everything that a run started ends with it.
//!
//! A process inside shows that it lives by a lock on a file of the workspace: the kernel takes it away when the last
//! holder is gone, so nothing has to be guessed from process lists.

use crate::scene::{Scene, told};
use polder::Ending;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Leaves the session and every group, forks twice, ignores every polite signal, and holds the lock.
const DAEMON: &str = "import fcntl,os,signal,time\n\
    f = open('lock', 'w')\n\
    if os.fork(): os._exit(0)\n\
    os.setsid()\n\
    if os.fork(): os._exit(0)\n\
    os.setsid() if os.getpid() != os.getpgrp() else None\n\
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT): signal.signal(s, signal.SIG_IGN)\n\
    fcntl.flock(f, fcntl.LOCK_EX)\n\
    open('held', 'w').close()\n\
    time.sleep(600)";

/// Starts daemons and says when the last of them holds its lock.
fn script(rest: &str) -> String {
    format!("cat >/tmp/daemon <<'E'\n{DAEMON}\nE\npython3 /tmp/daemon; while ! test -e held; do :; done; {rest}")
}

fn lock(scene: &Scene) -> (PathBuf, File) {
    let path = scene.write("work/lock", "");
    let file = OpenOptions::new().read(true).write(true).open(&path).expect("the lock");
    (path, file)
}

/// Whether nobody holds the lock; the kernel needs a moment after a kill.
fn becomes_free(file: &File) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while file.try_lock().is_err() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

pub(super) fn a_timeout_ends_the_whole_tree(scene: &Scene) {
    let (_, file) = lock(scene);
    let rest = "kill -STOP $$ & trap '' TERM INT HUP; sleep 600 & while :; do sleep 600; done";
    let finished = scene.sh(&scene.sandbox().timeout("4s"), &script(rest));
    assert_eq!(finished.outcome.ending, Ending::TimedOut, "{}", told(&finished));
    assert!(scene.work().join("held").exists(), "the daemon lived: {}", told(&finished));
    // The outcome is told when everything is gone, not before.
    assert!(file.try_lock().is_ok(), "the daemon lives on");
}

pub(super) fn the_end_of_the_command_ends_the_whole_tree(scene: &Scene) {
    let (_, file) = lock(scene);
    let finished = scene.sh(&scene.sandbox(), &script("exit 5"));
    assert_eq!(finished.outcome.exit_code(), 5, "{}", told(&finished));
    assert!(scene.work().join("held").exists(), "the daemon lived");
    assert!(file.try_lock().is_ok(), "the daemon lives on");
}

pub(super) fn killing_polder_ends_the_whole_tree(scene: &Scene) {
    let (_, file) = lock(scene);
    let mut command = crate::aide::command(scene.engine(), &scene.work(), &["sh", "-c", &script("sleep 600")]);
    command.env_clear().envs(scene.environment()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut aide = command.spawn().expect("an aide");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !scene.work().join("held").exists() {
        assert!(aide.try_wait().expect("a state").is_none(), "the aide ended");
        assert!(Instant::now() < deadline, "the daemon never came");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(file.try_lock().is_err(), "the control: the daemon holds its lock");
    // The standard library's kill is SIGKILL: no handler, no destructor.
    aide.kill().expect("a kill");
    aide.wait().expect("an end");
    assert!(becomes_free(&file), "the daemon lives on");
}

pub(super) fn the_command_cannot_speak_for_the_sandbox(scene: &Scene) {
    // What an engine and its first process tell each other is none of the command's business: whatever descriptor it
    // finds or is told of, the outcome is its own. The record is one that says "ended with 0".
    let python = "import os, socket, struct, sys\n\
        record = struct.pack('IiiiQQQ', 4, 0, 0, 0, 0, 0, 0)\n\
        for fd in range(3, 256):\n\
        \x20try: socket.socket(fileno=os.dup(fd)).send(record)\n\
        \x20except OSError: pass\n\
        sys.exit(9)";
    let finished = scene.run(&scene.sandbox(), &["python3", "-c", python]);
    assert_eq!(finished.outcome.exit_code(), 9, "{}", told(&finished));
}

pub(super) fn an_orphan_is_reaped(scene: &Scene) {
    // A thousand orphans would fill the process table if nobody waited for them.
    let script = "i=0; while [ $i -lt 300 ]; do (true &); i=$((i+1)); done; n=1; while [ $n != 0 ]; do \
                  n=$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '); done; echo reaped";
    assert_eq!(scene.says(&scene.sandbox().timeout("60s"), script), "reaped\n");
}
