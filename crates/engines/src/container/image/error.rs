//! Why there is no image.

use super::super::api::{ApiError, NameError};
use crate::shimmed::setup;
use polder_engine::{LaunchError, LaunchFailure};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub(in crate::container) enum ImageError {
    #[error("the image has no usable name")]
    Name(#[from] NameError),
    #[error("the daemon has no image `{name}`, and `pull` is `never`")]
    Missing { name: String },
    #[error("cannot get the image `{name}`")]
    Pull { name: String, source: ApiError },
    #[error("the image `{name}` did not come in {} seconds", time.as_secs_f32())]
    PullLate { name: String, time: Duration },
    #[error("the image was not built in {} seconds{}", time.as_secs_f32(), shown(last_lines))]
    BuildLate { time: Duration, last_lines: Vec<String> },
    #[error("interrupted by signal {0} before the image was there")]
    Interrupted(i32),
    #[error("cannot ask for the image `{name}`")]
    Ask { name: String, source: ApiError },
    #[error("the image is for `{system}`")]
    OtherSystem { system: String },
    #[error("an image of a compose file is made by its services")]
    Compose,
    #[error("the recipe `{}` is not in the workspace", path.display())]
    Outside { path: PathBuf },
    #[error("cannot read the recipe `{}`", path.display())]
    Recipe { path: PathBuf, source: io::Error },
    #[error("the recipe has no FROM")]
    NoFrom,
    #[error("line {line} of the recipe: {what}")]
    Reaches { line: usize, what: &'static str },
    #[error("the image `{base}` adds an instruction to the build (ONBUILD): {what}")]
    Trigger { base: String, what: &'static str },
    #[error("cannot read `{}` for the build", path.display())]
    Context { path: PathBuf, source: io::Error },
    #[error("line {line} of `.dockerignore`: {what}")]
    Ignore { line: usize, what: &'static str },
    #[error("the build would get {what}")]
    TooMuch { what: String },
    #[error("files of the workspace, or images that the recipe names, changed while the image was built")]
    Changed,
    #[error("cannot wait for others who build the same image")]
    Lock(#[source] io::Error),
    #[error("the build failed: {said}{}", shown(last_lines))]
    Failed { said: String, last_lines: Vec<String> },
    #[error("cannot build the image")]
    Build(#[source] ApiError),
}

/// The last lines of a build, each on a line of its own.
fn shown(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  | {line}")).collect()
}

impl ImageError {
    /// What to do about it.
    pub(in crate::container) fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::Name(_) => "write it as `NAME`, `NAME:TAG` or `NAME@sha256:…`, in lower case",
            Self::Missing { .. } => "get it first, or set `pull: missing` in `options`",
            Self::Pull { .. } => {
                "look at its name; without a network, or where it takes a login, which polder does not use, get or build it first"
            }
            Self::PullLate { .. } => "give it more time with `pull_timeout` in `options`, or get it first",
            Self::BuildLate { .. } => "give it more time with `build_timeout` in `options`",
            Self::OtherSystem { .. } => "use an image for Linux",
            Self::Compose => "use the service of the compose file",
            Self::Outside { .. } => "move it into the workspace: a build gets nothing from elsewhere",
            Self::Recipe { .. } => "see that the path is right, and that no part of it is a symbolic link",
            Self::NoFrom => "begin it with `FROM IMAGE`",
            Self::Reaches { .. } => "set `network: full` to let the build reach the network, or take it out",
            Self::Trigger { .. } => {
                "set `network: full` to let the build reach the network, or begin with another image"
            }
            Self::Context { .. } => "make it readable, or name it in `.dockerignore`",
            Self::Ignore { .. } => "correct the pattern",
            Self::TooMuch { .. } => "name what it does not need in `.dockerignore`",
            Self::Changed => "run again when nothing writes to the workspace or replaces those images",
            Self::Ask { source, .. } | Self::Build(source) => return source.remedy(),
            Self::Lock(_) | Self::Failed { .. } | Self::Interrupted(_) => return None,
        };
        Some(text.to_owned())
    }
}

impl From<ImageError> for LaunchError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Interrupted(signal) => Self { failure: LaunchFailure::Interrupted(signal), remedy: None },
            error => {
                let remedy = error.remedy();
                setup(error, remedy)
            }
        }
    }
}
