//! Who commits: the two settings of git's configuration that a sandbox is told.

use std::path::{Path, PathBuf};

/// The longest name or address.
const VALUE_BYTES_MAX: usize = 256;

/// The name and the address under which the user commits, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitIdentity {
    /// `user.name`.
    pub name: Option<String>,
    /// `user.email`.
    pub email: Option<String>,
    /// The file that had the last word on one of them.
    pub file: Option<PathBuf>,
    /// Files of the user's that are there and could not be read as git's configuration.
    pub unread: Vec<PathBuf>,
}

impl GitIdentity {
    /// Nothing is known.
    pub const fn unknown() -> Self {
        Self { name: None, email: None, file: None, unread: Vec::new() }
    }

    /// Takes a setting of the section `user`: the last one counts. One that git would not write into a commit in one
    /// piece is passed over, because the text can come from a repository.
    pub fn say(&mut self, key: &str, value: &str, file: &Path) {
        let place = match key {
            "name" => &mut self.name,
            "email" => &mut self.email,
            _ => return,
        };
        if value.len() <= VALUE_BYTES_MAX && !value.trim().is_empty() && !value.contains(char::is_control) {
            *place = Some(value.to_owned());
            self.file = Some(file.to_owned());
        }
    }

    /// What the user is told of files that could not be read: name and address may be another's.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.unread.iter().map(|file| {
            format!(
                "git's configuration `{}` cannot be read, so git inside does not know the name and the address in it; \
                 `git config --file {} --list` says what is wrong",
                file.display(),
                file.display()
            )
        })
    }

    /// The section `user` of a configuration file in which nothing is made up: git asks who commits where name or
    /// address is missing (`user.useConfigOnly`, git-config(1)).
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let known = [("user.name", &self.name), ("user.email", &self.email)];
        let known = known.into_iter().filter_map(|(key, value)| Some((key, value.clone()?)));
        [("user.useConfigOnly", "true".to_owned())].into_iter().chain(known).collect()
    }
}
