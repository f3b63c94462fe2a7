//! Credentials that a command gets as variables: placed for one run, and kept out of what it writes. A variable that passes
//! from the caller and is named as a secret is kept out of it as well.
//!
//! The other way, in which the broker puts them into requests and the command never has them, stays in the plan for the
//! engines to judge.

use crate::error::Error;
use polder_facts::{Event, EventKind, Grant, Origin, Output, Sourced, Violation};
use polder_plan::filter_environment;
use polder_policy::{Credential, EnvPattern, EnvRules, Fault, Faults, Policy, Via};
use polder_secrets::{APP_VARIABLES, GITHUB_APP, Keeper, Redactor, Secret, known_secrets, place_github};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;

/// The one credential that has a known form as variables.
const GITHUB: &str = "github";

/// What stands in the place of a grant that cannot be told.
const NO_GRANT: &str = "what would allow it names a secret of the run, and is not told";

/// The secrets of a run.
#[derive(Clone, Debug)]
pub struct Secrets {
    all: Arc<Vec<Secret<String>>>,
    /// Whether polder gave the command one of them, as its policy says.
    placed: bool,
    /// The variables of the caller that hold the others.
    passed: BTreeSet<String>,
}

/// A policy with its secrets in its variables; lives as long as it takes to make a plan.
pub(crate) struct Placed {
    pub(crate) policy: Policy,
    pub(crate) secrets: Secrets,
}

/// Reads what the policy names and places it.
pub(crate) fn placed(
    policy: &Policy,
    keeper: &Keeper,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Placed, Error> {
    let mut placed = policy.clone();
    let (mut secrets, mut faults) = (Vec::new(), Vec::new());
    placed.credentials.retain(|credential| credential.value.via == Via::Broker);
    for Sourced { value, origin } in policy.credentials.iter().filter(|known| known.value.via == Via::Environment) {
        let Credential { name, source, hosts, via: _ } = value;
        let mut fault = |message: String, hint: Option<&str>| {
            faults.push(Fault { origin: origin.clone(), message, hint: hint.map(str::to_owned) });
        };
        if name != GITHUB {
            let hint = "another secret passes by its name in `env_passthrough`";
            fault(format!("`via: environment` knows the credential `{GITHUB}`, not `{name}`"), Some(hint));
            continue;
        }
        if let Some(host) = hosts.iter().find(|host| host.contains(['*', ':', '/'])) {
            fault(format!("`{host}` is not one host, and git rewrites the addresses of one host"), None);
            continue;
        }
        match keeper.read(source, environment) {
            Ok(token) => {
                if source == GITHUB_APP {
                    // The token is for the command; what it was made from is not, whatever a pattern says.
                    let never = |name: &str| EnvPattern { glob: name.to_owned(), negated: true };
                    let never = APP_VARIABLES.iter().map(|name| Sourced::new(never(name), origin.clone()));
                    placed.env.pass.extend(never);
                }
                let inside = filter_environment(&placed.env, environment).into_iter();
                let inside =
                    inside.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
                for (name, value) in place_github(&token, hosts, &inside.collect()) {
                    placed.env.set.push(Sourced::new((name, value.reveal().clone()), origin.clone()));
                }
                secrets.push(token);
            }
            Err(error) => fault(error.to_string(), None),
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults).into());
    }
    let is_placed = !secrets.is_empty();
    let mut names = BTreeSet::new();
    for (name, value) in passed(&placed.env, environment) {
        let found = known_secrets(&name, &value);
        if !found.is_empty() {
            names.insert(name);
            secrets.extend(found);
        }
    }
    let secrets = Secrets { all: Arc::new(secrets), placed: is_placed, passed: names };
    Ok(Placed { policy: placed, secrets })
}

