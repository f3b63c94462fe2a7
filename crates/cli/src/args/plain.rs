//! A plain call of the main verb, read without the table of all flags.
//!
//! Describing fifty flags in order to read two takes a tenth of a whole run. So what is plain is read here: the flags
//! that people and agents give all the time, once each, with a value that is no flag, up to the two dashes. Whatever is
//! not plain (another flag, a mistake, a call for help) is no matter of this file, and the table answers it. A test
//! holds the two against each other.

use super::RunArgs;
use std::ffi::OsString;

/// The arguments after the verb, if they are plain.
pub(super) fn read(words: &[OsString]) -> Option<RunArgs> {
    let mut args = RunArgs::default();
    let mut words = words.iter();
    loop {
        let word = words.next()?.to_str()?;
        if word == "--" {
            args.command = words.cloned().collect();
            return (!args.command.is_empty()).then_some(args);
        }
        let (flag, attached) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (word, None),
        };
        let policy = &mut args.policy;
        let switch = match flag {
            "--read-only" => Some(&mut policy.read_only),
            "--cow" => Some(&mut policy.cow),
            "--json" => Some(&mut args.json),
            _ => None,
        };
        if let Some(switch) = switch {
            if *switch || attached.is_some() {
                return None;
            }
            *switch = true;
            continue;
        }
        let value = || attached.or_else(|| words.next()?.to_str().filter(|value| !value.starts_with('-')));
        if matches!(flag, "--directory" | "-C") {
            once(&mut policy.directory, value)?;
            continue;
        }
        let place = match flag {
            "--sandbox" | "-s" => &mut policy.sandbox,
            "--engine" | "-e" => &mut policy.engine,
            "--network" => &mut policy.network,
            "--workspace" => &mut policy.workspace,
            "--observe" => &mut policy.observe,
            "--memory" => &mut policy.memory,
            "--timeout" => &mut policy.timeout,
            _ => return None,
        };
        once(place, value)?;
    }
}

/// Sets what was not said before.
fn once<'a, T: From<&'a str>>(place: &mut Option<T>, value: impl FnOnce() -> Option<&'a str>) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value().filter(|value| !value.is_empty())?.into());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::args::{Cli, Verb};
    use clap::Parser;
    use std::ffi::OsString;

    /// What the table makes of the same words.
    fn by_table(words: &[OsString]) -> Option<String> {
        let line = ["polder", "run"].map(OsString::from).into_iter().chain(words.iter().cloned());
        match Cli::try_parse_from(line).ok()?.verb {
            Verb::Run(args) => Some(format!("{args:?}")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_plain_means_the_same_as_by_the_table() {
        let parts = [
            "--",
            "-e",
            "native",
            "--engine",
            "--engine=auto",
            "--engine=",
            "-C",
            "-Cdir",
            "dir",
            "--directory=d=e",
            "--json",
            "--json=x",
            "--cow",
            "--read-only",
            "--memory",
            "--memory=-1",
            "-1",
            "--timeout=1s",
            "--observe",
            "exact",
            "--network",
            "none",
            "--workspace",
            "-s",
            "--sandbox",
            "--dry-run",
            "--worktree",
            "--help",
            "-h",
            "-t",
            "",
            "-",
            "true",
            "--tty",
        ];
        let (mut plain, mut tried) = (0, 0);
        let mut words = Vec::new();
        // Every line of up to three parts, and each of them before a command.
        for line in 0..parts.len().pow(3) {
            let chosen = [line % parts.len(), line / parts.len() % parts.len(), line / parts.len().pow(2)];
            for ending in [&[][..], &["--", "true", "--json"]] {
                words.clear();
                words.extend(chosen.iter().map(|part| parts[*part]).chain(ending.iter().copied()).map(OsString::from));
                tried += 1;
                if let Some(args) = read(&words) {
                    plain += 1;
                    assert_eq!(by_table(&words), Some(format!("{args:?}")), "{words:?}");
                }
            }
        }
        assert!(plain > 100 && plain < tried, "{plain} of {tried}");
    }

    #[test]
    fn the_ordinary_calls_are_plain() {
        for line in ["-- make test", "-e native -C . -- true", "--json --timeout 10m --memory=2G -- cargo build"] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert!(read(&words).is_some(), "{line}");
        }
    }
}
