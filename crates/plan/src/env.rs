//! The environment filter: everything is cleared, then the rules speak in order.

use polder_facts::{Origin, Sourced};
use polder_policy::{EnvPattern, EnvRules};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Names that make a program run other code. A pattern never passes them, only their exact name does.
const DANGEROUS: [&str; 9] =
    ["LD_*", "DYLD_*", "BASH_ENV", "ENV", "PERL5OPT", "PYTHONPATH", "NODE_OPTIONS", "RUBYOPT", "GIT_SSH*"];

/// What enters: the host's variables that a pattern passes, then the ones that are set.
pub fn filter(rules: &EnvRules, host: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, OsString> {
    sourced(rules, host).into_iter().map(|(name, entry)| (name, entry.value)).collect()
}

/// The same, each with the rule that lets it in.
pub(crate) fn sourced(rules: &EnvRules, host: &BTreeMap<OsString, OsString>) -> BTreeMap<OsString, Sourced<OsString>> {
    let EnvRules { pass, set } = rules;
    let mut inside: BTreeMap<OsString, Sourced<OsString>> = host
        .iter()
        .filter_map(|(name, value)| {
            let origin = passes(name.to_str()?, pass)?;
            Some((name.clone(), Sourced::new(value.clone(), origin.clone())))
        })
        .collect();
    for Sourced { value: (name, value), origin } in set {
        inside.insert(name.into(), Sourced::new(value.into(), origin.clone()));
    }
    inside
}

/// The last pattern that speaks about a name, if it lets the name pass.
fn passes<'a>(name: &str, patterns: &'a [Sourced<EnvPattern>]) -> Option<&'a Origin> {
    let dangerous = || DANGEROUS.iter().any(|pattern| matches(pattern, name));
    let mut passed = None;
    for Sourced { value: EnvPattern { glob, negated }, origin } in patterns {
        if *negated {
            passed = passed.filter(|_| !matches(glob, name));
        } else if glob == name || (glob.contains('*') && matches(glob, name) && !dangerous()) {
            passed = Some(origin);
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

/// The directories of a `PATH` that exist inside, in order and where they are there.
pub(crate) fn cut_path(path: &OsStr, inside: impl Fn(&Path) -> Option<PathBuf>) -> OsString {
    let kept = std::env::split_paths(path).filter_map(|dir| inside(&dir));
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

    /// Every rule of the filter in one table: the patterns, what the host has, what enters.
    #[test]
    fn the_rules_one_by_one() {
        const BUILT_IN: &[&str] = &["PATH", "HOME", "USER", "CI", "NODE_ENV", "LANG"];
        const HOST: &[&str] = &[
            "CI",
            "GITHUB_REF",
            "GITHUB_TOKEN",
            "HOME",
            "LANG",
            "LC_ALL",
            "NODE_ENV",
            "OTEL_X",
            "PATH",
            "PATHEXT",
            "USER",
            "github_ref",
            "npm_config_a",
        ];
        let with = |more: &[&'static str]| [BUILT_IN, more].concat();
        let all_but = |names: &[&str]| HOST.iter().copied().filter(|name| !names.contains(name)).collect::<Vec<_>>();
        for (rule, patterns, enters) in [
            ("the built-in list and nothing else", with(&[]), vec!["CI", "HOME", "LANG", "NODE_ENV", "PATH", "USER"]),
            ("an empty list blocks everything", vec![], vec![]),
            ("a list of one's own replaces it", vec!["LC_ALL"], vec!["LC_ALL"]),
            (
                "a sandbox adds to it",
                with(&["OTEL_X"]),
                vec!["CI", "HOME", "LANG", "NODE_ENV", "OTEL_X", "PATH", "USER"],
            ),
            ("a star behind is a prefix", vec!["GITHUB_*"], vec!["GITHUB_REF", "GITHUB_TOKEN"]),
            ("a star in front is a suffix", vec!["*_REF"], vec!["GITHUB_REF"]),
            ("a star in the middle", vec!["GITHUB*F"], vec!["GITHUB_REF"]),
            ("a lone star is everything", vec!["*"], HOST.to_vec()),
            ("an exact name is no prefix", vec!["PATH"], vec!["PATH"]),
            ("letters count", vec!["github_*"], vec!["github_ref"]),
            ("a name that the host does not have", vec!["NO_SUCH"], vec![]),
            ("an exclamation mark takes away", vec!["*", "!GITHUB_*"], all_but(&["GITHUB_REF", "GITHUB_TOKEN"])),
            ("also an exact name", vec!["GITHUB_*", "!GITHUB_TOKEN"], vec!["GITHUB_REF"]),
            ("a later pattern gives again", vec!["!GITHUB_TOKEN", "GITHUB_TOKEN"], vec!["GITHUB_TOKEN"]),
            ("taking away what nobody gave", vec!["!PATH"], vec![]),
        ] {
            assert_eq!(passed(&patterns, HOST), enters, "{rule}");
        }
    }

    #[test]
    fn what_is_set_enters_always_and_last() {
        let mut rules = rules(&["A"]);
        let set = [("A", "set"), ("B", "1"), ("B", "2"), ("LD_PRELOAD", "x"), ("EMPTY", "")];
        rules.set = set.map(|(name, value)| Sourced::built_in((name.to_owned(), value.to_owned()))).into();
        let host =
            [("A", "host"), ("C", "host")].map(|(name, value)| (OsString::from(name), OsString::from(value))).into();
        let inside = filter(&rules, &host);
        let wanted = [("A", "set"), ("B", "2"), ("EMPTY", ""), ("LD_PRELOAD", "x")];
        assert_eq!(inside, wanted.map(|(name, value)| (OsString::from(name), OsString::from(value))).into());
    }

    #[test]
    fn every_dangerous_name_stays_out_of_every_pattern() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "PERL5OPT",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "RUBYOPT",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
        ] {
            let nearly = format!("{}*", &name[..name.len() - 1]);
            for pattern in ["*", nearly.as_str(), &format!("*{}", &name[1..])] {
                assert!(passed(&[pattern], &[name]).is_empty(), "{pattern} passes {name}");
            }
            assert_eq!(passed(&[name], &[name]), [name], "by its exact name it may");
        }
    }

    #[test]
    fn path_keeps_what_is_visible_inside() {
        let inside = |dir: &Path| match dir.strip_prefix("/home/u/proj") {
            Ok(below) => Some(Path::new("/workspace").join(below)),
            Err(_) => Some(dir.to_owned()).filter(|dir| dir.is_absolute() && !dir.starts_with("/home")),
        };
        let host = OsStr::new("/usr/bin:rel::/home/u/proj/.venv/bin:/home/u/bin:/bin");
        assert_eq!(cut_path(host, inside), "/usr/bin:/workspace/.venv/bin:/bin");
    }
}
