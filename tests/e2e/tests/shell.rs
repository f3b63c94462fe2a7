//! `polder shell` and `polder run --tty` on a real terminal.
#![forbid(unsafe_code)]

use polder_e2e::{Place, on_a_terminal};

fn check(script: &str) {
    let place = Place::new();
    let said = on_a_terminal(&place, script);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

#[test]
fn a_prompt_a_terminal_and_an_exit_code() {
    check(
        r#"
t = shell()
t.send("tty; pwd; echo $((6*7))\n")
t.see(r"/dev/pts/\d+\r\n/\S+/work\r\n42\r\n")
t.send("test -t 0 -a -t 1 -a -t 2 && echo all three; echo $TERM\n")
t.see("\nall three\r\nxterm\r\n")
t.send("exit 42\n")
assert t.end() == 42
"#,
    );
}

#[test]
fn a_new_size_reaches_the_inside() {
    check(
        r#"
t = shell()
t.send("stty size\n")
t.see("24 80")
t.send("""python3 -c "
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
print('wait' + 'ing', flush=True)
signal.sigwait({signal.SIGWINCH})
print('resized', *os.get_terminal_size(0))"
""")
t.see("waiting")
t.size(40, 120)
t.see("resized 120 40")
t.send("stty size; exit\n")
t.see("40 120")
assert t.end() == 0
"#,
    );
}

#[test]
fn ctrl_c_interrupts_the_inner_program_only() {
    check(
        r#"
t = shell()
t.send("sh -c 'echo beg''un; exec sleep 600'\n")
t.see("begun\r\n")
t.send("\x03")
t.see("ready> ")
t.send("echo code $?\n")
t.see("\ncode 130")
t.send("exit 0\n")
assert t.end() == 0
"#,
    );
}

#[test]
fn jobs_can_be_stopped_and_continued() {
    check(
        r#"
t = shell()
t.send("sh -c 'echo beg''un; exec sleep 600'\n")
t.see("begun\r\n")
t.send("\x1a")
t.see("Stopped")
t.see("ready> ")
t.send("jobs; fg\n")
t.see("Stopped.*sleep 600")
t.see("\nsh -c .*sleep 600")
# The shell names the job before it gives it the terminal, and a key that is pressed in between is the shell's own.
for _ in range(10):
    t.send("\x03")
    later = time.monotonic() + 2
    while "ready> " not in t.seen and time.monotonic() < later: t.read(0.1)
    if "ready> " in t.seen: break
t.see("ready> ")
t.send("exit 3\n")
assert t.end() == 3
"#,
    );
}

#[test]
fn the_callers_terminal_is_as_before_afterwards() {
    check(
        r#"
t = Terminal(['/bin/bash', '--norc'])
t.send("PS1='ou''ter> '; stty -a | md5sum >../before\n")
t.see("outer> ")
t.send(f"{POLDER} shell /bin/sh\n")
t.see(r"\n\[polder\] \S+ [$#] ")
t.send("stty raw -echo; exit 5\n")
t.see("outer> ")
t.send("echo code $?; stty -a | md5sum >../after; cmp ../before ../after && echo same\n")
t.see("\ncode 5")
t.see("\nsame")
t.send("exit\n")
t.end()
"#,
    );
}

#[test]
fn a_closed_terminal_ends_everything() {
    let place = Place::new();
    let held = polder_e2e::Held::new(&place);
    let script = polder_e2e::hold("sleep 600");
    place.write("work/script", script);
    let said = on_a_terminal(
        &place,
        r#"
t = Terminal([POLDER, 'run', '--tty', '--', 'sh', './script'])
deadline = time.monotonic() + 20
while not os.path.exists('held'):
    t.read(0.02)
    assert time.monotonic() < deadline, t.seen
os.close(t.fd)
"#,
    );
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    held.ended();
}

#[test]
fn no_descriptor_and_no_device_of_the_callers_terminal_is_inside() {
    check(
        r#"
t = shell()
t.send("ls /proc/self/fd | tr '\\n' ' '; echo; ls /dev/pts\n")
t.see(r"\n0 1 2 3 \r\n")
t.see(r"\b0\s+ptmx\b")
t.send("exit\n")
assert t.end() == 0
"#,
    );
}

#[test]
fn a_large_paste_arrives_whole() {
    check(
        r#"
t = Terminal([POLDER, 'run', '--tty', '--', 'sh', '-c', 'stty raw -echo; echo go; head -c 200000 | md5sum'])
t.see("go")
import hashlib, threading
data = b'0123456789' * 20000
threading.Thread(target=lambda: [os.write(t.fd, data[i:i+1000]) for i in range(0, len(data), 1000)], daemon=True).start()
t.see(hashlib.md5(data).hexdigest())
assert t.end() == 0
"#,
    );
}

#[test]
fn without_a_terminal_it_is_refused() {
    let place = Place::new();
    for verb in [&["shell"][..], &["run", "--tty", "--", "true"]] {
        let said = place.says(verb);
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        assert!(said.err.contains("must be a terminal"), "{}", said.err);
    }
}

#[test]
fn a_variable_that_is_named_as_a_secret_passes_with_a_word_about_it() {
    check(
        r#"
t = Terminal([POLDER, "run", "--tty", "--env", "X_API_KEY=0123456789abcdef", "--", "sh", "-c", "echo ${#X_API_KEY}"])
t.see(r"polder: X_API_KEY passes, and nobody keeps it from this terminal\r\n")
t.see(r"16\r\n")
assert t.end() == 0
"#,
    );
}
