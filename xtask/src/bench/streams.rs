//! The price of the relay: a gigabyte through a command, with its streams lent and with its streams relayed.

use super::start::{bubblewrap, make_repository};
use super::table::{Case, interleaved, starts};
use std::path::Path;

/// Carried in each round.
const BYTES: &str = "1000000000";

pub(crate) fn measure(polder: &Path, directory: &Path, rounds: usize) -> Result<String, String> {
    make_repository(directory)?;
    let mut lent = bubblewrap(directory);
    lent.pop();
    let lent = lent.join(" ");
    let polder = format!("{} run --engine native -C {} --", polder.display(), directory.display());
    let through = |prefix: &str| format!("head -c {BYTES} /dev/zero | {prefix} cat | cat >/dev/null");
    let out = |prefix: &str| format!("{prefix} head -c {BYTES} /dev/zero | cat >/dev/null");
    let mut text = String::new();
    type Pipeline<'a> = &'a dyn Fn(&str) -> String;
    let shapes: [(&str, Pipeline<'_>); 2] = [("in and out", &through), ("out", &out)];
    for (shape, pipeline) in shapes {
        let case =
            |name: &str, prefix: &str| Case::new(name, ["sh", "-c", &pipeline(prefix)].map(str::to_owned).to_vec());
        let cases = [case("bare", ""), case("bubblewrap", &lent), case("polder native", &polder)];
        let times = interleaved(&cases, rounds, &|_| ())?;
        text.push_str(&format!("### A gigabyte through pipes, {shape}\n\n{}\n", starts(&cases, &times, 0)));
    }
    Ok(text)
}
