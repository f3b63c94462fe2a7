//! Every layer of a sandbox switched off in turn, and what noticed: one line each, for `cargo xtask mutate`.
//!
//! `layers [FILTER]` goes through the table; `layers --without LAYERS [FILTER]` runs every attack with layers off.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

use polder_attack::layers::{LayerRow, LayerVerdict, rows, run_without, try_row};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> ExitCode {
    polder::become_shim_if_asked();
    if let Some(code) = polder_attack::hidden() {
        return code;
    }
    let payload = std::env::current_exe().expect("this executable has a path");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts.as_slice() {
        ["--without", off, rest @ ..] => every_attack(off, rest.first().copied().unwrap_or_default(), &payload),
        rest => every_layer(rest.first().copied().unwrap_or_default(), &payload),
    }
    ExitCode::SUCCESS
}

/// Prints `layer<TAB>first layers<TAB>word<TAB>detail`, in the order of the table.
fn every_layer(filter: &str, payload: &Path) {
    let table: Vec<LayerRow> = rows().into_iter().filter(|row| row.layer.contains(filter)).collect();
    let verdicts = side_by_side(&table, |row| try_row(row, payload));
    for (row, verdict) in table.iter().zip(verdicts) {
        let (word, detail) = match verdict {
            LayerVerdict::Red(detail) => ("red", detail),
            LayerVerdict::NotSecond(detail) => ("not-second", detail),
            LayerVerdict::Unnoticed(detail) => ("unnoticed", detail),
            LayerVerdict::NotApplicable(detail) => ("not-applicable", detail),
        };
        println!("{}\t{}\t{word}\t{}", row.layer, row.first.join(","), detail.replace(['\n', '\t'], " "));
    }
}

/// Prints what every attack comes to that does not hold.
fn every_attack(off: &str, filter: &str, payload: &Path) {
    let attacks: Vec<_> = polder_attack::list();
    let chosen: Vec<_> = attacks.iter().filter(|attack| attack.id.contains(filter)).collect();
    let outcomes = side_by_side(&chosen, |attack| run_without(attack.id, off, payload));
    for (attack, outcome) in chosen.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_failure()) {
        println!("{} {}\t{outcome}", attack.id, attack.name);
    }
}

/// Does something for each item, as many at a time as there are CPUs; gives the answers in order.
fn side_by_side<T: Sync, A: Send>(items: &[T], ask: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                    let answer = ask(item);
                    answers.lock().expect("no thread panics with the lock").push((index, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().expect("no thread panics with the lock");
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
