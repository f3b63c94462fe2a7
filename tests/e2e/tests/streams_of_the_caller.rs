//! The command gets bytes and nothing else of the caller's streams, and the caller finds them as they were.
#![forbid(unsafe_code)]

use polder_e2e::{Place, on_a_terminal};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn check(place: &Place, script: &str) {
    let said = on_a_terminal(place, script);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

/// Changes everything about descriptor `n` that is not its bytes, by every call that knows how.
const TAMPER: &str = r#"
import fcntl, os, sys, termios
def tamper(n):
    done = []
    def attempt(name, call):
        try: call(); done.append(name)
        except OSError: pass
    attempt('fchmod', lambda: os.fchmod(n, 0o666))
    attempt('futimens', lambda: os.utime(n, (1, 1)))
    attempt('fsetxattr', lambda: os.setxattr(n, 'user.polder', b'x'))
    attempt('ftruncate', lambda: os.ftruncate(n, 0))
    attempt('nonblock', lambda: fcntl.fcntl(n, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND))
    attempt('seek', lambda: os.lseek(n, 1, os.SEEK_SET))
    attempt('chmod', lambda: os.chmod(f'/proc/self/fd/{n}', 0o666))
    return done
for n in range(3): tamper(n)
"#;

/// Mode, times, size and extended attributes of a file, as the host sees them.
fn identity(path: &std::path::Path) -> (u32, i64, u64) {
    let metadata = std::fs::metadata(path).expect("a file");
    (metadata.permissions().mode(), metadata.mtime(), metadata.size())
}

#[test]
fn stream_files_lent_keep_their_attributes() {
    let place = Place::new();
    place.write("tamper.py", TAMPER);
    place.write("work/tamper.py", TAMPER);
    let run = |program: &str| {
        for name in ["in", "out", "err"] {
            place.write(name, "0123456789\n");
        }
        place.sh(&format!("chmod 600 ../in ../out ../err; {program} <../in >>../out 2>>../err"))
    };
    let before = {
        run("true");
        identity(&place.dir().join("in"))
    };
    // Without the sandbox the same calls change the files.
    run("python3 ../tamper.py");
    assert_ne!(identity(&place.dir().join("in")), before, "the control changes the file");
    for engine in ["native", "bubblewrap"] {
        let said = run(&format!("$POLDER run --engine {engine} -- python3 tamper.py"));
        assert_eq!(said.code, 0, "{engine}: {said:?}");
        for name in ["in", "out", "err"] {
            let (mode, mtime, size) = identity(&place.dir().join(name));
            assert_eq!((mode & 0o777, size), (0o600, 11), "{engine}: {name}");
            assert_ne!(mtime, 1, "{engine}: {name}");
        }
    }
}

#[test]
fn stream_that_carries_no_bytes_is_refused() {
    let place = Place::new();
    let script = "import os, sys; os.execv(sys.argv[1], [sys.argv[1], 'run', '--', 'true'])";
    let opened = |how: &str| {
        let program = format!("import os\nfd = {how}\nos.dup2(fd, 0)\n{script}");
        let output = place.command("/usr/bin/python3").arg("-c").arg(program).arg(polder_e2e::binary()).output();
        polder_e2e::Said::from(output.expect("python3"))
    };
    for (how, what) in [
        ("os.open('.', os.O_RDONLY)", "standard input is a directory"),
        ("os.open('.', os.O_PATH)", "standard input is a handle of a path"),
        ("os.open('/etc/passwd', os.O_PATH)", "standard input is a handle of a path"),
        ("os.eventfd(0)", "standard input is a handle of the kernel's"),
        ("__import__('socket').socketpair(type=2)[0].detach()", "standard input is a socket that carries messages"),
    ] {
        let said = opened(how);
        assert_eq!(said.code, 125, "{how}: {said:?}");
        assert!(said.err.contains(what) && said.err.contains("remedy: redirect it"), "{how}: {}", said.err);
    }
    // Each of the three, and as events as well.
    let program = "import os, sys\nfd = os.open('.', os.O_RDONLY)\nos.dup2(fd, int(sys.argv[2]))\n\
                   os.execv(sys.argv[1], [sys.argv[1], 'run', *sys.argv[3:], '--', 'touch', 'ran'])";
    for (number, json) in [("1", false), ("2", false), ("0", true), ("1", true)] {
        let mut command = place.command("/usr/bin/python3");
        command.arg("-c").arg(program).arg(polder_e2e::binary()).arg(number).args(json.then_some("--json"));
        let output = command.output().expect("python3");
        assert_eq!(output.status.code(), Some(125), "{number} {json}: {output:?}");
        assert!(!place.dir().join("work/ran").exists(), "{number} {json}");
    }
}

#[test]
fn stdin_left_unread_stays_for_the_caller() {
    let place = Place::new();
    place.write("list", "a\nb\nc\n");
    let read_one = "$POLDER run -- sh -c 'read x; echo got $x'";
    let expected = "got a\nb\nc\n";
    assert_eq!(place.sh(&format!("{{ {read_one}; cat; }} <../list")).out, expected);
    assert_eq!(place.sh(&format!("cat ../list | {{ sleep 0.2; {read_one}; cat; }}")).out, expected);
    let looped = "seq 3 | while read line; do $POLDER run -- true; echo $line; done";
    assert_eq!(place.sh(looped).out, "1\n2\n3\n");
    // A reader of everything gets everything, once.
    let said = place.sh("head -c 3000000 /dev/urandom >../noise; $POLDER run -- md5sum <../noise >../a; \
        cat ../noise | $POLDER run -- md5sum >../b; md5sum <../noise >../c; cat ../a ../b ../c | uniq | wc -l");
    assert_eq!(said.out, "1\n", "{said:?}");
}

#[test]
fn output_streams_that_are_one_keep_their_order() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); echo $i >&2; i=$((i+1)); done";
    let expected: String = (0..300).map(|i| format!("{i}\n")).collect();
    for way in [">../log 2>&1; cat ../log", "2>&1 | cat", ">>../more 2>&1; cat ../more"] {
        assert_eq!(place.sh(&format!("$POLDER run -- sh -c '{script}' {way}")).out, expected, "{way}");
    }
}

