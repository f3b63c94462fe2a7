//! Layers to policy: the later one wins a value, lists grow, and what the system enforces holds.

use crate::builtin::{STEPS_AT_ONCE, shared_workdir, terminal_patterns};
use crate::check::LIST_ITEMS_MAX;
use crate::document::{Document, Level, StepDefinition};
use crate::draft::Draft;
use crate::enforce::Hold;
use crate::fault::{Fault, Faults, defined};
use crate::lower::NO_SANDBOX;
use crate::model::{AuditMode, EngineChoice, Image, Policy};
use crate::overrides::{CallerTerminal, Overrides, environment, flags};
use crate::profiles;
use crate::said::Scope;
use crate::steps;
use crate::trust::{Ask, Judged, Trust, beyond};
use crate::vocabulary::Vocabulary;
use polder_facts::{Origin, Sourced};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Everything that speaks about a run, beside what is built in.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    /// The files; a weaker level counts before a stronger one, whatever the order here.
    pub documents: Vec<Document>,
    /// The caller's variables; only `POLDER_*` are looked at.
    pub environment: Vec<(String, String)>,
    /// The flags.
    pub overrides: Overrides,
}

/// Why there is no policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ResolveError {
    /// Something is wrong with what was said.
    #[error("{0}")]
    Faults(Faults),
    /// A project's file asks for what only the user can give.
    #[error("`{}` asks for more than its own tree and is not trusted", path.display())]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// What trusting it means: this very content.
        hash: String,
        /// The lines that ask, for the sandbox in question.
        asks: Vec<Ask>,
    },
}

impl From<Faults> for ResolveError {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

/// The policy for a command that belongs to no step.
pub fn resolve(layers: &Layers, vocabulary: &Vocabulary, scope: &Scope, trust: &Trust) -> Result<Policy, ResolveError> {
    Resolution { layers, vocabulary, scope, trust }.policy(&Subject::Command)
}

/// The policy for a step: its sandbox, with what the step changes. `sandbox` stands for the name that the step writes as
/// a template.
pub fn resolve_step(
    layers: &Layers,
    vocabulary: &Vocabulary,
    scope: &Scope,
    trust: &Trust,
    step: &str,
    sandbox: Option<Sourced<String>>,
) -> Result<Policy, ResolveError> {
    let mut definition = steps::definition(layers, step)?;
    definition.sandbox = sandbox.or(definition.sandbox);
    Resolution { layers, vocabulary, scope, trust }.policy(&Subject::Step(definition))
}

/// The policy for a service of a step: its sandbox, with what the service changes.
pub fn resolve_service(
    layers: &Layers,
    vocabulary: &Vocabulary,
    scope: &Scope,
    trust: &Trust,
    name: &str,
) -> Result<Policy, ResolveError> {
    let definition = crate::services::definition(layers, name)?;
    Resolution { layers, vocabulary, scope, trust }.policy(&Subject::Service(definition))
}

/// Everything that the project's file asks for, whichever sandbox, step or service is used.
pub fn asks(layers: &Layers, vocabulary: &Vocabulary, scope: &Scope) -> Vec<Ask> {
    let Some(project) = layers.project() else { return Vec::new() };
    let resolution = Resolution { layers, vocabulary, scope, trust: &Trust::Everything };
    let (chain, own) = (layers.chain(), layers.own_chain());
    let mut asks: Vec<Ask> = layers.parallelism_ask().into_iter().collect();
    let mut judge = |subject: &Subject, name: Option<String>| {
        let drafted = resolution.drafted(&chain, subject.definition(), name);
        asks.extend(resolution.asks(project, &drafted, &own, subject));
    };
    judge(&Subject::Command, None);
    for document in project.chain() {
        document.sandboxes().for_each(|name| judge(&Subject::Command, Some(name.to_owned())));
    }
    steps::merged(layers).into_iter().for_each(|step| judge(&Subject::Step(step), None));
    crate::services::merged(layers).into_iter().for_each(|step| judge(&Subject::Service(step), None));
    asks.sort();
    asks.dedup();
    asks
}

impl Layers {
    /// The files that the user chose and those they extend, weakest first.
    pub(crate) fn chain(&self) -> Vec<&Document> {
        let mut documents: Vec<_> = self.documents.iter().collect();
        documents.sort_by_key(|document| document.level);
        documents.into_iter().flat_map(Document::chain).collect()
    }

