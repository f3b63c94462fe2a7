//! Keys of git's configuration that ordinary work writes and that name no program and no file: an
//! allow-list. Every other key is held. The keys are those of git-config(1), git 2.47.

use super::config::ConfigKey;

/// What a value may be.
#[derive(Clone, Copy)]
enum ValueRule {
    /// A truth value.
    Bool,
    /// Letters, digits and `._/:*+@{}^~-`, not led by `-`: numbers, names, refs, formats.
    Word,
    /// Several such words, with blanks or commas between.
    Words,
    /// One line of text, shown or written into commits.
    Text,
    /// Text of several lines.
    Lines,
    /// The address of a repository.
    Address,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A directory in the same workspace as the git dir.
    InTree,
}

/// Whether a key has a part in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    No,
    Any,
}

struct KeyRow {
    section: &'static str,
    part: Part,
    names: &'static [&'static str],
    value: ValueRule,
    why: &'static str,
}

const fn row(
    section: &'static str,
    part: Part,
    names: &'static [&'static str],
    value: ValueRule,
    why: &'static str,
) -> KeyRow {
    KeyRow { section, part, names, value, why }
}

use Part::{Any, No};
use ValueRule::{Address, Bool, InTree, Lines, OneOf, Text, Word, Words};

/// The allow-list.
const KEYS: &[KeyRow] = &[
    row("core", No, &["repositoryformatversion"], Word, "a number that `git init` writes"),
    row("core", No, &["filemode", "symlinks", "ignorecase", "precomposeunicode"], Bool, "how the disk is"),
    row("core", No, &["bare", "fsmonitor"], OneOf(&["false"]), "the plain default"),
    row("core", No, &["logallrefupdates"], OneOf(&["true", "false", "always"]), "whether logs are kept"),
    row("core", No, &["sparsecheckout", "sparsecheckoutcone"], Bool, "sparse checkout"),
    row("core", No, &["autocrlf", "eol", "safecrlf", "abbrev"], Word, "how text is written"),
    row("core", No, &["quotepath", "longpaths", "preloadindex"], Bool, "how names are shown and read"),
    row("core", No, &["untrackedcache", "commitgraph", "multipackindex"], Word, "a cache"),
    row("core", No, &["worktree"], InTree, "where a submodule's tree is; only within the workspace"),
    row("index", No, &["sparse", "version", "threads"], Word, "the form of the index"),
    row("extensions", No, &["worktreeconfig"], Bool, "whether `config.worktree` counts, which is held too"),
    row("extensions", No, &["objectformat", "refstorage", "compatobjectformat"], Word, "the form of data"),
    row("extensions", No, &["relativeworktrees"], Bool, "how worktrees are linked"),
    row("branch", Any, &["remote", "pushremote"], Address, "what a branch follows"),
    row("branch", Any, &["merge", "rebase"], Word, "what a branch follows"),
    row("branch", Any, &["description"], Lines, "a text that is shown"),
    row("branch", Any, &["vscode-merge-base", "gh-merge-base", "base"], Word, "a note of an editor"),
    row("branch", Any, &["github-pr-owner-number", "github-pr-base-branch"], Text, "a note of an editor"),
    row("branch", No, &["autosetupmerge", "autosetuprebase", "sort"], Word, "defaults of new branches"),
    row("remote", Any, &["url", "pushurl"], Address, "where objects come from"),
    row("remote", Any, &["fetch", "push"], Word, "which refs are copied"),
    row("remote", Any, &["tagopt"], OneOf(&["--tags", "--no-tags"]), "which tags are copied"),
    row(
        "remote",
        Any,
        &["prune", "prunetags", "skipdefaultupdate", "skipfetchall", "mirror", "promisor"],
        Bool,
        "how refs are copied",
    ),
    row("remote", Any, &["partialclonefilter", "followremotehead", "gh-resolved"], Word, "which objects are copied"),
    row("remote", No, &["pushdefault"], Address, "where a push goes"),
    row("remotes", No, &["default"], Words, "names of remotes"),
    row("user", No, &["name", "email"], Text, "who commits"),
    row("user", No, &["useconfigonly"], Bool, "who commits"),
    row("author", No, &["name", "email"], Text, "who commits"),
    row("committer", No, &["name", "email"], Text, "who commits"),
    row("submodule", Any, &["url"], Address, "where a submodule comes from"),
    row("submodule", Any, &["active", "shallow"], Bool, "whether a submodule is wanted"),
    row("submodule", Any, &["branch", "ignore", "fetchrecursesubmodules"], Word, "how a submodule is followed"),
    row("submodule", Any, &["update"], OneOf(&["checkout", "rebase", "merge", "none"]), "not a command"),
    row("submodule", No, &["recurse", "propagatebranches"], Bool, "whether commands go into submodules"),
    row("submodule", No, &["active"], Words, "which submodules are wanted"),
    row("submodule", No, &["fetchjobs"], Word, "a number"),
    row("init", No, &["defaultbranch"], Word, "the name of a branch"),
    row("push", No, &["default", "autosetupremote", "followtags", "gpgsign"], Word, "what a push sends"),
    row("pull", No, &["rebase", "ff", "octopus"], Word, "how a pull merges"),
    row("fetch", No, &["prune", "prunetags", "parallel", "recursesubmodules", "all"], Word, "what a fetch keeps"),
    row(
        "merge",
        No,
        &["ff", "conflictstyle", "renames", "renamelimit", "stat", "log", "autostash"],
        Word,
        "how a merge is made",
    ),
    row(
        "rebase",
        No,
        &["autostash", "autosquash", "stat", "updaterefs", "rebasemerges", "missingcommitscheck"],
        Word,
        "how a rebase is made",
    ),
    row("rerere", No, &["enabled", "autoupdate"], Bool, "whether resolutions are kept"),
    row("commit", No, &["verbose", "status", "cleanup"], Word, "what an editor shows"),
    row("tag", No, &["sort"], Word, "an order"),
    row(
        "diff",
        No,
        &[
            "algorithm",
            "renames",
            "renamelimit",
            "noprefix",
            "mnemonicprefix",
            "colormoved",
            "context",
            "submodule",
            "ignoresubmodules",
        ],
        Word,
        "how differences are shown",
    ),
    row("log", No, &["date", "decorate", "follow", "showsignature", "abbrevcommit"], Word, "how history is shown"),
    row(
        "status",
        No,
        &["branch", "short", "showstash", "showuntrackedfiles", "submodulesummary", "relativepaths"],
        Word,
        "how the status is shown",
    ),
    row("color", No, &["ui", "branch", "diff", "status", "log"], Word, "colours"),
    row(
        "color",
        Any,
        &["old", "new", "meta", "frag", "changed", "untracked", "current", "local", "remote"],
        Words,
        "colours",
    ),
    row("column", No, &["ui", "branch", "status", "tag"], Words, "columns"),
    row("advice", No, &["*"], Bool, "whether advice is shown"),
    row(
        "gc",
        No,
        &["auto", "autopacklimit", "pruneexpire", "reflogexpire", "worktreepruneexpire"],
        Word,
        "when objects are collected",
    ),
    row("maintenance", No, &["auto"], Bool, "whether objects are collected"),
    row("lfs", No, &["repositoryformatversion"], Word, "a number that git-lfs writes"),
    row("lfs", Any, &["locksverify"], Bool, "a note of git-lfs"),
    row("lfs", Any, &["access"], Word, "a note of git-lfs"),
];

