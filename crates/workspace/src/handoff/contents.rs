//! Files of which only some words are executed: whether those differ.

/// Whether the lines differ by which cargo finds what it runs for a mere check: build scripts and macros.
pub(super) fn names_build(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let has = |line: &[u8], word: &str| line.windows(word.len()).any(|window| window == word.as_bytes());
    // A text over several lines, or a key in other letters, can say the same without being seen line by line.
    let unclear = |content: Option<&[u8]>| {
        let content = content.unwrap_or_default();
        ["\"\"\"", "'''", "\\"].iter().any(|sign| has(content, sign))
    };
    let lines = |content: Option<&[u8]>| -> Vec<Vec<u8>> {
        let lines = content.unwrap_or_default().split(|byte| *byte == b'\n' || *byte == b'\r');
        let words = ["build", "links", "proc-macro", "proc_macro"];
        lines.filter(|line| words.iter().any(|word| has(line, word))).map(<[u8]>::to_vec).collect()
    };
    before != after && (unclear(before) || unclear(after) || lines(before) != lines(after))
}

/// Whether attributes that choose a program come in or change.
pub(super) fn names_drivers(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let drivers = |content: Option<&[u8]>| -> Vec<Vec<u8>> {
        let lines = content.unwrap_or_default().split(|byte| *byte == b'\n' || *byte == b'\r');
        let words = ["filter", "diff", "merge", "textconv"];
        let names = |line: &&[u8]| {
            let line = line.to_ascii_lowercase();
            words.iter().any(|word| line.windows(word.len()).any(|window| window == word.as_bytes()))
        };
        lines.filter(names).map(<[u8]>::to_vec).collect()
    };
    drivers(before) != drivers(after)
}

/// Whether the keys from which a package manager runs something differ.
pub(super) fn runs_scripts(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    const KEYS: [&str; 12] = [
        "scripts",
        "bin",
        "packageManager",
        "gypfile",
        "husky",
        "lint-staged",
        "simple-git-hooks",
        "pre-commit",
        "pnpm",
        "workspaces",
        "devEngines",
        "volta",
    ];
    let read = |content: Option<&[u8]>| -> Option<serde_json::Value> {
        match content {
            None => Some(serde_json::Value::Null),
            Some(bytes) => serde_json::from_slice(bytes).ok().filter(serde_json::Value::is_object),
        }
    };
    match (read(before), read(after)) {
        (Some(before), Some(after)) => KEYS.iter().any(|key| before.get(key) != after.get(key)),
        // What cannot be read here may be read by something more lenient.
        _ => true,
    }
}
