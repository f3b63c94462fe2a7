//! A directory for one test, and the binary used in it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// The built binary.
pub fn binary() -> PathBuf {
    for name in ["POLDER_TEST_BIN", "POLDER_BIN"] {
        if let Some(path) = std::env::var_os(name) {
            return path.into();
        }
    }
    let own = std::env::current_exe().expect("a path of our own");
    // target/debug/deps/test-1234 → target/debug/polder
    let path = own.parent().and_then(Path::parent).expect("a target directory").join("polder");
    assert!(path.is_file(), "{} is missing: `cargo build --package polder-cli` makes it", path.display());
    path
}

/// A golden of this crate, wherever the test program is started from.
pub fn golden(name: &str) -> PathBuf {
    // The tests may run from a copy of the project, for a user who cannot read the original.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.join("tests/goldens").join(name)
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").expect("/proc/self").uid() == 0
}

/// What a command said and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The exit code; a signal counts as its negative number.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

/// A workspace and a home of its own; removed with everything in it.
#[derive(Debug)]
pub struct Place {
    dir: PathBuf,
    trusts: bool,
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// An empty workspace and an empty home, not below `/tmp`, which is another one inside.
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        let base = home.unwrap_or_else(|| PathBuf::from("/var/tmp"));
        let dir = base.join(format!("polder-e2e.{}.{count}", std::process::id()));
        fs::create_dir_all(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let dir = fs::canonicalize(dir).expect("a path without links");
        let place = Self { dir, trusts: false };
        for part in ["work", "home", "run"] {
            fs::create_dir(place.dir.join(part)).expect("a directory");
        }
        place
    }

    /// The directory that holds the others.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The workspace.
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Makes a certificate for `localhost` in the home directory (`server.pem`, `server-key.pem`) that the authority in
    /// `authority.pem` vouches for; `other.pem` is another one.
    pub fn certify(&self) {
        let sign = "for ca in authority other; do
              openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=$ca \\
                -addext basicConstraints=critical,CA:TRUE -keyout $ca-key.pem -out $ca.pem || exit 1
            done
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout server-key.pem -out server.csr &&
            echo subjectAltName=DNS:localhost >names && openssl x509 -req -in server.csr -CA authority.pem \\
              -CAkey authority-key.pem -CAcreateserial -days 2 -extfile names -out server.pem";
        let signed = self.command("sh").args(["-c", sign]).current_dir(self.home()).output().expect("openssl");
        assert!(signed.status.success(), "{signed:?}");
    }

    /// Writes a file, with its directories.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("directories");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.dir.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether something is there.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.dir.join(path).symlink_metadata().is_ok()
    }

    /// The names in the workspace, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work()).expect("the workspace").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The same place, where the project's file is trusted in every call.
    pub fn trusting(mut self) -> Self {
        self.trusts = true;
        self
    }

    /// A program that sees this place as its world: in the workspace, with the home as its home.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.dir.join("run"))
            .env("LANG", "C.UTF-8")
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        if self.trusts {
            command.env("POLDER_TRUST_PROJECT", "1");
        }
        command
    }

    /// The binary with these arguments, not started.
    pub fn polder(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(binary());
        command.args(arguments);
        command
    }

    /// The binary with these arguments, run to its end.
    pub fn says(&self, arguments: &[&str]) -> Said {
        self.polder(arguments).output().expect("polder").into()
    }

    /// A shell text in the workspace, in which `$POLDER` is the binary; run to its end.
    pub fn sh(&self, script: &str) -> Said {
        let script = format!("POLDER='{}'; {script}", binary().display());
        self.command("sh").args(["-c", &script]).output().expect("sh").into()
    }

    /// A text without what differs from call to call, from user to user and from machine to machine.
    pub fn normal(&self, text: &str) -> String {
        // `TAR_OPTIONS` is there where the command is uid 0.
        let text = text.replace(&self.dir.display().to_string(), "$DIR").replace(" TAR_OPTIONS", "");
        let line = |line: &str| -> Option<String> {
            let word = line.split_whitespace().next().unwrap_or_default();
            match word {
                "system" => None,
                "user" => Some("user        $USER".to_owned()),
                "plan" => Some("plan          $HASH".to_owned()),
                // Where nothing is asked for, the size is the machine's.
                "private" if !line.contains('#') => {
                    let (places, _) = line.rsplit_once(", ")?;
                    Some(format!("{places}, $SIZE together"))
                }
                _ => Some(match line.split_once("enforced by ") {
                    Some((guarantee, _)) => format!("{guarantee}enforced"),
                    None => line.to_owned(),
                }),
            }
        };
        text.lines().filter_map(line).map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.dir).output();
        let removed = fs::remove_dir_all(&self.dir);
        if !std::thread::panicking() {
            removed.unwrap_or_else(|error| panic!("cannot remove {}: {error}", self.dir.display()));
        }
    }
}
