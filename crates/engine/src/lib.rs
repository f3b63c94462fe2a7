//! The contract between polder and what enforces a policy. Knows no engine.
//!
//! `probe` says whether an engine works here, `fit` judges a plan guarantee by guarantee, [`Fit::require`] turns the
//! judgement into a [`Fitted`] or a refusal, and `launch` takes nothing but a `Fitted`: what was not judged cannot
//! start.
#![forbid(unsafe_code)]

mod fit;
mod launch;
mod lookout;
mod session;

pub use fit::{Accepted, EngineClass, Fit, Fitted, Refusal, Refused, Verdict};
pub use launch::{
    Ended, Finished, HeadStart, LaunchError, LaunchFailure, Layers, Made, NoTerminal, Parting, Promised, Report,
    Running, Services,
};
pub use lookout::{Lookout, Notice};
pub use session::{Session, Words};

use polder_facts::{HostFacts, Violation};
use polder_plan::{Plan, World};

/// An engine whose runs can share a network: a loopback, on which they reach each other and nobody else reaches them.
pub trait SharesNetwork {
    /// Whether somebody on the network of this session listens on a port. Without a network nobody does.
    fn listens(&self, session: &Session, port: u16) -> std::io::Result<bool>;
}

/// What enforces a policy. Engines are values in a list; nothing outside their folder knows their names.
pub trait Engine: Send + Sync {
    /// The name in configuration, flags and reports.
    fn id(&self) -> &'static str;

    /// Other names by which configurations know it.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// The word for it in the names of spans, which other tools know.
    fn span_word(&self) -> &'static str {
        self.id()
    }

    /// How strong the wall is.
    fn class(&self) -> EngineClass;

    /// What it is, for people who choose.
    fn about(&self) -> About {
        About::UNTOLD
    }

    /// Whether it makes its file system from an image.
    fn takes_image(&self) -> bool {
        false
    }

    /// Whether it watches a run for what it is denied.
    fn observes(&self) -> bool {
        false
    }

    /// What was denied when the command of a plan could not be executed, where the sandbox is the reason: nobody watches
    /// that first execution. Asks the host, and is called only then.
    fn not_executed(&self, _plan: &Plan) -> Option<Violation> {
        None
    }

    /// How runs of one session share a network of their own, where they can.
    fn shared_network(&self) -> Option<&dyn SharesNetwork> {
        None
    }

    /// Whose file system a command sees. A plan is made for a world, so that it promises no path that cannot be there.
    fn world(&self) -> World {
        World::Made
    }

    /// Whether it can be used here, judged from what the probes found. An engine that is a program of its own tries that
    /// program, and keeps the answer for seconds: this is called only when the engine is considered, so nobody else pays.
    fn probe(&self, host: &HostFacts) -> Availability;

    /// Judges a plan. Pure: touches nothing, starts nothing.
    fn fit(&self, plan: &Plan, host: &HostFacts) -> Fit;

    /// What it would say about a plan on a system that has it: the answer for documentation, which is written on one
    /// system and read on all. Never decides about a run.
    fn fit_at_home(&self, plan: &Plan, host: &HostFacts) -> Fit {
        self.fit(plan, host)
    }

    /// Begins what every plan needs and none changes, so that it is ready when the plan is. `None` where there is no
    /// such thing, or where it does not work; the launch then says why.
    fn begin(&self) -> Option<HeadStart> {
        None
    }

    /// Starts the command of a plan that was judged.
    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError>;
}

/// What an engine is, for people who choose: each a sentence without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// What enforces the policy.
    pub summary: &'static str,
    /// The systems that have it.
    pub platform: &'static str,
    /// How to get it.
    pub install: &'static str,
}

impl About {
    /// Of an engine that says nothing about itself.
    pub const UNTOLD: Self = Self { summary: "not described", platform: "not described", install: "not described" };
}

/// Whether an engine can be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available {
        /// What it builds on, in a few words.
        detail: String,
    },
    /// It cannot.
    Unavailable {
        /// Why.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
}