    /// The same without the project's file: the word of the user and of the system alone.
    pub(crate) fn own_chain(&self) -> Vec<&Document> {
        self.chain().into_iter().filter(|document| document.level != Level::Project).collect()
    }

    pub(crate) fn project(&self) -> Option<&Document> {
        self.documents.iter().find(|document| document.level == Level::Project)
    }

    /// The paths of the project's file, of one that the user named, and of those they extend.
    pub fn files(&self) -> Vec<&Path> {
        [Level::Project, Level::Explicit].into_iter().flat_map(|level| self.files_of(level)).collect()
    }

    /// The paths of the files of one level and of those they extend.
    pub fn files_of(&self, level: Level) -> Vec<&Path> {
        let documents = self.chain().into_iter().filter(|document| document.level == level);
        documents.map(Document::path).collect()
    }

    /// Keys of files that only another tool reads.
    pub fn unread(&self) -> Vec<Sourced<String>> {
        self.chain().into_iter().flat_map(|document| document.unread.clone()).collect()
    }

    /// How many steps may run at once, when a file says so. A project may ask for fewer than the built-in
    /// number by itself, and for more only where the user trusts it.
    pub fn max_parallelism(&self, trust: &Trust) -> Result<Option<Sourced<u64>>, ResolveError> {
        if let (Some(project), Some(ask)) = (self.project(), self.parallelism_ask()) {
            untrusted(project, vec![ask], trust)?;
        }
        Ok(parallelism(&self.chain()))
    }

    fn parallelism_ask(&self) -> Option<Ask> {
        let most = parallelism(&self.own_chain()).map_or(STEPS_AT_ONCE, |own| own.value);
        let asked = parallelism(&self.chain()).filter(|asked| asked.value > most)?;
        let what = format!("to run {} steps at once instead of {most}", asked.value);
        let flag = Some(format!("--max-parallelism {}", asked.value));
        Some(Ask { origin: asked.origin, what, flag })
    }

    /// Which runs are recorded, when a file says so. A user can ask for more than the system does, never for less.
    pub fn audit(&self) -> Option<Sourced<AuditMode>> {
        let said = self.chain().into_iter().filter_map(|document| document.audit.clone());
        said.max_by_key(|mode| mode.value)
    }

    /// Who permits that a command reads beyond its policy while it is learnt, or why nobody does. A user cannot permit what
    /// the system refuses, nor what would get around what it enforces.
    pub fn permissive(&self) -> Result<Origin, Fault> {
        let chain = self.chain();
        let said = |level: Level, word: bool| {
            let at = chain.iter().filter(move |document| document.level == level);
            let mut said = at.filter_map(|document| document.allow_permissive.as_ref());
            said.find(|allowed| allowed.value == word).map(|allowed| allowed.origin.clone())
        };
        let refused = |origin: Origin, message: &str| Err(Fault::new(origin, message));
        if let Some(origin) = said(Level::System, false) {
            return refused(origin, "`allow_permissive` is false, so nothing is learnt beyond a policy");
        }
        if let Some(origin) = said(Level::System, true) {
            return Ok(origin);
        }
        if let Some(enforced) = chain.iter().find_map(|document| document.enforce.as_ref()) {
            let message = "what is enforced here could be got around by learning beyond a policy";
            return Err(Fault::new(enforced.origin.clone(), message).hint("only the system's own file can permit it"));
        }
        match (said(Level::User, false), said(Level::User, true)) {
            (Some(origin), _) => refused(origin, "`allow_permissive` is false, so nothing is learnt beyond a policy"),
            (None, Some(origin)) => Ok(origin),
            (None, None) => {
                Err(Fault::new(Origin::Flag("--permissive".to_owned()), "learning beyond a policy is not permitted")
                    .hint("a user or system file permits it with `allow_permissive: true`"))
            }
        }
    }

    /// The compose files of every sandbox, whichever one is used.
    pub fn compose_files(&self) -> Vec<Sourced<PathBuf>> {
        let definitions = self.chain().into_iter().flat_map(|document| &document.sandboxes);
        let images = definitions.filter_map(|(_, definition)| definition.image.as_ref());
        let file = |image: &Sourced<Image>| match &image.value {
            Image::Compose { file, .. } => Some(Sourced::new(PathBuf::from(file), image.origin.clone())),
            Image::Named(_) | Image::Recipe(_) | Image::Inline(_) => None,
        };
        images.filter_map(file).collect()
    }

