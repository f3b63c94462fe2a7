//! What to do about a program that the sandbox does not have.

use crate::render::text;
use polder::MissingProgram;
use std::path::Path;

/// One sentence: whether the host has it, and the flags with which it runs.
pub(crate) fn advice(missing: &MissingProgram, home: &Path) -> String {
    match missing {
        MissingProgram::NotOnHost => "the host does not have it either".to_owned(),
        MissingProgram::OtherSystem => "the image does not have it".to_owned(),
        MissingProgram::Shown(path) => {
            format!("the host has it at {}, which is shown: PATH inside does not lead there", named(path, home))
        }
        MissingProgram::Hidden { found, profile, show } => {
            let found: Vec<_> = found.iter().map(|path| named(path, home)).collect();
            let flags = match profile {
                Some(profile) => format!("--profile {profile}"),
                None => {
                    let binds = show.iter().map(|path| Some(format!("--bind {}", word(path, home)?)));
                    let binds: Option<Vec<_>> = binds.collect();
                    binds.map_or_else(|| "its path cannot be pasted".to_owned(), |binds| binds.join(" "))
                }
            };
            format!("the host has it at {}; to show it: {flags}", found.join(" -> "))
        }
    }
}

/// A path for a person to read: a command may have chosen it.
fn named(path: &Path, home: &Path) -> String {
    word(path, home).map_or_else(|| "a path that cannot be shown".to_owned(), |word| format!("`{word}`"))
}

/// A path as one word of a shell, with `~` where nothing needs quotes.
fn word(path: &Path, home: &Path) -> Option<String> {
    let whole = text::pasteable(path.to_str()?)?;
    match path.strip_prefix(home) {
        Ok(below) if !whole.starts_with('\'') => Some(format!("~/{}", below.to_str()?)),
        Ok(_) | Err(_) => Some(whole),
    }
}
