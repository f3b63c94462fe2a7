//! Keys that steps have in other tools, and what stands for them here. A key that could make a step fail, skip it or change
//! what it does is refused with what to write instead; one that only says how a result is shown or when the other tool
//! begins is in the table of keys, and is told.

/// What to write instead, by key.
const INSTEAD: &[(&[&str], &str)] = &[
    (&["run", "script"], "the shell text of a step is `exec`, and its words are `command`"),
    (
        &["fail_if", "failure_conditions"],
        "a step fails when its command returns another code than 0: ask at the end of `exec`, or in a step that waits for this one",
    ),
    (&["guarantee"], "ask at the end of `exec`, and return another code than 0"),
    (&["assume"], "write it as the step's `if`"),
    (
        &["transform", "transform_js"],
        "let the command write what later steps need, with `jq` for example; what is JSON has fields in `outputs`",
    ),
    (&["forEach", "for_each", "fanout", "reduce", "matrix"], "write the loop in `exec`, or one step for each"),
    (
        &["on_fail", "on_success", "on_finish"],
        "write a step that waits for this one, with `if: failure()`, `success()` or `always()`",
    ),
    (&["retry", "retries", "max_runs", "goto"], "write the loop in `exec`"),
    (&["output_format"], "output is JSON if all of it is an object or a list, else text"),
    (&["cwd", "working_directory", "workingDirectory"], "begin `exec` with `cd DIR &&`"),
    (&["needs"], "what a step waits for is `depends_on`"),
    (&["timeout-minutes"], "the time of a step is `timeout`, as in `10m`"),
    (&["continue-on-error", "allow_failure"], "that is `continue_on_failure`"),
];

/// From here on two words are the same one, misspelt. No key of the other tool comes near.
const MISSPELT: f64 = 0.8;
/// The longest word that is compared.
const WORD_BYTES_MAX: usize = 64;

/// Whether a key is most likely this one.
pub(crate) fn is_misspelt(key: &str, known: &str) -> bool {
    let score = || strsim::normalized_damerau_levenshtein(&key.to_lowercase(), known);
    key.len() <= WORD_BYTES_MAX && score() >= MISSPELT
}

/// Whether whoever writes this key at the top of a file counts on it.
pub(crate) fn guards(key: &str) -> bool {
    matches!(key, "enforce" | "audit" | "allow_unsandboxed" | "allow_permissive")
}

/// What to write instead of a key that another tool has for its steps.
pub(crate) fn instead(key: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(keys, _)| keys.contains(&key)).map(|(_, instead)| *instead)
}
