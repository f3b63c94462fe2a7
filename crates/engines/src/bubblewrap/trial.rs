//! Whether bwrap works here, found out by using it. Done only when this engine is considered, because it takes as long as
//! a run; what worked a moment ago is believed.

use super::find::{self, Found};
use super::launch::{Prepared, prepare};
use super::lower::lower_trial;
use polder_engine::Availability;
use polder_facts::{HostFacts, Mechanism, Probe};
use polder_sys::kept::Keeping;
use polder_sys::{Command, Filtered, Finish, Foreign, ForeignError, Inside, Outer, SpawnError};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The first version that sets the permissions of what it makes.
const OLDEST: Version = Version(0, 5, 0);
/// How long it may take to say its version.
const VERSION_MS_MAX: u64 = 5000;
/// What a version may say.
const VERSION_BYTES_MAX: u64 = 4096;
/// The private root of the trial.
const TRIAL_BYTES: u64 = 1 << 20;
/// A path that no sandbox has: that the command of the trial was not found shows that everything before it worked, and
/// needs no program that a machine might not have.
const NOTHING: &std::ffi::CStr = c"/run/polder/nothing";

/// What the user of the library has to do.
pub(super) const NO_SHIM_REMEDY: &str = "call `polder::become_shim_if_asked()` first in `main`";

/// A version of bwrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Version {
    /// The version in a line such as `bubblewrap 0.8.0`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_whitespace();
        if words.next()? != "bubblewrap" {
            return None;
        }
        let mut parts = words.next()?.split('.');
        // A patch level may be missing or have a suffix; the first two numbers may not.
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (major, minor) = (number()?, number()?);
        let patch = parts.next().map_or("", |part| part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or(""));
        words.next().is_none().then(|| Self(major, minor, patch.parse().unwrap_or(0)))
    }
}

pub(super) fn probe(host: &HostFacts) -> Availability {
    let unavailable = |reason: String, remedy: String| Availability::Unavailable { reason, remedy };
    let Found { path, skipped } = match find::find(host, &[]) {
        Ok(found) => found,
        Err(missing) => return unavailable(missing.to_string(), with_native(install_line(), host)),
    };
    let kept = Keeping::new(&host.environment, "bubblewrap.json", key(&path));
    let detail = match kept.read::<String>() {
        Some(detail) => detail,
        None => match try_out(&path, host) {
            Ok(version) => {
                let detail = format!("bwrap {version} at {}", path.display());
                kept.write(&detail);
                detail
            }
            Err(Failed { reason, remedy }) => {
                return unavailable(format!("`{}`: {reason}", path.display()), with_native(remedy, host));
            }
        },
    };
    let skipped: String = skipped.iter().map(|skipped| format!("; {skipped}")).collect();
    Availability::Available { detail: detail + &skipped }
}

/// An answer holds for this program, this user and this very file.
fn key(path: &Path) -> String {
    let (uid, _) = polder_sys::wait::effective_ids();
    let file = std::fs::metadata(path);
    let file = file.map(|file| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.ctime())).ok();
    format!("{} {uid} {} {file:?}", env!("CARGO_PKG_VERSION"), path.display())
}

struct Failed {
    reason: String,
    remedy: String,
}

/// Asks for the version, then builds a sandbox in which nothing is found to run.
fn try_out(path: &Path, host: &HostFacts) -> Result<Version, Failed> {
    let reinstall = || format!("install it anew: {}", install_line());
    let said = ask_version(path).map_err(|reason| Failed { reason, remedy: reinstall() })?;
    let Some(version) = Version::parse(&said) else {
        let said = said.lines().next().unwrap_or_default();
        return Err(Failed { reason: format!("it is not bubblewrap: it says {said:?}"), remedy: reinstall() });
    };
    if version < OLDEST {
        let reason = format!("version {version} is older than {OLDEST}");
        return Err(Failed { reason, remedy: "install a newer one".to_owned() });
    }
    match try_launch(path, host) {
        Ok(()) => Ok(version),
        Err(TrialError::NoShim) => {
            let reason = "this program cannot be the shim that bwrap starts inside".to_owned();
            Err(Failed { reason, remedy: NO_SHIM_REMEDY.to_owned() })
        }
        Err(TrialError::Other(reason)) => Err(Failed { reason: format!("a trial failed: {reason}"), remedy: remedy() }),
    }
}