const HELD: &str = "git would run a program or follow a path that it names";
const HELD_VALUE: &str = "with this value git would run a program or follow a path";

/// Whether no value of a key names a program or a file.
pub(super) fn is_listed_key(section: &str, has_part: bool, name: &str) -> bool {
    listed(section, has_part, name).is_some_and(|row| !matches!(row.value, OneOf(_) | InTree))
}

fn listed(section: &str, has_part: bool, name: &str) -> Option<&'static KeyRow> {
    let part = if has_part { Any } else { No };
    KEYS.iter()
        .find(|row| row.section == section && row.part == part && (row.names.contains(&name) || row.names == ["*"]))
}

/// Whether a key can have a harmless value, so that it may also be removed.
pub fn lists_key(key: &ConfigKey) -> Result<(), &'static str> {
    let ConfigKey { section, subsection, name } = key;
    let row = listed(section, subsection.is_some(), name).ok_or(HELD)?;
    debug_assert!(!row.why.is_empty(), "every row has a reason");
    match subsection {
        // The name of a remote can be given where an address is expected.
        Some(part) if part.starts_with('-') || part.contains("::") || !is_text(part) => Err(HELD_VALUE),
        _ => Ok(()),
    }
}

/// Whether git runs no program and follows no path because of a key with this value. `in_tree` says
/// whether a path, relative to the git dir, is a directory of the same workspace.
pub fn judge_key(key: &ConfigKey, value: Option<&str>, in_tree: &dyn Fn(&str) -> bool) -> Result<(), &'static str> {
    lists_key(key)?;
    let Some(row) = listed(&key.section, key.subsection.is_some(), &key.name) else { return Err(HELD) };
    let harmless = match (row.value, value) {
        (_, None) => matches!(row.value, Bool),
        (Bool, Some(value)) => is_bool(value),
        (Word, Some(value)) => is_word(value) || is_bool(value),
        (Words, Some(value)) => value.split([' ', ',']).all(is_word),
        (Text, Some(value)) => is_text(value),
        (Lines, Some(value)) => value.split(['\n', '\t']).all(is_text),
        (Address, Some(value)) => is_harmless_address(value),
        (OneOf(words), Some(value)) => words.contains(&value),
        (InTree, Some(value)) => in_tree(value),
    };
    if harmless { Ok(()) } else { Err(HELD_VALUE) }
}

