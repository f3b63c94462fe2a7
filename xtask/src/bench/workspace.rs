//! What it costs to keep changes apart: the start on a large tree, and five workloads on a layer.

use super::table::{Case, interleaved, starts};
use super::work::{WORKLOADS, medians, repository};
use std::fmt::Write;
use std::path::Path;

/// As many files as a large repository has.
const TREE: &str = "for d in $(seq 50); do mkdir -p t/$d; (cd t/$d && seq 1000 | xargs touch); done";
/// Rounds of a workload for each hundred of the start.
const WORK_ROUNDS: usize = 7;

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    let ground = super::ground(directory);
    let mut text = start(polder, &ground.join("tree"), rounds)?;
    text.push_str("\n| workload in a layer | bare ms | inside ms | inside ÷ bare |\n|---|---|---|---|\n");
    for (index, (name, prepare, work)) in WORKLOADS.iter().enumerate() {
        eprintln!("  {name}");
        let place = ground.join(index.to_string());
        repository(&place, prepare)?;
        let rounds = (rounds * WORK_ROUNDS / 100).max(3);
        let medians = medians(polder, &[&["--discard"]], &place, work, rounds)?;
        let _ = writeln!(text, "| {name} | {:.0} | {:.0} | {:.3} |", medians[0], medians[1], medians[1] / medians[0]);
    }
    Ok(text)
}

/// The same command on the real tree, on a layer that stays empty, and on one that is changed and thrown away.
fn start(polder: &Path, place: &Path, rounds: usize) -> Result<String, String> {
    repository(place, TREE)?;
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
    let times = interleaved(&cases, rounds, &|| ())?;
    Ok(starts(&cases, &times, 0))
}
