//! Counters of runs in a file, in the text format of Prometheus, for a collector of such files to read.
//!
//! Nothing of polder lives long enough to be asked, so what a scrape would find is kept where the next call adds to it:
//! read, counted up and replaced in one step, under a lock. The directory is opened before anything runs, so a command that
//! can write around the file cannot lead us elsewhere. A file that polder has not written is left alone.

use crate::encode::{Span, Value};
use polder_sys::directory::Directory;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The most series of one file; the names of sandboxes are a repository's.
const SERIES_MAX: usize = 1000;
/// A file of so many series is not longer.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// What is counted, behind the word that the names begin with, with what it means.
const COUNTED: [(&str, &str); 3] = [
    ("sandbox_runs_total", "Runs that ended, by how they did."),
    ("sandbox_run_seconds_total", "Time from the start of runs to their end."),
    ("sandbox_violations_total", "Actions that runs were denied."),
];

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The file cannot be read or written.
    #[error("cannot count in `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is something else in it.
    #[error("`{}` is not a file of counters that polder has written: line {line}; it is left as it is", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The first line that is not ours.
        line: usize,
    },
    /// There are too many of them.
    #[error("`{}` would have more than {SERIES_MAX} series; remove it to begin anew", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
    },
}

/// A file of counters whose directory is open.
#[derive(Debug)]
pub(crate) struct Counters {
    path: PathBuf,
    name: OsString,
    directory: Directory,
}

/// Counters by name and labels, as they are written.
type Series = BTreeMap<String, f64>;

impl Counters {
    /// Opens the directory; the file need not be there.
    pub(crate) fn at(path: &Path) -> Result<Self, MetricsError> {
        let fault = |source| MetricsError::Io { path: path.to_owned(), source };
        let name = path.file_name().ok_or_else(|| fault(io::Error::from(io::ErrorKind::InvalidFilename)))?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = fs::canonicalize(parent).and_then(|parent| Directory::at(&parent)).map_err(fault)?;
        Ok(Self { path: path.to_owned(), name, directory })
    }

    /// Adds the runs of this call.
    pub(crate) fn add(&self, spans: &[Span]) -> Result<(), MetricsError> {
        let fault = |source| MetricsError::Io { path: self.path.clone(), source };
        // Others who count wait here; the lock goes with the descriptor.
        self.directory.file().lock().map_err(fault)?;
        // A link in its place is not followed.
        let text = match self.directory.read(&self.name) {
            Ok(file) => {
                let mut text = String::new();
                file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(fault)?;
                text
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fault(error)),
        };
        let mut series = read(&text).map_err(|line| MetricsError::Foreign { path: self.path.clone(), line })?;
        spans.iter().for_each(|span| count(span, &mut series));
        if series.len() > SERIES_MAX {
            return Err(MetricsError::TooMany { path: self.path.clone() });
        }
        // Whoever reads sees the old or the new, never a half.
        let mut new = OsString::from(".");
        new.push(&self.name);
        // One name for every process: each holds the lock, and removes the file that a killed one left.
        new.push(".new");
        let _ = self.directory.remove(&new);
        let below = PathBuf::from(format!("/proc/self/fd/{}", self.directory.file().as_raw_fd()));
        let written =
            self.directory.create(&new, 0o644).and_then(|mut file| file.write_all(written_form(&series).as_bytes()));
        let placed = written.and_then(|()| fs::rename(below.join(&new), below.join(&self.name)));
        if placed.is_err() {
            let _ = self.directory.remove(&new);
        }
        placed.map_err(fault)
    }
}

fn count(span: &Span, series: &mut Series) {
    let prefix = span.name.split('.').next().unwrap_or_default();
    let find = |name: &str| {
        let name = format!("{prefix}.sandbox.{name}");
        span.attributes.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let text = |name: &str| match find(name) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Number(_) | Value::Flag(_)) | None => String::new(),
    };
    let number = |name: &str| match find(name) {
        Some(Value::Number(number)) => Some(*number),
        Some(Value::Text(_) | Value::Flag(_)) | None => None,
    };
    let labels = format!("engine=\"{}\",sandbox=\"{}\"", escaped(&text("engine")), escaped(&text("name")));
    let result = match number("exit_code") {
        // Somebody wanted its end: the user, or the step that it was a service of.
        Some(_) if matches!(find("interrupted"), Some(Value::Flag(true))) => "interrupted",
        Some(0) => "passed",
        Some(_) => "failed",
        // It never came to a code.
        None => "broken",
    };
    let seconds = span.end.duration_since(span.start).unwrap_or_default().as_secs_f64();
    let violations = number("violations").unwrap_or(0).max(0) as f64;
    let [runs, time, denied] = COUNTED.map(|(name, _)| format!("{prefix}_{name}"));
    *series.entry(format!("{runs}{{{labels},result=\"{result}\"}}")).or_default() += 1.0;
    *series.entry(format!("{time}{{{labels}}}")).or_default() += seconds;
    *series.entry(format!("{denied}{{{labels}}}")).or_default() += violations;
}

/// A value of a label: three characters are special there, and none may speak to a terminal.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// The text format: every family with what it means and what it is, then its series.
fn written_form(series: &Series) -> String {
    let mut out = String::new();
    for prefix in PREFIXES {
        for (name, help) in COUNTED {
            let family = format!("{prefix}_{name}");
            let of = |known: &str| known.split_once('{').is_some_and(|(name, _)| name == family);
            let mut lines = series.iter().filter(|(known, _)| of(known)).peekable();
            if lines.peek().is_some() {
                let _ = write!(out, "# HELP {family} {help}\n# TYPE {family} counter\n");
            }
            for (known, value) in lines {
                let _ = writeln!(out, "{known} {value}");
            }
        }
    }
    out
}

/// The words that names begin with.
const PREFIXES: [&str; 2] = ["polder", "visor"];

/// What we have written before; an error is the number of the first line that is not ours.
fn read(text: &str) -> Result<Series, usize> {
    let mut series = Series::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let ours = |name: &str| {
            PREFIXES.iter().any(|prefix| COUNTED.iter().any(|(known, _)| name == format!("{prefix}_{known}")))
        };
        let parsed = line.rsplit_once(' ').and_then(|(known, value)| {
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
            let (name, labels) = known.split_once('{')?;
            (ours(name) && labels.ends_with('}')).then(|| (known.to_owned(), value))
        });
        let (known, value) = parsed.ok_or(index + 1)?;
        series.insert(known, value);
    }
    Ok(series)
}

#[cfg(test)]
mod tests;
