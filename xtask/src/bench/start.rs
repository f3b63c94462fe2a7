//! What starting costs: nothing, bubblewrap with a comparable view, polder with more isolation than that.

use super::table::{Case, interleaved, starts};
use crate::run::call;
use std::path::Path;
use std::process::{Command, Stdio};

/// The bubblewrap call that a CI tool makes today for the same job, with the network off.
pub(super) fn bubblewrap(directory: &Path) -> Vec<String> {
    let mut argv: Vec<String> = vec!["bwrap".to_owned()];
    for path in ["/usr", "/lib", "/lib64", "/bin", "/etc/resolv.conf", "/etc/ssl"] {
        if Path::new(path).exists() {
            argv.extend(["--ro-bind", path, path].map(str::to_owned));
        }
    }
    argv.extend(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind"].map(str::to_owned));
    argv.extend([directory.display().to_string(), "/workspace".to_owned()]);
    argv.extend(
        [
            "--chdir",
            "/workspace",
            "--unshare-pid",
            "--unshare-net",
            "--new-session",
            "--die-with-parent",
            "--clearenv",
            "--setenv",
            "PATH",
            "/usr/bin:/bin",
            "--setenv",
            "HOME",
            "/tmp",
            "--",
            "/bin/true",
        ]
        .map(str::to_owned),
    );
    argv
}

/// The ordinary case: a project is a repository.
pub(super) fn make_repository(directory: &Path) -> Result<(), String> {
    call(Command::new("git").args(["init", "--quiet"]).arg(directory).stdout(Stdio::null()))
}

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    make_repository(directory)?;
    let directory_text = directory.display().to_string();
    let polder_text = polder.display().to_string();
    let run = ["run", "--engine", "native", "-C", &directory_text, "--", "/bin/true"].map(str::to_owned);
    let cases = [
        Case::new("bare", vec!["/bin/true".to_owned()]),
        Case::new("bubblewrap", bubblewrap(directory)),
        Case::new("polder native", [vec![polder_text], run.to_vec()].concat()),
    ];
    let times = interleaved(&cases, rounds, &|_| ())?;
    Ok(starts(&cases, &times, 1))
}
