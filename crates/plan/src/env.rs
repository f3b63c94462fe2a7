//! The environment filter: everything is cleared, then the rules speak in order.

use polder_facts::Sourced;
use polder_policy::{EnvPattern, EnvRules};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Names that make a program run other code. A pattern never passes them, only their exact name does.
const DANGEROUS: [&str; 9] =
    ["LD_*", "DYLD_*", "BASH_ENV", "ENV", "PERL5OPT", "PYTHONPATH", "NODE_OPTIONS", "RUBYOPT", "GIT_SSH*"];

/// What enters: the host's variables that a pattern passes, then the ones that are set.
pub fn filter(rules: &EnvRules, host: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    let EnvRules { pass, set } = rules;
    let mut inside: BTreeMap<OsString, OsString> = host
        .iter()
        .filter(|(name, _)| name.to_str().is_some_and(|name| passes(name, pass)))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for Sourced { value: (name, value), .. } in set {
        inside.insert(name.into(), value.into());
    }
    inside
}

/// Whether the last pattern that speaks about a name lets it pass.
fn passes(name: &str, patterns: &[Sourced<EnvPattern>]) -> bool {
    let dangerous = || DANGEROUS.iter().any(|pattern| matches(pattern, name));
    let mut passed = false;
    for Sourced { value: EnvPattern { glob, negated }, .. } in patterns {
        if *negated {
            passed &= !matches(glob, name);
        } else if glob == name || (glob.contains('*') && matches(glob, name) && !dangerous()) {
            passed = true;
        }
    }
    passed
}

/// Whether a pattern with `*` anywhere matches a name, letter by letter.
fn matches(glob: &str, name: &str) -> bool {
    let Some((head, rest)) = glob.split_once('*') else { return glob == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    // The part behind the last star is anchored at the end; the others are found as early as possible.
    let tail = parts.pop().unwrap_or("");
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

/// The directories of a `PATH` that exist inside, in order.
pub(crate) fn cut_path(path: &OsStr, is_visible: impl Fn(&std::path::Path) -> bool) -> OsString {
    let kept = std::env::split_paths(path).filter(|dir| dir.is_absolute() && is_visible(dir));
    // A directory with a colon in its name cannot come out of `split_paths`, so joining cannot fail.
    std::env::join_paths(kept).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(patterns: &[&str]) -> EnvRules {
        let pass = patterns
            .iter()
            .map(|text| {
                let (glob, negated) = text.strip_prefix('!').map_or((*text, false), |rest| (rest, true));
                Sourced::built_in(EnvPattern { glob: glob.to_owned(), negated })
            })
            .collect();
        EnvRules { pass, set: Vec::new() }
    }

    fn passed(patterns: &[&str], names: &[&str]) -> Vec<String> {
        let host = names.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect();
        filter(&rules(patterns), &host).into_keys().map(|name| name.into_string().expect("is text")).collect()
    }

    #[test]
    fn an_empty_list_passes_nothing() {
        assert!(passed(&[], &["PATH", "HOME"]).is_empty());
    }

    #[test]
    fn a_star_stands_for_any_text_anywhere() {
        let names = ["CARGO_HOME", "CARGO", "MY_CARGO_X", "X_TOKEN", "TOKEN"];
        assert_eq!(passed(&["CARGO_*"], &names), ["CARGO_HOME"]);
        assert_eq!(passed(&["*_TOKEN"], &names), ["X_TOKEN"]);
        assert_eq!(passed(&["*CARGO*"], &names), ["CARGO", "CARGO_HOME", "MY_CARGO_X"]);
        assert_eq!(passed(&["*"], &names).len(), 5);
        assert_eq!(passed(&["C*O*E"], &names), ["CARGO_HOME"]);
    }

    #[test]
    fn letters_are_case_sensitive_and_exact_names_do_not_prefix_match() {
        assert!(passed(&["path", "PAT"], &["PATH"]).is_empty());
    }

    #[test]
    fn an_exclamation_mark_takes_away_what_came_before_and_a_later_pattern_gives_again() {
        let names = ["GH_TOKEN", "GH_HOST"];
        assert_eq!(passed(&["GH_*", "!*_TOKEN"], &names), ["GH_HOST"]);
        assert_eq!(passed(&["!*_TOKEN", "GH_*"], &names), ["GH_HOST", "GH_TOKEN"]);
    }

    #[test]
    fn what_makes_programs_run_other_code_passes_by_its_exact_name_only() {
        let names = ["LD_PRELOAD", "BASH_ENV", "ENV", "NODE_OPTIONS", "GIT_SSH_COMMAND", "PYTHONPATH", "LDX"];
        assert_eq!(passed(&["*"], &names), ["LDX"]);
        assert_eq!(passed(&["LD_*", "GIT_SSH*"], &names), Vec::<String>::new());
        assert_eq!(passed(&["LD_PRELOAD"], &names), ["LD_PRELOAD"]);
    }

    #[test]
    fn path_keeps_what_is_visible_inside() {
        let kept = cut_path(OsStr::new("/usr/bin:rel::/home/u/bin:/bin"), |dir| !dir.starts_with("/home"));
        assert_eq!(kept, "/usr/bin:/bin");
    }
}
