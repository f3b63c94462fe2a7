//! The answer outside, from the policy of a directory: with the rule, where it was said, and the grant.

use super::inside::{kernel, made, of_network};
use super::target::Target;
use super::{Answer, Answered};
use crate::exit::Failure;
use polder::{Allowance, Grant, MOUNTS, Plan, Planned, Says, Standing, Way, Wish, World, is_never_offered, risk};
use std::path::Path;

pub(super) fn answers(planned: &Planned, word: &str) -> Result<Answered, Failure> {
    let plan = planned.plan();
    if plan.world == World::Open {
        return Err(Failure::new("the engine of this policy enforces nothing: whatever you can do, the command can"));
    }
    let is_file = |path: &Path| matches!(plan.standing(path, Wish::Read), Standing::Allowed { host: Some(host) } if is_there(&host));
    let target = Target::of(word, plan.workdir.as_path(), Some(plan.identity.home.as_path()), &is_file)?;
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
        Says::Yes => {
            let found = host.as_ref().map(|host| is_there(Path::new(host)));
            Answer { host, found, ..Answer::yes() }
        }
        Says::YesPrivate => private(plan, path, wish),
        Says::Kernel => kernel(),
        Says::Made if plan.world == World::Made => made(wish),
        // A name that is protected before it exists has no place in the plan's view.
        Says::Protected(protected) if !matches!(standing, Standing::Denied(_)) => {
            Answer { grant: protected.grant, layer: Some("watch".to_owned()), ..Answer::no("it is protected") }
        }
        Says::Made | Says::NotShown | Says::ReadOnly | Says::Protected(_) | Says::Hidden => {
            denied(plan, &standing, wish)
        }
    }
}

/// The answer in a directory that is the sandbox's own and begins empty.
fn private(plan: &Plan, path: &Path, wish: Wish) -> Answer {
    let place = plan.private_place(path).unwrap_or(path);
    let is_place = place == path;
    let own = format!("`{}` inside is the sandbox's own, empty when a run begins", place.display());
    if is_place || wish == Wish::Write || !is_there(path) {
        return Answer { found: Some(is_place), ..Answer::yes() }.note(own);
    }
    let answer = Answer {
        found: Some(false),
        layer: Some(MOUNTS.to_owned()),
        ..Answer::no(format!("{own}, and the host's file is not shown"))
    };
    match risk(path, plan.identity.home.as_path()) {
        Some(why) if is_never_offered(path, plan.identity.home.as_path()) => {
            answer.note(format!("no grant is offered: {why}"))
        }
        why => {
            let answer = Answer { grant: Some(Grant::FsRead(path.to_owned()).to_string()), ..answer };
            why.map_or(answer.clone(), |why| answer.note(format!("risk: {why}")))
        }
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn denied(plan: &Plan, standing: &Standing, wish: Wish) -> Answer {
    let Standing::Denied(denied) = standing else { return Answer::no("the sandbox has its own") };
    let (grant, note) = match (&denied.way, wish) {
        (Way::Show, Wish::Read) => (Some(Grant::FsRead(denied.host.clone())), None),
        (Way::Show, Wish::Write) => (Some(Grant::FsWrite(denied.host.clone())), None),
        (Way::Only(grant), _) => (Some(grant.clone()), None),
        (Way::Other(note), _) => (None, Some(note.clone())),
    };
    let home = plan.identity.home.as_path();
    let risk = risk(&denied.host, home).filter(|_| grant.is_some());
    if let Some(why) = risk.filter(|_| is_never_offered(&denied.host, home)) {
        let layer = Some(denied.layer.to_owned());
        return Answer { layer, ..Answer::no(denied.rule.clone()) }.note(format!("no grant is offered: {why}"));
    }
    Answer {
        layer: Some(denied.layer.to_owned()),
        grant: grant.map(|grant| grant.to_string()),
        note: note.or_else(|| risk.map(|why| format!("risk: {why}"))),
        ..Answer::no(denied.rule.clone())
    }
}
