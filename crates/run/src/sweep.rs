//! Setting aside what programs on the host would obey and what did not exist when a run began: while the command
//! runs, as soon as it is seen, and once more when the run has ended.
//!
//! The rules are the same at both times: names that the plan lists, and what git would obey in the git dirs that the
//! command can write. What is found is renamed; of a new configuration of git only the keys that name a program or a
//! file are taken out. The look at the end counts: a command can change a tree under a look.

use polder_facts::git::{ConfigFault, ConfigKey, ConfigMerge, judge_key, lists_key, merge_configs};
use polder_facts::{Action, Grant, HostPath, Origin, Violation};
use polder_plan::{Asked, GitView, Plan, Reserved, Swept};
use polder_sys::aside::{TreeState, set_aside};
use polder_sys::facts::matching_after_run;
use polder_sys::repository::{
    GitLook, GitMoment, GitPlace, ObeyedPart, ObeyedPath, drop_held_keys, obeyed_now, obeyed_since, read_copy,
    rewrite_config,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often polder tries to change a configuration that git has locked, and how long it waits in between.
const LOCK_TRIES: u32 = 5;
const LOCK_WAIT: Duration = Duration::from_millis(2);
/// Keys that a violation names.
const NAMED_MAX: usize = 8;

/// A file that should have been set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSetAside {
    /// Where it is on the host.
    pub path: PathBuf,
    /// The kernel's answer.
    pub reason: String,
}

/// What came of a sweep.
#[derive(Default)]
pub(crate) struct SweepOutcome {
    /// One for each file that was set aside.
    pub(crate) violations: Vec<Violation>,
    /// The host's path of each.
    pub(crate) paths: Vec<PathBuf>,
    /// The files that are still there.
    pub(crate) not_set_aside: Vec<NotSetAside>,
}

/// What came of a sweep while the command runs.
pub(crate) struct LiveSweep {
    pub(crate) outcome: SweepOutcome,
    /// Where more could come into being.
    pub(crate) places: Vec<GitPlace>,
    /// Whether something stays that was judged by its content.
    pub(crate) is_judged: bool,
}

/// A path that must not stay as it is.
struct Finding {
    swept: Swept,
    part: ObeyedPart,
}

/// Sets aside what must not be obeyed, also when the run ends in an error.
pub(crate) struct Sweeper {
    plan: Arc<Plan>,
    /// Where the changes of the workspace are, if they are kept apart.
    layer: Option<PathBuf>,
    done: bool,
}

impl Sweeper {
    pub(crate) fn new(plan: &Arc<Plan>, layer: Option<PathBuf>) -> Self {
        Self { plan: Arc::clone(plan), layer, done: false }
    }

    /// Sets aside what is there at this moment of the run.
    pub(crate) fn look(&self) -> io::Result<LiveSweep> {
        let GitView { trees, before, .. } = &self.plan.files.git;
        let GitLook { obeyed, places, is_judged } =
            if trees.is_empty() { GitLook::default() } else { obeyed_now(trees, before)? };
        let outcome = self.settle(self.findings(obeyed), TreeState::Changing);
        Ok(LiveSweep { outcome, places, is_judged })
    }

    /// The last look, when no process inside can write any more. The harmless keys of private copies of git's
    /// configuration are taken over.
    pub(crate) fn sweep(&mut self, copies: Option<OwnedFd>) -> SweepOutcome {
        self.done = true;
        let mut outcome = self.at_rest();
        if let Some(copies) = copies {
            outcome.violations.extend(take_over_configs(&self.plan, copies.as_fd()));
            // A remote that is new can be a repository of the workspace.
            let SweepOutcome { violations, paths, not_set_aside } = self.at_rest();
            outcome.violations.extend(violations);
            outcome.paths.extend(paths);
            outcome.not_set_aside = not_set_aside;
        }
        outcome
    }

    fn at_rest(&self) -> SweepOutcome {
        let GitView { trees, before, .. } = &self.plan.files.git;
        let mut not_seen = Vec::new();
        let obeyed = match trees.first() {
            None => Vec::new(),
            Some(root) => obeyed_since(trees, before).unwrap_or_else(|error| {
                let reason = format!("git's directories cannot be looked at: {error}");
                not_seen.push(NotSetAside { path: root.join(".git"), reason });
                Vec::new()
            }),
        };
        let mut findings = self.findings(obeyed);
        for reserved in &self.plan.files.reserved {
            match self.named(reserved) {
                Ok(named) => findings.extend(named),
                Err(unseen) => not_seen.push(unseen),
            }
        }
        let mut outcome = self.settle(findings, TreeState::AtRest);
        outcome.not_set_aside.extend(not_seen);
        outcome
    }

