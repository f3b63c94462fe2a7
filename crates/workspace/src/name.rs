//! What a workspace is called: chosen by the user, or made up so that people can say and remember it.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

const BYTES_MAX: usize = 63;

/// 1–63 of letters, digits, `.`, `_` and `-`, led by a letter or a digit: safe as a file name and in a shell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a name for a workspace: 1 to 63 of a-z, A-Z, 0-9, `.`, `_`, `-`, led by a letter or a digit")]
pub struct NameError(String);

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let led = text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
        let inner = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if led && inner && text.len() <= BYTES_MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError(text.to_owned()))
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const FIRST: [&str; 32] = [
    "amber", "ample", "azure", "brisk", "calm", "clear", "coral", "crisp", "early", "fair", "fleet", "fresh", "gentle",
    "glad", "grand", "green", "keen", "light", "lucid", "merry", "mild", "neat", "noble", "plain", "quick", "quiet",
    "ripe", "silver", "steady", "still", "swift", "warm",
];
const SECOND: [&str; 32] = [
    "alder", "avocet", "bittern", "brook", "canal", "clover", "creek", "curlew", "delta", "dike", "dune", "egret",
    "ferry", "field", "harbor", "heron", "island", "lagoon", "marsh", "meadow", "mill", "otter", "plover", "reed",
    "ridge", "river", "sedge", "sluice", "stork", "swan", "tern", "willow",
];

impl Name {
    /// A name that nobody chose: two words and four digits.
    pub(crate) fn made_up() -> io::Result<Self> {
        let mut random = [0_u8; 4];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let word = |words: [&'static str; 32], byte: u8| words[usize::from(byte) % 32];
        let [first, second, high, low] = random;
        Ok(Self(format!("{}-{}-{high:02x}{low:02x}", word(FIRST, first), word(SECOND, second))))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_safe_as_a_file_name() {
        for right in ["a", "task-1", "A.b_c", &"x".repeat(63)] {
            assert!(right.parse::<Name>().is_ok(), "{right}");
        }
        for wrong in ["", ".", "..", "-x", ".git", "a/b", "a b", "a\n", "ü", &"x".repeat(64)] {
            assert!(wrong.parse::<Name>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_made_up_name_is_a_name() {
        let name = Name::made_up().unwrap();
        assert_eq!(name.as_str().parse::<Name>().unwrap(), name);
    }
}
