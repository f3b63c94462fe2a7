//! What each engine keeps: one plan that asks for every guarantee, shown to every engine.
//!
//! The plan is always the same, whatever directory it is asked from, so that two answers differ only by the machine.
//! Nothing here starts anything, and nothing that is surveyed can be launched.

use polder_engine::{About, Availability, Engine, EngineClass, Fit};
use polder_facts::{ByteSize, Gap, HostFacts, Origin, OtherNames, Sourced, Span, TreeFacts};
use polder_plan::{Plan, World, compile_in};
use polder_policy::{Limits, Policy, built_in};
use std::collections::BTreeMap;
use std::time::Duration;

/// Where the project and the home of the reference plan are. Neither has to exist.
const PROJECT: &str = "/srv/project";
const HOME: &str = "/home/user";

/// What is known of one engine.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// Its name.
    pub id: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// How strong it is.
    pub class: EngineClass,
    /// What it is.
    pub about: About,
    /// Whether it works here.
    pub availability: Availability,
    /// Its answer to the reference plan. Means nothing where it does not work.
    pub fit: Fit,
}

impl Surveyed {
    /// Why nothing is kept, where the engine does not work.
    pub fn unavailable(&self) -> Option<Gap> {
        match &self.availability {
            Availability::Available { .. } => None,
            Availability::Unavailable { reason, remedy } => {
                Some(Gap { reason: reason.clone(), remedy: Some(remedy.clone()) })
            }
        }
    }
}

/// Every engine, in the order of the list, and what it keeps on this machine.
pub fn survey(host: &HostFacts) -> Vec<Surveyed> {
    let look = |engine: &dyn Engine| Surveyed {
        id: engine.id(),
        aliases: engine.aliases(),
        class: engine.class(),
        about: engine.about(),
        availability: engine.probe(host),
        fit: engine.fit(&reference(engine.world(), host), host),
    };
    polder_engines::all().iter().map(|engine| look(engine.as_ref())).collect()
}

/// The built-in policy with every limit set, for an empty project on this machine.
pub fn reference(world: World, host: &HostFacts) -> Plan {
    let mut host = host.clone();
    host.user.home = HOME.into();
    host.environment = BTreeMap::new();
    host.tree = TreeFacts {
        root: PROJECT.into(),
        start: PROJECT.into(),
        worktree: None,
        enclosing: None,
        entries: BTreeMap::new(),
        matches: BTreeMap::new(),
        mounts: Vec::new(),
        other_names: OtherNames::none(),
        captured: None,
        submodules: Vec::new(),
        git: polder_facts::git::GitFacts::default(),
        sources: BTreeMap::new(),
    };
    compile_in(world, &policy(), &host, &["true".into()])
        .expect("invariant: the built-in policy has a plan for an empty project")
}

fn policy() -> Policy {
    // A limit that nobody asked for may be kept in another way than one that somebody did.
    fn said<T>(value: T) -> Option<Sourced<T>> {
        Some(Sourced::new(value, Origin::Api))
    }
    let mut policy = built_in();
    policy.limits = Limits {
        memory: said(ByteSize(1 << 30)),
        cpus: said(1.0),
        pids: said(256),
        disk: said(ByteSize(1 << 30)),
        files: said(1024),
        output: said(ByteSize(1 << 20)),
        timeout: said(Span(Duration::from_secs(60))),
    };
    policy
}