    /// The names of the plan, and what git obeys. Git dirs come last: a companion of a name may be one.
    fn findings(&self, obeyed: Vec<ObeyedPath>) -> Vec<Finding> {
        let names = self.plan.files.swept.iter().cloned();
        let names = names.map(|swept| Finding { swept, part: ObeyedPart::Whole });
        let git = obeyed.into_iter().filter_map(|found| self.in_git(found));
        names.chain(git).collect()
    }

    fn in_git(&self, ObeyedPath { path, part, why: _ }: ObeyedPath) -> Option<Finding> {
        let GitView { trees, origin, .. } = &self.plan.files.git;
        let tree = trees.iter().find(|tree| path.starts_with(tree)).or(trees.first())?;
        let relative = path.strip_prefix(tree).ok()?.to_owned();
        let origin = origin.clone().unwrap_or(Origin::BuiltIn);
        Some(Finding { swept: self.swept(tree, relative, origin)?, part })
    }

    /// Files of a name that did not exist when the run began, in any directory.
    fn named(&self, reserved: &Reserved) -> Result<Vec<Finding>, NotSetAside> {
        let Reserved { name, existing, origin, lifted_by } = reserved;
        let Some(tree) = self.plan.files.workspace_host() else { return Ok(Vec::new()) };
        let root = self.place(tree);
        let is_new = |below: &Path| {
            below.file_name().is_some_and(|found| found.eq_ignore_ascii_case(name.as_str()))
                && !existing.iter().any(|known| known == below)
        };
        let found = matching_after_run(root, &is_new)
            .map_err(|error| NotSetAside { path: root.to_owned(), reason: format!("looking for `{name}`: {error}") })?;
        let finding = |path: PathBuf| {
            let relative = path.strip_prefix(root).ok()?.to_owned();
            let swept = Swept { lifted_by: lifted_by.clone(), ..self.swept(tree, relative, origin.clone())? };
            Some(Finding { swept, part: ObeyedPart::Whole })
        };
        Ok(found.into_iter().filter_map(finding).collect())
    }

    fn swept(&self, tree: &Path, relative: PathBuf, origin: Origin) -> Option<Swept> {
        let shown = self.plan.files.shown.iter().find(|shown| shown.host.as_path() == tree)?;
        Some(Swept {
            tree: HostPath::new(tree).ok()?,
            path: shown.guest.join(&relative).ok()?,
            lifted_by: grant_for(&self.plan, tree, &relative),
            relative,
            only_with: Vec::new(),
            origin,
            asked: Asked::BuiltIn,
        })
    }

    /// Where what the command wrote in a tree is.
    fn place<'a>(&'a self, tree: &'a Path) -> &'a Path {
        let is_workspace = self.plan.files.workspace_host() == Some(tree);
        self.layer.as_deref().filter(|_| is_workspace).unwrap_or(tree)
    }

    fn settle(&self, findings: Vec<Finding>, state: TreeState) -> SweepOutcome {
        let mut outcome = SweepOutcome::default();
        for Finding { swept, part } in findings {
            let path = self.place(swept.tree.as_path()).join(&swept.relative);
            let done = match part {
                ObeyedPart::Whole => self.set_aside(&swept, state),
                ObeyedPart::Keys => self.take_keys_out(&swept, state),
            };
            match done {
                Ok(None) => {}
                Ok(Some(what)) => {
                    let rule = format!("protect ({}): {what}", swept.origin);
                    outcome.violations.push(told(&swept, rule, state));
                    outcome.paths.push(path);
                }
                Err(error) => outcome.not_set_aside.push(NotSetAside { path, reason: error.to_string() }),
            }
        }
        outcome
    }

    fn set_aside(&self, swept: &Swept, state: TreeState) -> io::Result<Option<String>> {
        let Swept { tree, relative, only_with, .. } = swept;
        let name = set_aside(self.place(tree.as_path()), relative, only_with, Swept::SUFFIX, state)?;
        Ok(name.map(|name| format!("set aside as `{}`", swept.path.as_path().with_file_name(name).display())))
    }

