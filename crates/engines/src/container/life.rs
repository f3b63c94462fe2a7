//! The life of one container: made, started, its porter let in, and removed with everything that was made for it.

use super::api::{ApiError, Client, Deadline, ObjectName};
use super::autopsy::autopsy;
use super::kind::Kind;
use super::lower::Lowered;
use super::place::Place;
use super::remains::Remains;
use crate::shimmed::setup;
use polder_engine::LaunchError;
use polder_sys::cgroup::Watched;
use polder_sys::{Door, Launched, Porter, Recipe, SpawnError};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a daemon may take from the start of a container to its first process.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile whether the container still runs.
const GLANCE: Duration = Duration::from_millis(500);
/// How long a container may take to be gone when it was removed.
const GOING: Duration = Duration::from_secs(5);
/// How often it is looked for meanwhile.
const BLINK: Duration = Duration::from_millis(10);
/// How often a request is made that failed without a cause.
const TRIES_MAX: u32 = 3;
/// What Podman says instead of a cause, when two requests met.
const NO_CAUSE: &str = "%!w(<nil>)";

/// A container with its porter. Dropping it removes the container.
#[derive(Debug)]
pub(super) struct Container {
    client: Client,
    id: ObjectName,
    porter: Option<Porter>,
    watched: Watched,
    place: Place,
    remains: Remains,
}

impl Container {
    /// Makes and starts a container; what was made goes away again when that fails.
    pub(super) fn start(client: Client, kind: Kind, lowered: &Lowered, place: Place) -> Result<Self, LaunchError> {
        let door = Door::open(&place.door()).map_err(|error| setup(error, None))?;
        let turn = Turn::take(&client, kind)?;
        let id = create(&client, kind, &lowered.request)?;
        let mut made = Made { client: Some(client), id: Some(id) };
        let mut asked = &lowered.request;
        if let Some((home, request)) = &lowered.without_home
            && !made.has(home).map_err(|error| made.removed_after(said("look into the image", error)))?
        {
            made = made.replaced(kind, request)?;
            asked = request;
        }
        let started = made.start(door, lowered.uid, kind, asked);
        drop(turn);
        let porter = started.map_err(|error| made.removed_after(error))?;
        let watched = Watched::of(porter.pid());
        if let Some(limit) = watched.lacks(lowered.bounds) {
            let text = format!("the daemon did not set the limit `{limit}` of the container");
            let remedy = format!("see whether it can limit anything here, or `--accept {limit}`");
            return Err(made.removed_after(setup(io::Error::other(text), Some(remedy))));
        }
        let (client, id) = made.keep();
        Ok(Self { client, id, porter: Some(porter), watched, place, remains: Remains::none() })
    }

    /// Lets a run in.
    pub(super) fn enter(&self, recipe: &Recipe) -> Result<Launched, SpawnError> {
        self.porter.as_ref().ok_or(SpawnError::Vanished)?.enter(recipe)
    }

    /// Whether runs can still be let in.
    pub(super) fn is_there(&self) -> bool {
        self.porter.as_ref().is_some_and(Porter::is_there)
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn id(&self) -> &ObjectName {
        &self.id
    }

    /// Refuses a container whose network leads anywhere: where runs share it with services, the daemon alone made it.
    pub(super) fn has_a_loopback_only(&self) -> Result<(), LaunchError> {
        let pid = self.porter.as_ref().map_or(0, Porter::pid);
        let links = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).map_err(|error| setup(error, None))?;
        let other = links.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() != "lo");
        match other {
            None => Ok(()),
            Some((name, _)) => {
                let text = format!("the daemon gave the container the network link `{}`", name.trim());
                // Kernels with tunnels built in put one into every network namespace unless they are told not to.
                let remedy =
                    "where it is a tunnel of the kernel's own: `sysctl net.core.fb_tunnels_only_for_init_net=1`";
                Err(setup(io::Error::other(text), Some(remedy.to_owned())))
            }
        }
    }

    /// What could not be removed, also of what is still to be removed when this is dropped.
    pub(super) fn remains(&self) -> Remains {
        self.remains.clone()
    }

    /// Its cgroups.
    pub(super) fn watched(&self) -> &Watched {
        &self.watched
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // The porter ends when its caller is gone, and with it the container.
        self.porter = None;
        let removed = self.client.remove_container(&self.id, Deadline::quick());
        self.remains.note(format_args!("container `{}`", self.id.as_str()), removed);
        // It removes itself as well, and whoever comes second may hear that it is done before it is.
        let begun = Instant::now();
        while begun.elapsed() < GOING && self.client.inspect_container(&self.id, Deadline::quick()).is_ok() {
            std::thread::sleep(BLINK);
        }
        self.remains.note("the directory of the run", self.place.remove());
    }
}

/// One container after the other is asked for: Podman's service has been seen to end when many came at once. Whoever uses
/// the same service waits here, in whichever process.
pub(super) struct Turn(Option<File>);

