//! The table (`table.txt`), read: where, when, and why.

use super::contents::{
    calls_something, is_msbuild, names_backend, names_build, names_drivers, names_modules, names_plugins, names_qmake,
    runs_composer, runs_in_dune, runs_scripts,
};
use std::sync::LazyLock;

const TABLE: &str = include_str!("table.txt");

/// Where a rule looks. Directories are components, in small letters.
#[derive(Clone, Debug)]
pub(super) enum At {
    /// A file of this name anywhere.
    Name(&'static str),
    /// A file whose name starts so, in these directories.
    Start(Vec<&'static str>, &'static str),
    /// A file whose name ends so.
    End(&'static str),
    /// Anything below these directories, anywhere.
    Below(Vec<&'static str>),
    /// A directory of this name and everything below it, anywhere.
    In(&'static str),
    /// A path that ends in these components.
    Path(Vec<&'static str>),
}

/// Whether an old and a new content differ in what counts.
type Differs = fn(Option<&[u8]>, Option<&[u8]>) -> bool;

/// When a rule applies.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// To every change.
    Always,
    /// When the contents differ in what counts.
    Content(Differs),
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) at: At,
    pub(super) when: When,
    pub(super) why: &'static str,
}

/// The rules, in the order of the table.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| rows().filter_map(|row| rule(&row)).collect());

/// The cells of every row: where, pattern, when, reason, source.
pub(super) fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('|').map(str::trim).collect())
}

/// A row as a rule; a test finds one that is none.
pub(super) fn rule(row: &[&'static str]) -> Option<Rule> {
    let [place, pattern, when, why, _source] = row else { return None };
    let parts = || pattern.split('/').collect::<Vec<_>>();
    let at = match *place {
        "name" => At::Name(pattern),
        "start" => {
            let mut directories = parts();
            let start = directories.pop()?;
            At::Start(directories, start)
        }
        "end" => At::End(pattern),
        "below" => At::Below(parts()),
        "in" => At::In(pattern),
        "path" => At::Path(parts()),
        _ => return None,
    };
    let when = match *when {
        "always" => When::Always,
        "calls_something" => When::Content(calls_something),
        "is_msbuild" => When::Content(is_msbuild),
        "names_backend" => When::Content(names_backend),
        "names_build" => When::Content(names_build),
        "names_drivers" => When::Content(names_drivers),
        "names_modules" => When::Content(names_modules),
        "names_plugins" => When::Content(names_plugins),
        "names_qmake" => When::Content(names_qmake),
        "runs_composer" => When::Content(runs_composer),
        "runs_in_dune" => When::Content(runs_in_dune),
        "runs_scripts" => When::Content(runs_scripts),
        _ => return None,
    };
    Some(Rule { at, when, why })
}
