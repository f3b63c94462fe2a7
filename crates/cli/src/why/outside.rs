//! The answer outside, from the policy of a directory: with the rule, where it was said, and the grant.

use super::inside::{kernel, made, of_network};
use super::target::Target;
use super::{Answer, Answered};
use crate::exit::Failure;
use polder::{Allowance, Grant, Plan, Planned, Says, Standing, Way, Wish, World, risk};
use std::path::Path;

pub(super) fn answers(planned: &Planned, word: &str) -> Result<Answered, Failure> {
    let plan = planned.plan();
    if plan.world == World::Open {
        return Err(Failure::new("the engine of this policy enforces nothing: whatever you can do, the command can"));
    }
    let target = Target::of(word, plan.workdir.as_path(), Some(plan.identity.home.as_path()))?;
    let answers = match &target {
        Target::Path(path) => {
            vec![("read", of_path(plan, path, Wish::Read)), ("write", of_path(plan, path, Wish::Write))]
        }
        Target::Peer { host, .. } => {
            let answer = of_network(plan.network.value.mode.name(), host);
            let rule = answer.rule.as_ref().map(|rule| format!("{rule} ({})", plan.network.origin));
            vec![("connect", Answer { rule, ..answer })]
        }
    };
    Ok((target, answers))
}

fn of_path(plan: &Plan, path: &Path, wish: Wish) -> Answer {
    let standing = plan.standing(path, wish);
    let host = match &standing {
        Standing::Allowed { host } => host.as_ref().map(|host| host.display().to_string()),
        Standing::Kernel | Standing::Denied(_) => None,
    };
    match Allowance::of(plan).says(path, wish) {
        Says::Yes => Answer { host, ..Answer::yes() },
        Says::YesPrivate => {
            let grant = Grant::FsRead(path.to_owned());
            let note = format!("a directory of the sandbox's own; `--allow {grant}` shows what the host has there");
            let risk = risk(path, plan.identity.home.as_path()).map(|why| format!("; think first: {why}"));
            Answer::yes().note(note + &risk.unwrap_or_default())
        }
        Says::Kernel => kernel(),
        Says::Made if plan.world == World::Made => made(wish),
        // A name that is protected before it exists has no place in the plan's view.
        Says::Protected(protected) if !matches!(standing, Standing::Denied(_)) => {
            Answer { grant: protected.grant, layer: Some("guard".to_owned()), ..Answer::no("it is protected") }
        }
        Says::Made | Says::NotShown | Says::ReadOnly | Says::Protected(_) | Says::Hidden => {
            denied(plan, &standing, wish)
        }
    }
}

fn denied(plan: &Plan, standing: &Standing, wish: Wish) -> Answer {
    let Standing::Denied(denied) = standing else { return Answer::no("the sandbox has its own") };
    let (grant, note) = match (&denied.way, wish) {
        (Way::Show, Wish::Read) => (Some(Grant::FsRead(denied.host.clone())), None),
        (Way::Show, Wish::Write) => (Some(Grant::FsWrite(denied.host.clone())), None),
        (Way::Only(grant), _) => (Some(grant.clone()), None),
        (Way::Other(note), _) => (None, Some(note.clone())),
    };
    let risk = risk(&denied.host, plan.identity.home.as_path()).filter(|_| grant.is_some());
    Answer {
        layer: Some(denied.layer.to_owned()),
        grant: grant.map(|grant| grant.to_string()),
        note: note.or_else(|| risk.map(|why| format!("think first: {why}"))),
        ..Answer::no(denied.rule.clone())
    }
}
