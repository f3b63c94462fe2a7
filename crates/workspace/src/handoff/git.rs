//! What git follows or runs, below the directory of a repository and by its name.

/// Names by which git finds hooks, in whichever directory its configuration names.
const HOOK_NAMES: [&str; 22] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "post-receive",
    "post-update",
    "proc-receive",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
];

/// The parts of a repository from which git takes commands or other places, wherever the repository is. One can lie in
/// another's directory, so every `.git` of the path is looked at.
pub(super) fn git(parts: &[&str], link: bool) -> Option<&'static str> {
    let name = parts.last().copied()?;
    for (at, part) in parts.iter().enumerate() {
        let below = &parts[at + 1..];
        let why = match *part {
            ".git" => in_repository(below, link),
            // One without a tree, as it is called by habit.
            bare if bare.ends_with(".git") && !below.is_empty() => in_repository(below, link),
            _ => None,
        };
        if why.is_some() {
            return why;
        }
    }
    // A directory with this is a repository for git, without being called so.
    if name == "head" && !parts.contains(&".git") {
        return Some("it makes its directory a bare repository, whose configuration git follows");
    }
    // A branch may be called like a hook.
    let branch = parts.windows(2).any(|pair| pair[0] == ".git" && ["refs", "logs"].contains(&pair[1]));
    (HOOK_NAMES.contains(&name) && !branch).then_some("git runs what is called so as a hook, if it looks there")
}

/// What lies below the directory of a repository.
fn in_repository(below: &[&str], link: bool) -> Option<&'static str> {
    let Some(name) = below.last().copied() else {
        return Some("it decides which repository git uses, and with it which configuration");
    };
    if link {
        return Some("it is a link in a repository, and can stand for any part of it");
    }
    match below {
        // Branches may be called as they like.
        ["refs" | "logs", ..] => None,
        ["objects", rest @ ..] => rest.contains(&"info").then_some("git reads objects from the places that it names"),
        _ if below[..below.len() - 1].contains(&"hooks") || name == "hooks" => Some("git runs it as a hook"),
        _ if name == "config" || name == "config.worktree" => Some("git takes commands from it"),
        _ if ["commondir", "gitdir", "alternates"].contains(&name) => Some("it leads git to another repository"),
        ["remotes" | "branches", ..] => Some("git takes addresses from it"),
        _ if name == "attributes" => Some("it chooses filters and drivers, which git runs"),
        _ if below.iter().any(|part| part.starts_with("rebase-") || *part == "sequencer") => {
            Some("git runs the steps that it lists")
        }
        _ => None,
    }
}
