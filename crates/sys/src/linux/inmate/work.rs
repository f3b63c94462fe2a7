//! The inmate's life. It is the first process of its kernel and a program like any other: it may allocate and have threads.

use super::frame::{self, Frame, Tag, Window, receive, send};
use super::words::{Done, Errand, FileSeen, Look, Seen};
use crate::linux::call::{Errno, check, check_int};
use crate::linux::{creds, shim};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// That nobody takes anything of a stream any more.
const NOBODY: usize = Window::NOBODY;

/// The way out, one frame at a time.
type Out = Arc<Mutex<File>>;

/// The life of the inmate.
pub(crate) fn live() -> ! {
    // SAFETY: no arguments. Whoever is not the first process has a kernel around it that others live in, too.
    if unsafe { libc::getpid() } != 1 || creds::not_dumpable().and_then(|()| creds::gain_nothing_by_exec()).is_err() {
        shim::exit(125)
    }
    // SAFETY: our own streams, which nothing else in this program uses.
    let (mut control, out) = unsafe { (File::from_raw_fd(0), File::from_raw_fd(1)) };
    let out: Out = Arc::new(Mutex::new(out));
    let code = match serve(&mut control, &out) {
        Ok(()) => 0,
        Err(error) => {
            // Nobody hears it if the way out is what failed.
            let _ = say(&out, Tag::Failed, error.to_string().as_bytes());
            125
        }
    };
    shim::exit(code)
}

fn say(out: &Out, tag: Tag, bytes: &[u8]) -> io::Result<()> {
    send(&mut *out.lock().unwrap_or_else(PoisonError::into_inner), tag, bytes)
}

fn took(out: &Out, count: usize) -> io::Result<()> {
    frame::took(&mut *out.lock().unwrap_or_else(PoisonError::into_inner), Tag::Input, count)
}

fn serve(control: &mut File, out: &Out) -> io::Result<()> {
    let errand = loop {
        match receive(control)? {
            None => return Ok(()),
            Some(Frame { tag: Tag::Look, bytes }) => {
                say(out, Tag::Seen, &look(&Look::from_bytes(&bytes)?)?.to_bytes())?;
            }
            Some(Frame { tag: Tag::Errand, bytes }) => break Errand::from_bytes(&bytes)?,
            Some(_) => return Err(io::Error::other("a message out of turn")),
        }
    };
    let mut child = match start(&errand)? {
        Ok(child) => child,
        Err(errno) => return say(out, Tag::NotStarted, &errno.0.to_le_bytes()),
    };
    say(out, Tag::Started, &[])?;
    let main = child.id() as i32;
    let (output, errors) = (Arc::new(Window::new()), Arc::new(Window::new()));
    let pumps =
        [pump(child.stdout.take(), Tag::Output, &output, out), pump(child.stderr.take(), Tag::Error, &errors, out)];
    let input = feed(child.stdin.take(), out);
    let control = control.try_clone()?;
    thread::spawn(move || obey(control, main, &input, &output, &errors));
    let done = wait_for(main);
    // Nobody is left who could write, so the streams end.
    for pump in pumps {
        let _ = pump.join();
    }
    say(out, Tag::Ended, &done.to_bytes())
}

fn look(look: &Look) -> io::Result<Seen> {
    let (release, version) = kernel()?;
    let file = |path: &Vec<u8>| fs::symlink_metadata(OsStr::from_bytes(path)).ok().map(|seen| FileSeen::of(&seen));
    Ok(Seen {
        release,
        version,
        status: fs::read_to_string("/proc/self/status")?,
        mounts: fs::read_to_string("/proc/self/mountinfo")?,
        links: fs::read_to_string("/proc/net/dev")?,
        files: look.paths.iter().map(file).collect(),
    })
}

/// What the kernel calls itself.
fn kernel() -> io::Result<(String, String)> {
    // SAFETY: all-zero is a valid record, which the kernel fills with texts that end in a zero.
    let name = unsafe {
        let mut name: libc::utsname = std::mem::zeroed();
        check_int(libc::uname(&raw mut name))?;
        name
    };
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok((text(&name.release), text(&name.version)))
}

