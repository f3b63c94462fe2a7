//! The container daemons that tests talk to: Docker, Podman of root and Podman of the ordinary user.
//!
//! Nothing on a test machine starts them, and tests must not depend on what somebody left running. So every run has its
//! own, with everything they own in one fresh directory. A keeper, this program once more in a process group of its own,
//! starts them, says where they are, and stops them when its input ends: at the end of the run, and just as well when the
//! run is interrupted or killed. What a killed keeper leaves, the next one sweeps.

mod docker;
mod image;
mod keeper;
mod place;
mod podman;
mod ready;

use crate::machine;
use crate::run::Outcome;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

pub(crate) use keeper::keep;

/// The hidden verb of the keeper.
pub(crate) const KEEPER: &str = "daemons-keeper";
/// The image that every daemon has.
pub(crate) const IMAGE: &str = "polder-test/busybox:local";

/// Daemons that run until this is dropped.
pub(crate) struct Daemons {
    keeper: Child,
    /// Open as long as they are wanted.
    wanted: Option<ChildStdin>,
    sockets: BTreeMap<String, String>,
}

/// Whose daemons are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Root,
    OrdinaryUser,
}

impl Daemons {
    /// Starts them, and waits until each answers. Only root can: for anybody else there are none.
    pub(crate) fn start() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let mut keeper = Command::new(program)
            .arg(KEEPER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the tests; the keeper ends when they have.
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start the keeper of the daemons: {error}"))?;
        let wanted = keeper.stdin.take();
        let said = keeper.stdout.take().ok_or("the keeper has no output")?;
        let mut sockets = BTreeMap::new();
        for line in BufReader::new(said).lines() {
            let line = line.map_err(|error| error.to_string())?;
            if line == keeper::READY {
                return Ok(Self { keeper, wanted, sockets });
            }
            let (name, socket) = line.split_once('=').ok_or_else(|| format!("the keeper said `{line}`"))?;
            sockets.insert(name.to_owned(), socket.to_owned());
        }
        // It has said why, and stopped what it had started.
        drop(wanted);
        let _ = keeper.wait();
        Err("the container daemons did not start".to_owned())
    }

    /// What tests of this user are told.
    pub(crate) fn environment(&self, whose: Whose) -> Vec<(String, String)> {
        let podman = match whose {
            Whose::Root => keeper::PODMAN,
            Whose::OrdinaryUser => keeper::PODMAN_OF_USER,
        };
        let pair = |name: &str, daemon: &str| {
            self.sockets.get(daemon).map(|socket| (name.to_owned(), format!("unix://{socket}")))
        };
        let image = ("POLDER_TEST_IMAGE".to_owned(), IMAGE.to_owned());
        // Docker has it for everybody.
        let runtime = machine::has_runsc().then(|| ("POLDER_TEST_RUNTIME".to_owned(), "runsc".to_owned()));
        let ports = podman::REGISTRIES.map(|port| port.to_string()).join(",");
        let ports = Some(("POLDER_TEST_REGISTRIES".to_owned(), ports));
        [pair("DOCKER_HOST", keeper::DOCKER), pair("CONTAINER_HOST", podman), Some(image), runtime, ports]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        drop(self.wanted.take());
        let _ = self.keeper.wait();
    }
}

/// `cargo xtask daemons -- COMMAND`: runs a command while the daemons are up.
pub(crate) fn with(args: &[String]) -> Outcome {
    let args = args.strip_prefix(&["--".to_owned()]).unwrap_or(args);
    let (program, args) = args.split_first().ok_or("say what to run: cargo xtask daemons -- COMMAND ARGS…")?;
    machine::install_packages()?;
    let daemons = Daemons::start()?;
    let user = daemons.environment(Whose::OrdinaryUser);
    let of_user = user.into_iter().find(|(name, _)| name == "CONTAINER_HOST").map(|(_, socket)| socket);
    let status = Command::new(program)
        .args(args)
        .envs(daemons.environment(Whose::Root))
        .envs(of_user.map(|socket| ("POLDER_TEST_USER_CONTAINER_HOST", socket)))
        .status()
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(125))
}