    /// The recipes and compose files of every sandbox, whichever one is used.
    pub fn named_files(&self) -> Vec<PathBuf> {
        self.documents.iter().flat_map(Document::named_files).map(|file| file.value).collect()
    }

    /// The sandboxes that can be named.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.chain().into_iter().flat_map(Document::sandboxes).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What is wrong with a reference to a sandbox.
    pub(crate) fn undefined(&self, reference: &Sourced<String>) -> Option<Fault> {
        let names = self.names();
        if names.contains(&reference.value.as_str()) {
            return None;
        }
        let message = format!("there is no sandbox `{}`", reference.value);
        Some(Fault::new(reference.origin.clone(), message).hint(defined(&reference.value, &names)))
    }
}

struct Resolution<'a> {
    layers: &'a Layers,
    vocabulary: &'a Vocabulary,
    scope: &'a Scope,
    trust: &'a Trust,
}

/// The thing that a policy is for.
enum Subject {
    Command,
    Step(StepDefinition),
    Service(StepDefinition),
}

impl Subject {
    const fn definition(&self) -> Option<&StepDefinition> {
        match self {
            Self::Command => None,
            Self::Step(definition) | Self::Service(definition) => Some(definition),
        }
    }

    /// The same as far as these files alone define it.
    fn within(&self, chain: &[&Document]) -> Option<StepDefinition> {
        let (name, all): (_, Vec<_>) = match self {
            Self::Command => return None,
            Self::Step(step) => (&step.name, chain.iter().flat_map(|document| &document.steps).collect()),
            Self::Service(step) => (&step.name, chain.iter().flat_map(|document| &document.services).collect()),
        };
        steps::merged_by_name(all.into_iter().filter(|step| step.name == *name)).pop()
    }
}

/// A policy that some layers make, before it is known whether they may.
struct Drafted {
    policy: Policy,
    network_implied: bool,
    /// The sandbox, and the place that chose it.
    chosen: Option<Sourced<String>>,
    faults: Vec<Fault>,
}