/// Starts the command, or says why the kernel does not.
fn start(errand: &Errand) -> io::Result<Result<Child, Errno>> {
    let parts = errand.parts();
    let bytes = |bytes: &'_ [u8]| OsStr::from_bytes(bytes).to_owned();
    let workdir = bytes(parts.workdir);
    let is_there = fs::metadata(&workdir).map(|found| found.is_dir());
    if !is_there.as_ref().is_ok_and(|directory| *directory) {
        let why = is_there.err().map_or_else(|| "not a directory".to_owned(), |error| error.to_string());
        return Err(io::Error::other(format!("cannot enter `{}`: {why}", workdir.display())));
    }
    let mut worst = Errno(libc::ENOENT);
    for candidate in parts.candidates {
        let mut command = Command::new(bytes(candidate));
        command.current_dir(&workdir).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some((name, rest)) = parts.argv.split_first() {
            command.arg0(bytes(name)).args(rest.iter().map(|argument| bytes(argument)));
        }
        for variable in parts.env {
            let at = variable.iter().position(|byte| *byte == b'=').unwrap_or(variable.len());
            command.env(bytes(&variable[..at]), bytes(variable.get(at + 1..).unwrap_or_default()));
        }
        let (rlimits, mask) = (parts.rlimits.to_vec(), parts.mask);
        // SAFETY: plain calls that neither allocate nor lock.
        unsafe { command.pre_exec(move || prepare(&rlimits, mask).map_err(io::Error::from)) };
        let error = match command.spawn() {
            Ok(child) => return Ok(Ok(child)),
            Err(error) => error,
        };
        match error.raw_os_error() {
            // Keep looking, as shells do, and remember that something was there.
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::EACCES) => worst = Errno(libc::EACCES),
            Some(other) => return Ok(Err(Errno(other))),
            None => return Err(error),
        }
    }
    Ok(Err(worst))
}

/// Between fork and exec: a session of its own, so that there is a group to signal, and limits that hold.
fn prepare(rlimits: &[(u32, u64)], mask: u32) -> Result<(), Errno> {
    // SAFETY: plain numbers; the record is valid for the calls.
    unsafe {
        check_int(libc::setsid())?;
        libc::umask(mask as libc::mode_t);
        for (resource, value) in rlimits {
            let mut limit: libc::rlimit = std::mem::zeroed();
            check_int(libc::getrlimit(*resource as _, &raw mut limit))?;
            let value = limit.rlim_max.min(*value);
            limit = libc::rlimit { rlim_cur: value, rlim_max: value };
            check_int(libc::setrlimit(*resource as _, &raw const limit))?;
        }
    }
    Ok(())
}

/// Hands a stream of the command out.
fn pump(from: Option<impl Read + Send + 'static>, tag: Tag, window: &Arc<Window>, out: &Out) -> thread::JoinHandle<()> {
    let (window, out) = (Arc::clone(window), Arc::clone(out));
    thread::spawn(move || {
        let Some(mut from) = from else { return };
        let mut chunk = vec![0; Window::CHUNK_BYTES];
        while let Some(room) = window.wait() {
            match from.read(&mut chunk[..room]) {
                Ok(0) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
                Ok(count) => {
                    window.sent(count);
                    if say(&out, tag, &chunk[..count]).is_err() {
                        return;
                    }
                }
            }
        }
    })
}

/// Takes what is for the command's input; no bytes are its end.
fn feed(to: Option<ChildStdin>, out: &Out) -> Sender<Vec<u8>> {
    let (sender, receiver): (_, Receiver<Vec<u8>>) = channel();
    let out = Arc::clone(out);
    thread::spawn(move || {
        let mut to = to;
        while let Ok(bytes) = receiver.recv() {
            if bytes.is_empty() {
                return;
            }
            // A command that does not read any more is no error; the rest is for nobody.
            if to.as_mut().is_some_and(|to| to.write_all(&bytes).is_err()) {
                to = None;
            }
            if took(&out, bytes.len()).is_err() {
                return;
            }
        }
    });
    sender
}

/// Does what the caller says until the caller is gone, which is the end.
fn obey(mut control: File, main: i32, input: &Sender<Vec<u8>>, output: &Window, errors: &Window) {
    while let Ok(Some(frame)) = receive(&mut control) {
        match frame.tag {
            Tag::Input => drop(input.send(frame.bytes)),
            Tag::Took => match frame.took() {
                Some((Tag::Output, NOBODY)) => output.close(),
                Some((Tag::Error, NOBODY)) => errors.close(),
                Some((Tag::Output, count)) => output.taken(count),
                Some((Tag::Error, count)) => errors.taken(count),
                _ => break,
            },
            Tag::Signal => {
                if let Some(signal) = frame.number() {
                    // SAFETY: plain numbers; the command leads a group of this number. One that is gone is no error.
                    unsafe { libc::kill(-main, signal) };
                }
            }
            _ => break,
        }
    }
    shim::exit(0)
}

/// Waits for the command, ends everybody who is left, and says how it went.
fn wait_for(main: i32) -> Done {
    let mut done = Done { code: None, signal: None, cpu_us: 0, peak_kib: 0 };
    loop {
        let mut status = 0;
        // SAFETY: all-zero is a valid record; both are valid for writing.
        let (answer, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (check(i64::from(libc::wait4(-1, &raw mut status, libc::__WALL, &raw mut usage))), usage)
        };
        match answer {
            Err(Errno(libc::EINTR)) => continue,
            // Nobody is left.
            Err(_) => return done,
            Ok(pid) => {
                for time in [usage.ru_utime, usage.ru_stime] {
                    done.cpu_us += time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
                }
                done.peak_kib = done.peak_kib.max(usage.ru_maxrss as u64);
                if pid == i64::from(main) {
                    done.code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
                    done.signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
                    // SAFETY: plain numbers: everybody but the first process, which is this one.
                    unsafe { libc::kill(-1, libc::SIGKILL) };
                }
            }
        }
    }
}
