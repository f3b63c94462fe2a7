//! What working costs: five workloads, bare and inside, unit by unit.

use super::table::{Case, compared, millis, rank};
use super::turns::turns;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A workload.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// What prepares the directory once.
    pub(super) prepare: &'static str,
    /// The worker that does a unit of it for every line that it reads, and answers `done`.
    pub(super) worker: &'static [&'static str],
}

pub(super) const WORKLOADS: [Workload; 5] = [
    Workload {
        name: "git status, 2,000 files",
        prepare: "mkdir -p d && for i in $(seq 2000); do echo $i > d/$i; done && git add d && \
                  git -c user.name=b -c user.email=b@localhost commit -q -m b",
        worker: &["sh", "-c", "while read -r go; do git status --porcelain || exit 1; echo done; done"],
    },
    Workload {
        name: "python3 -c pass",
        prepare: "true",
        worker: &["sh", "-c", "while read -r go; do /usr/bin/python3 -c pass || exit 1; echo done; done"],
    },
    Workload {
        name: "C build, 50 files",
        prepare: "for i in $(seq 50); do printf '#include <stdio.h>\\nint f%d(int x) { printf(\"%%d\", x); return x + %d; }\\n' \
                  $i $i > $i.c; done",
        worker: &[
            "sh",
            "-c",
            "i=0; while read -r go; do i=$((i % 50 + 1)); cc -O1 -c $i.c -o $$.o || exit 1; echo done; done; rm -f $$.o",
        ],
    },
    Workload {
        name: "find, 50,000 files",
        prepare: "for d in $(seq 50); do mkdir -p t/$d; (cd t/$d && seq 1000 | xargs touch); done",
        worker: &["sh", "-c", "while read -r go; do test $(find t -type f | wc -l) = 50000 || exit 1; echo done; done"],
    },
    WRITING,
];

/// Small files, two hundred a turn.
const WRITING: Workload = Workload {
    name: "write small files",
    prepare: "true",
    worker: &[
        "/usr/bin/python3",
        "-c",
        "import os, shutil, sys, tempfile\n\
         place = tempfile.mkdtemp(dir='.')\n\
         os.chdir(place)\n\
         made = 0\n\
         for line in sys.stdin:\n \
          for made in range(made, made + 200):\n  \
           with open(str(made), 'w') as file: file.write('x' * 100)\n \
          made += 1\n \
          print('done', flush=True)\n\
         os.chdir('..')\n\
         shutil.rmtree(place)\n",
    ],
};

/// How a run is watched, each of which is measured.
const OBSERVE: [&str; 3] = ["off", "cheap", "exact"];
/// The program that is measured beside them: the kernel's own price, whoever asks.
pub(super) const FLOOR: &str = "floor";
/// What it is asked for: Landlock and a filter; and to hear of every call that `exact` looks at.
const FLOORS: [(&str, &[&str]); 2] = [(FLOOR, &[]), ("heard", &["--heard"])];

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let ground = super::ground(directory);
    let floor = polder.with_file_name(FLOOR);
    let mut text = "Each as a ratio to bare (median of the rounds, and where it lies with 95 %):\n\n\
                    | a unit of | bare ms | bare again | floor | heard | off | cheap | exact |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut row = |name: &str, place: &Path, workload: &Workload| -> Result<(), String> {
        eprintln!("  {name}");
        let flags = OBSERVE.map(|observe| ["--observe", observe]);
        let flags: Vec<&[&str]> = flags.iter().map(<[&str; 2]>::as_slice).collect();
        let floors = FLOORS.map(|(name, words)| Floor { name, program: &floor, words });
        let times = times(polder, &flags, &floors, place, workload, rounds)?;
        let [bare, others @ ..] = &times[..] else { return Err("a case was not measured".to_owned()) };
        let ratios: Vec<_> = others.iter().map(|other| compared(other, bare)).collect();
        let _ = writeln!(text, "| {name} | {:.1} | {} |", millis(rank(bare, 0.5)), ratios.join(" | "));
        Ok(())
    };
    for (index, workload) in WORKLOADS.iter().enumerate() {
        let place = ground.join(index.to_string());
        repository(&place, workload.prepare)?;
        row(workload.name, &place, workload)?;
    }
    // Where there is no repository, one can come into being, which polder watches for.
    let place = ground.join("plain");
    fs::create_dir(&place).map_err(|error| error.to_string())?;
    row("the same, no repository", &place, &WRITING)?;
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

/// The times of a workload, unit by unit: bare, bare again, by each program that stands for the least, and inside with each of
/// the flags. All get the same few variables.
pub(super) fn times(
    polder: &Path,
    flags: &[&[&str]],
    floors: &[Floor<'_>],
    place: &Path,
    workload: &Workload,
    rounds: usize,
) -> Result<Vec<Vec<Duration>>, String> {
    let place_text = place.display().to_string();
    // What a run keeps of its changes is kept where the work is.
    let state = format!("XDG_STATE_HOME={place_text}.state");
    let same: &[&str] = &["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", &state];
    let there = format!("cd '{place_text}' && exec \"$@\"");
    let case = |name: &str, words: &[&str]| {
        let words = [same, words, workload.worker].concat();
        Case::new(name, words.into_iter().map(str::to_owned).collect())
    };
    let bare: &[&str] = &["sh", "-c", &there, "sh"];
    let mut cases = vec![case("bare", bare), case("bare again", bare)];
    for Floor { name, program, words } in floors {
        cases.push(case(name, &[bare, &[&program.display().to_string()], words].concat()));
    }
    let run: &[&str] = &[&polder.display().to_string(), "run", "-C", &place_text];
    for flags in flags {
        cases.push(case(&flags.join(" "), &[run, flags, &["--"]].concat()));
    }
    turns(&cases, rounds)
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
