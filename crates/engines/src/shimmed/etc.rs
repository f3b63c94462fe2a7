//! The curated `/etc` of engines with a file system of their own, and what a command can read about itself. Pure.

use super::c;
use polder_plan::{Allowance, Configuration, Plan};
use polder_policy::NetworkMode;
use polder_sys::Step;
use std::ffi::CString;

/// The steps that make a curated `etc` below the root of a recipe.
pub(crate) fn etc(plan: &Plan) -> Vec<Step> {
    let mut steps = vec![Step::Directory { at: c("etc"), mode: 0o755 }];
    for Configuration::File(name) | Configuration::Directory(name) in &plan.files.configuration {
        // A mount point for something that may be missing would be empty; the step that shows it makes it.
        steps.push(Step::ShowIfThere { from: c(format!("/etc/{name}")), at: c(format!("etc/{name}")) });
    }
    for written in &plan.files.written {
        let at = written.path.as_path().strip_prefix("/").unwrap_or(written.path.as_path());
        steps.push(Step::File { at: c(at), content: c(&written.content), mode: 0o644 });
    }
    if plan.network.value.mode == NetworkMode::Full {
        steps.push(Step::ShowIfThere { from: c("/etc/resolv.conf"), at: c("etc/resolv.conf") });
    }
    steps.push(Step::Symlink { target: c("/proc/self/mounts"), at: c("etc/mtab") });
    steps.push(Step::Symlink { target: c("../usr/lib/os-release"), at: c("etc/os-release") });
    steps
}

/// What the command may do, for the command itself to read; it lies in `run/polder`.
pub(crate) fn allowance(plan: &Plan) -> CString {
    c(Allowance::of(plan).to_json().to_string() + "\n")
}