    /// Takes out what git must not obey, or sets the file aside where that cannot be done.
    fn take_keys_out(&self, swept: &Swept, state: TreeState) -> io::Result<Option<String>> {
        let moment = match state {
            TreeState::Changing => GitMoment::During,
            TreeState::AtRest => GitMoment::End,
        };
        let trees = &self.plan.files.git.trees;
        for _ in 0..LOCK_TRIES {
            match drop_held_keys(trees, swept.tree.as_path(), &swept.relative, moment) {
                Ok(Ok(held)) if held.is_empty() => return Ok(None),
                Ok(Ok(held)) => {
                    let names: Vec<String> = held.iter().take(NAMED_MAX).map(|key| format!("`{key}`")).collect();
                    let more = if held.len() > NAMED_MAX { " and more" } else { "" };
                    return Ok(Some(format!("taken out: {}{more}", names.join(", "))));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::thread::sleep(LOCK_WAIT),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Ok(Err(ConfigFault { .. })) | Err(_) => break,
            }
        }
        self.set_aside(swept, state)
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        if !self.done {
            // What stays is in the record of the run, which the next one in this tree reads.
            self.sweep(None);
        }
    }
}

/// Takes the harmless keys of private copies over into the host's files, and tells which are not.
fn take_over_configs(plan: &Plan, copies: BorrowedFd<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, config) in plan.files.git.configs.iter().enumerate() {
        let origin = plan.files.git.origin.clone().unwrap_or(Origin::BuiltIn);
        let told = |what: String| {
            let grant =
                grant_for(plan, config.tree.as_path(), &config.relative).map(|rule| Grant::FsWrite(rule.into()));
            violation(config.path.to_string(), format!("protect ({origin}): {what}"), grant, "sweep")
        };
        let not_taken = |why: String| told(format!("nothing of the command's copy was taken over: {why}"));
        let copy = match read_copy(copies, number) {
            Ok(copy) if copy == config.base => continue,
            Ok(copy) => copy,
            Err(error) => {
                violations.push(not_taken(error.to_string()));
                continue;
            }
        };
        let mut held = Vec::new();
        let merged = rewrite_config(config.tree.as_path(), &config.relative, |host| {
            // A tree of its own is what the host's file says, and no command changes that.
            let judge = |key: &ConfigKey, value: Option<&str>| judge_key(key, value, &|_| false);
            let ConfigMerge { text, held: kept } = merge_configs(&config.base, host, &copy, &judge, &lists_key)?;
            held = kept;
            Ok::<_, ConfigFault>(text)
        });
        match merged {
            Ok(Ok(())) => {}
            Ok(Err(ConfigFault { line })) => {
                violations.push(not_taken(format!("line {line} is not a setting of git")));
            }
            Err(error) => violations.push(not_taken(error.to_string())),
        }
        if let Some((_, why)) = held.first() {
            let names: Vec<String> = held.iter().take(NAMED_MAX).map(|(key, _)| format!("`{key}`")).collect();
            let more = if held.len() > NAMED_MAX { " and more" } else { "" };
            violations.push(told(format!("not taken over: {}{more}; {why}", names.join(", "))));
        }
    }
    violations
}

/// What `fs.write` grants the path. A grant is relative to the workspace, and none lifts the rules of a git dir
/// elsewhere.
fn grant_for(plan: &Plan, tree: &Path, relative: &Path) -> Option<String> {
    relative.to_str().filter(|_| plan.files.workspace_host() == Some(tree)).map(str::to_owned)
}

fn told(swept: &Swept, rule: String, state: TreeState) -> Violation {
    let layer = match state {
        TreeState::Changing => "watch",
        TreeState::AtRest => "sweep",
    };
    let grant = swept.lifted_by.as_ref().map(|rule| Grant::FsWrite(rule.into()));
    violation(swept.path.to_string(), rule, grant, layer)
}

fn violation(target: String, rule: String, grant: Option<Grant>, layer: &str) -> Violation {
    let note = grant.is_none().then(|| "no grant lifts it".to_owned());
    Violation {
        action: Action::FileWrite,
        target,
        rule,
        layer: layer.to_owned(),
        pid: None,
        exe: None,
        count: 1,
        grant,
        note,
    }
}
