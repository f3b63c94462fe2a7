//! State files of an operation in progress, judged by content. Each rule is an allow-list.

use super::config::ConfigText;

/// What the content of a state file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateRule {
    /// A list of steps, none of which executes a command.
    Todo,
    /// One word of letters, digits and hyphens.
    Word,
    /// Quoted words without a character that a shell or a path outside needs.
    PlainText,
    /// Assignments of quoted text to the three variables of an author.
    Author,
    /// The options of a cherry-pick, with a plain strategy.
    SequencerOptions,
}

/// The commands of a todo list that work on objects and refs: `todo_command_info` in git's
/// sequencer.c. Only `exec` (`x`) is missing.
const STEPS: [&str; 23] = [
    "pick",
    "p",
    "revert",
    "edit",
    "e",
    "reword",
    "r",
    "fixup",
    "f",
    "squash",
    "s",
    "break",
    "b",
    "label",
    "l",
    "reset",
    "t",
    "merge",
    "m",
    "update-ref",
    "u",
    "drop",
    "d",
];

/// Whether content of a state file has git run nothing.
pub fn is_harmless_state(rule: StateRule, content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    match rule {
        StateRule::Todo => text.lines().all(is_harmless_step),
        StateRule::Word => is_word(text.trim_end_matches('\n')),
        StateRule::PlainText => text.chars().all(is_plain) && !text.contains(".."),
        StateRule::Author => text.lines().all(is_author),
        StateRule::SequencerOptions => are_harmless_options(text),
    }
}

fn is_harmless_step(line: &str) -> bool {
    let line = line.trim_start();
    // A comment; `core.commentChar` can be another character, which then is no command.
    if line.is_empty() || line.starts_with('#') {
        return true;
    }
    let command = line.split([' ', '\t']).next().unwrap_or_default().trim_end_matches('\r');
    STEPS.contains(&command) || command == "noop"
}

fn is_word(text: &str) -> bool {
    !text.starts_with('-') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || " '\n,=.:_-".contains(letter)
}

fn is_author(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return line.is_empty() };
    let known = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"].contains(&name);
    // `'` ends the quoted text; git writes one in it as `'\''`.
    let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    known && inner.is_some_and(|inner| !inner.replace("'\\''", "").contains('\''))
}

fn are_harmless_options(text: &str) -> bool {
    let Ok(options) = ConfigText::parse(text) else { return false };
    options.values().iter().all(|(key, values)| {
        let plain = |value: &Option<String>| match value.as_deref() {
            None => true,
            Some(value) if key.name == "strategy" => is_word(value),
            Some(value) => value.chars().all(is_plain) && !value.contains(".."),
        };
        key.section == "options" && key.subsection.is_none() && values.iter().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::{StateRule, is_harmless_state};

    #[test]
    fn todo_with_a_command_is_not_harmless() {
        let todo = |text: &str| is_harmless_state(StateRule::Todo, text.as_bytes());
        assert!(todo("pick abc one\n# exec x\n\nmerge -C abc topic\nupdate-ref refs/heads/x\nnoop\n"));
        for bad in ["exec touch x", "x touch x", "  x\ttouch x", "pick a\nx y", "X y", "exec"] {
            assert!(!todo(bad), "{bad:?}");
        }
    }

    #[test]
    fn strategy_with_a_path_is_not_harmless() {
        let harmless = |rule, text: &str| is_harmless_state(rule, text.as_bytes());
        assert!(harmless(StateRule::Word, "ort\n") && !harmless(StateRule::Word, "../x\n"));
        assert!(!harmless(StateRule::Word, "a b") && !harmless(StateRule::Word, "-x"));
        assert!(harmless(StateRule::PlainText, " '--whitespace=fix'"));
        assert!(!harmless(StateRule::PlainText, "'--directory=../x'"));
        assert!(!harmless(StateRule::PlainText, "$(touch x)") && !harmless(StateRule::PlainText, "a;b"));
        let author = "GIT_AUTHOR_NAME='O'\\''Neil'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0000'\n";
        assert!(harmless(StateRule::Author, author));
        assert!(!harmless(StateRule::Author, "GIT_AUTHOR_NAME=$(touch x)\n"));
        assert!(!harmless(StateRule::Author, "GIT_AUTHOR_NAME='a';touch 'x'\n"));
        assert!(harmless(StateRule::SequencerOptions, "[options]\n\tsignoff = true\n\tstrategy = ort\n"));
        assert!(!harmless(StateRule::SequencerOptions, "[options]\n\tstrategy = ../x\n"));
        assert!(!harmless(StateRule::SequencerOptions, "[include]\n\tpath = x\n"));
    }
}
