//! What is not held back, and yet easily overlooked: the review says so beside the change.

use super::spelling;
use crate::relative::Relative;

const LOCKED: &str = "it chooses what the next install fetches and runs; look at its addresses and checksums";

/// Files that package managers write and nobody reads.
const LOCKFILES: [&str; 22] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pipfile.lock",
    "gemfile.lock",
    "gems.locked",
    "composer.lock",
    "mix.lock",
    "go.sum",
    "package.resolved",
    "podfile.lock",
    "pubspec.lock",
    "gradle.lockfile",
    "packages.lock.json",
];

/// What a reviewer should know about a path, if anything.
pub(crate) fn noted(path: &Relative) -> Option<&'static str> {
    let name = spelling::plain(path.components().last()?);
    LOCKFILES.contains(&name.as_str()).then_some(LOCKED)
}
