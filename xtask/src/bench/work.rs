//! What working costs: five workloads, bare and inside, each repeated until the start does not matter.

use super::table::{Case, interleaved, millis, rank};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A workload: its name, what prepares the directory once, and what is measured.
pub(super) const WORKLOADS: [(&str, &str, &str); 5] = [
    (
        "git status, 2,000 files",
        "mkdir -p d && for i in $(seq 2000); do echo $i > d/$i; done && git add d && \
         git -c user.name=b -c user.email=b@localhost commit -q -m b",
        "for i in $(seq 150); do git status --porcelain; done",
    ),
    ("python3 -c pass", "true", "for i in $(seq 40); do /usr/bin/python3 -c pass; done"),
    (
        "C build, 50 files",
        "for i in $(seq 50); do printf '#include <stdio.h>\\nint f%d(int x) { printf(\"%%d\", x); return x + %d; }\\n' \
         $i $i > $i.c; done",
        "for i in $(seq 50); do cc -O1 -c $i.c -o $i.o; done",
    ),
    (
        "find, 50,000 files",
        "for d in $(seq 50); do mkdir -p t/$d; (cd t/$d && seq 1000 | xargs touch); done",
        "for i in $(seq 25); do find t -type f | wc -l; done",
    ),
    (
        "write 20,000 files",
        "true",
        "rm -rf w; mkdir w; /usr/bin/python3 -c 'for i in range(20000):\n with open(f\"w/{i}\", \"w\") as f: f.write(\"x\" * 100)'",
    ),
];

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let mut text = "| workload | bare ms | inside ms | inside ÷ bare |\n|---|---|---|---|\n".to_owned();
    for (index, (name, prepare, work)) in WORKLOADS.iter().enumerate() {
        let place = directory.join(index.to_string());
        fs::create_dir(&place).map_err(|error| error.to_string())?;
        shell(&place, "git init -q .")?;
        shell(&place, prepare)?;
        let (median_bare, median_inside) = pair(polder, &[], &place, work, rounds)?;
        let _ =
            writeln!(text, "| {name} | {median_bare:.0} | {median_inside:.0} | {:.3} |", median_inside / median_bare);
    }
    // Where there is no repository, every new name is looked at, so that `.git` cannot appear.
    let place = directory.join("unguarded");
    fs::create_dir(&place).map_err(|error| error.to_string())?;
    let (bare, inside) = pair(polder, &[], &place, WORKLOADS[4].2, rounds)?;
    let ratio = inside / bare;
    let _ = writeln!(text, "| write 20,000 files, no repository (guarded) | {bare:.0} | {inside:.0} | {ratio:.3} |");
    let _ = writeln!(text, "\nPeak resident memory of polder's own processes: {}", memory(polder, directory)?);
    Ok(text)
}

pub(super) fn shell(place: &Path, script: &str) -> Result<(), String> {
    let status = Command::new("sh").args(["-c", script]).current_dir(place).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`{script}` ended with {other:?}")),
    }
}

/// The medians of a script, bare and inside, with flags. Both get the same few variables.
pub(super) fn pair(
    polder: &Path,
    flags: &[&str],
    place: &Path,
    work: &str,
    rounds: usize,
) -> Result<(f64, f64), String> {
    let place_text = place.display().to_string();
    let bare = format!("cd '{place_text}' && {work}");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    let cases = [
        Case::new("bare", words(&["env", "-i", path, "HOME=/tmp", "sh", "-c", &bare])),
        Case::new(
            "inside",
            words(
                &[&[&polder.display().to_string(), "run", "-C", &place_text], flags, &["--", "sh", "-c", work]]
                    .concat(),
            ),
        ),
    ];
    // What an earlier round left to be written would slow down the next one, whichever it is.
    let settle = || drop(Command::new("sync").status());
    let times = interleaved(&cases, rounds, &settle)?;
    Ok((millis(rank(&times[0], 0.5)), millis(rank(&times[1], 0.5))))
}

/// The peaks of polder and of the shim while a command runs.
fn memory(polder: &Path, directory: &Path) -> Result<String, String> {
    let mut child = Command::new(polder)
        .args(["run", "-C"])
        .arg(directory.join("0"))
        .args(["--", "sleep", "1"])
        .spawn()
        .map_err(|error| error.to_string())?;
    std::thread::sleep(std::time::Duration::from_millis(500));
    let peak = |pid: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:").map(str::trim).map(str::to_owned));
        line.unwrap_or_else(|| "unknown".to_owned())
    };
    let pid = child.id().to_string();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let text = format!("polder {}, shim {}", peak(&pid), peak(children.trim()));
    child.wait().map_err(|error| error.to_string())?;
    Ok(text)
}
