//! Podman's service for the interface that Docker has: one of root's, one of the ordinary user's.

use super::keeper::{self, Started};
use super::place::Place;
use crate::machine;
use crate::run::call;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Whose Podman it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Root,
    OrdinaryUser,
}

/// What Podman must know on a machine whose hard limits cannot be raised and whose cgroups are of both kinds; locks are
/// files, so that none is left in memory that everybody shares.
const SETTINGS: &str = r#"[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
lock_type = "file"
"#;

/// Ports of the loopback at which a registry of a test may listen: Podman speaks to none without TLS that is not in a list.
pub(super) const REGISTRIES: [u16; 4] = [45871, 45872, 45873, 45874];

fn registries() -> String {
    let one = |port: &u16| format!("[[registry]]\nlocation = \"127.0.0.1:{port}\"\ninsecure = true\n");
    REGISTRIES.iter().map(one).collect()
}

pub(super) fn start(place: &Place, owner: Owner) -> Result<Started, String> {
    let (name, short) = match owner {
        Owner::Root => (keeper::PODMAN, "root"),
        Owner::OrdinaryUser => (keeper::PODMAN_OF_USER, "user"),
    };
    let home = place.path().join(short);
    let at = |name: &str| home.join(name);
    let (socket, log) = (at("podman.sock"), place.path().join(format!("{name}.log")));
    let cannot = |error: std::io::Error| format!("cannot make {}: {error}", home.display());
    for directory in ["", "home", "run", "data", "rr", "tmp"] {
        fs::create_dir(at(directory)).map_err(cannot)?;
    }
    fs::write(at("containers.conf"), SETTINGS).map_err(cannot)?;
    fs::write(at("registries.conf"), registries()).map_err(cannot)?;
    let mut podman = match owner {
        Owner::Root => Command::new("env"),
        Owner::OrdinaryUser => {
            call(Command::new("chown").args(["--recursive", &format!("{0}:{0}", machine::USER)]).arg(&home))?;
            call(Command::new("chmod").arg("700").arg(at("run")))?;
            machine::as_user(Path::new("env"))
        }
    };
    let variable = |name: &str, path: &Path| format!("{name}={}", path.display());
    podman.arg(variable("HOME", &at("home"))).arg(variable("XDG_RUNTIME_DIR", &at("run")));
    podman.arg(variable("CONTAINERS_CONF", &at("containers.conf"))).arg(variable("TMPDIR", &at("tmp")));
    podman.arg(variable("CONTAINERS_REGISTRIES_CONF", &at("registries.conf")));
    podman.arg("podman").arg("--root").arg(at("data")).arg("--runroot").arg(at("rr"));
    podman.arg("--tmpdir").arg(at("tmp")).args(["--storage-driver", "overlay"]);
    podman.args(["system", "service", "--time", "0"]).arg(format!("unix://{}", socket.display()));
    let process = keeper::launch(place, &podman, &log)?;
    // Docker writes its own; every wrapper on the way replaces itself, so this is the service.
    fs::write(place.path().join(format!("{name}.pid")), process.id().to_string()).map_err(cannot)?;
    Ok(Started { name, process, socket, log })
}
