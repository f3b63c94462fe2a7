//! The user's name and address for git inside, and nothing else of the host's configuration.
//!
//! Git reads them as the system's configuration, its weakest (git-config(1), "FILES"): a repository's own, `git config
//! --global` and `git -c` inside keep their meaning. Variables such as `GIT_CONFIG_COUNT` and `GIT_AUTHOR_NAME` would win
//! over all of these, so they are the way only where no file can be written.

use crate::plan::{FileView, World, Written};
use polder_facts::git::GitIdentity;
use polder_facts::{GuestPath, HostFacts, Sourced};
use polder_policy::{EnvPattern, EnvRules, GitIdentityUse, Policy};
use std::collections::BTreeMap;
use std::ffi::OsString;

/// Where the file is, and the variable by which git finds it (git 2.32).
const FILE: &str = "/etc/gitconfig.polder";
const VARIABLE: &str = "GIT_CONFIG_SYSTEM";
/// How many settings are given as variables, each with its key and its value (git 2.31).
const COUNT: &str = "GIT_CONFIG_COUNT";
/// Variables of the caller's by which git on the host knows who commits (git(1)). They win over the repository's own
/// configuration there as well.
const CALLERS: [&str; 4] = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// Hands the identity in, and says who commits.
pub(crate) fn hand_in(
    world: World,
    policy: &Policy,
    host: &HostFacts,
    files: &mut FileView,
    env: &mut BTreeMap<OsString, OsString>,
) -> Option<GitIdentity> {
    let identity = &host.git_identity;
    match world {
        // Git reads what it always reads.
        World::Open => return None,
        // The policy has a system's configuration of its own; its variable passes or is set.
        World::Made if policy.image.is_none() && env.contains_key(&OsString::from(VARIABLE)) => return None,
        World::Made if policy.image.is_none() => {
            let path = GuestPath::new(FILE).expect("invariant: the constant is an absolute path");
            files.written.push(Written { path, content: file(identity) });
            env.insert(VARIABLE.into(), FILE.into());
        }
        // An image has files of its own, and in the host's own world nothing can be written for one run.
        World::Made | World::Ruled => append(identity, env),
    }
    if policy.git_identity.value == GitIdentityUse::Given {
        pass_callers(policy, host, env);
    }
    Some(identity.clone())
}

/// Passes the caller's variables, unless a rule of the policy keeps one of them out or has set it.
fn pass_callers(policy: &Policy, host: &HostFacts, env: &mut BTreeMap<OsString, OsString>) {
    let built_in = CALLERS.map(|name| Sourced::built_in(EnvPattern { glob: name.to_owned(), negated: false }));
    let pass = built_in.iter().chain(&policy.env.pass).cloned().collect();
    for (name, value) in crate::env::filter(&EnvRules { pass, set: Vec::new() }, &host.environment) {
        if CALLERS.iter().any(|known| name == *known) {
            env.entry(name).or_insert(value);
        }
    }
}

/// A configuration file: that of the machine, and who commits.
fn file(identity: &GitIdentity) -> String {
    let mut text = "[include]\n\tpath = /etc/gitconfig\n[user]\n".to_owned();
    for (key, value) in identity.settings() {
        let name = key.strip_prefix("user.").unwrap_or(key);
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        text.push_str(&format!("\t{name} = \"{value}\"\n"));
    }
    text
}

/// Adds the settings to those that the caller passes. A count that git could not read is left to git to refuse.
fn append(identity: &GitIdentity, env: &mut BTreeMap<OsString, OsString>) {
    let known = env.get(&OsString::from(COUNT)).map_or(Some(0), |count| count.to_str()?.parse::<usize>().ok());
    let Some(known) = known else { return };
    let settings = identity.settings();
    env.insert(COUNT.into(), (known + settings.len()).to_string().into());
    for (number, (key, value)) in settings.into_iter().enumerate() {
        env.insert(format!("GIT_CONFIG_KEY_{}", known + number).into(), key.into());
        env.insert(format!("GIT_CONFIG_VALUE_{}", known + number).into(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn identity() -> GitIdentity {
        let mut identity = GitIdentity::unknown();
        identity.say("name", "Jane \"J\" \\ Doe; #1", Path::new("/h/.gitconfig"));
        identity.say("email", "jane@example.org", Path::new("/h/.gitconfig"));
        identity
    }

    #[test]
    fn identity_file_is_read_back_as_it_was_said() {
        let text = polder_facts::git::ConfigText::parse(&file(&identity())).expect("git's own form");
        let read: Vec<_> = text.settings().map(|(key, value)| (key.to_string(), value.unwrap_or_default())).collect();
        let told = [
            ("include.path", "/etc/gitconfig"),
            ("user.useconfigonly", "true"),
            ("user.name", "Jane \"J\" \\ Doe; #1"),
            ("user.email", "jane@example.org"),
        ];
        assert_eq!(read, told.map(|(key, value)| (key.to_owned(), value)));
    }

    #[test]
    fn identity_variables_come_after_those_that_pass() {
        let mut env =
            BTreeMap::from([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")])
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect();
        append(&identity(), &mut env);
        let value = |name: &str| env.get(&OsString::from(name)).and_then(|value| value.to_str()).unwrap_or_default();
        assert_eq!((value("GIT_CONFIG_COUNT"), value("GIT_CONFIG_VALUE_0")), ("4", "c"));
        assert_eq!((value("GIT_CONFIG_KEY_1"), value("GIT_CONFIG_VALUE_1")), ("user.useConfigOnly", "true"));
        assert_eq!((value("GIT_CONFIG_KEY_3"), value("GIT_CONFIG_VALUE_3")), ("user.email", "jane@example.org"));
    }
}
