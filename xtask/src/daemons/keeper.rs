//! The process that starts the daemons, says where they are, and stops them when nobody wants them any more.

use super::place::Place;
use super::{docker, image, podman, ready};
use crate::machine;
use crate::run::Outcome;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The daemons' names on the keeper's output.
pub(super) const DOCKER: &str = "docker";
pub(super) const PODMAN: &str = "podman";
pub(super) const PODMAN_OF_USER: &str = "podman-of-user";
/// The line after the last socket.
pub(super) const READY: &str = "ready";

/// A daemon that was started.
pub(super) struct Started {
    pub(super) name: &'static str,
    pub(super) process: Child,
    pub(super) socket: PathBuf,
    pub(super) log: PathBuf,
}

/// The keeper's whole life.
pub(crate) fn keep() -> Outcome {
    if !machine::is_root() {
        return Err("only root can start the daemons for the tests".to_owned());
    }
    machine::make_user()?;
    let place = Place::new()?;
    let mut started = Vec::new();
    let told = bring_up(&place, &mut started).and_then(|()| tell(&started));
    if told.is_ok() {
        // Until the other end closes, whatever the reason.
        let _ = io::stdin().read_to_end(&mut Vec::new());
    }
    let cleared = place.clear();
    for mut daemon in started {
        // Each was ended with the place; this only takes its answer.
        let _ = daemon.process.wait();
    }
    told.and(cleared).map(|()| 0)
}

fn bring_up(place: &Place, started: &mut Vec<Started>) -> Result<(), String> {
    started.push(docker::start(place)?);
    started.push(podman::start(place, podman::Owner::Root)?);
    started.push(podman::start(place, podman::Owner::OrdinaryUser)?);
    let archive = image::archive(place)?;
    for daemon in started {
        ready::wait_for(daemon)?;
        image::load(&daemon.socket, &archive).map_err(|error| ready::with_log(daemon, &error))?;
    }
    Ok(())
}

fn tell(started: &[Started]) -> Result<(), String> {
    let mut lines: String =
        started.iter().map(|daemon| format!("{}={}\n", daemon.name, daemon.socket.display())).collect();
    lines.push_str(READY);
    lines.push('\n');
    let mut output = io::stdout();
    output.write_all(lines.as_bytes()).and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// A command in the place's cgroup, with a mount table of its own, so that no mount outlives it, in a process group of its
/// own, and with its words in a file.
pub(super) fn launch(place: &Place, command: &Command, log: &Path) -> Result<Child, String> {
    let cannot = |error: io::Error| format!("cannot start {command:?}: {error}");
    let words = File::create(log).map_err(cannot)?;
    let enter = r#"echo $$ >"$1/cgroup.procs" 2>/dev/null; shift; exec unshare --mount --propagation slave "$@""#;
    let mut outer = Command::new("sh");
    outer.args(["-c", enter, "sh"]).arg(place.cgroup()).arg(command.get_program()).args(command.get_args());
    outer.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    outer.envs(command.get_envs().filter_map(|(name, value)| value.map(|value| (name, value))));
    outer.current_dir("/").stdin(Stdio::null()).stdout(words.try_clone().map_err(cannot)?).stderr(words);
    std::os::unix::process::CommandExt::process_group(&mut outer, 0);
    outer.spawn().map_err(cannot)
}
