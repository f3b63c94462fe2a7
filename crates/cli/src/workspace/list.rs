//! `polder workspace list`.

use super::{print, print_json, shown_path, store};
use crate::args::WorkspaceListArgs;
use crate::exit::Failure;
use polder_workspace::{Damaged, Workspace, visible_name};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn list(args: &WorkspaceListArgs) -> Result<u8, Failure> {
    let store = store()?;
    let (all, damaged) = (store.list()?, store.damaged()?);
    if args.json {
        let all: Vec<_> = all.iter().map(described).collect();
        let damaged: Vec<_> = damaged
            .iter()
            .map(|one| json!({"name": one.name, "place": one.place.to_string_lossy(), "why": one.why}))
            .collect();
        print_json(&json!({ "workspaces": all, "damaged": damaged }))?;
        return Ok(0);
    }
    if all.is_empty() && damaged.is_empty() {
        print("no workspaces; `polder run --cow` begins one")?;
    }
    let width = all.iter().map(|workspace| workspace.name().as_str().len()).max().unwrap_or(0);
    for workspace in &all {
        let (name, mode) = (workspace.name().as_str(), workspace.mode().name());
        let (when, root) = (since(workspace), shown_path(workspace.root()));
        let projects = workspace.parts().unwrap_or_default();
        if projects.is_empty() {
            print(&format!("{name:width$}  {mode:8}  {:11}  {when}  {root}", state(workspace)))?;
        }
        for part in &projects {
            let (project, root) = (part.project().unwrap_or_default(), shown_path(part.root()));
            print(&format!("{name:width$}  {mode:8}  {:11}  {when}  {root} (project {project})", state(part)))?;
        }
    }
    for Damaged { name, place, why } in &damaged {
        let (name, place) = (visible_name(name.as_bytes()), shown_path(place));
        print(&format!(
            "{name} is damaged: {why}; `polder workspace discard {name}` in its tree removes it, or remove {place}"
        ))?;
    }
    Ok(0)
}

/// One that cannot be read is no reason to hide the others; what is wrong with it, its other verbs say.
fn state(workspace: &Workspace) -> &'static str {
    match workspace.is_changed() {
        _ if workspace.is_interrupted() => "interrupted",
        Ok(true) => "changed",
        Ok(false) => "empty",
        Err(_) => "unreadable",
    }
}

fn began(workspace: &Workspace) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(workspace.began().seconds).unwrap_or(0))
}

fn since(workspace: &Workspace) -> String {
    humantime::format_rfc3339_seconds(began(workspace)).to_string()
}

fn described(workspace: &Workspace) -> serde_json::Value {
    let projects: Vec<_> = workspace
        .parts()
        .unwrap_or_default()
        .iter()
        .map(|part| json!({"name": part.project(), "root": part.root().to_string_lossy(), "state": state(part)}))
        .collect();
    json!({
        "projects": projects,
        "name": workspace.name().as_str(),
        "root": workspace.root().to_string_lossy(),
        "mode": workspace.mode().name(),
        "state": state(workspace),
        "began": since(workspace),
        "parent": workspace.parent().map(|name| name.as_str()),
    })
}
