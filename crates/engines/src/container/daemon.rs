//! Finding a daemon, and judging whether it is one to talk to.
//!
//! Where it listens is said by the caller's environment, by the context that the caller chose for Docker's own command, or
//! is where the system usually has it. Whoever listens there decides everything about a run: so it must be a socket of
//! this machine, root's or the caller's own, at a place where no command could have put it.

mod context;

use super::api::{ApiError, ApiVersion, Client, Deadline, Dialect, Ping};
use super::kind::Kind;
use crate::shimmed::setup;
use polder_engine::LaunchError;
use polder_facts::HostFacts;
use polder_plan::Plan;
use polder_policy::Access;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Who said where a daemon listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Variable(&'static str),
    Context(String),
    /// Nobody: the system has it there.
    Usual,
}

/// What lies below daemons and makes containers of any kind for whoever asks.
const BELOW: [&str; 2] = ["/run/containerd/containerd.sock", "/run/docker/containerd/containerd.sock"];

/// A place where a daemon may listen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    socket: PathBuf,
    said: Said,
}

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub(super) enum DaemonError {
    #[error("{said} names `{address}`, which is not a socket of this machine")]
    NotLocal { said: String, address: String },
    #[error("cannot read the Docker context `{name}`: {why}")]
    Context { name: String, why: String },
    #[error("no daemon of {} answers: {}", kind.title(), tried.join(", "))]
    None { kind: Kind, tried: Vec<String> },
    #[error("the socket `{}` lies where a command can write", socket.display())]
    InReach { socket: PathBuf },
    #[error("the socket `{}` belongs to uid {uid}, who is neither root nor the caller", socket.display())]
    Stranger { socket: PathBuf, uid: u32 },
    #[error("`{}` is not a socket", socket.display())]
    NotASocket { socket: PathBuf },
    #[error("cannot reach the daemon of {}", kind.title())]
    Unreachable { kind: Kind, source: ApiError },
    #[error("what answers at `{}` is not {}", socket.display(), kind.title())]
    Other { kind: Kind, socket: PathBuf },
    #[error("the daemon at `{}` speaks version {version} of its interface; {} is the oldest that will do", socket.display(), ApiVersion::OLDEST)]
    TooOld { socket: PathBuf, version: ApiVersion },
}

/// The daemon, which has answered. `plan` adds what its command can write to where no socket may lie.
pub(super) fn connect(kind: Kind, host: &HostFacts, plan: Option<&Plan>) -> Result<Client, LaunchError> {
    find(kind, host, plan).map_err(|error| {
        let remedy = error.remedy(kind);
        setup(error, Some(remedy))
    })
}

fn find(kind: Kind, host: &HostFacts, plan: Option<&Plan>) -> Result<Client, DaemonError> {
    let mut tried = Vec::new();
    for Candidate { socket, said } in candidates(kind, host)? {
        match (reach(kind, &socket, host, plan), said) {
            (Ok(client), _) => return Ok(client),
            // Nobody asked for this one: the next may do.
            (Err(DaemonError::Unreachable { source, .. }), Said::Usual) => tried.push(source.to_string()),
            (Err(error), _) => return Err(error),
        }
    }
    Err(DaemonError::None { kind, tried })
}

/// Every socket of this machine at which a daemon of containers is known to listen, whichever engine is used: whoever
/// reaches one of them needs no way out of a sandbox. Links are resolved, and what is not there is left out.
pub(super) fn known_sockets(host: &HostFacts) -> Vec<PathBuf> {
    let variable = |name: &str| host.environment.get(OsStr::new(name));
    let said = ["DOCKER_HOST", "CONTAINER_HOST"].into_iter().filter_map(variable).cloned();
    let said = said.chain(context::addresses(host).into_iter().map(OsString::from));
    // An address of another machine is no socket that could be shown.
    let said = said.filter_map(|address| local(&address, &Said::Usual).ok());
    let usual = [Kind::Docker, Kind::Podman].into_iter().flat_map(|kind| usual(kind, host));
    let known = said.chain(usual).chain(of_users()).chain(BELOW.map(PathBuf::from));
    let known = known.filter_map(|socket| socket.canonicalize().ok());
    known.filter(|socket| socket.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())).collect()
}

/// Where daemons of users listen who are logged in, the caller or others.
fn of_users() -> impl Iterator<Item = PathBuf> {
    let users = fs::read_dir("/run/user").into_iter().flatten().flatten().map(|entry| entry.path());
    users.flat_map(|own| [own.join("docker.sock"), own.join("podman/podman.sock")])
}

/// Where a daemon may listen, the best first. What somebody said stands alone.
fn candidates(kind: Kind, host: &HostFacts) -> Result<Vec<Candidate>, DaemonError> {
    let variable = |name: &str| host.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
    let name = match kind {
        Kind::Docker => "DOCKER_HOST",
        Kind::Podman => "CONTAINER_HOST",
    };
    if let Some(address) = variable(name) {
        let said = Said::Variable(name);
        return Ok(vec![Candidate { socket: local(address, &said)?, said }]);
    }
    if kind == Kind::Docker
        && let Some((name, address)) = context::chosen(host)?
    {
        let said = Said::Context(name);
        return Ok(vec![Candidate { socket: local(&OsString::from(address), &said)?, said }]);
    }
    Ok(usual(kind, host).into_iter().map(|socket| Candidate { socket, said: Said::Usual }).collect())
}

