//! Gathering what a plan needs to know about this machine, this user and this workspace.

use crate::cache;
use crate::git_identity::{OwnConfig, identity};
use crate::projects;
use crate::worktree;
use globset::{GlobBuilder, GlobMatcher};
use polder_facts::git::GitIdentity;
use polder_facts::{CacheFacts, EnclosingFacts, Entry, HostFacts, Origin, OtherNames, Sourced, TreeFacts, UserFacts};
use polder_plan::{cache_candidates, is_project};
use polder_policy::{Access, GitIdentityUse, Image, PROJECT_NAMES, PathPattern, Policy, Workdir, WorkspaceMode};
use polder_sys::facts as look;
use polder_sys::names::{self, MaskedFor, MountTable, ShownTree};
use polder_sys::probe::{self, Machine};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Why the facts could not be gathered.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// The workspace cannot be used.
    #[error("cannot use `{path}` as the workspace")]
    Workspace {
        /// The path as it was given.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to make a worktree of.
    #[error(transparent)]
    Worktree(#[from] crate::WorkspaceError),
    /// A pattern is not one.
    #[error("{origin}: `{pattern}` is not a pattern: {reason}")]
    Pattern {
        /// Where it was said.
        origin: Origin,
        /// The text.
        pattern: String,
        /// Why.
        reason: String,
    },
    /// A pattern cannot be expanded.
    #[error("{origin}: cannot look for `{pattern}`")]
    Walk {
        /// Where it was said.
        origin: Origin,
        /// The text.
        pattern: String,
        /// Why.
        source: look::WalkError,
    },
    /// The hard links of what is masked cannot be looked at.
    #[error("cannot look for hard links to the files of protected and hidden directories")]
    Links(#[source] look::WalkError),
}

/// What this machine offers, from the cache or from probes.
pub fn machine(environment: &BTreeMap<OsString, OsString>, workspace: &Path) -> Machine {
    cache::machine(environment, workspace, || probe::machine(workspace))
}

/// Everything that a plan for this policy needs to know.
pub fn gather(
    policy: &Policy,
    workspace: &Path,
    start: &Path,
    environment: BTreeMap<OsString, OsString>,
) -> Result<HostFacts, FactsError> {
    let fault = |source| FactsError::Workspace { path: workspace.to_owned(), source };
    let root = look::resolve(workspace).map_err(fault)?;
    let user = look::user(&environment, &root);
    let enclosing = enclosing(policy, &root, &user);
    let around = enclosing.as_ref().map(|enclosing| enclosing.tree.as_path());
    // A copy that is there already is looked at itself; a new one is made of what the tree has.
    let copy = worktree::copy(policy, &root, &user, &environment)?;
    let seen = copy.as_ref().and_then(worktree::Copy::place).unwrap_or(&root).to_owned();
    let projects = match policy.workspace.value.mode {
        WorkspaceMode::Worktree => projects::of(&policy.workspace.value, &root)?,
        WorkspaceMode::Direct | WorkspaceMode::Cow => Vec::new(),
    };
    // A copy of several trees that is not there yet is looked at in each of them.
    let virtually = !projects.is_empty() && matches!(copy, Some(worktree::Copy::New(_)));
    // What a plan asks about besides the rules: what git and polder would obey.
    let asked = [".git/commondir", ".git/config.worktree", "HEAD"].iter().chain(&PROJECT_NAMES);
    let mut literals: Vec<PathBuf> = asked.map(|name| seen.join(name)).collect();
    if let Some(Image::Compose { file, .. }) = policy.image.as_ref().map(|image| &image.value) {
        literals.extend(Path::new(file).strip_prefix(&root).ok().map(|below| seen.join(below)));
    }
    let mut patterns = Vec::new();
    for rule in policy.protect.iter().chain(&policy.deny_read) {
        if is_glob(&rule.value.0) {
            patterns.push(rule);
        } else {
            literals.extend(std::iter::once(seen.as_path()).chain(around).map(|base| base.join(&rule.value.0)));
        }
    }
    let mut matches = BTreeMap::new();
    for Sourced { value: PathPattern(text), origin } in patterns {
        let mut found = match virtually {
            true if !Path::new(text).is_absolute() => projects::expand(&projects, &root, text, origin)?,
            _ => expand(&seen, text, origin)?,
        };
        if let Some(around) = around.filter(|_| !Path::new(text).is_absolute()) {
            found.extend(expand(around, text, origin)?);
            found.sort();
            found.dedup();
        }
        literals.extend(found.iter().cloned());
        matches.insert(text.clone(), found);
    }
    let sources: Vec<PathBuf> = policy.binds.iter().map(|bind| bind.value.host.as_path().to_owned()).collect();
    let start = if start == workspace { root.clone() } else { look::resolve(start).map_err(fault)? };
    // The workspace has no link in its path, and the home directory may be one.
    let place = polder_cache::place(&environment, &user.home).map(|place| polder_cache::resolved(&place));
    let kept = place.as_deref().and_then(Path::parent).map(Path::to_owned);
    let store = place.filter(|place| needs_store(policy, around.unwrap_or(&root), place));
    literals.extend(store.clone());
    let start = projects::start(&projects, &root, &start);
    let mut tree = if virtually {
        projects::tree(&projects, &root, &start, &literals, &sources).map_err(fault)?
    } else {
        look::tree(&seen, &start, &literals, &sources).map_err(fault)?
    };
    tree.matches = matches;
    tree.enclosing = enclosing;
    if let Some(copy) = &copy {
        worktree::speak_of(copy, &mut tree, &root);
    }
    if policy.workspace.value.mode == WorkspaceMode::Direct {
        look::look_at_git_dirs(&mut tree).map_err(fault)?;
    }
    let table = MountTable::read().map_err(fault)?;
    if policy.workspace.value.mode == WorkspaceMode::Cow {
        tree.mounts = table.below(&root);
    }
    let git_identity = match policy.git_identity.value {
        GitIdentityUse::Withheld => GitIdentity::unknown(),
        GitIdentityUse::Given => {
            let own = match policy.workspace.value.mode {
                WorkspaceMode::Direct | WorkspaceMode::Cow => OwnConfig::ReadInside,
                WorkspaceMode::Worktree => OwnConfig::Replaced,
            };
            identity(&environment, &user.home, &tree, own)
        }
    };
    tree.other_names = other_names(policy, &tree, &table)?;
    let Machine { mechanisms, landlock_abi, cgroup } = machine(&environment, &root);
    Ok(HostFacts {
        mechanisms,
        landlock_abi,
        cgroup,
        memory_bytes: look::memory_bytes(),
        caches: CacheFacts { kept, ..caches(policy, &tree, &user, store) },
        user,
        system: look::system(),
        tree,
        git_identity,
        environment,
    })
}

/// The repository around the workspace, where it is shown: in a workspace at its own path, because git
/// looks for it upwards, and where its tree is a project and not a whole home directory.
fn enclosing(policy: &Policy, root: &Path, user: &UserFacts) -> Option<EnclosingFacts> {
    let in_place = match policy.workspace.value.mode {
        WorkspaceMode::Direct | WorkspaceMode::Cow => policy.workdir.value == Workdir::Host,
        // A copy of a repository is one of its own.
        WorkspaceMode::Worktree => false,
    };
    let found = look::enclosing_repository(root).filter(|_| in_place)?;
    is_project(&found.tree, &user.home).then_some(found)
}

/// By which other names what a policy masks could be reached in what it shows.
fn other_names(policy: &Policy, tree: &TreeFacts, table: &MountTable) -> Result<OtherNames, FactsError> {
    let shown = |path: &Path, access: Access| ShownTree { path: path.to_owned(), written: access == Access::ReadWrite };
    let binds = policy.binds.iter().map(|bind| &bind.value);
    let mut trees: Vec<ShownTree> =
        binds.filter_map(|bind| Some(shown(&tree.sources.get(bind.host.as_path())?.path, bind.access))).collect();
    match policy.workspace.value.mode {
        WorkspaceMode::Direct | WorkspaceMode::Cow => {
            trees.extend(tree.written_trees().iter().map(|path| shown(path, policy.access.value)));
            trees.extend(tree.enclosing.iter().map(|enclosing| shown(&enclosing.tree, Access::ReadOnly)));
        }
        // The copy is polder's: each file in it has one name, and nothing is mounted below it.
        WorkspaceMode::Worktree => {}
    }
    let mut masked = BTreeMap::new();
    let mut add = |path: PathBuf, purpose: MaskedFor| {
        let is_shown = trees.iter().any(|tree| path.starts_with(&tree.path));
        if is_shown && tree.entries.get(&path) == Some(&Entry::Directory) {
            let known = masked.entry(path).or_insert(purpose);
            *known = purpose.max(*known);
        }
    };
    for (rules, purpose) in [(&policy.protect, MaskedFor::Writing), (&policy.deny_read, MaskedFor::Reading)] {
        for Sourced { value: PathPattern(text), .. } in rules {
            match tree.matches.get(text) {
                Some(found) => found.iter().for_each(|path| add(path.clone(), purpose)),
                None => add(tree.root.join(text), purpose),
            }
        }
    }
    let hooks = tree.worktree.iter().map(|worktree| worktree.common_dir.join("hooks"));
    hooks.chain(tree.submodules.iter().cloned()).for_each(|path| add(path, MaskedFor::Writing));
    let links = names::hard_links(&masked, &trees).map_err(FactsError::Links)?;
    Ok(OtherNames { links, twins: table.twins(&trees) })
}

/// Whether a run has caches, or may be shown a part of the host in which they lie.
fn needs_store(policy: &Policy, root: &Path, place: &Path) -> bool {
    policy.cache.is_some() || policy.service.is_some() || !policy.binds.is_empty() || place.starts_with(root)
}

/// What a run that may not make a cache can be shown.
fn caches(policy: &Policy, tree: &TreeFacts, user: &UserFacts, store: Option<PathBuf>) -> CacheFacts {
    let looked_for = store.as_deref().filter(|_| policy.untrusted.is_some());
    let candidates = looked_for.map(|store| cache_candidates(policy, tree, user, store)).unwrap_or_default();
    let present = candidates.into_iter().filter(|path| look::entry(path) == Entry::Directory).collect();
    CacheFacts { store, kept: None, present }
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Every path that a pattern matches now: below the workspace, or below its own literal part if it is absolute.
fn expand(root: &Path, text: &str, origin: &Origin) -> Result<Vec<PathBuf>, FactsError> {
    let matcher = matcher(text, origin)?;
    let absolute = Path::new(text).is_absolute();
    let base = if absolute { literal_part(text) } else { root.to_owned() };
    let below = |path: &Path| if absolute { matcher.is_match(base.join(path)) } else { matcher.is_match(path) };
    look::matching(&base, &below).map_err(|source| FactsError::Walk {
        origin: origin.clone(),
        pattern: text.to_owned(),
        source,
    })
}

pub(crate) fn matcher(text: &str, origin: &Origin) -> Result<GlobMatcher, FactsError> {
    // A star stops at a slash, as in every ignore file.
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    let glob = glob.map_err(|error| FactsError::Pattern {
        origin: origin.clone(),
        pattern: text.to_owned(),
        reason: error.kind().to_string(),
    })?;
    Ok(glob.compile_matcher())
}

/// The directory in front of the first component with a special character.
fn literal_part(text: &str) -> PathBuf {
    Path::new(text).components().take_while(|part| !part.as_os_str().to_str().is_none_or(is_glob)).collect()
}