impl Resolution<'_> {
    fn policy(&self, subject: &Subject) -> Result<Policy, ResolveError> {
        let chain = self.layers.chain();
        let mut drafted = self.drafted(&chain, subject.definition(), None);
        let mut faults = std::mem::take(&mut drafted.faults);
        faults.extend(steps::references(self.layers));
        faults.sort_by(|a, b| a.origin.cmp(&b.origin));
        faults.dedup();
        Faults::check((), faults)?;
        if let Some(project) = self.layers.project() {
            let asks = self.asks(project, &drafted, &self.layers.own_chain(), subject);
            untrusted(project, asks, self.trust)?;
        }
        Ok(drafted.policy)
    }

    /// The policy of these files, with the caller's variables and flags. `sandbox` stands for the name
    /// that the files or the caller choose.
    fn drafted(&self, chain: &[&Document], step: Option<&StepDefinition>, sandbox: Option<String>) -> Drafted {
        let mut variables = environment(&self.layers.environment, self.vocabulary, self.scope);
        let mut flags = flags(&self.layers.overrides, self.vocabulary, self.scope);
        let mut faults = std::mem::take(&mut variables.faults);
        faults.append(&mut flags.faults);

        let default = chain.iter().rev().find_map(|document| document.default.clone());
        let by_step = step.and_then(|step| step.sandbox.clone());
        let opted_out = by_step.clone().filter(|name| name.value == NO_SANDBOX);
        let by_caller = flags.sandbox.clone().or_else(|| variables.sandbox.clone());
        let rendered = by_step.iter().filter(|name| name.value != NO_SANDBOX);
        faults.extend(by_caller.iter().chain(rendered).filter_map(|name| self.layers.undefined(name)));
        let chosen = by_caller.clone().or(by_step).or(default);
        let opted_out = opted_out.filter(|_| by_caller.is_none());
        let name = chosen.clone().filter(|_| opted_out.is_none()).map(|name| name.value);

        let mut draft = Draft::new(sandbox.or(name));
        for document in chain {
            draft.document(document);
        }
        if let Some(opted_out) = opted_out {
            faults.extend(self.opt_out(&mut draft, opted_out));
        }
        if let Some(step) = step {
            draft.define(&step.changes);
        }
        for said in [&variables, &flags] {
            faults.extend(draft.said(said));
        }
        let (mut policy, network_implied) = self.finish(draft, &mut faults);
        let unasked = if network_implied { vec![policy.network.origin.clone()] } else { Vec::new() };
        let mut hold = Hold { policy: &mut policy, scope: self.scope, unasked, faults: Vec::new() };
        chain.iter().filter_map(|document| document.enforce.as_ref()).for_each(|limit| hold.to(limit));
        faults.append(&mut hold.faults);
        self.permitted(&policy, chain, &mut faults);
        faults.extend(too_long(&policy));
        Drafted { policy, network_implied, chosen, faults }
    }

    /// A step without a sandbox: the engine that enforces nothing, which still needs a permission.
    fn opt_out(&self, draft: &mut Draft, asked: Sourced<String>) -> Option<Fault> {
        let Some(engine) = self.vocabulary.unsandboxed() else {
            return Some(Fault::new(asked.origin, "`sandbox: none` is not possible here: every engine is a sandbox"));
        };
        draft.policy.engine = Sourced::new(EngineChoice::Named(engine.id.to_owned()), asked.origin);
        None
    }

    fn finish(&self, draft: Draft, faults: &mut Vec<Fault>) -> (Policy, bool) {
        let Draft { mut policy, env_pass, network_implied, unsandboxed_refused: _, options } = draft;
        self.add_profiles(&mut policy, faults);
        policy.env.pass.extend(env_pass);
        if self.layers.overrides.terminal == CallerTerminal::Present {
            policy.env.pass.splice(0..0, terminal_patterns());
        }
        if let (Origin::BuiltIn, Some(image)) = (&policy.engine.origin, &policy.image) {
            let engine = EngineChoice::Named(self.vocabulary.image_engine.to_owned());
            policy.engine = Sourced::new(engine, image.origin.clone());
        }
        if policy.workdir.origin == Origin::BuiltIn && !policy.workspace.value.projects.is_empty() {
            // No path of the host is all of the projects.
            policy.workdir = shared_workdir();
        }
        for (engine, table) in options {
            let engine = engine.or_else(|| match &policy.engine.value {
                EngineChoice::Named(id) => Some(id.clone()),
                EngineChoice::Auto => None,
            });
            match engine {
                Some(engine) => drop(policy.engine_options.insert(engine, table)),
                None => faults.push(Fault::new(table.origin, "`options` needs an `engine` that is not `auto`")),
            }
        }
        (policy, network_implied)
    }

    /// Adds what the profiles say, in front of the rules of every layer, which therefore win. Patterns for variables come
    /// behind the list that every sandbox begins with.
    fn add_profiles(&self, policy: &mut Policy, faults: &mut Vec<Fault>) {
        let (mut binds, mut set) = (Vec::new(), Vec::new());
        for name in &policy.profiles {
            let home = self.scope.home.as_path();
            match profiles::rules(name, self.vocabulary, home, &self.layers.environment) {
                Ok(rules) => {
                    binds.extend(rules.binds.into_iter().flat_map(|list| list.value));
                    set.extend(rules.env_set);
                    policy.env.pass.extend(rules.env_pass.into_iter().flat_map(|list| list.value));
                    policy.path.extend(rules.path);
                }
                Err(Faults(more)) => faults.extend(more),
            }
        }
        policy.binds.splice(0..0, binds);
        policy.env.set.splice(0..0, set);
    }

    /// What no single file can judge: the engine that came out, against the rest.
    fn permitted(&self, policy: &Policy, chain: &[&Document], faults: &mut Vec<Fault>) {
        let Some(engine) = self.vocabulary.engine(&policy.engine.value) else { return };
        let origin = policy.engine.origin.clone();
        if engine.unsandboxed && policy.allow_unsandboxed.is_none() {
            let message = format!("engine `{}` enforces nothing and is not permitted", engine.id);
            faults.push(
                Fault::new(origin, message).hint("a user or system file permits it with `allow_unsandboxed: true`"),
            );
            return;
        }
        // What the system enforces must not be got around by a word of the user's own.
        let enforced = chain.iter().find_map(|document| document.enforce.as_ref());
        let by_system = |document: &&Document| {
            let permits = document.allow_unsandboxed.as_ref().is_some_and(|allowed| allowed.value);
            document.level == Level::System && permits
        };
        if let Some(enforced) = enforced.filter(|_| engine.unsandboxed && !chain.iter().any(by_system)) {
            let message = format!("engine `{}` would not keep what is enforced at {}", engine.id, enforced.origin);
            faults.push(Fault::new(origin, message).hint("only the system's own file can permit it"));
            return;
        }
        match &policy.image {
            Some(image) if !engine.takes_image => {
                let message = format!("engine `{}` takes no image, and one is given at {}", engine.id, image.origin);
                faults.push(Fault::new(origin, message));
            }
            None if engine.id == self.vocabulary.image_engine && matches!(origin, Origin::File { .. }) => {
                let message = format!("engine `{}` needs an image", engine.id);
                faults.push(Fault::new(origin, message).hint("give `image`, `dockerfile` or `compose`"));
            }
            Some(_) | None => {}
        }
    }

    /// A project that changes a sandbox of the user's own could open the network beside the secrets bound there.
    fn changed(&self, document: &Document, sandbox: Option<&str>) -> Option<Ask> {
        let name = sandbox.filter(|_| document.level == Level::Project)?;
        let own = self.layers.documents.iter().filter(|other| other.level < Level::Project);
        own.flat_map(Document::chain).find(|other| other.sandboxes().any(|other| other == name))?;
        let theirs = document.chain().into_iter().flat_map(|document| &document.sandboxes);
        let (_, definition) = theirs.rev().find(|(other, _)| other == name)?;
        let what = format!("to change your own sandbox `{name}`");
        Some(Ask { origin: definition.origin.clone(), what, flag: None })
    }

    /// Everything that the project has beyond the user's own layers.
    fn asks(&self, project: &Document, full: &Drafted, own: &[&Document], subject: &Subject) -> Vec<Ask> {
        let without = self.drafted(own, subject.within(own).as_ref(), None);
        let files: BTreeSet<&Path> = project.chain().into_iter().map(Document::path).collect();
        let chosen = full.chosen.as_ref().map(|chosen| &chosen.origin);
        let theirs = chosen.filter(|at| matches!(at, Origin::File { path, .. } if files.contains(path.as_path())));
        let chosen = theirs.cloned().unwrap_or_else(|| Origin::File { path: project.path.clone(), line: 1 });
        let Drafted { policy, network_implied, .. } = full;
        let judged = Judged {
            full: policy,
            own: &without.policy,
            vocabulary: self.vocabulary,
            network_implied: *network_implied,
            files,
            chosen,
        };
        let mut asks = beyond(&judged);
        asks.extend(self.changed(project, policy.name.as_deref()));
        asks
    }
}