/// The variables whose values the caller has, and gives. What a file sets was written down for everybody who reads the file.
fn passed(rules: &EnvRules, environment: &BTreeMap<OsString, OsString>) -> Vec<(String, String)> {
    let EnvRules { pass, set } = rules;
    let of_host = filter_environment(&EnvRules { pass: pass.clone(), set: Vec::new() }, environment).into_iter();
    let of_host = of_host.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let by_flag = set.iter().filter(|variable| matches!(variable.origin, Origin::Flag(_) | Origin::Api));
    of_host.chain(by_flag.map(|variable| variable.value.clone())).collect()
}

impl Secrets {
    /// Whether there are none, so that output needs not be looked at.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether polder gave the command one of them, as its policy says.
    pub(crate) const fn placed(&self) -> bool {
        self.placed
    }

    /// The variables of the caller that hold the others, in order.
    pub(crate) const fn passed(&self) -> &BTreeSet<String> {
        &self.passed
    }

    /// A text without them.
    pub(crate) fn clean(&self, text: &str) -> String {
        if self.is_empty() { text.to_owned() } else { self.redaction().clean(text) }
    }

    /// Looks for them in the events of one run.
    pub fn redaction(&self) -> Redaction {
        let redactor = || Redactor::new(self.all.iter());
        Redaction { needed: !self.is_empty(), stdout: redactor(), stderr: redactor(), seq: 0 }
    }
}

/// Events of one run without its secrets.
#[derive(Debug)]
pub struct Redaction {
    needed: bool,
    stdout: Redactor,
    stderr: Redactor,
    seq: u64,
}

impl Redaction {
    /// What may be told of this event, and of what was held back before it.
    pub fn pass(&mut self, event: Event) -> Vec<Event> {
        if !self.needed {
            return vec![event];
        }
        let Event { run, seq: _, time, kind } = event;
        let kinds = match kind {
            EventKind::Output(Output::Stdout, bytes) => {
                vec![EventKind::Output(Output::Stdout, self.stdout.pass(&bytes))]
            }
            EventKind::Output(Output::Stderr, bytes) => {
                vec![EventKind::Output(Output::Stderr, self.stderr.pass(&bytes))]
            }
            // Nothing is written any more.
            exit @ EventKind::Exit(_) => vec![
                EventKind::Output(Output::Stdout, self.stdout.end()),
                EventKind::Output(Output::Stderr, self.stderr.end()),
                exit,
            ],
            EventKind::Violation(violation) => vec![EventKind::Violation(self.cleaned(violation))],
            EventKind::Warning(text) => vec![EventKind::Warning(self.clean(&text))],
            other => vec![other],
        };
        let told = kinds.into_iter().filter(|kind| !matches!(kind, EventKind::Output(_, bytes) if bytes.is_empty()));
        let numbered = told.map(|kind| {
            self.seq += 1;
            Event { run: run.clone(), seq: self.seq, time, kind }
        });
        numbered.collect()
    }

    /// What was denied. A grant that names a secret cannot be written down: it is a line of a file or of a call, and a
    /// grant with something else in its place would allow something else.
    fn cleaned(&self, violation: Violation) -> Violation {
        let Violation { action, target, rule, layer, pid, exe, count, grant, note } = violation;
        let is_clean = |grant: &Grant| {
            let text = grant.to_string();
            self.clean(&text) == text
        };
        let had = grant.is_some();
        let grant = grant.filter(is_clean);
        let note = if had && grant.is_none() { Some(NO_GRANT.to_owned()) } else { note.map(|note| self.clean(&note)) };
        let (target, rule, exe) = (self.clean(&target), self.clean(&rule), exe.map(|exe| self.clean(&exe)));
        Violation { action, target, rule, layer, pid, exe, count, grant, note }
    }

    /// A text of its own, not a piece of a stream.
    fn clean(&self, text: &str) -> String {
        let mut redactor = self.stdout.fresh();
        let mut bytes = redactor.pass(text.as_bytes());
        bytes.extend(redactor.end());
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
