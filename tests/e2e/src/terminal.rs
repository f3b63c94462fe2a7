//! A real terminal around a command, driven by a few lines of Python: the standard library has a pseudo terminal.

use crate::place::{Place, Said, binary};

/// `Terminal(argv)` starts a command; `see` waits for text, `send` types, `size` resizes, `end` gives the exit code.
const PRELUDE: &str = r#"
import fcntl, os, pty, re, select, struct, sys, termios, time
class Terminal:
    def __init__(self, argv, rows=24, columns=80):
        self.seen = ''
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ['TERM'] = 'xterm'
            os.execv(argv[0], argv)
        self.size(rows, columns)
    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    def send(self, text):
        os.write(self.fd, text.encode())
    def read(self, wait):
        ready, _, _ = select.select([self.fd], [], [], wait)
        if not ready: return False
        try: data = os.read(self.fd, 65536)
        except OSError: data = b''
        self.seen += data.decode(errors='replace')
        # Readline brackets what is pasted; that is between it and a terminal with a mouse.
        self.seen = re.sub('\x1b\\[\\?2004[hl]\r?', '', self.seen)
        return bool(data)
    def see(self, pattern):
        deadline = time.monotonic() + 20
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            if time.monotonic() > deadline: sys.exit(f'not seen: {pattern!r} in {self.seen!r}')
            self.read(0.1)
    def end(self):
        deadline = time.monotonic() + 20
        while True:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid: return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline: sys.exit(f'no end: {self.seen!r}')
POLDER = sys.argv[1]
def shell(*flags):
    t = Terminal([POLDER, 'shell', *flags, '/bin/bash'])
    # Written so that the echo of the line is not taken for the prompt.
    t.send("PS1='rea''dy> '\n")
    t.see("ready> ")
    return t
"#;

/// Runs a Python text with these words; it fails by an exception or `sys.exit`.
pub fn on_a_terminal(place: &Place, script: &str) -> Said {
    let program = format!("{PRELUDE}\n{script}");
    let output = place.command("/usr/bin/python3").arg("-c").arg(program).arg(binary()).output();
    output.expect("python3").into()
}
