//! `cargo xtask order`: which functions a run passes through, for the linker to put them side by side.
//!
//! A page of the program's file that is touched for the first time costs a fault, and functions lie in the file in no
//! order that a run would know. Side by side, they need a quarter of the faults.

use crate::machine::{self, Shared};
use crate::run::{self, Outcome, call, copy, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What is written.
const FILE: &str = "crates/cli/order.ld";

const HEAD: &str = "\
/* Written by `cargo xtask order`: the functions that a run passes through, in the order in which it does. Each is a section of
   its own, and what comes first here comes first in the program. A name that is gone matches nothing, and a function
   that is missing here costs a page more at the start; nothing else depends on this file. */
SECTIONS
{
  .text.run :
  {
";
const TAIL: &str = "  }\n}\nINSERT BEFORE .text;\n";

pub(crate) fn order() -> Outcome {
    let shared = Shared::new()?;
    let binary = copy(&run::build_with_names()?, &shared.path().join("polder"))?;
    let tracer = copy(&run::build_tool("polder-sys", "passed_through")?, &shared.path().join("passed_through"))?;
    let mut offsets = passed(&binary, &tracer, &shared.path().join("caller"), &|program| Command::new(program))?;
    // Root gives identities another way than everybody else does, and most people are somebody else.
    if machine::is_root() {
        machine::make_user()?;
        let place = shared.path().join("user");
        fs::create_dir(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
        call(Command::new("chown").arg(machine::USER).arg(&place))?;
        offsets.extend(passed(&binary, &tracer, &place.join("work"), &machine::as_user)?);
    }
    let functions = functions(&binary)?;
    let mut seen = BTreeSet::new();
    let names = offsets.into_iter().filter_map(|offset| {
        let (start, (size, name)) = functions.range(..=offset).next_back()?;
        (offset - start < *size && seen.insert(name)).then_some(name)
    });
    let mut text = HEAD.to_owned();
    let mut count = 0;
    for name in names {
        let _ = writeln!(text, "    *(.text.{name})");
        count += 1;
    }
    text.push_str(TAIL);
    fs::write(root().join(FILE), text).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}: {count} functions");
    Ok(0)
}

/// The ordinary cases: a command in a repository, and one on a layer over it. Offsets in the program, in the order in which
/// they are reached.
fn passed(binary: &Path, tracer: &Path, place: &Path, command: &dyn Fn(&Path) -> Command) -> Result<Vec<u64>, String> {
    call(command(Path::new("git")).args(["init", "--quiet"]).arg(place))?;
    let mut offsets = passed_by(binary, tracer, place, &[], command)?;
    offsets.extend(passed_by(binary, tracer, place, &["--cow"], command)?);
    Ok(offsets)
}

fn passed_by(
    binary: &Path,
    tracer: &Path,
    place: &Path,
    flags: &[&str],
    command: &dyn Fn(&Path) -> Command,
) -> Result<Vec<u64>, String> {
    let mut words: Vec<&std::ffi::OsStr> = vec!["run".as_ref(), "-C".as_ref(), place.as_os_str()];
    words.extend(flags.iter().map(std::ffi::OsStr::new));
    words.extend(["--", "/bin/true"].map(std::ffi::OsStr::new));
    // What the machine offers is known from the first call on, for a few seconds.
    call(command(binary).args(&words))?;
    let output = command(tracer)
        .arg(binary)
        .args(&words)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", tracer.display()))?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", tracer.display(), output.status));
    }
    let offsets = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(offsets.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect())
}

/// Where functions begin, how long they are, and their names as sections have them.
fn functions(binary: &Path) -> Result<BTreeMap<u64, (u64, String)>, String> {
    let output =
        Command::new("nm").arg("-S").arg(binary).output().map_err(|error| format!("cannot start nm: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let function = |line: &str| {
        let [start, size, kind, name] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        // What the optimiser split off has a number at its end that changes with everything.
        let name = name.split_once(".llvm.").map_or_else(|| name.to_owned(), |(name, _)| format!("{name}.*"));
        let number = |text| u64::from_str_radix(text, 16).ok();
        matches!(kind, "t" | "T" | "w" | "W").then_some((number(start)?, (number(size)?, name)))
    };
    Ok(text.lines().filter_map(function).collect())
}
