//! Patterns of paths, below the root: those that a command could not see, and those that a person names.

use crate::relative::Relative;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::io;
use std::path::Path;

/// Patterns in which `*` stays within a directory and `**` does not. A pattern also means everything below what it names.
#[derive(Clone, Debug)]
pub(crate) struct Patterns(GlobSet);

impl Patterns {
    pub(crate) fn new(patterns: &[String]) -> io::Result<Self> {
        let wrong = |error: globset::Error| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            // `./src/` and `src` are the same place.
            let plain = pattern.trim_start_matches("./").trim_end_matches('/');
            set.add(GlobBuilder::new(plain).literal_separator(true).backslash_escape(true).build().map_err(wrong)?);
        }
        Ok(Self(set.build().map_err(wrong)?))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, path: &Relative) -> bool {
        !self.0.is_empty() && path.as_path().ancestors().any(|part| part != Path::new("") && self.0.is_match(part))
    }
}

#[cfg(test)]
mod tests {
    use super::Patterns;
    use crate::relative::Relative;
    use std::path::Path;

    #[test]
    fn a_pattern_means_what_it_names_and_everything_below() {
        let patterns = Patterns::new(&["src".into(), "*.md".into(), "**/.env".into(), "./a/b/".into()]).unwrap();
        let has = |path: &str| patterns.has(&Relative::new(Path::new(path)).unwrap());
        assert!(has("src") && has("src/x/y") && has("README.md") && has(".env") && has("x/.env") && has("a/b/c"));
        assert!(!has("srcs") && !has("docs/x.md") && !has("a/c") && !has("x/src"));
        assert!(Patterns::new(&["[".into()]).is_err());
        assert!(Patterns::new(&[]).unwrap().is_empty());
    }
}
