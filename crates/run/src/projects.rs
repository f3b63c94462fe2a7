//! Several repositories in one worktree: where they are, what the rules of a policy mean then, and what is known of them.
//!
//! The copy has a directory for each of them, and the tree that a plan speaks of is that copy, standing at the place of the
//! tree. So a rule that is written for a project holds in every one of them, and a path of a project is looked at where it
//! is on the host and spoken of where it will be.

use crate::facts::{FactsError, matcher};
use crate::workspace::WorkspaceError;
use polder_facts::{Origin, Sourced, TreeFacts};
use polder_policy::{PathPattern, Policy, Workspace};
use polder_sys::facts as look;
use polder_workspace::{Name, Project};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The repositories of a worktree that has several, that of the tree first; none where the tree is the only one.
pub(crate) fn of(asked: &Workspace, root: &Path) -> Result<Vec<Project>, WorkspaceError> {
    if asked.projects.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = vec![Project { name: main_name(asked, root)?, root: root.to_owned() }];
    for project in &asked.projects {
        let path = project.host.as_path();
        let root = look::resolve(path).map_err(|source| {
            let (origin, path) = (project.origin.clone(), path.to_owned());
            WorkspaceError::NoProject { origin, path, source }
        })?;
        project.name.parse::<Name>()?;
        // Some file systems hold two spellings for the same.
        if found.iter().any(|other| other.name.eq_ignore_ascii_case(&project.name)) {
            return Err(WorkspaceError::SameProject { name: project.name.clone() });
        }
        found.push(Project { name: project.name.clone(), root });
    }
    Ok(found)
}

fn main_name(asked: &Workspace, root: &Path) -> Result<String, WorkspaceError> {
    let own = || root.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let name = asked.main_project_name.clone().or_else(own);
    let name = name.filter(|name| name.parse::<Name>().is_ok());
    name.ok_or_else(|| WorkspaceError::Nameless { root: root.to_owned() })
}

/// The policy with every rule about paths of a project said for each of them.
pub(crate) fn spread<'a>(policy: &'a Policy, root: &Path) -> Result<Cow<'a, Policy>, WorkspaceError> {
    let projects = of(&policy.workspace.value, root)?;
    if projects.is_empty() {
        return Ok(Cow::Borrowed(policy));
    }
    let mut policy = policy.clone();
    for rules in [&mut policy.protect, &mut policy.deny_read, &mut policy.unprotect] {
        *rules = rules.iter().flat_map(|rule| in_each(rule, &projects)).collect();
    }
    Ok(Cow::Owned(policy))
}

fn in_each(rule: &Sourced<PathPattern>, projects: &[Project]) -> Vec<Sourced<PathPattern>> {
    let Sourced { value: PathPattern(text), origin } = rule;
    // Everywhere is also in each of them.
    if Path::new(text).is_absolute() || text.starts_with("**/") {
        return vec![rule.clone()];
    }
    let below = |project: &Project| Sourced::new(PathPattern(format!("{}/{text}", project.name)), origin.clone());
    projects.iter().map(below).collect()
}

/// Where a path of the copy comes from; none for what is in no project.
pub(crate) fn source(projects: &[Project], root: &Path, path: &Path) -> Option<PathBuf> {
    let mut below = path.strip_prefix(root).ok()?.components();
    let name = below.next()?;
    let project = projects.iter().find(|project| name.as_os_str() == project.name.as_str())?;
    Some(project.root.join(below.as_path()))
}

/// What stands at the paths of the copy, by what stands at those that they are copied from.
pub(crate) fn tree(
    projects: &[Project],
    root: &Path,
    start: &Path,
    literals: &[PathBuf],
    sources: &[PathBuf],
) -> std::io::Result<TreeFacts> {
    let outside: Vec<PathBuf> = literals.iter().filter(|path| !path.starts_with(root)).cloned().collect();
    let mut tree = look::tree(root, start, &outside, sources)?;
    for project in projects {
        let of_it = literals.iter().filter_map(|path| source(projects, root, path));
        let of_it: Vec<PathBuf> = of_it.filter(|path| path.starts_with(&project.root)).collect();
        let found = look::tree(&project.root, &project.root, &of_it, &[])?;
        let entries = found.entries.into_iter();
        tree.entries.extend(entries.filter_map(|(path, entry)| Some((moved(project, root, &path)?, entry))));
    }
    Ok(tree)
}

fn moved(project: &Project, root: &Path, path: &Path) -> Option<PathBuf> {
    Some(root.join(&project.name).join(path.strip_prefix(&project.root).ok()?))
}

/// Every path of the copy that a pattern will match.
pub(crate) fn expand(
    projects: &[Project],
    root: &Path,
    text: &str,
    origin: &Origin,
) -> Result<Vec<PathBuf>, FactsError> {
    let matcher = matcher(text, origin)?;
    let mut found = Vec::new();
    for project in projects {
        let within = |path: &Path| matcher.is_match(Path::new(&project.name).join(path));
        let below = look::matching(&project.root, &within).map_err(|source| FactsError::Walk {
            origin: origin.clone(),
            pattern: text.to_owned(),
            source,
        })?;
        found.extend(below.iter().filter_map(|path| moved(project, root, path)));
    }
    Ok(found)
}

/// Where a command starts that would start in the tree itself.
pub(crate) fn start(projects: &[Project], root: &Path, start: &Path) -> PathBuf {
    match (projects.first(), start.strip_prefix(root)) {
        (Some(main), Ok(below)) => root.join(&main.name).join(below),
        _ => start.to_owned(),
    }
}
