//! The parts of a git dir, as one table: gitrepository-layout(5) and the sources of git 2.47.
//!
//! The table is an allow-list. A name that it does not list is treated as if git obeyed it.

use super::state::StateRule;

/// How a part of a git dir is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitPart {
    /// Git reads it as data: it may change.
    Data,
    /// State of an operation in progress, harmless or not by its content.
    State(StateRule),
    /// A configuration file, judged key by key.
    Config,
    /// A file that leads to another directory: harmless only as `git` itself writes it.
    Pointer,
    /// A directory of git dirs, each of which is judged by itself.
    Container,
    /// Git executes it, follows it, or takes commands from it.
    Obeyed,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct LayoutRow {
    /// Components below the git dir. `*` stands for any text in a component, `A-Z` for a name of
    /// capital letters, and `**` at the end for everything below.
    pub path: &'static str,
    /// How it is treated.
    pub part: GitPart,
    /// Why.
    pub why: &'static str,
}

const fn row(path: &'static str, part: GitPart, why: &'static str) -> LayoutRow {
    LayoutRow { path, part, why }
}

use GitPart::{Config, Container, Data, Obeyed, Pointer, State};

/// The first row that matches counts.
pub const LAYOUT: &[LayoutRow] = &[
    row("config", Config, "git takes commands from it"),
    row("config.worktree", Config, "git takes commands from it"),
    row("hooks/**", Obeyed, "git runs it as a hook"),
    row("commondir", Pointer, "it leads git to another repository"),
    row("gitdir", Pointer, "it leads git to another repository"),
    row("objects/info/alternates", Obeyed, "git reads objects from the places that it names"),
    row("objects/info/http-alternates", Obeyed, "git reads objects from the places that it names"),
    row("info/attributes", Obeyed, "it chooses filters and drivers, which git runs"),
    row("info/grafts", Obeyed, "it replaces history, and no git writes it"),
    row("remotes/**", Obeyed, "git takes addresses from it"),
    row("branches/**", Obeyed, "git takes addresses from it"),
    row("modules/**", Container, "git dirs of submodules"),
    row("worktrees/**", Container, "git dirs of linked worktrees"),
    row("objects/**", Data, "content, named by its hash"),
    row("refs/**", Data, "object ids; a branch may be called as it likes"),
    row("reftable/**", Data, "refs and their logs in one format"),
    row("packed-refs*", Data, "object ids"),
    row("logs/**", Data, "where refs pointed; git shows it"),
    row("HEAD", Data, "a ref"),
    row("HEAD.lock", Data, "a ref that is being written"),
    row("index*", Data, "paths with object ids; gitlinks are followed by this analysis"),
    row("next-index-*", Data, "an index that is being written"),
    row("sharedindex*", Data, "the shared part of a split index"),
    row("shallow*", Data, "object ids at which history ends"),
    row("BISECT_NAMES", State(StateRule::PlainText), "git before 2.40 evaluates it in a shell"),
    row("A-Z/**", Data, "refs and messages of an operation, such as ORIG_HEAD and MERGE_MSG"),
    row("A-Z.lock", Data, "a ref that is being written"),
    row("ADD_EDIT.patch", Data, "a patch that `git add -e` shows"),
    row("addp-hunk-edit.diff", Data, "a patch that `git add -p` shows"),
    row("info/exclude", Data, "patterns of ignored files, as in `.gitignore`"),
    row("info/sparse-checkout", Data, "patterns of files that are checked out"),
    row("info/sparse-checkout.lock", Data, "patterns that are being written"),
    row("info/refs*", Data, "a list for clients without a server"),
    row("info/commit-graphs/**", Data, "a cache of history"),
    row("description", Data, "a text for web pages"),
    row("gc.log*", Data, "messages of the last `git gc`"),
    row("gc.pid*", Data, "which `git gc` runs"),
    row("gitk.cache", Data, "a cache that gitk reads as text"),
    row("locked", Data, "why a linked worktree is not pruned"),
    row("lost-found/**", Data, "objects that `git fsck` found"),
    row("rr-cache/**", Data, "conflicts and their resolutions, for the tree"),
    row("rebased-patches", Data, "patches of a rebase that stopped"),
    row("lfs/**", Data, "objects of git-lfs, named by their hash"),
    row("rebase-merge/git-rebase-todo", State(StateRule::Todo), "git runs the steps that it lists"),
    row("rebase-merge/strategy", State(StateRule::Word), "git runs `git-merge-NAME` of it"),
    row("rebase-merge/strategy_opts", State(StateRule::PlainText), "options of a program"),
    row("rebase-merge/gpg_sign_opt", State(StateRule::PlainText), "options of a program"),
    row("rebase-merge/author-script", State(StateRule::Author), "git before 2.29 ran it in a shell"),
    row("rebase-merge/**", Data, "object ids, messages and counts of a rebase"),
    row("rebase-apply/apply-opt", State(StateRule::PlainText), "options of `git apply`"),
    row("rebase-apply/gpg_sign_opt", State(StateRule::PlainText), "options of a program"),
    row("rebase-apply/strategy", State(StateRule::Word), "git runs `git-merge-NAME` of it"),
    row("rebase-apply/strategy_opts", State(StateRule::PlainText), "options of a program"),
    row("rebase-apply/author-script", State(StateRule::Author), "git before 2.29 ran it in a shell"),
    row("rebase-apply/**", Data, "patches, messages and counts of `git am`"),
    row("sequencer/todo", State(StateRule::Todo), "git runs the steps that it lists"),
    row("sequencer/opts", State(StateRule::SequencerOptions), "git runs `git-merge-NAME` of it"),
    row("sequencer/**", Data, "object ids and counts of a cherry-pick or revert"),
    row("*.from-sandbox*", Data, "set aside by polder before; git does not know the name"),
];