fn is_bool(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    ["true", "false", "yes", "no", "on", "off", "1", "0", ""].contains(&value.as_str())
}

fn is_word(value: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._/:*+@{}^~#%-".contains(c);
    !value.starts_with('-') && !value.contains("::") && value.chars().all(plain)
}

fn is_text(value: &str) -> bool {
    !value.chars().any(char::is_control)
}

/// Whether an address names a repository by a transport of git's own: not by a helper program
/// (gitremote-helpers(7)), and not by a word that a program could take for an option.
pub fn is_harmless_address(address: &str) -> bool {
    const SCHEMES: [&str; 7] = ["https", "http", "ssh", "git", "git+ssh", "ssh+git", "file"];
    let lower = address.to_ascii_lowercase();
    // A line break in an address reaches credential helpers (CVE-2020-5260).
    let encoded = ["%00", "%0a", "%0d", "%09"].iter().any(|code| lower.contains(code));
    let option = lower.starts_with('-') || ["://-", "@-", ":-"].iter().any(|led| lower.contains(led));
    if address.is_empty() || encoded || option || !is_text(address) {
        return false;
    }
    let scheme_end = lower.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(lower.len());
    let (scheme, rest) = lower.split_at(scheme_end);
    match rest {
        _ if rest.starts_with("::") => false,
        _ if rest.starts_with("://") => SCHEMES.contains(&scheme),
        _ => true,
    }
}

