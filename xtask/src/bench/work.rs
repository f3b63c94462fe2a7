//! What working costs: five workloads, bare and inside, each repeated until the start does not matter.

use super::table::{Case, interleaved, millis, rank, ratio};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

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
        "w=$(mktemp -d w.XXXXXX) && cd $w && /usr/bin/python3 -c 'for i in range(20000):\n with open(f\"{i}\", \"w\") as f: f.write(\"x\" * 100)'",
    ),
];

/// How a run is watched, each of which is measured.
const OBSERVE: [&str; 3] = ["off", "cheap", "exact"];
/// The program that is measured beside them: the kernel's own price, whoever asks.
pub(super) const FLOOR: &str = "floor";
/// What it is asked for: Landlock and a filter; and to hear of every call that `exact` looks at.
const FLOORS: [(&str, &[&str]); 2] = [(FLOOR, &[]), ("heard", &["--heard"])];

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let ground = super::ground(directory);
    let floor = polder.with_file_name(FLOOR);
    let names = [FLOORS[0].0, FLOORS[1].0, OBSERVE[0], OBSERVE[1], OBSERVE[2]];
    let mut text = format!(
        "| workload | bare ms | {} | {} | cheap ÷ floor | exact ÷ heard |\n|---|---|{}---|---|\n",
        names.map(|name| format!("{name} ms")).join(" | "),
        names.map(|name| format!("{name} ÷ bare")).join(" | "),
        "---|".repeat(2 * names.len()),
    );
    let mut row = |name: &str, place: &Path, work: &str| -> Result<(), String> {
        eprintln!("  {name}");
        let flags = OBSERVE.map(|observe| ["--observe", observe]);
        let flags: Vec<&[&str]> = flags.iter().map(<[&str; 2]>::as_slice).collect();
        let floors = FLOORS.map(|(name, words)| Floor { name, program: &floor, words });
        let times = times(polder, &flags, &floors, place, work, rounds)?;
        let medians: Vec<_> = times.iter().map(|times| format!("{:.0}", millis(rank(times, 0.5)))).collect();
        let against = |base: usize, inside: &[Duration]| format!("{:.3}", ratio(inside, &times[base]));
        let mut ratios: Vec<_> = times[1..].iter().map(|inside| against(0, inside)).collect();
        let [_bare, _floor, _heard, _off, cheap, exact] = &times[..] else {
            return Err("a case was not measured".to_owned());
        };
        ratios.extend([against(1, cheap), against(2, exact)]);
        let _ = writeln!(text, "| {name} | {} | {} |", medians.join(" | "), ratios.join(" | "));
        Ok(())
    };
    for (index, (name, prepare, work)) in WORKLOADS.iter().enumerate() {
        let place = ground.join(index.to_string());
        repository(&place, prepare)?;
        row(name, &place, work)?;
    }
    // Where there is no repository, every new name is looked at, so that `.git` cannot appear.
    let place = ground.join("unguarded");
    fs::create_dir(&place).map_err(|error| error.to_string())?;
    row("write 20,000 files, no repository (guarded)", &place, WORKLOADS[4].2)?;
    let _ = writeln!(text, "\nPeak resident memory of polder's own processes: {}", memory(polder, &ground)?);
    Ok(text)
}

/// A repository with what a workload needs.
pub(super) fn repository(place: &Path, prepare: &str) -> Result<(), String> {
    fs::create_dir(place).map_err(|error| error.to_string())?;
    shell(place, "git init -q .")?;
    shell(place, prepare)
}

pub(super) fn shell(place: &Path, script: &str) -> Result<(), String> {
    let status = Command::new("sh").args(["-c", script]).current_dir(place).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("`{script}` ended with {other:?}")),
    }
}

/// The program that stands for the least, and how it is called.
pub(super) struct Floor<'a> {
    pub(super) name: &'a str,
    pub(super) program: &'a Path,
    pub(super) words: &'a [&'a str],
}

/// The times of a script: bare, by each program that stands for the least, and inside with each of the flags. All get the
/// same few variables.
pub(super) fn times(
    polder: &Path,
    flags: &[&[&str]],
    floors: &[Floor<'_>],
    place: &Path,
    work: &str,
    rounds: usize,
) -> Result<Vec<Vec<Duration>>, String> {
    let place_text = place.display().to_string();
    let bare = format!("cd '{place_text}' && {work}");
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    let plain: &[&str] = &["env", "-i", path, "HOME=/tmp"];
    let mut cases = vec![Case::new("bare", words(&[plain, &["sh", "-c", &bare]].concat()))];
    for Floor { name, program, words: asked } in floors {
        let below = format!("cd '{place_text}' && exec '{}' \"$@\"", program.display());
        cases.push(Case::new(*name, words(&[plain, &["sh", "-c", &below, "sh"], asked, &["sh", "-c", work]].concat())));
    }
    for flags in flags {
        let run: &[&str] = &[&polder.display().to_string(), "run", "-C", &place_text];
        let mut case = Case::new(flags.join(" "), words(&[run, flags, &["--", "sh", "-c", work]].concat()));
        // What a run keeps of its changes is kept where the work is.
        case.env.push(("XDG_STATE_HOME".to_owned(), format!("{place_text}.state")));
        cases.push(case);
    }
    // Each round finds nothing of an earlier one.
    let settle = |_| drop(Command::new("sh").args(["-c", "rm -rf w.*"]).current_dir(place).status());
    interleaved(&cases, rounds, &settle)
}

/// The peaks of polder and of the shim while a command runs.
fn memory(polder: &Path, directory: &Path) -> Result<String, String> {
    let mut child = Command::new(polder)
        .args(["run", "-C"])
        .arg(directory.join("0"))
        .args(["--", "sleep", "1"])
        .spawn()
        .map_err(|error| error.to_string())?;
    std::thread::sleep(Duration::from_millis(500));
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
