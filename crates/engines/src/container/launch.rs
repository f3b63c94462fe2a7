//! From a judged plan to a run in a container. Thin: everything was decided before.

use super::api::Client;
use super::compose::{self, Beside, Project};
use super::daemon::connect;
use super::kind::Kind;
use super::life::Container;
use super::lower::{Located, Lowered, Setting, lower, resolved};
use super::owner;
use super::place::{self, Place};
use super::program::own_program;
use super::ready::ready_image;
use crate::shimmed::{ShimmedRun, describe, layers_of, setup};
use polder_engine::{Finished, Fitted, LaunchError, Parting, Report, Running, Services};
use polder_facts::LimitKind;
use polder_sys::Recipe;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

pub(super) fn launch(kind: Kind, fitted: &Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, ahead: _, layers, kept, lookout } = services;
    let plan = fitted.plan();
    let layers = layers_of(plan, layers)?;
    let uid = fitted.host().user.uid;
    // Before anything is made: what is wrong with it is said first.
    let project = compose::read(plan, fitted.host())?;
    let client = connect(kind, fitted.host(), Some(plan))?;
    keep_socket(&client, fitted)?;
    tidy(&client, uid);
    let place = Place::make(uid).map_err(|error| setup(error, None))?;
    let image = ready_image(&client, kind, fitted, project.as_ref(), lookout)?;
    let program = own_program(&place, image.env.is_some()).map_err(|error| {
        let remedy = error.remedy();
        setup(error, remedy)
    })?;
    let (mut shown, mut held) = (Vec::new(), Vec::new());
    for (number, path) in resolved(fitted, layers.as_ref(), image.env.as_deref()).iter().enumerate() {
        let host = Path::new(OsStr::from_bytes(path.as_bytes()));
        let located = polder_sys::locate(path).map_err(|errno| {
            let remedy = "it is gone, or a part of it became a symbolic link; look at it and run again";
            setup(io::Error::other(format!("cannot show `{}`: {errno}", host.display())), Some(remedy.to_owned()))
        })?;
        let link = place.name(host, number).map_err(|error| setup(error, None))?;
        shown.push(Located { link, device: located.device, inode: located.inode });
        // Held until the shim has looked, so that its number belongs to no other file meanwhile.
        held.push(located);
    }
    let names = project.as_ref().map(Project::names).unwrap_or_default();
    let hosts = place.hosts(&names).map_err(|error| setup(error, None))?;
    let setting = Setting {
        kind,
        image: &image.name,
        image_env: image.env.as_deref(),
        program: &program,
        door: &place.door(),
        empty: &place.empty(),
        file: &place.file(),
        layers: layers.as_ref(),
        shown: &shown,
        labels: &owner::labels(uid),
        names: &names,
    };
    let lowered = lower(fitted, terminal, &setting);
    let container = Arc::new(Container::start(client, kind, &lowered, place)?);
    let beside = match &project {
        Some(project) => {
            Some(Beside::start(kind, fitted, project, &container, &hosts, &owner::labels_of_service(uid), lookout)?)
        }
        None => None,
    };
    let Lowered { ground, inside, .. } = lowered;
    let recipe = Recipe { ground, inside, cgroup: None, stdio, kept };
    let launched = container.enter(&recipe).map_err(describe)?;
    drop(held);
    Ok(Box::new(Contained { run: Box::new(ShimmedRun::new(launched, None, plan)), beside, container }))
}

/// Whoever reaches the daemon needs no sandbox to get out of: nothing that holds its socket is shown, not even to be read.
fn keep_socket(client: &Client, fitted: &Fitted) -> Result<(), LaunchError> {
    let socket = client.socket();
    let resolved = socket.canonicalize().unwrap_or_else(|_| socket.to_owned());
    let mut shown = fitted.plan().files.shown.iter();
    let Some(shown) = shown.find(|shown| resolved.starts_with(shown.host.as_path())) else { return Ok(()) };
    let text = format!("`{}` ({}) would show the socket of the daemon", shown.host, shown.origin);
    Err(setup(io::Error::other(text), Some("show something that does not hold it".to_owned())))
}

/// Removes, once in the life of this process, what killed ones left behind.
fn tidy(client: &Client, uid: u32) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        place::sweep(uid);
        // A daemon that cannot list its containers will say so when it is asked for one.
        let _ = owner::reap(client, uid);
    });
}

/// A run in a container. The run ends first, then the services beside it, then the container whose network they share.
struct Contained {
    run: Box<dyn Running>,
    beside: Option<Beside>,
    container: Arc<Container>,
}

impl Running for Contained {
    fn reports(&self) -> BorrowedFd<'_> {
        self.run.reports()
    }

    fn ending(&self) -> Option<BorrowedFd<'_>> {
        self.run.ending()
    }

    fn report(&mut self) -> Report {
        self.run.report()
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.run.take_terminal()
    }

    fn signal(&self, signal: i32) {
        self.run.signal(signal);
    }

    fn kill(&self) {
        self.run.kill();
    }

    fn finish(self: Box<Self>, _: Parting) -> Finished {
        let Self { run, beside, container } = *self;
        // There is a container to remove: nobody leaves early.
        let Finished { limit, violations, warnings } = run.finish(Parting::Wait);
        let reached = container.watched().reached();
        drop(beside);
        drop(container);
        let limit = match reached {
            _ if limit.is_some() => limit,
            reached if reached.memory => Some(LimitKind::Memory),
            reached if reached.pids => Some(LimitKind::Pids),
            _ => None,
        };
        Finished { limit, violations, warnings }
    }
}
