//! The container of one run, from its beginning to its end.

use super::memory::MemoryWatch;
use crate::container::api::{Attached, Client, Deadline, ObjectName};
use crate::container::kind::Kind;
use crate::container::life::{Turn, again, create, said};
use crate::container::place::Place;
use crate::container::remains::Remains;
use crate::shimmed::setup;
use polder_engine::LaunchError;
use polder_sys::cgroup::{Bounds, Watched};
use serde_json::Value;
use std::io;
use std::time::{Duration, Instant};

/// How long a container may take to be gone when it was removed.
const GOING: Duration = Duration::from_secs(5);
/// How often it is looked for meanwhile.
const BLINK: Duration = Duration::from_millis(10);
const SIGKILL: i32 = 9;

/// A container. Dropping it ends and removes it.
#[derive(Debug)]
pub(super) struct Container {
    client: Client,
    id: ObjectName,
    place: Place,
    remains: Remains,
    /// Absent where memory has no limit.
    memory: Option<MemoryWatch>,
}

impl Container {
    /// Makes and starts it; gives its streams.
    pub(super) fn start(
        client: &Client,
        kind: Kind,
        request: &Value,
        bounds: Bounds,
        place: Place,
    ) -> Result<(Self, Attached), LaunchError> {
        let turn = Turn::take(client, kind)?;
        let id = create(client, kind, request)?;
        // From here on it goes away with the value.
        let mut made = Self { client: client.clone(), id, place, remains: Remains::none(), memory: None };
        // Before it starts, so that nothing it says is lost.
        let attached = client.attach_container(&made.id, Deadline::quick());
        let attached = attached.map_err(|error| said("get the streams of the container", error))?;
        again(|| client.start_container(&made.id, Deadline::quick()))
            .map_err(|error| said("start the container", error))?;
        drop(turn);
        made.memory = made.bounded(bounds)?;
        Ok((made, attached))
    }

    /// Refuses a container whose limits are not set, and watches over its memory where that has one.
    fn bounded(&self, bounds: Bounds) -> Result<Option<MemoryWatch>, LaunchError> {
        let state = self.client.inspect_container(&self.id, Deadline::quick());
        let state = state.map_err(|error| said("look at the container", error))?.state;
        // One that has no process has no limit either, as far as anybody can see.
        let watched = Watched::of(u32::try_from(state.pid).unwrap_or(0));
        let Some(limit) = watched.lacks(bounds) else {
            let watch = bounds.memory_bytes.map(|_| MemoryWatch::of(watched)).transpose();
            return watch.map_err(|error| setup(error, None));
        };
        let text = format!("the daemon did not set the limit `{limit}` of the container");
        let remedy = format!("see whether it can limit anything here, or `--accept {limit}`");
        Err(setup(io::Error::other(text), Some(remedy)))
    }

    /// Ends everything in it. One that has ended is no error.
    pub(super) fn kill(&self) {
        // Where this fails, removing the container ends it.
        let _ = self.client.kill_container(&self.id, SIGKILL, Deadline::quick());
    }

    /// Whether its memory ran out, as its cgroup or the daemon knows. The daemon knows when it has seen the end, which may be
    /// after us: the streams end first.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let begun = Instant::now();
        loop {
            if self.memory.as_ref().is_some_and(MemoryWatch::ran_out) {
                return true;
            }
            match self.client.inspect_container(&self.id, Deadline::quick()) {
                Ok(seen) if seen.state.running && begun.elapsed() < GOING => std::thread::sleep(BLINK),
                Ok(seen) if seen.state.oom_killed => return true,
                // While the daemon was asked, the cgroup may have told.
                Ok(_) | Err(_) => return self.memory.as_ref().is_some_and(MemoryWatch::ran_out),
            }
        }
    }

    /// What could not be removed, also of what is still to be removed when this is dropped.
    pub(super) fn remains(&self) -> Remains {
        self.remains.clone()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let removed = self.client.remove_container(&self.id, Deadline::quick());
        self.remains.note(format_args!("container `{}`", self.id.as_str()), removed);
        // It may remove itself as well, and whoever comes second may hear that it is done before it is.
        let begun = Instant::now();
        while begun.elapsed() < GOING && self.client.inspect_container(&self.id, Deadline::quick()).is_ok() {
            std::thread::sleep(BLINK);
        }
        self.remains.note("the directory of the run", self.place.remove());
    }
}