#[test]
fn output_that_cannot_be_written_fails_the_run() {
    let place = Place::new();
    let said = place.sh("$POLDER run -- echo x >/dev/full; echo $?");
    assert_eq!(said.out, "125\n", "{said:?}");
    assert!(said.err.contains("cannot write standard output of the command: No space left"), "{}", said.err);
}

#[test]
fn timeout_with_a_reader_that_does_not_read_is_kept() {
    let place = Place::new();
    // The reader waits for polder's end: a polder that waits for its reader is seen by that.
    let reader = "i=0; while [ ! -s ../code ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; cat ../code";
    for flags in ["", "--json", "--output 1T"] {
        place.write("code", "");
        let said =
            place.sh(&format!("{{ $POLDER run {flags} --timeout 1s -- yes; echo $? >../code; }} | {{ {reader}; }}"));
        assert_eq!(said.out, "124\n", "{flags}: {said:?}");
    }
}

#[test]
fn timeout_with_messages_that_are_not_read_is_kept() {
    let place = Place::new();
    let reader = "i=0; while [ ! -s ../code ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; cat ../code";
    let flood = "sh -c 'yes >&2'";
    for (flags, command) in [("", flood), ("--output 1T", flood), ("", "sh -c 'yes >&2 & sleep 0.5; exit 3'")] {
        place.write("code", "");
        let run = format!("$POLDER run {flags} --timeout 1s -- {command} 2>&1 >/dev/null");
        let said = place.sh(&format!("{{ {run}; echo $? >../code; }} | {{ {reader}; }}"));
        assert!(["124\n", "3\n"].contains(&said.out.as_str()), "{flags} {command}: {said:?}");
    }
    // Without a timeout a signal ends the wait.
    place.write("code", "");
    let script = format!(
        "export POLDER; {{ sh -c 'echo $$ >../pid; exec $POLDER run -- sh -c \"echo >begun; yes >&2\"' 2>&1 >/dev/null; \
         echo $? >../code; }} | {{ i=0; while [ ! -e begun ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; \
         kill $(cat ../pid); {reader}; }}"
    );
    let said = place.sh(&script);
    assert_eq!(said.out, "143\n", "{said:?}");
}

