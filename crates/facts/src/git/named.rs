//! Places that a configuration of git names: files that it includes, the directory of its hooks,
//! the programs that it runs, and repositories of this machine. Generous: a word too many is one
//! file more that is held.

use super::keys::{is_listed_key, is_local_address};

/// A path, and where it is looked for if it is relative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// Another configuration, beside this one.
    BesideConfiguration(Vec<u8>),
    /// The directory of hooks, from the top of the tree.
    Hooks(Vec<u8>),
    /// From the top of the tree, where git runs programs.
    InTree(Vec<u8>),
    /// A word that is a file at the top of the tree, if there is one.
    Word(Vec<u8>),
    /// A program that a shell looks for in `PATH`.
    Program(Vec<u8>),
    /// A repository that is fetched from or pushed to, from the top of the tree.
    Repository(Vec<u8>),
}

/// What stands between words for a shell.
const SPLITTING: &str = "'\"`;|&()<>!$={},\\";
/// Programs whose further words are commands of their own, and no files.
const TOOLS: [&str; 6] = ["git", "git-lfs", "gh", "glab", "op", "aws"];

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
pub fn named(text: &[u8]) -> Vec<Named> {
    let text = String::from_utf8_lossy(text).replace("\\\r\n", "").replace("\\\n", "");
    let mut found = Vec::new();
    let (mut section, mut has_part) = (String::new(), false);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            // A key can follow on the same line; a quoted part can hold a bracket.
            let closed = header.rfind("\"]").map(|at| at + 1).or_else(|| header.find(']'));
            let (name, rest) = header.split_at(closed.unwrap_or(header.len()));
            section = name.split([' ', '"', '.']).next().unwrap_or_default().to_lowercase();
            has_part = name.contains(['"', '.']);
            line = rest.trim_start_matches(']').trim();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = unescaped(value.trim());
        let plain = value.replace('"', "");
        let path = || plain.split(['#', ';']).next().unwrap_or_default().trim();
        match (section.as_str(), key.trim().to_lowercase().as_str()) {
            ("include" | "includeif", "path") => found.push(Named::BesideConfiguration(path().into())),
            ("core", "hookspath") => found.push(Named::Hooks(path().into())),
            (section @ "remote", "url" | "pushurl") | (section @ "branch", "remote" | "pushremote") => {
                // Without a slash, that of a branch is the name of a remote.
                let local = is_local_address(path()).filter(|path| section == "remote" || path.contains('/'));
                found.extend(local.map(|path| Named::Repository(path.into())));
            }
            // An alias is a command of git, or with `!` one of a shell.
            ("alias", _) if !plain.starts_with('!') => {}
            (section, key) if is_listed_key(section, has_part, key) => {}
            _ => program(&value, &mut found),
        }
    }
    found.retain(|named| {
        let (Named::BesideConfiguration(path)
        | Named::Hooks(path)
        | Named::InTree(path)
        | Named::Word(path)
        | Named::Program(path)
        | Named::Repository(path)) = named;
        !path.is_empty() && !path.starts_with(b"~")
    });
    found
}

/// A program with its arguments, perhaps by way of a shell.
fn program(value: &str, found: &mut Vec<Named>) {
    let words = value.split(|c: char| c.is_whitespace() || SPLITTING.contains(c));
    let mut words = words.filter(|word| !word.is_empty() && !word.contains("://")).peekable();
    let first = words.peek().copied().unwrap_or_default();
    let is_tool = TOOLS.contains(&first);
    // Without its variable, `$PWD/x` looks like a path from the root, and is meant from here.
    let from_here = value.contains("PWD");
    for (number, word) in words.enumerate() {
        let bytes = || word.as_bytes().to_vec();
        match word.contains('/') {
            true if from_here => found.push(Named::InTree(word.trim_start_matches('/').into())),
            true => found.push(Named::InTree(bytes())),
            false if is_setting(word) => {}
            false if number == 0 => found.push(Named::Program(bytes())),
            false if is_tool && !word.contains('.') => {}
            false => found.push(Named::Word(bytes())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, named};

    #[test]
    fn hooks_includes_and_programs_are_named() {
        let text = b"[core]\n\thooksPath = tools/hooks # ours\n\tbare = false\n[include] path = ../.gitshared\n\
            [includeIf \"gitdir:~/x/\"]\n path = \"more\"\n[filter \"x\"]\n clean = sh ./scripts/clean.sh %f\n\
            [remote \"origin\"]\n url = https://example.com/x\n[alias]\n st = \"!tools/st --x\"\n[core] HOOKSPATH=a\\\nb\n";
        let program = |word: &str| Named::Program(word.into());
        let tree = |path: &str| Named::InTree(path.into());
        let beside = |path: &str| Named::BesideConfiguration(path.into());
        let word = |word: &str| Named::Word(word.into());
        let expected = [
            Named::Hooks("tools/hooks".into()),
            beside("../.gitshared"),
            beside("more"),
            program("sh"),
            tree("./scripts/clean.sh"),
            word("%f"),
            tree("tools/st"),
            word("--x"),
            Named::Hooks("ab".into()),
        ];
        assert_eq!(named(text), expected);
        assert_eq!(
            named(b"[core]\n hooksPath =\n[include] path = ~/x\n fsmonitor = sh fsm.sh"),
            [program("sh"), word("fsm.sh")]
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
        let quiet = "[user]\n name = Jane README\n[branch \"main\"]\n remote = origin\n[remote \"o\"]\n url = https://h/x\n[core]\n bare = false\n x = 1\n";
        assert_eq!(named(quiet.as_bytes()), []);
    }
}
