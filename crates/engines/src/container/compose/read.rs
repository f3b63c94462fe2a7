//! Getting the text of a compose file: from the workspace, through no symbolic link, and not without an end.

use super::judge::judge;
use super::model::Project;
use crate::container::image::{below, hidden, read_below};
use crate::shimmed::setup;
use polder_engine::LaunchError;
use polder_facts::HostFacts;
use polder_plan::Plan;
use polder_policy::{FILE_BYTES_MAX, Faults, Image};
use std::io;
use std::path::{Path, PathBuf};

/// Why there are no services.
#[derive(Debug, thiserror::Error)]
pub(super) enum ComposeError {
    #[error("the compose file `{}` is not in the workspace", path.display())]
    Outside { path: PathBuf },
    #[error("cannot read the compose file `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Refused(Faults),
}

/// What the plan's compose file says, if it has one.
pub(in crate::container) fn read(plan: &Plan, host: &HostFacts) -> Result<Option<Project>, LaunchError> {
    let Some(Image::Compose { file, service }) = plan.image.as_ref().map(|image| &image.value) else { return Ok(None) };
    let project = of_file(plan, &host.tree.root, Path::new(file), service);
    project.map(Some).map_err(|error| {
        let remedy = match &error {
            ComposeError::Outside { .. } => Some("move it into the workspace".to_owned()),
            ComposeError::Unreadable { .. } => {
                Some("see that the path is right, and that no part of it is a symbolic link".to_owned())
            }
            ComposeError::Refused(_) => None,
        };
        setup(error, remedy)
    })
}

fn of_file(plan: &Plan, root: &Path, file: &Path, service: &str) -> Result<Project, ComposeError> {
    let outside = || ComposeError::Outside { path: file.to_owned() };
    let below = below(root, file).filter(|below| !below.as_os_str().is_empty()).ok_or_else(outside)?;
    // What is hidden from everybody says nothing here either.
    if hidden(plan).iter().any(|hidden| below.starts_with(hidden)) {
        return Err(outside());
    }
    let bytes = polder_sys::tree::open_root(root).and_then(|root| read_below(&root, &below, FILE_BYTES_MAX));
    let bytes = bytes.map_err(|source| ComposeError::Unreadable { path: file.to_owned(), source })?;
    judge(&below, &bytes, service).map_err(ComposeError::Refused)
}
