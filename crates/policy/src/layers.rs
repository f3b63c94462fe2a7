//! Layers to policy: the later one wins a value, lists grow, and what the system enforces holds.

use crate::document::{Document, Level, StepDefinition};
use crate::draft::Draft;
use crate::enforce::Hold;
use crate::fault::{Fault, Faults};
use crate::lower::NO_SANDBOX;
use crate::model::{AuditMode, EngineChoice, Image, Policy};
use crate::overrides::{Overrides, environment, flags};
use crate::said::Scope;
use crate::steps;
use crate::trust::{Ask, Trust, asks};
use crate::vocabulary::Vocabulary;
use polder_facts::{Origin, Sourced};
use std::path::PathBuf;

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
    let resolution = Resolution { layers, vocabulary, scope, trust };
    resolution.policy(None)
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
    let resolution = Resolution { layers, vocabulary, scope, trust };
    let mut definition = steps::definition(layers, step)?;
    definition.sandbox = sandbox.or(definition.sandbox);
    resolution.policy(Some(definition))
}

/// The policy for a service of a step: its sandbox, with what the service changes.
pub fn resolve_service(
    layers: &Layers,
    vocabulary: &Vocabulary,
    scope: &Scope,
    trust: &Trust,
    name: &str,
) -> Result<Policy, ResolveError> {
    let resolution = Resolution { layers, vocabulary, scope, trust };
    resolution.policy(Some(crate::services::definition(layers, name)?))
}

impl Layers {
    /// The files that the user chose and those they extend, weakest first.
    pub(crate) fn chain(&self) -> Vec<&Document> {
        let mut documents: Vec<_> = self.documents.iter().collect();
        documents.sort_by_key(|document| document.level);
        documents.into_iter().flat_map(Document::chain).collect()
    }

    /// Keys of files that only another tool reads.
    pub fn unread(&self) -> Vec<Sourced<String>> {
        self.chain().into_iter().flat_map(|document| document.unread.clone()).collect()
    }

    /// How many steps may run at once, when a file says so.
    pub fn max_parallelism(&self) -> Option<Sourced<u64>> {
        self.chain().into_iter().rev().find_map(|document| document.max_parallelism.clone())
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
        let known =
            if names.is_empty() { "none is defined".into() } else { format!("defined are {}", names.join(", ")) };
        let message = format!("there is no sandbox `{}`", reference.value);
        Some(Fault::new(reference.origin.clone(), message).hint(known))
    }
}

struct Resolution<'a> {
    layers: &'a Layers,
    vocabulary: &'a Vocabulary,
    scope: &'a Scope,
    trust: &'a Trust,
}

impl Resolution<'_> {
    fn policy(&self, step: Option<StepDefinition>) -> Result<Policy, ResolveError> {
        let chain = self.layers.chain();
        let mut variables = environment(&self.layers.environment, self.vocabulary, self.scope);
        let mut flags = flags(&self.layers.overrides, self.vocabulary, self.scope);
        let mut faults = std::mem::take(&mut variables.faults);
        faults.append(&mut flags.faults);
        faults.extend(steps::references(self.layers));

        let default = chain.iter().rev().find_map(|document| document.default.clone());
        let by_step = step.as_ref().and_then(|step| step.sandbox.clone());
        let opted_out = by_step.clone().filter(|name| name.value == NO_SANDBOX);
        let by_caller = flags.sandbox.clone().or_else(|| variables.sandbox.clone());
        let rendered = by_step.iter().filter(|name| name.value != NO_SANDBOX);
        faults.extend(by_caller.iter().chain(rendered).filter_map(|name| self.layers.undefined(name)));
        let chosen = by_caller.clone().or(by_step).or(default);
        let opted_out = opted_out.filter(|_| by_caller.is_none());
        let name = chosen.filter(|_| opted_out.is_none()).map(|name| name.value);

        let mut draft = Draft::new(name.clone());
        for document in &chain {
            draft.document(document);
        }
        if let Some(opted_out) = opted_out {
            faults.extend(self.opt_out(&mut draft, opted_out));
        }
        if let Some(step) = &step {
            draft.define(&step.changes);
        }
        for said in [&variables, &flags] {
            faults.extend(draft.said(said));
        }
        let (mut policy, implied) = self.finish(draft, &mut faults);
        let unasked = if implied { vec![policy.network.origin.clone()] } else { Vec::new() };
        let mut hold = Hold { policy: &mut policy, scope: self.scope, unasked, faults: Vec::new() };
        chain.iter().filter_map(|document| document.enforce.as_ref()).for_each(|limit| hold.to(limit));
        faults.append(&mut hold.faults);
        self.permitted(&policy, &chain, &mut faults);
        faults.sort_by(|a, b| a.origin.cmp(&b.origin));
        faults.dedup();
        let policy = Faults::check(policy, faults)?;
        self.trusted(name.as_deref())?;
        Ok(policy)
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
        policy.env.pass.extend(env_pass);
        if let (Origin::BuiltIn, Some(image)) = (&policy.engine.origin, &policy.image) {
            let engine = EngineChoice::Named(self.vocabulary.image_engine.to_owned());
            policy.engine = Sourced::new(engine, image.origin.clone());
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
        Some(Ask { origin: definition.origin.clone(), what, sandbox: Some(name.to_owned()) })
    }

    fn trusted(&self, sandbox: Option<&str>) -> Result<(), ResolveError> {
        for document in &self.layers.documents {
            let mut asks = asks(document);
            asks.retain(|ask| ask.sandbox.is_none() || ask.sandbox.as_deref() == sandbox);
            asks.extend(self.changed(document, sandbox));
            if !asks.is_empty() && !self.trust.covers(&document.fingerprint) {
                let (path, hash) = (document.path.clone(), document.fingerprint.clone());
                return Err(ResolveError::Untrusted { path, hash, asks });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
