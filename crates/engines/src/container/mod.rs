//! Containers by a daemon of this machine: Docker, and Podman behind the same interface.
//!
//! The daemon makes a container whose first process is our own program, the porter, and nothing else runs there by the
//! daemon's hand: the porter comes out to us by a socket and lets runs in, each with namespaces, a root and a shim of its
//! own, as the engine without a daemon makes them. So the container is one more wall, and the way to an image; outcome,
//! violations, streams and masks are the same as everywhere.
//!
//! `api` speaks with the daemon, `fit` judges a plan, `lower` turns it into the request for a container and the sandbox in
//! it, `apart` does both for runtimes with a kernel of their own, `compose` is about services beside it, `opening` says which container a run needs, `launch` carries that out, `life` is
//! a container from its beginning to its end, `owner` and `place` find what a killed polder left behind.

#![expect(dead_code, unused_imports, reason = "the client is for more than what is built on it so far")]

#[cfg(test)]
mod acceptance;
mod apart;
mod api;
mod autopsy;
mod compose;
mod daemon;
mod fit;
mod home;
mod host_image;
mod image;
mod image_ground;
mod kind;
mod launch;
mod life;
mod lower;
mod opening;
mod options;
mod owner;
mod place;
mod program;
mod ready;
mod remains;

use crate::shimmed;
use kind::Kind;
use polder_engine::{About, Availability, Engine, EngineClass, Fit, Fitted, LaunchError, Running, Services};
use polder_facts::{HostFacts, Violation};
use polder_plan::{Plan, Swept};

/// The engine, by either of its daemons.
pub(crate) struct Containers(Kind);

impl Containers {
    pub(crate) const DOCKER: Self = Self(Kind::Docker);
    pub(crate) const PODMAN: Self = Self(Kind::Podman);
}

impl Engine for Containers {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.0 {
            Kind::Docker => &["container"],
            Kind::Podman => &[],
        }
    }

    fn class(&self) -> EngineClass {
        EngineClass::Container
    }

    fn about(&self) -> About {
        About {
            summary: "a container of an image, or of the host's own programs, with polder's own sandbox in it",
            platform: "Linux with a daemon of root's or of the user's own, and user namespaces",
            install: match self.0 {
                Kind::Docker => "the packages of Docker, and access to its socket",
                Kind::Podman => "the packages of Podman, and `podman system service`",
            },
        }
    }

    fn takes_image(&self) -> bool {
        true
    }

    // A runtime with a kernel of its own does not, and refuses a plan that asks for it.
    fn observes(&self) -> bool {
        true
    }

    fn not_executed(&self, plan: &Plan) -> Option<Violation> {
        shimmed::not_executed(plan)
    }

    fn probe(&self, host: &HostFacts) -> Availability {
        match daemon::connect(self.0, host, None) {
            Ok(client) => Availability::Available { detail: client.socket().display().to_string() },
            Err(LaunchError { failure, remedy }) => Availability::Unavailable {
                reason: LaunchError { failure, remedy: None }.to_string(),
                remedy: remedy.unwrap_or_else(|| "use engine `native` or `auto`".to_owned()),
            },
        }
    }

    fn fit(&self, plan: &Plan, host: &HostFacts) -> Fit {
        fit::fit(self.0, self.class(), plan, host)
    }

    fn launch(&self, fitted: Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        launch::launch(self.0, &fitted, services)
    }
}
