//! What starting costs: nothing, bubblewrap with a comparable view, polder with more isolation than that.

use super::table::{Case, interleaved, millis, rank};
use crate::run::call;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The bubblewrap call that a CI tool makes today for the same job, with the network off.
fn bubblewrap(directory: &Path) -> Vec<String> {
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

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let git = Command::new("git").args(["init", "--quiet"]).arg(directory).stdout(Stdio::null()).status();
    git.map_err(|error| error.to_string())?;
    call(Command::new("true").current_dir(directory))?;
    let directory_text = directory.display().to_string();
    let polder_text = polder.display().to_string();
    let run = ["run", "--engine", "native", "-C", &directory_text, "--", "/bin/true"].map(str::to_owned);
    let cases = [
        Case { name: "bare".to_owned(), command: vec!["/bin/true".to_owned()] },
        Case { name: "bubblewrap".to_owned(), command: bubblewrap(directory) },
        Case { name: "polder native".to_owned(), command: [vec![polder_text], run.to_vec()].concat() },
    ];
    let times = interleaved(&cases, rounds, &|| ())?;
    let base = millis(rank(&times[1], 0.5));
    let mut text = "| | median ms | p95 ms | median ÷ bubblewrap |\n|---|---|---|---|\n".to_owned();
    for (case, times) in cases.iter().zip(&times) {
        let (median, p95) = (millis(rank(times, 0.5)), millis(rank(times, 0.95)));
        let _ = writeln!(text, "| {} | {median:.2} | {p95:.2} | {:.2} |", case.name, median / base);
    }
    Ok(text)
}