/// How a path below a git dir is treated, and why.
pub fn git_part(below: &[&str]) -> (GitPart, &'static str) {
    match listed(below) {
        Some(row) => (row.part, row.why),
        None => (Obeyed, "it is none of the names under which git keeps data"),
    }
}

/// Whether the table lists a path below a git dir.
pub fn is_listed_part(below: &[&str]) -> bool {
    listed(below).is_some()
}

/// Whether a directory holds parts that the table lists, so that the directory itself says nothing.
pub fn holds_parts(below: &[&str]) -> bool {
    LAYOUT.iter().any(|row| {
        let mut parts = row.path.split('/');
        let leads = below.iter().all(|name| parts.next().is_some_and(|part| part != "**" && matches_name(part, name)));
        leads && parts.next().is_some()
    })
}

/// Whether a file is an example that `git init` copies from its templates, which git never runs.
pub fn is_sample(below: &[&str]) -> bool {
    matches!(below, ["hooks" | "branches" | "remotes", name] if name.ends_with(".sample"))
}

/// Whether a pointer in the git dir of a linked worktree is as `git worktree add` writes it.
pub fn is_worktree_pointer(below: &[&str], text: &str) -> bool {
    let line = text.trim_end_matches(['\n', '\r']);
    match below {
        ["commondir"] => line == "../..",
        ["gitdir"] => line.ends_with("/.git"),
        _ => false,
    }
}

fn listed(below: &[&str]) -> Option<&'static LayoutRow> {
    LAYOUT.iter().find(|row| matches_path(row.path, below))
}

fn matches_path(pattern: &str, below: &[&str]) -> bool {
    let mut rest = below.iter();
    for part in pattern.split('/') {
        if part == "**" {
            return true;
        }
        let Some(name) = rest.next() else { return false };
        if !matches_name(part, name) {
            return false;
        }
    }
    rest.next().is_none()
}

fn matches_name(pattern: &str, name: &str) -> bool {
    if let Some(end) = pattern.strip_prefix("A-Z") {
        let stem = name.strip_suffix(end).unwrap_or_default();
        return !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    }
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut open = false;
    for part in parts {
        open = true;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        if !part.is_empty() {
            open = false;
        }
    }
    open || rest.is_empty() || pattern.ends_with('*')
}

#[cfg(test)]
mod tests {
    use super::{GitPart, LAYOUT, StateRule, git_part, holds_parts, is_sample, is_worktree_pointer};

    fn part(path: &str) -> GitPart {
        git_part(&path.split('/').collect::<Vec<_>>()).0
    }

    #[test]
    fn layout_paths_get_the_part_of_their_first_row() {
        let rows = [
            ("HEAD", GitPart::Data),
            ("ORIG_HEAD", GitPart::Data),
            ("NOTES_MERGE_WORKTREE/x/y", GitPart::Data),
            ("Config", GitPart::Obeyed),
            ("config", GitPart::Config),
            ("config.lock", GitPart::Obeyed),
            ("config.worktree", GitPart::Config),
            ("hooks", GitPart::Obeyed),
            ("hooks/pre-commit", GitPart::Obeyed),
            ("refs/heads/hooks/config", GitPart::Data),
            ("objects/ab/cd", GitPart::Data),
            ("objects/info/alternates", GitPart::Obeyed),
            ("objects/info/commit-graph", GitPart::Data),
            ("index.lock", GitPart::Data),
            ("info", GitPart::Obeyed),
            ("info/exclude", GitPart::Data),
            ("info/attributes", GitPart::Obeyed),
            ("commondir", GitPart::Pointer),
            ("modules/a/config", GitPart::Container),
            ("rebase-merge/done", GitPart::Data),
            ("rebase-merge/git-rebase-todo", GitPart::State(StateRule::Todo)),
            ("BISECT_NAMES", GitPart::State(StateRule::PlainText)),
            ("commondir.from-sandbox", GitPart::Data),
            ("commondir.from-sandbox.2", GitPart::Data),
            ("fsmonitor--daemon.ipc", GitPart::Obeyed),
        ];
        for (path, expected) in rows {
            assert_eq!(part(path), expected, "{path}");
        }
    }

    #[test]
    fn directories_of_listed_parts_say_nothing() {
        for held in ["info", "objects/info", "hooks", "rebase-merge", "remotes", "refs", "worktrees"] {
            assert!(holds_parts(&held.split('/').collect::<Vec<_>>()), "{held}");
        }
        assert!(!holds_parts(&["evil"]) && !holds_parts(&["config"]) && !holds_parts(&["hooks", "x"]));
        assert!(is_sample(&["hooks", "update.sample"]) && !is_sample(&["hooks", "update"]));
        assert!(!is_sample(&["hooks", "x", "y.sample"]));
    }

    #[test]
    fn pointers_of_worktrees_are_as_git_writes_them() {
        assert!(is_worktree_pointer(&["commondir"], "../..\n"));
        assert!(is_worktree_pointer(&["gitdir"], "/srv/wt/.git\n"));
        assert!(!is_worktree_pointer(&["commondir"], "/evil\n") && !is_worktree_pointer(&["gitdir"], "/evil"));
    }

    #[test]
    fn layout_rows_all_have_a_reason() {
        assert!(LAYOUT.iter().all(|row| !row.why.is_empty() && !row.path.starts_with('/')));
    }
}
