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
        let value = value.trim().replace('"', "");
        let path = || value.split(['#', ';']).next().unwrap_or_default().trim().as_bytes().to_vec();
        match (section.as_str(), key.trim().to_lowercase().as_str()) {
            ("include" | "includeif", "path") => found.push(Named::BesideConfiguration(path())),
            ("core", "hookspath") => found.push(Named::InTree(path())),
            // A program with its arguments, perhaps by way of a shell.
            _ => {
                let words = value.split(|c: char| c.is_whitespace() || "'`;|&()<>!$=".contains(c));
                let words = words.filter(|word| !word.is_empty() && !word.contains("://"));
                found.extend(words.map(|word| match word.contains('/') {
                    true => Named::InTree(word.as_bytes().to_vec()),
                    false => Named::Word(word.as_bytes().to_vec()),
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
            word("false"),
            beside("../.gitshared"),
            beside("more"),
            word("sh"),
            tree("./scripts/clean.sh"),
            word("%f"),
            tree("tools/st"),
            word("--x"),
            tree("ab"),
        ];
        assert_eq!(named(text), expected);
        assert_eq!(
            named(b"[core]\n hooksPath =\n[include] path = ~/x\n fsmonitor = sh fsm.sh"),
            [word("sh"), word("fsm.sh")]
        );
    }
}
