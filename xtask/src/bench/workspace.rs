//! What it costs to keep changes apart: the start on a large tree, five workloads on a layer, a look at what changed, and taking
//! it over.

use super::table::{Case, compared, interleaved, millis, rank, starts};
use super::work::{FLOOR, Floor, WORKLOADS, repository, shell, times};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// As many files as a large repository has.
const TREE: &str = "for d in $(seq 50); do mkdir -p t/$d; (cd t/$d && seq 1000 | xargs touch); done";
/// Few files, with the one that is changed.
const SMALL_TREE: &str = "mkdir -p t/1; cd t/1; seq 50 | xargs touch";
/// Rounds of a workload for each hundred of the start; each is ten turns.
const WORK_ROUNDS: usize = 20;
/// Rounds of an apply, before each of which 20,000 files are made anew.
const APPLY_ROUNDS: usize = 10;

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let ground = super::ground(directory);
    let tree = ground.join("tree");
    eprintln!("  start");
    let mut text = start(polder, &tree, &ground.join("starts"), rounds)?;
    eprintln!("  diff");
    text.push_str(&diff(polder, &tree, &ground.join("small"), rounds)?);
    text.push_str(
        "\nEach as a ratio to bare (median of the rounds, and where it lies with 95 %), and inside also to the floor:\n\n\
         | a unit of, in a layer | bare ms | bare again | floor | inside | inside ÷ floor |\n|---|---|---|---|---|---|\n",
    );
    let floor = polder.with_file_name(FLOOR);
    let store = ground.join("floor");
    fs::create_dir(&store).map_err(|error| error.to_string())?;
    let layer = ["--apart", "--layer", &store.display().to_string()];
    for (index, workload) in WORKLOADS.iter().enumerate() {
        eprintln!("  {}", workload.name);
        let place = ground.join(index.to_string());
        repository(&place, workload.prepare)?;
        let rounds = (rounds * WORK_ROUNDS / 100).max(3);
        let least = Floor { name: FLOOR, program: &floor, words: &layer };
        let times = times(polder, &[&["--discard"]], &[least], &place, workload, rounds)?;
        let [bare, again, floor, inside] = &times[..] else { return Err("a case was not measured".to_owned()) };
        let ratios = [(again, bare), (floor, bare), (inside, bare), (inside, floor)];
        let ratios = ratios.map(|(times, base)| compared(times, base)).join(" | ");
        let _ = writeln!(text, "| {} | {:.1} | {ratios} |", workload.name, millis(rank(bare, 0.5)));
    }
    text.push_str(&apply(polder, &ground.join("apply"), rounds)?);
    Ok(text)
}

/// The same change, looked at in a tree of 50 files and in one of 50,000.
fn diff(polder: &Path, large: &Path, small: &Path, rounds: usize) -> Result<String, String> {
    repository(small, SMALL_TREE)?;
    let polder = polder.display().to_string();
    let state = format!("{}.state", large.display());
    let case = |name: &str, place: &Path| -> Result<Case, String> {
        let place = place.display().to_string();
        let change = format!(
            "XDG_STATE_HOME='{state}' '{polder}' run --engine native -C '{place}' --workspace bench -- sh -c 'echo x > t/1/1'"
        );
        shell(Path::new(&place), &format!("{change} 2>/dev/null"))?;
        let words = [polder.as_str(), "workspace", "diff", "--stat", "-C", &place, "bench"];
        let mut case = Case::new(name, words.map(str::to_owned).to_vec());
        case.env.push(("XDG_STATE_HOME".to_owned(), state.clone()));
        Ok(case)
    };
    let cases = [case("diff of one file, 50 files", small)?, case("the same, 50,000 files", large)?];
    let times = interleaved(&cases, rounds, &|_| ())?;
    Ok(format!("\n{}", starts(&cases, &times, 0)))
}