/// Where systems have it, the best first.
fn usual(kind: Kind, host: &HostFacts) -> Vec<PathBuf> {
    let runtime = host.environment.get(OsStr::new("XDG_RUNTIME_DIR")).filter(|value| !value.is_empty());
    let own = runtime.map(PathBuf::from).filter(|path| path.is_absolute());
    let own = own.unwrap_or_else(|| PathBuf::from(format!("/run/user/{}", host.user.uid)));
    let root = host.user.uid == 0;
    match kind {
        Kind::Docker if root => vec![PathBuf::from("/var/run/docker.sock")],
        Kind::Docker => vec![PathBuf::from("/var/run/docker.sock"), own.join("docker.sock")],
        Kind::Podman if root => vec![PathBuf::from("/run/podman/podman.sock")],
        // One's own first: root's Podman is seldom open to others, and its containers are root's.
        Kind::Podman => vec![own.join("podman/podman.sock"), PathBuf::from("/run/podman/podman.sock")],
    }
}

/// The path in an address. Other machines are no place for a sandbox over this one's files.
fn local(address: &OsStr, said: &Said) -> Result<PathBuf, DaemonError> {
    let path = address.to_str().and_then(|text| text.strip_prefix("unix://")).map(PathBuf::from);
    path.filter(|path| path.is_absolute()).ok_or_else(|| DaemonError::NotLocal {
        said: said.to_string(),
        address: address.to_string_lossy().into_owned(),
    })
}

/// Talks to who listens at a socket, if that is somebody to talk to.
fn reach(kind: Kind, socket: &Path, host: &HostFacts, plan: Option<&Plan>) -> Result<Client, DaemonError> {
    judge(kind, socket, host, plan)?;
    let client = Client::new(socket.to_owned(), host.user.uid);
    let unreachable = |source| DaemonError::Unreachable { kind, source };
    let Ping { version, server } = client.ping(Deadline::quick()).map_err(unreachable)?;
    if server.starts_with("Libpod/") != (kind == Kind::Podman) {
        return Err(DaemonError::Other { kind, socket: socket.to_owned() });
    }
    let version = version.unwrap_or(ApiVersion::OLDEST);
    if version < ApiVersion::OLDEST {
        return Err(DaemonError::TooOld { socket: socket.to_owned(), version });
    }
    let dialect = match kind {
        Kind::Docker => Dialect::Docker,
        Kind::Podman => Dialect::Podman,
    };
    Ok(client.speak(version.min(ApiVersion::NEWEST)).understood_as(dialect))
}

/// Whether nobody but root and the caller can have put a socket there. The connection is looked at once more by itself;
/// this says it in words that help.
fn judge(kind: Kind, socket: &Path, host: &HostFacts, plan: Option<&Plan>) -> Result<(), DaemonError> {
    let unreachable = |error: io::Error| {
        let socket = socket.to_owned();
        let source = match error.kind() {
            io::ErrorKind::PermissionDenied => ApiError::NoPermission { socket },
            _ => ApiError::NoSocket { socket },
        };
        DaemonError::Unreachable { kind, source }
    };
    let resolved = socket.canonicalize().map_err(unreachable)?;
    let shown = plan.into_iter().flat_map(|plan| &plan.files.shown);
    let writable = shown.filter(|shown| shown.access == Access::ReadWrite).map(|shown| shown.host.as_path());
    let mut trees = writable.chain([host.tree.root.as_path()]);
    // Both: a link may lead out of a tree, and a name may lie in one.
    if trees.any(|tree| resolved.starts_with(tree) || socket.starts_with(tree)) {
        return Err(DaemonError::InReach { socket: socket.to_owned() });
    }
    let metadata = resolved.symlink_metadata().map_err(unreachable)?;
    if !metadata.file_type().is_socket() {
        return Err(DaemonError::NotASocket { socket: socket.to_owned() });
    }
    let uid = metadata.uid();
    if uid != 0 && uid != host.user.uid {
        return Err(DaemonError::Stranger { socket: socket.to_owned(), uid });
    }
    Ok(())
}

impl DaemonError {
    fn remedy(&self, kind: Kind) -> String {
        let variable = match kind {
            Kind::Docker => "DOCKER_HOST",
            Kind::Podman => "CONTAINER_HOST",
        };
        match self {
            Self::NotLocal { .. } => format!("set {variable} to `unix:///PATH`, or unset it"),
            Self::Context { .. } => "choose another with `docker context use`, or set DOCKER_HOST".to_owned(),
            Self::None { .. } => match kind {
                Kind::Docker => "start Docker, join the group of its socket, or set DOCKER_HOST".to_owned(),
                Kind::Podman => {
                    "start `podman system service` (`systemctl --user start podman.socket`), or set CONTAINER_HOST"
                        .to_owned()
                }
            },
            Self::InReach { .. } => format!("have the daemon listen elsewhere, and set {variable}"),
            Self::Stranger { .. } => "use a daemon of root's or of your own".to_owned(),
            Self::NotASocket { .. } => format!("set {variable} to the daemon's socket"),
            Self::Unreachable { source, .. } => {
                source.remedy().unwrap_or_else(|| "see what the daemon is doing; its log says more".to_owned())
            }
            Self::Other { .. } => match kind {
                Kind::Docker => "use engine `podman`, with CONTAINER_HOST set to this socket".to_owned(),
                Kind::Podman => "use engine `docker`, with DOCKER_HOST set to this socket".to_owned(),
            },
            Self::TooOld { .. } => "use a newer one: Docker 19.03 or Podman 3 is old enough".to_owned(),
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Context(name) => write!(f, "the Docker context `{name}`"),
            Self::Usual => f.write_str("the system"),
        }
    }
}

#[cfg(test)]
mod tests;
