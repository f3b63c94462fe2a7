//! What a configuration of git names: files that it includes, the directory of its hooks, and the programs that it runs.
//! Pure, and generous: a word too many is a change that somebody has to take by name.

/// A path, and where it is looked for if it is relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Beside the configuration.
    BesideConfiguration(Vec<u8>),
    /// From the top of the tree, where git runs programs.
    InTree(Vec<u8>),
    /// A word that is a file at the top of the tree, if there is one.
    Word(Vec<u8>),
}

/// What stands between words for a shell.
const SPLITTING: &str = "'\"`;|&()<>!$={},\\";
/// Sections in which a word is a name and no program, or a program that runs when somebody asks for it.
const QUIET: [&str; 3] = ["user", "branch", "alias"];
/// Keys of a remote that are no programs.
const REMOTE: [&str; 4] = ["url", "pushurl", "fetch", "push"];

/// Whether a word under this key names no program that runs by itself.
fn is_quiet(section: &str, key: &str) -> bool {
    QUIET.contains(&section) || (section == "remote" && REMOTE.contains(&key))
}

/// Whether a word says how something is to be, and not by what.
fn is_setting(word: &str) -> bool {
    const WORDS: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];
    WORDS.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A value as git reads it: `\"`, `\\`, `\t`, `\n` and `\b` stand for what they do.
fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('t' | 'n' | 'b') => out.push(' '),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(letter),
        }
    }
    out
}

/// Everything that is named in this text.
pub(super) fn named(text: &[u8]) -> Vec<Named> {
    let text = String::from_utf8_lossy(text).replace("\\\r\n", "").replace("\\\n", "");
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            // A key can follow on the same line; a quoted part can hold a bracket, but no honest one does.
            let (name, rest) = header.split_once(']').unwrap_or((header, ""));
            section = name.split([' ', '"', '.']).next().unwrap_or_default().to_lowercase();
            line = rest.trim();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = unescaped(value.trim());
        let plain = value.replace('"', "");
        let path = || plain.split(['#', ';']).next().unwrap_or_default().trim().as_bytes().to_vec();
        match (section.as_str(), key.trim().to_lowercase().as_str()) {
            ("include" | "includeif", "path") => found.push(Named::BesideConfiguration(path())),
            ("core", "hookspath") => found.push(Named::InTree(path())),
            // A program with its arguments, perhaps by way of a shell.
            (section, key) => {
                let words = value.split(|c: char| c.is_whitespace() || SPLITTING.contains(c));
                let words = words.filter(|word| !word.is_empty() && !word.contains("://"));
                // Without its variable, `$PWD/x` looks like a path from the root, and is meant from here.
                let from_here = value.contains("PWD");
                found.extend(words.filter_map(|word| match word.contains('/') {
                    true if from_here => Some(Named::InTree(word.trim_start_matches('/').as_bytes().to_vec())),
                    true => Some(Named::InTree(word.as_bytes().to_vec())),
                    false if is_quiet(section, key) || is_setting(word) => None,
                    false => Some(Named::Word(word.as_bytes().to_vec())),
                }));
            }
        }
    }
    found.retain(|named| match named {
        Named::BesideConfiguration(path) | Named::InTree(path) | Named::Word(path) => {
            !path.is_empty() && !path.starts_with(b"~")
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::{Named, named};

    #[test]
    fn hooks_includes_and_programs_are_named() {
        let text = b"[core]\n\thooksPath = tools/hooks # ours\n\tbare = false\n[include] path = ../.gitshared\n\
            [includeIf \"gitdir:~/x/\"]\n path = \"more\"\n[filter \"x\"]\n clean = sh ./scripts/clean.sh %f\n\
            [remote \"origin\"]\n url = https://example.com/x\n[alias]\n st = \"!tools/st --x\"\n[core] HOOKSPATH=a\\\nb\n";
        let tree = |path: &str| Named::InTree(path.into());
        let beside = |path: &str| Named::BesideConfiguration(path.into());
        let word = |word: &str| Named::Word(word.into());
        let expected = [
            tree("tools/hooks"),
            beside("../.gitshared"),
            beside("more"),
            word("sh"),
            tree("./scripts/clean.sh"),
            word("%f"),
            tree("tools/st"),
            tree("ab"),
        ];
        assert_eq!(named(text), expected);
        assert_eq!(
            named(b"[core]\n hooksPath =\n[include] path = ~/x\n fsmonitor = sh fsm.sh"),
            [word("sh"), word("fsm.sh")]
        );
    }

    #[test]
    fn a_program_is_found_in_every_way_of_writing_it() {
        let ways = [
            (r#"fsmonitor = sh \"fsm.sh\""#, Named::Word("fsm.sh".into())),
            (r#"fsmonitor = \"./fsm.sh\" %f"#, Named::InTree("./fsm.sh".into())),
            (r"fsmonitor = sh\tfsm.sh", Named::Word("fsm.sh".into())),
            (r#"sshcommand = env X=\"ssh.sh\" sh ./\"fsm.sh\""#, Named::Word("fsm.sh".into())),
            ("pager = ${PWD}/fsm.sh", Named::InTree("fsm.sh".into())),
            ("editor = {x,fsm.sh}", Named::Word("fsm.sh".into())),
            ("x = 1\n[remote \"o\"]\n url = plain\n uploadpack = sh fsm.sh", Named::Word("fsm.sh".into())),
        ];
        for (line, expected) in ways {
            let found = named(format!("[core]\n\t{line}\n").as_bytes());
            assert!(found.contains(&expected), "{line}: {found:?}");
        }
        let quiet = "[user]\n name = Jane README\n[branch \"main\"]\n remote = origin\n[remote \"o\"]\n url = plain\n[core]\n bare = false\n x = 1\n";
        assert_eq!(named(quiet.as_bytes()), []);
    }
}