impl Turn {
    pub(super) fn take(client: &Client, kind: Kind) -> Result<Self, LaunchError> {
        if kind == Kind::Docker {
            return Ok(Self(None));
        }
        // The directory of its socket is the one thing that all who use it have in common.
        let directory = client.socket().parent().unwrap_or(Path::new("/"));
        let locked = File::open(directory).and_then(|file| file.lock().map(|()| file));
        locked.map(|file| Self(Some(file))).map_err(|error| setup(error, None))
    }
}

/// A container that is not yet worth keeping.
struct Made {
    client: Option<Client>,
    id: Option<ObjectName>,
}

impl Made {
    fn start(&mut self, door: Door, uid: u32, kind: Kind, request: &Value) -> Result<Porter, LaunchError> {
        let (Some(client), Some(id)) = (&self.client, &self.id) else {
            return Err(setup(io::Error::other("there is no container"), None));
        };
        again(|| client.start_container(id, Deadline::quick())).map_err(|error| said("start the container", error))?;
        let begun = Instant::now();
        loop {
            let heard = polder_sys::wait::readable(&[Some(door.bell())], Some(GLANCE));
            if heard.map_err(|error| setup(error, None))?.first() == Some(&true) {
                break;
            }
            match client.inspect_container(id, Deadline::quick()) {
                Ok(found) if found.state.running => {}
                Ok(_) => return Err(autopsy(client, kind, request)),
                // One that removes itself at its end is gone, not stopped.
                Err(error) if error.is_absent() => return Err(autopsy(client, kind, request)),
                Err(error) => return Err(said("look at the container", error)),
            }
            if begun.elapsed() > PATIENCE {
                let text = format!("nothing came out of the container in {} seconds", PATIENCE.as_secs());
                let remedy = "see what the daemon is doing; its log says more";
                return Err(setup(io::Error::other(text), Some(remedy.to_owned())));
            }
        }
        let porter = door.admit(uid).map_err(|error| {
            let remedy = "a daemon that maps users to others cannot be used by root";
            setup(error, Some(remedy.to_owned()))
        })?;
        let state = client.inspect_container(id, Deadline::quick());
        let pid = state.map_err(|error| said("look at the container", error))?.state.pid;
        if pid != i64::from(porter.pid()) {
            let text = format!("process {} came out instead of the container's, which is {pid}", porter.pid());
            return Err(setup(io::Error::other(text), None));
        }
        Ok(porter)
    }

    /// Whether there is a directory in it, also at the end of a symbolic link.
    fn has(&self, directory: &Path) -> Result<bool, ApiError> {
        let (Some(client), Some(id)) = (&self.client, &self.id) else { return Ok(false) };
        client.container_has(id, &format!("{}/.", directory.display()), Deadline::quick())
    }

    /// Another one in its place.
    fn replaced(mut self, kind: Kind, request: &Value) -> Result<Self, LaunchError> {
        let (Some(client), Some(id)) = (self.client.take(), self.id.take()) else { return Ok(self) };
        client.remove_container(&id, Deadline::quick()).map_err(|error| said("remove the container", error))?;
        let id = create(&client, kind, request)?;
        Ok(Self { client: Some(client), id: Some(id) })
    }

    /// Removes the container after a failure; says both where that fails too.
    fn removed_after(&mut self, error: LaunchError) -> LaunchError {
        let (Some(client), Some(id)) = (self.client.take(), self.id.take()) else { return error };
        match client.remove_container(&id, Deadline::quick()) {
            Ok(()) => error,
            Err(left) => {
                let LaunchError { failure, remedy } = error;
                let first = LaunchError { failure, remedy: None };
                let text = format!("{first}; and container `{}` could not be removed: {left}", id.as_str());
                setup(io::Error::other(text), remedy)
            }
        }
    }

    fn keep(mut self) -> (Client, ObjectName) {
        (self.client.take().expect("invariant: taken once"), self.id.take().expect("invariant: taken once"))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let (Some(client), Some(id)) = (&self.client, &self.id) {
            // Only where something panics: every failure removes it with `removed_after`.
            let _ = client.remove_container(id, Deadline::quick());
        }
    }
}

pub(super) fn create(client: &Client, kind: Kind, request: &Value) -> Result<ObjectName, LaunchError> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let pid = std::process::id();
    let start = polder_sys::cgroup::start_time(pid).unwrap_or(0);
    let made = again(|| {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("polder-{pid}-{start}-{number}");
        let name = name.parse().expect("invariant: letters, digits and dashes");
        client.create_container(&name, request, Deadline::quick())
    });
    made.map(|made| made.id).map_err(|error| said(&format!("make a container by {}", kind.id()), error))
}

/// Asks once more where a daemon failed without a cause.
pub(super) fn again<T>(ask: impl Fn() -> Result<T, ApiError>) -> Result<T, ApiError> {
    let mut tries = 1;
    loop {
        match ask() {
            Err(error) if tries < TRIES_MAX && error.to_string().contains(NO_CAUSE) => tries += 1,
            answer => return answer,
        }
    }
}

/// What a daemon said to something.
pub(super) fn said(what: &str, error: ApiError) -> LaunchError {
    let remedy = error.remedy();
    setup(io::Error::other(format!("cannot {what}: {error}")), remedy)
}