/// What it says when asked for its version. A program that hangs or writes without end must not keep us.
fn ask_version(path: &Path) -> Result<String, String> {
    let mut child = std::process::Command::new(path)
        .arg("--version")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be executed: {error}"))?;
    let out = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = out.map(|out| out.take(VERSION_BYTES_MAX).read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    });
    let deadline = Instant::now() + Duration::from_millis(VERSION_MS_MAX);
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it does not say its version within {VERSION_MS_MAX} ms"));
            }
            None => std::thread::sleep(Duration::from_micros(200)),
        }
    };
    if !status.success() {
        return Err(format!("`--version` ended with {status}"));
    }
    Ok(reader.join().unwrap_or_default())
}

enum TrialError {
    NoShim,
    Other(String),
}

impl<E: std::error::Error> From<E> for TrialError {
    fn from(error: E) -> Self {
        Self::Other(error.to_string())
    }
}

fn try_launch(path: &Path, host: &HostFacts) -> Result<(), TrialError> {
    let (arguments, apart, steps) = lower_trial(&host.system);
    let Prepared { program, added } = prepare(path, &arguments)?;
    let finish = Finish { apart: polder_sys::own_namespaces(&apart)?, scratch_bytes: TRIAL_BYTES, steps };
    let outer = (host.user.uid == 0).then(|| Outer {
        uid: 0,
        gid: 0,
        base: polder_sys::facts::RANGE_BASE,
        count: polder_sys::facts::RANGE_IDS,
        shown: Vec::new(),
    });
    let inside = Inside {
        made: Vec::new(),
        rlimits: Vec::new(),
        landlock: None,
        filter: Filtered::No,
        swept: Vec::new(),
        observe: None,
        command: Command {
            candidates: vec![NOTHING.to_owned()],
            argv: vec![NOTHING.to_owned()],
            env: Vec::new(),
            workdir: c"/".to_owned(),
            terminal: None,
        },
    };
    let null = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let launched = polder_sys::spawn_foreign(&Foreign {
        program: &program,
        added: &added,
        outer: outer.as_ref(),
        staging: None,
        cgroup: None,
        finish: Some(&finish),
        inside: &inside,
        stdio: &[null()?, null()?, null()?],
        kept: None,
        tidies: false,
    });
    match launched {
        Err(ForeignError::Spawn(SpawnError::NotStarted { .. })) => Ok(()),
        Err(ForeignError::NoShim) => Err(TrialError::NoShim),
        Err(other) => Err(TrialError::Other(other.to_string())),
        Ok(_) => Err(TrialError::Other(format!("{NOTHING:?} was executed"))),
    }
}

/// What to do where bwrap is there and does not work.
pub(super) fn remedy() -> String {
    polder_sys::probe::namespace_remedy()
}

/// Names the engine that needs none of this, where it works.
fn with_native(remedy: String, host: &HostFacts) -> String {
    let works = |mechanism| host.mechanisms.get(&mechanism).is_some_and(Probe::works);
    if works(Mechanism::Namespaces) && works(Mechanism::MountRoot) {
        format!("{remedy}; or use engine `native`, which works here and needs no program")
    } else {
        remedy
    }
}

/// How to get bwrap on this distribution.
pub(super) fn install_line() -> String {
    let text = ["/etc/os-release", "/usr/lib/os-release"].iter().find_map(|path| std::fs::read_to_string(path).ok());
    install_line_for(&text.unwrap_or_default()).to_owned()
}

/// The line for a distribution, from its `os-release`; all of them where it is not a known one.
fn install_line_for(os_release: &str) -> &'static str {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\''])
    };
    let names = value("ID").split_whitespace().chain(value("ID_LIKE").split_whitespace());
    let line = |name| match name {
        "debian" | "ubuntu" => Some("sudo apt install bubblewrap"),
        "fedora" | "rhel" | "centos" => Some("sudo dnf install bubblewrap"),
        "arch" => Some("sudo pacman -S bubblewrap"),
        "alpine" => Some("sudo apk add bubblewrap"),
        "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" => Some("sudo zypper install bubblewrap"),
        "gentoo" => Some("sudo emerge sys-apps/bubblewrap"),
        "void" => Some("sudo xbps-install bubblewrap"),
        "nixos" => Some("nix-env -iA nixos.bubblewrap"),
        _ => None,
    };
    names.into_iter().find_map(line).unwrap_or(
        "install bubblewrap: `apt install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora, RHEL, CentOS), \
         `pacman -S bubblewrap` (Arch), `apk add bubblewrap` (Alpine)",
    )
}

#[cfg(test)]
mod tests;