#[test]
fn timeout_of_a_step_whose_output_is_not_read_is_kept() {
    let place = Place::new();
    place.write(
        "work/polder.yaml",
        "steps:\n  flood: {type: command, exec: 'exec 3>held; yes', limits: {timeout: 1s}}\n",
    );
    // The command's end of the pipe closes when the command ends.
    let script = |flags: &str| {
        format!(
            "export POLDER; rm -f held ../ended ../code; mkfifo held; (cat held >/dev/null; echo ended >../ended) & \
             holder=$!; \
             {{ sh -c 'echo $$ >../pid; exec $POLDER steps {flags}'; echo $? >../code; }} | {{ \
             i=0; while [ ! -e ../ended ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; cat ../ended; \
             kill $(cat ../pid); \
             i=0; while [ ! -s ../code ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; \
             test -s ../code && echo over; }}; kill $holder 2>/dev/null"
        )
    };
    for flags in ["", "--json"] {
        let said = place.sh(&script(flags));
        assert_eq!(said.out, "ended\nover\n", "{flags}: {said:?}");
    }
}

#[test]
fn steps_asked_to_end_with_no_stream_read_end() {
    let place = Place::new();
    place.write("work/polder.yaml", "steps:\n  flood: {type: command, exec: 'echo >begun; yes & yes >&2'}\n");
    for flags in ["", "--json"] {
        place.write("code", "");
        let said = place.sh(&format!(
            "export POLDER; rm -f begun; {{ sh -c 'echo $$ >../pid; exec $POLDER steps {flags} 2>&1'; \
             echo $? >../code; }} | {{ \
             i=0; while [ ! -e begun ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; sleep 0.5; \
             kill $(cat ../pid); \
             i=0; while [ ! -s ../code ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; cat ../code; }}"
        ));
        assert_eq!(said.out, "143\n", "{flags}: {said:?}");
    }
}

#[test]
fn service_whose_streams_are_not_read_keeps_its_timeout() {
    let place = Place::new();
    let reader = "i=0; while [ ! -s ../code ] && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; cat ../code";
    let flood = "sh -c 'yes & yes >&2'";
    for (flags, streams) in [("", ""), ("", "2>&1"), ("", "2>&1 >/dev/null"), ("--json", "2>&1")] {
        place.write("code", "");
        let run = format!("$POLDER run --service flood {flags} --timeout 1s -- {flood} {streams}");
        let said = place.sh(&format!("{{ {run}; echo $? >../code; }} | {{ {reader}; }}"));
        assert_eq!(said.out, "124\n", "{flags} {streams}: {said:?}");
    }
}

#[test]
fn timeout_with_a_pipe_end_elsewhere_is_kept() {
    // A process outside holds the command's standard output: it was passed over a socket in the tree.
    let place = Place::new();
    place.write(
        "holder.py",
        "import array, os, socket, time\ns = socket.socket(socket.AF_UNIX); s.bind('door'); s.listen()\n\
         open('../listening', 'w').close()\nc, _ = s.accept()\nfds = array.array('i')\n\
         _, ancillary, _, _ = c.recvmsg(1, 64)\nopen('../holds', 'w').write(str(len(ancillary)))\ntime.sleep(20)\n",
    );
    place.write(
        "work/give.py",
        "import array, socket, time\ns = socket.socket(socket.AF_UNIX); s.connect('door')\n\
         s.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])\n\
         print('given', flush=True)\ntime.sleep(60)\n",
    );
    let script = "python3 ../holder.py & holder=$!; while [ ! -e ../listening ]; do sleep 0.05; done; \
        $POLDER run --json --timeout 2s -- python3 give.py >../events; echo $?; \
        kill -0 $holder && echo holder lives; kill $holder";
    let said = place.sh(script);
    assert_eq!(said.out, "124\nholder lives\n", "{said:?}");
    assert_eq!(place.read("holds"), "1", "the descriptor got across");
    assert!(place.read("events").contains("given"));
}

