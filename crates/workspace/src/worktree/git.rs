//! Asking git which files it knows, so that nothing of the repository decides what git does.
//!
//! Git gets a repository that polder wrote and the user's tree to look at. So it reads no configuration but polder's own
//! and the system's none, and there is no key by which the tree could name a program: no monitor, filter, hook, pager,
//! helper or include. What remains of the tree are the names of files and the patterns of `.gitignore`, which are data.

use super::error::WorktreeError;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A list of more than a million long paths is none that anybody works with.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
const SAID_BYTES_MAX: u64 = 4 << 10;
/// Git waits for a pipe that stands where a file should, and nobody ever writes to it.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// After this time it is looked for.
const ANSWERS_SOON: Duration = Duration::from_secs(1);
const LOOKED_AT_MAX: usize = 1_000_000;
/// Where systems keep programs, for a caller whose PATH is short.
const SYSTEM: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Nothing that git is asked here depends on the caller's configuration, and nothing waits for a person.
const NEUTRAL: [(&str, &str); 10] = [
    ("LC_ALL", "C"),
    ("PATH", "/nonexistent"),
    ("HOME", "/nonexistent"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// A git that may be asked.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    /// The user's own list of what to ignore everywhere.
    ignored: Option<PathBuf>,
}

impl Git {
    /// The first git on PATH, and then among the system's, that nobody but root and the caller could have put there, and
    /// no command that worked in one of the trees.
    pub fn find(environment: &BTreeMap<OsString, OsString>, roots: &[&Path]) -> Result<Self, WorktreeError> {
        let path = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let mut git = Self::for_reading(&path, roots)?;
        git.ignored = git.ignored_everywhere(environment);
        Ok(git)
    }

    /// The same for questions about objects alone.
    pub(crate) fn for_reading(path: &OsStr, roots: &[&Path]) -> Result<Self, WorktreeError> {
        let directories = std::env::split_paths(path).chain(SYSTEM.map(PathBuf::from));
        let candidates = directories.filter(|directory| directory.is_absolute()).map(|place| place.join("git"));
        let uid = polder_sys::wait::effective_ids().0;
        let mut passed_over = Vec::new();
        for candidate in candidates {
            let Ok(program) = fs::canonicalize(&candidate) else { continue };
            match roots.iter().try_for_each(|root| trusted(&program, root, uid)) {
                Ok(()) => return Ok(Self { program, ignored: None }),
                Err(why) => passed_over.push(format!("`{}` {why}", candidate.display())),
            }
        }
        let why = if passed_over.is_empty() {
            "there is none on PATH".to_owned()
        } else {
            format!("none can be trusted: {}", passed_over.join(", "))
        };
        Err(WorktreeError::NoGit { why })
    }

    /// What git answers about the objects of a repository that polder wrote, told `input` on its standard input.
    pub(crate) fn ask(&self, private: &Path, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir("/").env_clear().envs(NEUTRAL);
        command.env("GIT_DIR", private).env("GIT_INDEX_FILE", private.join("index"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        // On a thread of its own: git can answer before it has read everything. An early end is told by its status.
        std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
        let answer = read_aside(child.stdout.take(), ANSWER_BYTES_MAX);
        let said = read_aside(child.stderr.take(), SAID_BYTES_MAX);
        let answered = answer.recv_timeout(ANSWERS_WITHIN);
        if !matches!(&answered, Ok(Ok(bytes)) if bytes.len() as u64 <= ANSWER_BYTES_MAX) {
            let _ = child.kill();
        }
        let status = child.wait()?;
        let said = said.recv_timeout(ANSWERS_WITHIN).ok().and_then(Result::ok).unwrap_or_default();
        match answered {
            Err(_) => Err(io::Error::other(format!("no answer within {} s", ANSWERS_WITHIN.as_secs()))),
            Ok(Err(error)) => Err(error),
            Ok(Ok(bytes)) if bytes.len() as u64 > ANSWER_BYTES_MAX => {
                Err(io::Error::other(format!("more than {ANSWER_BYTES_MAX} bytes")))
            }
            Ok(Ok(_)) if !status.success() => Err(io::Error::other(crate::visible_line(said.trim_ascii_end()))),
            Ok(Ok(bytes)) => Ok(bytes),
        }
    }

    /// The user's own configuration may name a list; git has a place for it otherwise. Only that file is read, far from the
    /// tree.
    fn ignored_everywhere(&self, environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
        let mut ask = Command::new(&self.program);
        ask.args(["config", "--global", "--type=path", "--get", "core.excludesFile"]).env_clear().current_dir("/");
        let variable = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        for name in ["HOME", "XDG_CONFIG_HOME"] {
            if let Some(value) = variable(name) {
                ask.env(name, value);
            }
        }
        let answer = ask.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let mut named = answer.stdout;
        named.truncate(named.iter().position(|byte| *byte == b'\n').unwrap_or(named.len()));
        let configured = Some(PathBuf::from(OsString::from_vec(named))).filter(|path| path.is_absolute());
        configured.or_else(|| {
            let home = variable("HOME").map(|home| Path::new(home).join(".config"));
            variable("XDG_CONFIG_HOME").map(PathBuf::from).or(home).map(|base| base.join("git/ignore"))
        })
    }

    /// What `ls-files` answers about a tree, by the index of a repository that polder wrote.
    pub(crate) fn ls_files(&self, private: &Path, tree: &Path, arguments: &[&str]) -> Result<Vec<u8>, WorktreeError> {
        let failed = |said: String| WorktreeError::Git { root: tree.to_owned(), said };
        let mut command = Command::new(&self.program);
        command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        if let Some(ignored) = &self.ignored {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(ignored);
            command.arg("-c").arg(setting);
        }
        command.arg("ls-files").args(arguments).current_dir(tree);
        command.env_clear().envs(NEUTRAL);
        command.env("GIT_DIR", private).env("GIT_WORK_TREE", tree).env("GIT_INDEX_FILE", private.join("index"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let answer = read_aside(child.stdout.take(), ANSWER_BYTES_MAX);
        let said = read_aside(child.stderr.take(), SAID_BYTES_MAX);
        let mut in_the_way = None;
        let answered = answer.recv_timeout(ANSWERS_SOON).or_else(|_| {
            in_the_way = pipe_for_a_list(tree);
            let within = if in_the_way.is_some() { Duration::ZERO } else { ANSWERS_WITHIN };
            answer.recv_timeout(within)
        });
        // It has answered, or never will; what it wrote then does not count.
        if !matches!(&answered, Ok(Ok(bytes)) if bytes.len() as u64 <= ANSWER_BYTES_MAX) {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let said = || {
            let said = said.recv_timeout(ANSWERS_WITHIN).ok().and_then(Result::ok).unwrap_or_default();
            crate::visible_line(&said)
        };
        match answered {
            Err(_) if in_the_way.is_some() => {
                let (why, remedy) = ("is no file, and git would wait for what it says", "remove it");
                Err(WorktreeError::Unfit { path: in_the_way.unwrap_or_default(), why, remedy })
            }
            Err(_) => Err(failed(format!("no answer within {} s", ANSWERS_WITHIN.as_secs()))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Ok(Ok(bytes)) if bytes.len() as u64 > ANSWER_BYTES_MAX => {
                Err(failed(format!("more than {ANSWER_BYTES_MAX} bytes")))
            }
            Ok(Ok(_)) if !status.success() => Err(failed(said())),
            Ok(Ok(bytes)) => Ok(bytes),
        }
    }
}

/// Reads to the end on a thread of its own, or a little further than `max`.
fn read_aside<R: Read + Send + 'static>(source: Option<R>, max: u64) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = source.map_or(Ok(0), |source| source.take(max + 1).read_to_end(&mut bytes));
        // Nobody waits any more.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

/// Something in a tree that has the name of a list of what to ignore, and whose reader waits: a pipe, a device.
fn pipe_for_a_list(tree: &Path) -> Option<PathBuf> {
    let mut waiting = vec![tree.to_owned()];
    let mut looked_at = 0;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            looked_at += 1;
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                waiting.push(entry.path());
            } else if entry.file_name() == ".gitignore" && !kind.is_file() && !kind.is_symlink() && !kind.is_dir() {
                return Some(entry.path());
            }
        }
        if looked_at > LOOKED_AT_MAX {
            return None;
        }
    }
    None
}

fn trusted(program: &Path, root: &Path, uid: u32) -> Result<(), String> {
    if program.starts_with(root) {
        return Err("lies in the tree".to_owned());
    }
    let metadata = fs::metadata(program).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err("cannot be executed".to_owned());
    }
    for place in program.ancestors() {
        let metadata = fs::metadata(place).map_err(|error| error.to_string())?;
        let owned = metadata.uid() == 0 || metadata.uid() == uid;
        let sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
        if !owned || (metadata.mode() & 0o022 != 0 && !sticky) {
            return Err(format!("can be changed by others, through `{}`", place.display()));
        }
    }
    Ok(())
}