/// Refuses a project that asks for something and is not trusted.
fn untrusted(project: &Document, asks: Vec<Ask>, trust: &Trust) -> Result<(), ResolveError> {
    if asks.is_empty() || trust.covers(&project.fingerprint) {
        return Ok(());
    }
    let (path, hash) = (project.path.clone(), project.fingerprint.clone());
    Err(ResolveError::Untrusted { path, hash, asks })
}

fn parallelism(chain: &[&Document]) -> Option<Sourced<u64>> {
    chain.iter().rev().find_map(|document| document.max_parallelism.clone())
}

/// The most patterns of one policy, for which the tree is searched.
const PATTERNS_MAX: usize = 64;

/// Lists that grew over all layers beyond the bound that holds for one.
fn too_long(policy: &Policy) -> Vec<Fault> {
    fn beyond<T>(key: &str, list: &[Sourced<T>]) -> Option<Fault> {
        let first = list.get(LIST_ITEMS_MAX)?;
        let message = format!("`{key}` has {} entries in all files together, more than {LIST_ITEMS_MAX}", list.len());
        Some(Fault::new(first.origin.clone(), message).hint("name directories or patterns instead of single files"))
    }
    let Policy { binds, protect, deny_read, credentials, require, accept, env, .. } = policy;
    let lists = [
        beyond("bind_paths", binds),
        beyond("protect", protect),
        beyond("deny_read", deny_read),
        beyond("credentials", credentials),
        beyond("require", require),
        beyond("accept", accept),
        beyond("env_passthrough", &env.pass),
        beyond("env", &env.set),
        beyond("network.allow", &policy.network.value.allow),
    ];
    // The tree is searched once for each pattern.
    let patterns = protect.iter().chain(deny_read).filter(|rule| rule.value.0.contains(['*', '?', '[', '{']));
    let pattern = patterns.enumerate().nth(PATTERNS_MAX).map(|(_, rule)| {
        let message = format!("`protect` and `deny_read` have more than {PATTERNS_MAX} patterns together");
        Fault::new(rule.origin.clone(), message).hint("join patterns with `{a,b}`, or name directories")
    });
    lists.into_iter().flatten().chain(pattern).collect()
}

#[cfg(test)]
mod tests;