#[test]
fn terminal_lent_is_not_the_callers() {
    let place = Place::new();
    let settings = "
import tty
for n in range(3):
    try:
        tty.setraw(n)
        fcntl.ioctl(n, 0x540C)
        fcntl.ioctl(n, termios.TIOCSWINSZ, bytes([1, 0, 1, 0, 0, 0, 0, 0]))
    except OSError: pass
print('tampered', os.isatty(0), os.isatty(1), os.isatty(2))
";
    let tamper = format!("{TAMPER}{settings}");
    place.write("work/tamper.py", &tamper);
    place.write("tamper.py", &tamper);
    let script = r#"
import subprocess
def pts(t): return '/dev/pts/%d' % struct.unpack('I', fcntl.ioctl(t.fd, 0x80045430, b'\0' * 4))
def look(t):
    name = pts(t)
    fd = os.open(name, os.O_RDWR | os.O_NOCTTY)
    attributes, flags = termios.tcgetattr(fd), fcntl.fcntl(fd, fcntl.F_GETFL)
    size = fcntl.ioctl(fd, termios.TIOCGWINSZ, b'\0' * 8)
    os.close(fd)
    status = os.stat(name)
    return (attributes, size, status.st_mode & 0o777)
def run(*words):
    t = Terminal(['/bin/sh'])
    t.send("PS1='ou''ter> '\n"); t.see("outer> ")
    # A descriptor that the shell shares with its children.
    t.send("exec 9>&1\n"); t.see("outer> ")
    before = look(t)
    t.send(' '.join(words) + "; echo co''de $?\n")
    t.see("tampered True True True"); t.see("code 0"); t.see("outer> ")
    time.sleep(0.1)
    t.send("python3 -c 'import fcntl, os; print(\"blo\" + \"cking\", not fcntl.fcntl(9, fcntl.F_GETFL) & os.O_NONBLOCK)'\n")
    found = t.see("blocking (True|False)").group(1)
    after = look(t)
    return before == after and found == 'True'
assert run(POLDER, 'run', '--', 'python3', 'tamper.py'), 'run'
assert run(POLDER, 'run', '--tty', '--', 'python3', 'tamper.py'), 'run --tty'
"#;
    check(&place, script);
    // Without the sandbox, the same program changes the mode of the terminal.
    let control = r#"
name = '/dev/pts/%d'
t = Terminal(['/usr/bin/python3', '../tamper.py'])
name = name % struct.unpack('I', fcntl.ioctl(t.fd, 0x80045430, b'\0' * 4))
before = os.stat(name).st_mode & 0o777
t.see("tampered")
after = os.stat(name).st_mode & 0o777
assert before != after == 0o666, (before, after)
"#;
    check(&place, control);
}

#[test]
fn terminal_is_restored_when_polder_is_killed() {
    let place = Place::new();
    let script = r#"
import signal, subprocess
for words in (['run', '--', 'sh', '-c', 'echo beg""un; sleep 60'], ['shell', '/bin/sh']):
    master, slave = os.openpty()
    before = termios.tcgetattr(slave)
    child = subprocess.Popen([POLDER, *words], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    deadline = time.monotonic() + 20
    while termios.tcgetattr(slave) == before:
        assert time.monotonic() < deadline, 'it never took the keys'
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    while termios.tcgetattr(slave) != before:
        assert time.monotonic() < deadline, 'not restored'
        time.sleep(0.01)
    os.close(master); os.close(slave)
"#;
    check(&place, script);
}

#[test]
fn terminal_paste_that_is_not_read_does_not_hold_polder() {
    let place = Place::new();
    let script = r#"
import signal, threading
t = Terminal([POLDER, 'run', '--timeout', '2s', '--', 'sh', '-c', 'stty raw -echo; echo go; exec sleep 60'])
t.see("go")
def paste():
    try: os.write(t.fd, b'x' * 28000)
    except OSError: pass
threading.Thread(target=paste, daemon=True).start()
assert t.end() == 124
t = Terminal([POLDER, 'run', '--', 'sh', '-c', 'stty raw -echo; echo go; exec sleep 60'])
t.see("go")
threading.Thread(target=paste, daemon=True).start()
time.sleep(0.3)
os.kill(t.pid, signal.SIGTERM)
assert t.end() == 143
"#;
    check(&place, script);
}

#[test]
fn terminal_streams_of_mixed_kinds_are_each_their_own() {
    let place = Place::new();
    let script = r#"
show = 'for n in 0 1 2; do test -t $n && printf "t" >>seen || printf "p" >>seen; done; echo >>seen; tty >/dev/null; echo out; echo err >&2'
open('show.sh', 'w').write(show)
t = Terminal(['/bin/sh'])
t.send("PS1='rea''dy> '\n"); t.see("ready> ")
for words in ('sh show.sh', 'sh show.sh | cat', 'sh show.sh </dev/null', 'sh show.sh 2>/dev/null', 'sh show.sh >/dev/null', 'sh show.sh </dev/null >/dev/null'):
    t.send(f"{POLDER} run -- {words}; echo co''de $?\n")
    t.see("code 0"); t.see("ready> ")
assert open('seen').read() == 'ttt\ntpt\nptt\nttp\ntpt\nppt\n', open('seen').read()
# In the background it neither takes the keys nor is stopped for trying.
t.send(f"{POLDER} run -- sh -c 'sleep 0.5; echo ba\"\"ck' & wait $!; echo co''de $?\n")
t.see("back"); t.see("code 0")
"#;
    check(&place, script);
}
