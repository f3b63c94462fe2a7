//! Where a secret is: `env:NAME`. What has to be asked for is the keeper's.

use crate::secret::Secret;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// What is shorter cannot be told from ordinary text, so it could not be kept out of output.
pub(crate) const LETTERS_MIN: usize = 8;

/// Why there is no secret. Never says more of it than where it should be.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The variable is not there, or empty.
    #[error("the secret `{0}` is not there; set the variable")]
    Absent(String),
    /// It is no word.
    #[error("the secret `{0}` is not a plain word: it has a space, a line break or another control character in it")]
    NotAWord(String),
    /// It is too short.
    #[error("the secret `{0}` is shorter than {LETTERS_MIN} letters, and could not be told from ordinary text")]
    TooShort(String),
    /// It had to be asked for.
    #[error(transparent)]
    App(#[from] crate::app::AppError),
    /// There is no such kind of place.
    #[error("`{0}` is not a place for a secret that this build knows; write `env:NAME` or `app:github`")]
    Unknown(String),
}

/// Reads a secret from the place that a policy names.
pub(crate) fn read(source: &str, environment: &BTreeMap<OsString, OsString>) -> Result<Secret<String>, SourceError> {
    let Some(name) = source.strip_prefix("env:") else { return Err(SourceError::Unknown(source.to_owned())) };
    let value = environment.get(OsStr::new(name)).and_then(|value| value.to_str()).unwrap_or_default();
    if value.is_empty() {
        return Err(SourceError::Absent(source.to_owned()));
    }
    if !is_word(value) {
        return Err(SourceError::NotAWord(source.to_owned()));
    }
    if value.len() < LETTERS_MIN {
        return Err(SourceError::TooShort(source.to_owned()));
    }
    Ok(Secret::new(value.to_owned()))
}

/// Whether a text can become a part of an address, and of a line.
pub(crate) fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '/' | '@' | ':' | '#' | '?' | '%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_there_or_the_error_says_where_it_should_be() {
        let environment = [("T", "ghp_abcdefgh"), ("SHORT", "abc"), ("LINE", "abcdefgh\nX"), ("AT", "abcdefgh@evil")];
        let environment: BTreeMap<OsString, OsString> =
            environment.map(|(name, value)| (OsString::from(name), OsString::from(value))).into();
        assert_eq!(read("env:T", &environment).unwrap().reveal(), "ghp_abcdefgh");
        for (source, wanted) in [
            ("env:NO", "the secret `env:NO` is not there; set the variable"),
            ("env:SHORT", "is shorter than 8 letters"),
            ("env:LINE", "is not a plain word"),
            ("env:AT", "is not a plain word"),
            ("file:/x", "is not a place"),
        ] {
            let error = read(source, &environment).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
            assert!(!error.contains("abc"), "{error}");
        }
    }
}
