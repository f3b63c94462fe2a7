//! The services of a run, from their images to their end. Thin: what they are was decided before.

use super::health::{self, Unwell};
use super::model::{Project, Service};
use super::request::{Ceiling, Setting, request};
use crate::container::api::{Client, Deadline, ObjectName};
use crate::container::fit::has_cgroups;
use crate::container::image::named;
use crate::container::kind::Kind;
use crate::container::life::{Container, Turn, again, create, said};
use crate::container::options::Options;
use crate::container::remains::Remains;
use crate::shimmed::setup;
use polder_engine::{Fitted, LaunchError, LaunchFailure, Lookout, Notice};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Services beside a command. Dropping it ends and removes them, the last one first.
#[derive(Debug)]
pub(in crate::container) struct Beside {
    client: Client,
    services: Vec<ObjectName>,
    /// Those of them that were well when all had started.
    well: Vec<(ObjectName, Service)>,
    volumes: BTreeMap<String, ObjectName>,
    remains: Remains,
}

impl Beside {
    /// Starts what the command's service depends on, each after what it depends on itself, and waits until all are well.
    pub(in crate::container) fn start(
        kind: Kind,
        fitted: &Fitted,
        project: &Project,
        container: &Container,
        hosts: &Path,
        labels: &BTreeMap<&'static str, String>,
        lookout: &mut dyn Lookout,
    ) -> Result<Self, LaunchError> {
        let client = container.client().clone();
        let options = Options::of(kind, fitted.plan()).map_err(|reason| setup(io::Error::other(reason), None))?;
        let ceiling = ceiling(kind, fitted);
        filters_calls(&client)?;
        container.has_a_loopback_only()?;
        let remains = container.remains();
        let mut beside =
            Self { client, services: Vec::new(), well: Vec::new(), volumes: BTreeMap::new(), remains: remains.clone() };
        let begun = beside.begin(kind, project, container, &options, &ceiling, hosts, labels, lookout);
        if let Err(error) = begun {
            drop(beside);
            remains.take().into_iter().for_each(|text| lookout.tell(Notice::Warning(text)));
            return Err(error);
        }
        Ok(beside)
    }

    #[expect(clippy::too_many_arguments, reason = "the rest of `start`, apart so that every failure passes one place")]
    fn begin(
        &mut self,
        kind: Kind,
        project: &Project,
        container: &Container,
        options: &Options,
        ceiling: &Ceiling,
        hosts: &Path,
        labels: &BTreeMap<&'static str, String>,
        lookout: &mut dyn Lookout,
    ) -> Result<(), LaunchError> {
        for name in project.volumes() {
            self.make_volume(name, labels)?;
        }
        let mut started = Vec::new();
        for service in &project.others {
            can_be_bounded(service, ceiling)?;
            let image = named(&self.client, &service.image, &options.images(), lookout)?.id;
            let setting = Setting {
                kind,
                image: &image,
                beside: container.id(),
                volumes: &self.volumes,
                ceiling,
                hosts,
                runtime: options.runtime.as_deref(),
                labels,
            };
            let request = request(service, &setting);
            let turn = Turn::take(&self.client, kind)?;
            let id = create(&self.client, kind, &request)?;
            self.services.push(id.clone());
            again(|| self.client.start_container(&id, Deadline::quick()))
                .map_err(|error| said(&format!("start the service `{}`", service.name), error))?;
            drop(turn);
            if let Some(check) = &service.check {
                health::wait(&self.client, &id, service, check, lookout).map_err(unwell)?;
            }
            started.push((id, service));
        }
        for (id, service) in started {
            health::still_runs(&self.client, &id, service, service.check.is_none()).map_err(unwell)?;
            self.well.push((id, service.clone()));
        }
        Ok(())
    }

    /// What happened to a service since all were well. One without a check may have done its work.
    pub(in crate::container) fn is_unwell(&self) -> Option<String> {
        let looked = |(id, service): &(ObjectName, Service)| {
            health::still_runs(&self.client, id, service, service.check.is_none()).err()
        };
        self.well.iter().find_map(looked).map(|unwell| unwell.to_string())
    }

    fn make_volume(&mut self, name: &str, labels: &BTreeMap<&'static str, String>) -> Result<(), LaunchError> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let start = polder_sys::cgroup::start_time(pid).unwrap_or(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let full: ObjectName =
            format!("polder-{pid}-{start}-volume-{number}").parse().expect("invariant: letters, digits and dashes");
        let labels = labels.iter().map(|(label, value)| ((*label).to_owned(), value.clone())).collect();
        let made = self.client.create_volume(&full, &labels, Deadline::quick());
        made.map_err(|error| said(&format!("make the volume `{name}`"), error))?;
        self.volumes.insert(name.to_owned(), full);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for id in self.services.iter().rev() {
            let removed = self.client.remove_container(id, Deadline::quick());
            self.remains.note(format_args!("the service in container `{}`", id.as_str()), removed);
        }
        for (name, volume) in &self.volumes {
            let removed = self.client.remove_volume(volume, Deadline::quick());
            self.remains.note(format_args!("the volume `{name}`"), removed);
        }
    }
}

/// Refuses a daemon that would start services without a filter for system calls: they have no other.
fn filters_calls(client: &Client) -> Result<(), LaunchError> {
    let facts = client.facts(Deadline::quick()).map_err(|error| said("ask the daemon what it enforces", error))?;
    if facts.security.iter().any(|name| name == "seccomp") {
        return Ok(());
    }
    let remedy = "use a daemon with seccomp, or run without `compose`";
    Err(setup(io::Error::other("the daemon does not filter the system calls of services"), Some(remedy.to_owned())))
}

/// The policy's own limits, each for each service.
fn ceiling(kind: Kind, fitted: &Fitted) -> Ceiling {
    let plan = fitted.plan();
    let limits = &plan.limits;
    Ceiling {
        memory_bytes: limits.memory.as_ref().map(|limit| limit.value.0),
        cpus: limits.cpus.as_ref().map(|limit| limit.value),
        pids: limits.pids.as_ref().map(|limit| limit.value),
        scratch_bytes: plan.files.scratch.0,
        held: has_cgroups(kind, plan, fitted.host()),
    }
}

/// Refuses a limit that the daemon would take and not hold.
fn can_be_bounded(service: &Service, ceiling: &Ceiling) -> Result<(), LaunchError> {
    let asked = service.memory_bytes.is_some() || service.cpus.is_some() || service.pids.is_some();
    if !asked || ceiling.held {
        return Ok(());
    }
    let text =
        format!("line {}: a daemon without root's rights holds no limit of service `{}`", service.line, service.name);
    let remedy = "take `mem_limit`, `cpus` and `pids_limit` out, or use a system with cgroups of version 2";
    Err(setup(io::Error::other(text), Some(remedy.to_owned())))
}

fn unwell(error: Unwell) -> LaunchError {
    let remedy = match &error {
        Unwell::Interrupted { signal } => {
            return LaunchError { failure: LaunchFailure::Interrupted(*signal), remedy: None };
        }
        Unwell::Ended { .. } => Some("a service has no capability and no network but the loopback; see what it says"),
        Unwell::TooLate { .. } => Some("see what it says; a service that needs longer has to be started elsewhere"),
        Unwell::Unhealthy { .. } => {
            Some("see what it says, or give its `healthcheck` more `retries` or a `start_period`")
        }
        Unwell::Ask { .. } => None,
    };
    setup(error, remedy.map(str::to_owned))
}
