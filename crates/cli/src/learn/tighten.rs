//! `polder learn --tighten`: what a policy grants beside what a command asks for when it has nothing.
//!
//! What succeeds leaves no trace. So everything that the policy shows beside the workspace is taken away, the command is
//! run, and what it asks for comes back one by one, never more than the policy gives. Nothing is written.

use super::lesson::{Lesson, covers};
use super::{once, watching};
use crate::args::LearnArgs;
use crate::exit::{Failure, on_one_line};
use crate::put::{Own, put};
use crate::render::text::tolerate_closed;
use crate::workspace::escaped;
use polder::{Grant, Planned};
use polder_policy::{Access, NetworkMode};
use serde_json::{Value, json};

/// How often a command is run with a little more.
const ROUNDS_MAX: usize = 20;

/// Something that a policy gives.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gift {
    grant: Grant,
    origin: String,
    /// Why nobody can tell whether it is needed.
    unjudged: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// The command asked for all of it.
    Needed,
    /// It asked for these parts only.
    Narrower(Vec<Grant>),
    /// It did not ask for it.
    Unused,
    /// Nobody can tell.
    Unjudged(String),
}

pub(super) fn tighten(args: &LearnArgs) -> Result<u8, Failure> {
    let LearnArgs { policy, command, json, .. } = args;
    let policy = watching(policy)?;
    let whole = policy.sandbox().plan(command.clone())?;
    let gifts = gifts(&whole);
    let expected = once(whole)?.1;
    let (mut needed, mut came): (Vec<Grant>, u8) = (Vec::new(), expected);
    for _ in 0..ROUNDS_MAX {
        let (violations, code) = once(policy.sandbox().bare(&needed).plan(command.clone())?)?;
        came = code;
        let before = needed.len();
        needed.extend(asked(&violations, &gifts, &needed));
        if needed.len() == before {
            break;
        }
    }
    let findings: Vec<(&Gift, Finding)> = gifts.iter().map(|gift| (gift, gift.judged(&needed))).collect();
    let text = if *json {
        let findings: Vec<Value> = findings.iter().map(|(gift, finding)| gift.json(finding)).collect();
        escaped(&json!({"expectedExitCode": expected, "exitCode": came, "findings": findings}).to_string()) + "\n"
    } else {
        let mut text: String = findings.iter().map(|(gift, finding)| gift.line(finding)).collect();
        if gifts.is_empty() {
            text.push_str("the policy shows nothing beside the workspace and has no network\n");
        }
        if came != expected {
            text.push_str(&format!(
                "with what it asked for the command ends with {came} instead of {expected}: not everything that it needs was seen; keep what is granted\n"
            ));
        }
        text
    };
    tolerate_closed(put(Own::Stdout, text.as_bytes()))?;
    Ok(u8::from(came != expected))
}

/// What the policy gives beside the workspace.
fn gifts(planned: &Planned) -> Vec<Gift> {
    let (plan, policy) = (planned.plan(), planned.policy());
    let binds = policy.binds.iter().filter_map(|bind| {
        let shown = plan.files.shown.iter().find(|shown| shown.guest == bind.value.guest)?;
        let path = shown.host.as_path().to_owned();
        let elsewhere = shown.guest.as_path() != path;
        Some(Gift {
            grant: match shown.access {
                Access::ReadOnly => Grant::FsRead(path),
                Access::ReadWrite => Grant::FsWrite(path),
            },
            origin: bind.origin.to_string(),
            unjudged: elsewhere
                .then(|| format!("it appears at `{}`, where the host has nothing to compare", shown.guest)),
        })
    });
    let network = (policy.network.value.mode == NetworkMode::Full).then(|| Gift {
        grant: Grant::NetFull,
        origin: policy.network.origin.to_string(),
        unjudged: None,
    });
    binds.chain(network).collect()
}

/// What was asked for and is given by the policy, but not by what is known to be needed.
fn asked(violations: &[polder::Violation], gifts: &[Gift], needed: &[Grant]) -> Vec<Grant> {
    let mut lesson = Lesson::nothing();
    // What the policy gives was thought about when it was written.
    lesson.add(violations, &|_| None);
    let held = lesson.held.keys().filter_map(|key| key.parse::<Grant>().ok());
    let all = lesson.granted.keys().filter_map(|key| key.parse::<Grant>().ok()).chain(held);
    let given = |grant: &Grant| gifts.iter().any(|gift| covers(&gift.grant, grant));
    all.filter(|grant| given(grant) && !needed.iter().any(|known| covers(known, grant))).collect()
}

impl Gift {
    fn judged(&self, needed: &[Grant]) -> Finding {
        if let Some(why) = &self.unjudged {
            return Finding::Unjudged(why.clone());
        }
        let parts: Vec<Grant> = needed.iter().filter(|grant| covers(&self.grant, grant)).cloned().collect();
        match parts.as_slice() {
            [] => Finding::Unused,
            parts if parts.contains(&self.grant) => Finding::Needed,
            parts => Finding::Narrower(parts.to_vec()),
        }
    }

    fn line(&self, finding: &Finding) -> String {
        let (word, rest) = match finding {
            Finding::Needed => ("needed", String::new()),
            Finding::Narrower(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                ("narrower", format!(": enough is {}", parts.join(", ")))
            }
            Finding::Unused => ("unused", String::new()),
            Finding::Unjudged(why) => ("not judged", format!(": {why}")),
        };
        on_one_line(&format!("{word:<11} {} ({}){rest}", self.grant, self.origin)) + "\n"
    }

    fn json(&self, finding: &Finding) -> Value {
        let (word, asked, note) = match finding {
            Finding::Needed => ("needed", vec![self.grant.to_string()], None),
            Finding::Narrower(parts) => ("narrower", parts.iter().map(ToString::to_string).collect(), None),
            Finding::Unused => ("unused", Vec::new(), None),
            Finding::Unjudged(why) => ("not-judged", Vec::new(), Some(why)),
        };
        json!({"grant": self.grant.to_string(), "origin": self.origin, "finding": word, "asked": asked, "note": note})
    }
}
