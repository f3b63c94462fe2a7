//! The name and the address under which the user commits, as git on the host would find them.
//!
//! Read are the files of the system and of the user, with what those include, in git's order (git-config(1), "FILES",
//! "Includes", "Conditional includes"). No program is run. The repository's own configuration is text that a command or
//! another user may have written: it is asked for the names that conditions look at, and for name and address only
//! where git inside cannot read it, and what it includes is not followed.

use globset::GlobBuilder;
use polder_facts::TreeFacts;
use polder_facts::git::{ConfigText, GitIdentity};
use polder_sys::repository::read_text;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The longest configuration that is read.
const CONFIG_BYTES_MAX: u64 = 256 << 10;
/// How deep files include each other; git's own limit (`MAX_INCLUDE_DEPTH`, config.c).
const INCLUDE_DEPTH_MAX: usize = 10;
/// How many files are read in all.
const FILES_MAX: usize = 64;
/// The longest pointer or ref.
const POINTER_BYTES_MAX: u64 = 8 << 10;

/// Whether the repository's own configuration is read for name and address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnConfig {
    /// Git inside reads it itself.
    ReadInside,
    /// Inside there is a copy of the repository with another configuration.
    Replaced,
}

/// Who commits in this tree.
pub(crate) fn identity(
    environment: &BTreeMap<OsString, OsString>,
    home: &Path,
    tree: &TreeFacts,
    own: OwnConfig,
) -> GitIdentity {
    let repository = Repository::around(&tree.start, tree);
    let mut search = Search { home, repository: &repository, found: GitIdentity::unknown(), files: 0 };
    for file in users_files(environment, home) {
        search.read(&file, 0);
    }
    if own == OwnConfig::Replaced
        && let Some(text) = &repository.config
    {
        search.take(text, &repository.config_path);
    }
    search.found
}

/// The files of the system and of the user, weakest first.
fn users_files(environment: &BTreeMap<OsString, OsString>, home: &Path) -> Vec<PathBuf> {
    let variable = |name: &str| environment.get(&OsString::from(name)).filter(|value| !value.is_empty());
    let mut files = Vec::new();
    if variable("GIT_CONFIG_NOSYSTEM").is_none_or(|value| value == "0" || value == "false") {
        files.push(variable("GIT_CONFIG_SYSTEM").map_or_else(|| "/etc/gitconfig".into(), PathBuf::from));
    }
    match variable("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(file.into()),
        None => {
            let place = variable("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
            files.extend([place.join("git/config"), home.join(".gitconfig")]);
        }
    }
    files
}

/// What conditions of the user's files ask about.
struct Repository {
    git_dir: Option<PathBuf>,
    branch: Option<String>,
    config_path: PathBuf,
    config: Option<ConfigText>,
}

impl Repository {
    /// The repository that git finds from a directory upwards.
    fn around(start: &Path, tree: &TreeFacts) -> Self {
        let linked = tree.worktree.as_ref().map(|worktree| (worktree.git_dir.clone(), worktree.common_dir.clone()));
        let found = linked.or_else(|| {
            let git_dir = start.ancestors().map(|dir| dir.join(".git")).find(|path| path.is_dir())?;
            Some((git_dir.clone(), git_dir))
        });
        let Some((git_dir, common_dir)) = found else {
            return Self { git_dir: None, branch: None, config_path: PathBuf::new(), config: None };
        };
        let head = read_text(&git_dir.join("HEAD"), POINTER_BYTES_MAX);
        let branch = head.and_then(|head| Some(head.strip_prefix("ref: refs/heads/")?.trim_end().to_owned()));
        let config_path = common_dir.join("config");
        let config = read_text(&config_path, CONFIG_BYTES_MAX).and_then(|text| ConfigText::parse(&text).ok());
        Self { git_dir: Some(git_dir), branch, config_path, config }
    }

    fn urls(&self) -> impl Iterator<Item = &str> {
        let settings = self.config.iter().flat_map(ConfigText::settings);
        settings.filter(|(key, _)| key.section == "remote" && key.name == "url").filter_map(|(_, value)| value)
    }
}

struct Search<'a> {
    home: &'a Path,
    repository: &'a Repository,
    found: GitIdentity,
    files: usize,
}

impl Search<'_> {
    /// Reads a file of the user's. One that is missing says nothing; one that cannot be read is noted.
    fn read(&mut self, file: &Path, depth: usize) {
        self.files += 1;
        if depth > INCLUDE_DEPTH_MAX || self.files > FILES_MAX {
            return;
        }
        let text = read_text(file, CONFIG_BYTES_MAX).and_then(|text| ConfigText::parse(&text).ok());
        let Some(text) = text else {
            // A link that leads nowhere is a missing file to git, and `/dev/null` is an empty one.
            if std::fs::metadata(file).is_ok_and(|found| found.is_file()) {
                self.found.unread.push(file.to_owned());
            }
            return;
        };
        for (key, value) in text.settings() {
            let Some(value) = value else { continue };
            match (key.section.as_str(), key.subsection.as_deref(), key.name.as_str()) {
                ("user", None, name) => self.found.say(name, value, file),
                ("include", None, "path") => self.include(value, file, depth),
                ("includeif", Some(condition), "path") if self.holds(condition, file) => {
                    self.include(value, file, depth);
                }
                _ => {}
            }
        }
    }

    /// Name and address of a text that includes nothing.
    fn take(&mut self, text: &ConfigText, file: &Path) {
        let settings = text.settings().filter(|(key, _)| key.section == "user" && key.subsection.is_none());
        for (key, value) in settings {
            self.found.say(&key.name, value.unwrap_or_default(), file);
        }
    }

    fn include(&mut self, path: &str, from: &Path, depth: usize) {
        let beside = from.parent().unwrap_or(Path::new("/"));
        let path = path.strip_prefix("~/").map_or_else(|| beside.join(path), |below| self.home.join(below));
        self.read(&path, depth + 1);
    }

    fn holds(&self, condition: &str, file: &Path) -> bool {
        let Repository { git_dir, branch, .. } = self.repository;
        let Some((kind, pattern)) = condition.split_once(':') else { return false };
        match kind {
            "gitdir" | "gitdir/i" => {
                let pattern = match pattern.strip_prefix("./") {
                    Some(below) => format!("{}/{below}", file.parent().unwrap_or(Path::new("")).display()),
                    None => match pattern.strip_prefix("~/") {
                        Some(below) => format!("{}/{below}", self.home.display()),
                        None if pattern.starts_with('/') => pattern.to_owned(),
                        None => format!("**/{pattern}"),
                    },
                };
                let matches = |dir: &PathBuf| is_match(&with_rest(pattern.clone()), dir, kind == "gitdir/i");
                git_dir.as_ref().is_some_and(matches)
            }
            "onbranch" => branch.as_ref().is_some_and(|branch| is_match(&with_rest(pattern.to_owned()), branch, false)),
            "hasconfig" => pattern
                .strip_prefix("remote.*.url:")
                .is_some_and(|pattern| self.repository.urls().any(|url| is_match(pattern, url, false))),
            _ => false,
        }
    }
}

/// A pattern that ends with a slash means everything below.
fn with_rest(pattern: String) -> String {
    if pattern.ends_with('/') { pattern + "**" } else { pattern }
}

fn is_match(pattern: &str, path: impl AsRef<Path>, any_case: bool) -> bool {
    // A star stops at a slash, as in git's own `WM_PATHNAME`.
    let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(any_case).build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests;