/// The path that an address names on this machine, if it does.
pub fn is_local_address(address: &str) -> Option<&str> {
    if let Some(path) = address.strip_prefix("file://") {
        // Behind the name of a host, which git ignores.
        return path.find('/').map(|at| &path[at..]);
    }
    // As git's `url_is_local_not_ssh`: a colon before the first slash is a host.
    let colon = address.find(':').unwrap_or(address.len());
    let slash = address.find('/').unwrap_or(address.len());
    (colon == address.len() || slash < colon).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::{ConfigKey, KEYS, is_harmless_address, is_local_address, judge_key};

    fn judge(text: &str, value: &str) -> bool {
        let (section, rest) = text.split_once('.').expect("a section");
        let (subsection, name) = match rest.rsplit_once('.') {
            Some((subsection, name)) => (Some(subsection.to_owned()), name),
            None => (None, rest),
        };
        let key = ConfigKey { section: section.to_owned(), subsection, name: name.to_owned() };
        judge_key(&key, Some(value), &|path| path == "../sub").is_ok()
    }

    #[test]
    fn keys_of_ordinary_work_are_harmless() {
        let harmless = [
            ("branch.topic.remote", "origin"),
            ("branch.topic.merge", "refs/heads/topic"),
            ("branch.a/b.rebase", "true"),
            ("remote.origin.url", "git@example.com:a/b.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("user.name", "Zoë O'Neil"),
            ("core.sparsecheckout", "true"),
            ("extensions.worktreeconfig", "true"),
            ("submodule.lib.url", "../lib.git"),
            ("submodule.lib.update", "rebase"),
            ("core.worktree", "../sub"),
            ("advice.detachedhead", "false"),
        ];
        for (key, value) in harmless {
            assert!(judge(key, value), "{key} = {value}");
        }
    }

    #[test]
    fn keys_that_name_programs_or_files_are_held() {
        let held = [
            "core.fsmonitor",
            "core.hookspath",
            "core.editor",
            "core.pager",
            "core.sshcommand",
            "core.askpass",
            "core.gitproxy",
            "core.attributesfile",
            "core.excludesfile",
            "core.alternaterefscommand",
            "sequence.editor",
            "include.path",
            "includeif.gitdir:/.path",
            "alias.st",
            "credential.helper",
            "credential.https://x.helper",
            "gpg.program",
            "gpg.ssh.program",
            "gpg.ssh.defaultkeycommand",
            "user.signingkey",
            "filter.f.clean",
            "filter.f.smudge",
            "filter.f.process",
            "diff.external",
            "diff.d.command",
            "diff.d.textconv",
            "merge.m.driver",
            "mergetool.m.cmd",
            "difftool.d.cmd",
            "pager.log",
            "browser.b.cmd",
            "remote.o.uploadpack",
            "remote.o.receivepack",
            "remote.o.vcs",
            "remote.o.proxy",
            "url.x.insteadof",
            "url.x.pushinsteadof",
            "http.proxy",
            "http.sslcainfo",
            "uploadpack.packobjectshook",
            "trailer.t.command",
            "trailer.t.cmd",
            "commit.template",
            "commit.gpgsign",
            "protocol.ext.allow",
            "safe.directory",
            "init.templatedir",
            "branch.b.mergeoptions",
            "sendemail.smtpserver",
            "tar.x.command",
            "man.m.cmd",
            "interactive.difffilter",
            "receive.procreceiverefs",
            "fetch.bundleuri",
            "core.worktree",
            "core.bare",
            "extensions.partialclone",
            "submodule.s.update",
            "instaweb.httpd",
            "guitool.g.cmd",
        ];
        for key in held {
            assert!(!judge(key, "!x"), "{key}");
            assert!(!judge(key, "sh x.sh"), "{key}");
        }
        assert!(!judge("core.fsmonitor", "true") && !judge("core.bare", "true"));
        assert!(!judge("branch.b.remote", "ext::sh -c x") && !judge("remote.-x.url", "https://x"));
    }

    #[test]
    fn addresses_with_a_helper_or_an_option_are_held() {
        let harmless =
            ["https://h/x", "ssh://u@h:22/x", "git@h:x.git", "../x", "/srv/x.git", "file:///x", "ssh://[::1]/x"];
        let held = [
            "ext::sh -c x",
            "fd::17",
            "testgit::x",
            "foo://x",
            "-oProxyCommand=x",
            "ssh://-oProxyCommand=x/y",
            "u@-oX:y",
            "h:-x",
            "https://h/%0ahost=x",
            "https://h/\nx",
            "",
            "EXT::x",
            "ftp://h/x",
        ];
        assert_eq!(harmless.map(is_harmless_address), [true; 7]);
        for address in held {
            assert!(!is_harmless_address(address), "{address}");
        }
        assert_eq!(is_local_address("./a:b"), Some("./a:b"));
        assert_eq!(is_local_address("file:///x/y"), Some("/x/y"));
        assert_eq!((is_local_address("h:x"), is_local_address("https://h/x")), (None, None));
    }

    #[test]
    fn key_rows_all_have_a_reason() {
        assert!(KEYS.iter().all(|row| !row.why.is_empty() && !row.names.is_empty()));
    }
}
