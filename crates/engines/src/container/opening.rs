//! What a container is made for: everything that is known before there is one, and whether another run's will do.

use super::api::Client;
use super::compose::{Beside, Project};
use super::kind::Kind;
use super::life::Container;
use super::lower::{Located, Lowered, Setting, lower, resolved};
use super::owner;
use super::place::Place;
use super::program::own_program;
use super::ready::Ready;
use super::remains::Farewell;
use crate::shimmed::setup;
use polder_engine::{Fitted, LaunchError, Layers, Lookout, Words};
use polder_facts::{Origin, Sourced};
use polder_policy::SandboxScope;
use polder_sys::Terminal;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A container that runs, and what is beside it. Dropped in this order: services share the container's network.
pub(super) struct Opened {
    beside: Option<Beside>,
    pub(super) container: Container,
    _farewell: Farewell,
}

impl Opened {
    /// Whether runs can still be let in.
    pub(super) fn is_there(&self) -> bool {
        self.container.is_there()
    }

    /// What happened to services since they were well; nothing where they are, or where there are none.
    pub(super) fn is_unwell(&self) -> Option<String> {
        self.beside.as_ref().and_then(Beside::is_unwell)
    }
}

/// Whether the runs of a session share a container. Runs beside services share a network with them, and so with one
/// another: that somebody has to say.
pub(super) fn is_shared(scope: &Sourced<SandboxScope>, has_services: bool) -> bool {
    match scope.value {
        SandboxScope::Run => false,
        SandboxScope::Session => !has_services || scope.origin != Origin::BuiltIn,
    }
}

/// A container on paper.
pub(super) struct Opening<'a> {
    client: &'a Client,
    kind: Kind,
    fitted: &'a Fitted,
    image: &'a Ready,
    layers: Option<&'a Layers>,
    /// The services beside it.
    project: Option<&'a Project>,
    /// What is shown. Held until the shim has looked, so that a number belongs to no other file meanwhile.
    shown: Vec<(PathBuf, polder_sys::Located)>,
}

/// Stands where a container's own paths would, in what is compared.
const ANY: &str = "/";

impl<'a> Opening<'a> {
    /// Finds everything that is to be shown.
    pub(super) fn new(
        client: &'a Client,
        kind: Kind,
        fitted: &'a Fitted,
        image: &'a Ready,
        layers: Option<&'a Layers>,
        project: Option<&'a Project>,
    ) -> Result<Self, LaunchError> {
        let mut shown = Vec::new();
        for path in resolved(fitted, layers, image.env.as_deref()) {
            let host = Path::new(OsStr::from_bytes(path.as_bytes())).to_owned();
            let located = polder_sys::locate(&path).map_err(|errno| {
                let remedy = "it is gone, or a part of it became a symbolic link; look at it and run again";
                setup(io::Error::other(format!("cannot show `{}`: {errno}", host.display())), Some(remedy.to_owned()))
            })?;
            shown.push((host, located));
        }
        Ok(Self { client, kind, fitted, image, layers, project, shown })
    }

    /// What a run needs in such a container, and everything that distinguishes it from others: the daemon's socket, the
    /// image, what is shown with its file numbers, limits, network, user. Not the command, its variables or its streams:
    /// those are each run's own.
    pub(super) fn on_paper(&self, terminal: Option<Terminal>) -> (Lowered, String) {
        let links = self.shown.iter().map(|(host, located)| {
            PathBuf::from(format!("{}:{}:{}", located.device, located.inode, host.to_string_lossy()))
        });
        let shown: Vec<Located> = self.located(links);
        let any = Path::new(ANY);
        let lowered = self.lowered(terminal, [any; 4], &shown, &BTreeMap::new());
        let key = format!("{} {} {:?}", self.client.socket().display(), lowered.request, self.project);
        (lowered, key)
    }

    /// Makes and starts it, and what is beside it.
    pub(super) fn open(&self, lookout: &mut dyn Lookout, words: Words) -> Result<Opened, LaunchError> {
        let uid = self.fitted.host().user.uid;
        let place = Place::make(uid).map_err(|error| setup(error, None))?;
        let program = own_program(&place, self.image.env.is_some()).map_err(|error| {
            let remedy = error.remedy();
            setup(error, remedy)
        })?;
        let mut links = Vec::new();
        for (number, (host, _)) in self.shown.iter().enumerate() {
            links.push(place.name(host, number).map_err(|error| setup(error, None))?);
        }
        let shown = self.located(links.into_iter());
        let paths = [program.as_path(), &place.door(), &place.empty(), &place.file()];
        let lowered = self.lowered(None, paths, &shown, &owner::labels(uid));
        let hosts = place.hosts(&self.names()).map_err(|error| setup(error, None))?;
        let container = Container::start(self.client.clone(), self.kind, &lowered, place)?;
        let start = |project| {
            let labels = owner::labels_of_service(uid);
            Beside::start(self.kind, self.fitted, project, &container, &hosts, &labels, lookout)
        };
        let beside = self.project.map(start).transpose()?;
        let farewell = container.remains().farewell(words);
        Ok(Opened { beside, container, _farewell: farewell })
    }

    fn names(&self) -> Vec<&str> {
        self.project.map(Project::names).unwrap_or_default()
    }

    fn located(&self, links: impl Iterator<Item = PathBuf>) -> Vec<Located> {
        let located = |(link, (_, at)): (PathBuf, &(PathBuf, polder_sys::Located))| Located {
            link,
            device: at.device,
            inode: at.inode,
        };
        links.zip(&self.shown).map(located).collect()
    }

    fn lowered(
        &self,
        terminal: Option<Terminal>,
        [program, door, empty, file]: [&Path; 4],
        shown: &[Located],
        labels: &BTreeMap<&'static str, String>,
    ) -> Lowered {
        let setting = Setting {
            kind: self.kind,
            image: &self.image.name,
            image_env: self.image.env.as_deref(),
            runtime: self.image.runtime.as_deref(),
            program,
            door,
            empty,
            file,
            layers: self.layers,
            shown,
            labels,
            names: &self.names(),
        };
        lower(self.fitted, terminal, &setting)
    }
}
