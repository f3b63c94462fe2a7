//! Files of which only some words are executed: whether those differ.

/// Whether the lines differ by which cargo finds what it runs for a mere check: build scripts and macros.
pub(super) fn names_build(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let has = |line: &[u8], word: &str| line.windows(word.len()).any(|window| window == word.as_bytes());
    // A text over several lines, or a key in other letters, can say the same without being seen line by line.
    let unclear = |content: Option<&[u8]>| {
        let content = content.unwrap_or_default();
        ["\"\"\"", "'''", "\\"].iter().any(|sign| has(content, sign))
    };
    // The same line means something else under another heading.
    let lines = |content: Option<&[u8]>| -> Vec<(Vec<u8>, Vec<u8>)> {
        let lines = content.unwrap_or_default().split(|byte| *byte == b'\n' || *byte == b'\r');
        let words = ["build", "links", "proc-macro", "proc_macro"];
        let mut heading = Vec::new();
        let under = |line: &[u8]| {
            if line.trim_ascii_start().starts_with(b"[") {
                heading = line.to_vec();
            }
            words.iter().any(|word| has(line, word)).then(|| (heading.clone(), line.to_vec()))
        };
        lines.filter_map(under).collect()
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
    const KEYS: [&str; 30] = [
        "tasks",
        "eslintConfig",
        "prettier",
        "stylelint",
        "commitlint",
        "xo",
        "babel",
        "jest",
        "ava",
        "mocha",
        "nyc",
        "c8",
        "tap",
        "wireit",
        "nx",
        "release",
        "scripts",
        "gitHooks",
        "trustedDependencies",
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
    keys_differ(&KEYS, before, after)
}

/// Whether the keys from which Composer runs something, or takes where code comes from, differ.
pub(super) fn runs_composer(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    const KEYS: [&str; 7] = ["scripts", "bin", "config", "repositories", "autoload", "autoload-dev", "extra"];
    keys_differ(&KEYS, before, after)
}

/// Whether lines differ that choose the code by which a Python project is built: those of `[build-system]`, and those that
/// speak of builds, hooks or plugins anywhere.
pub(super) fn names_backend(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    // The last ones choose what a test run or a checker loads.
    const WORDS: [&str; 10] = [
        "build",
        "backend",
        "hook",
        "plugin",
        "cmdclass",
        "ext-modules",
        "addopts",
        "pythonpath",
        "extension",
        "commands",
    ];
    chosen_lines_differ(&WORDS, before, after)
}

/// Whether lines differ by which a checker, a test runner or a build tool finds more code to run.
pub(super) fn names_plugins(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    const WORDS: [&str; 21] = [
        "plugin",
        "require",
        "inherit",
        "extend",
        "include",
        "import",
        "load",
        "exec",
        "command",
        "preset",
        "script",
        "goal",
        "phase",
        "argument",
        "hook",
        "addopts",
        "pythonpath",
        "generator",
        "runner",
        "custom",
        "local",
    ];
    chosen_lines_differ(&WORDS, before, after)
}

/// Whether a file that MSBuild reads differs: other programs have files with these endings, too.
pub(super) fn is_msbuild(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    differs_and_mentions(&["<project"], before, after)
}

/// Whether a file in Starlark differs that calls anything: a call can fetch and run a program.
pub(super) fn calls_something(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    differs_and_mentions(&["("], before, after)
}

/// Whether a `dune` file differs that has actions, preprocessors or code of its own. An editor's
/// server for OCaml builds with it; names of libraries and modules alone start nothing.
pub(super) fn runs_in_dune(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    const WORDS: [&str; 14] = [
        "action",
        "rule",
        "run",
        "system",
        "bash",
        "-pp",
        "ppx",
        "pps",
        "preprocess",
        "include",
        "tuareg",
        "dynamic",
        "cinaps",
        "alias",
    ];
    differs_and_mentions(&WORDS, before, after)
}

/// Whether a qmake file differs that starts programs.
pub(super) fn names_qmake(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    differs_and_mentions(&["system", "include", "load", "extra", "qmake_", "command"], before, after)
}

/// Whether lines of `go.mod` differ that choose a tool chain, or other code than a version's.
pub(super) fn names_modules(before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    chosen_lines_differ(&["toolchain", "=>", "tool "], before, after)
}

/// Whether a content differs that has one of these words before or after, or is in an encoding in
/// which words are not found.
fn differs_and_mentions(words: &[&str], before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let mentions = |content: Option<&[u8]>| {
        let content = content.unwrap_or_default().to_ascii_lowercase();
        let has = |word: &[u8]| content.windows(word.len()).any(|window| window == word);
        has(b"\0") || words.iter().any(|word| has(word.as_bytes()))
    };
    before != after && (mentions(before) || mentions(after))
}

/// Whether lines differ that have one of these words, or stand under a heading that has one.
fn chosen_lines_differ(words: &[&str], before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let has = |line: &[u8]| {
        let line = line.to_ascii_lowercase();
        words.iter().any(|word| line.windows(word.len()).any(|window| window == word.as_bytes()))
    };
    // A key in other letters can say the same without being seen, and a text over several lines can hold a heading.
    let unclear = |content: Option<&[u8]>| {
        let content = content.unwrap_or_default();
        ["\"\"\"", "'''", "\\"].iter().any(|sign| content.windows(sign.len()).any(|at| at == sign.as_bytes()))
    };
    let lines = |content: Option<&[u8]>| -> Vec<Vec<u8>> {
        let mut chosen = false;
        let lines = content.unwrap_or_default().split(|byte| *byte == b'\n' || *byte == b'\r');
        let counts = |line: &&[u8]| {
            let line = line.trim_ascii_start();
            // A heading of INI and TOML, or a key with a list below it in YAML.
            let key = line.trim_ascii_end().ends_with(b":") && !line.starts_with(b"-");
            if line.starts_with(b"[") || key {
                chosen = has(line);
            }
            !line.is_empty() && (chosen || has(line))
        };
        lines.filter(counts).map(<[u8]>::to_vec).collect()
    };
    before != after && (unclear(before) || unclear(after) || lines(before) != lines(after))
}

fn keys_differ(keys: &[&str], before: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let read = |content: Option<&[u8]>| -> Option<serde_json::Value> {
        match content {
            None => Some(serde_json::Value::Null),
            Some(bytes) => serde_json::from_slice(bytes).ok().filter(serde_json::Value::is_object),
        }
    };
    match (read(before), read(after)) {
        (Some(before), Some(after)) => keys.iter().any(|key| before.get(key) != after.get(key)),
        // What cannot be read here may be read by something more lenient.
        _ => true,
    }
}