/// What it costs to take 20,000 new files over, against copying as many.
fn apply(polder: &Path, place: &Path, rounds: usize) -> Result<String, String> {
    eprintln!("  apply");
    let tree = "mkdir new && cd new && /usr/bin/python3 -c 'for i in range(20000):\n with open(f\"{i}\", \"w\") as f: f.write(\"x\" * 100)'";
    let source = place.with_extension("source");
    fs::create_dir(&source).map_err(|error| error.to_string())?;
    shell(&source, tree)?;
    repository(place, "true")?;
    let (text, polder_text) = (|path: &Path| path.display().to_string(), polder.display().to_string());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let copy = words(&["cp", "-a", &text(&source.join("new")), &text(&place.join("copy"))]);
    let take = words(&[&polder_text, "workspace", "apply", "-C", &text(place), "bench"]);
    let mut cases = [Case::new("cp -a, 20,000 files", copy), Case::new("apply, as many", take)];
    let state = ("XDG_STATE_HOME".to_owned(), format!("{}.state", text(place)));
    for case in &mut cases {
        case.env.push(state.clone());
    }
    let clean = format!("rm -rf copy new; '{polder_text}' workspace discard bench >/dev/null 2>&1");
    // What is copied is there; only what is taken over has to be made anew. An apply waits for the disk: what others have left
    // to be written is written before.
    let written = || drop(std::process::Command::new("sync").status());
    let prepare = |number: usize| {
        if number == 0 {
            drop(fs::remove_dir_all(place.join("copy")));
            return written();
        }
        let run = [polder_text.as_str(), "run", "--workspace", "bench", "--", "sh", "-c", tree];
        for words in [&["sh", "-c", &clean], &run[..]] {
            let mut command = std::process::Command::new(words[0]);
            command.args(&words[1..]).current_dir(place).env(&state.0, &state.1).stderr(std::process::Stdio::null());
            drop(command.status());
        }
        written();
    };
    let times = interleaved(&cases, (rounds * APPLY_ROUNDS / 100).max(3), &prepare)?;
    Ok(format!("\n{}", starts(&cases, &times, 0)))
}

/// The same command on the real tree, on a layer that stays empty, and on one that is changed and thrown away; and what the
/// kernel itself takes for a layer, by a program that does little else.
fn start(polder: &Path, place: &Path, store: &Path, rounds: usize) -> Result<String, String> {
    repository(place, TREE)?;
    // Fifty thousand new files are not written while others are measured.
    shell(place, "sync")?;
    fs::create_dir(store).map_err(|error| error.to_string())?;
    let floor = polder.with_file_name(FLOOR);
    let floor = |layer: &str| {
        let script = format!("cd '{}' && exec '{}' {layer} /bin/true", place.display(), floor.display());
        ["sh".to_owned(), "-c".to_owned(), script].to_vec()
    };
    let layer = format!("--apart --layer '{}'", store.display());
    let floors = [("floor, in namespaces", floor("--apart")), ("floor, in a layer", floor(&layer))];
    let state = format!("{}.state", place.display());
    let (polder, place) = (polder.display().to_string(), place.display().to_string());
    let run = |flags: &[&str], command: &[&str]| {
        let words = [&[polder.as_str(), "run", "--engine", "native", "-C", &place], flags, &["--"], command].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let change = ["sh", "-c", "echo x > t/1/1; rm -f t/1/2"];
    let mut cases = [
        Case::new("direct, 50,000 files", run(&[], &["/bin/true"])),
        Case::new("cow, nothing changed", run(&["--cow"], &["/bin/true"])),
        Case::new("direct, a change", run(&[], &change)),
        Case::new("cow, the same change", run(&["--discard"], &change)),
    ];
    for case in &mut cases {
        case.env.push(("XDG_STATE_HOME".to_owned(), state.clone()));
    }
    let mut cases = Vec::from(cases);
    cases.extend(floors.map(|(name, words)| Case::new(name, words)));
    let times = interleaved(&cases, rounds, &|_| ())?;
    Ok(starts(&cases, &times, 0))
}
