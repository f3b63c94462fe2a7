use super::*;
use crate::testing::host_at;
use expect_test::expect;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::os::unix::net::UnixListener;

/// A machine whose user has this home and these variables beside it.
fn machine(home: &Path, variables: &[(&str, &str)]) -> HostFacts {
    let mut host = host_at("/repo", &[]);
    host.user.uid = 1234;
    host.user.home = home.to_owned();
    host.environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    host
}

fn shown(kind: Kind, host: &HostFacts) -> String {
    match candidates(kind, host) {
        Ok(list) => list.iter().map(|one| format!("{} ({})\n", one.socket.display(), one.said)).collect(),
        Err(error) => format!("{error}\n  remedy: {}\n", error.remedy(kind)),
    }
}

struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polder-daemon-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join(".docker")).expect("a home");
        Self(path)
    }

    fn context(&self, name: &str, meta: &str) {
        let hash: String = Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let directory = self.0.join(".docker/contexts/meta").join(hash);
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("meta.json"), meta).expect("a file");
    }

    fn config(&self, text: &str) {
        fs::write(self.0.join(".docker/config.json"), text).expect("a file");
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_daemon_is_where_the_system_has_it() {
    let home = Path::new("/nonexistent");
    let user = machine(home, &[("XDG_RUNTIME_DIR", "/run/user/1234")]);
    let mut root = machine(home, &[]);
    root.user.uid = 0;
    let said: Vec<_> =
        [&user, &root].iter().flat_map(|host| [Kind::Docker, Kind::Podman].map(|kind| shown(kind, host))).collect();
    expect![[r#"
        /var/run/docker.sock (the system)
        /run/user/1234/docker.sock (the system)

        /run/user/1234/podman/podman.sock (the system)
        /run/podman/podman.sock (the system)

        /var/run/docker.sock (the system)

        /run/podman/podman.sock (the system)
    "#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn what_somebody_said_stands_alone_and_is_on_this_machine() {
    let home = Path::new("/nonexistent");
    let addresses =
        ["unix:///x/d.sock", "", "tcp://10.0.0.1:2375", "ssh://u@h", "/x/d.sock", "unix://x/d.sock", "fd://"];
    let said: Vec<_> =
        addresses.iter().map(|address| shown(Kind::Docker, &machine(home, &[("DOCKER_HOST", address)]))).collect();
    expect![[r#"
        /x/d.sock (DOCKER_HOST)

        /var/run/docker.sock (the system)
        /run/user/1234/docker.sock (the system)

        DOCKER_HOST names `tcp://10.0.0.1:2375`, which is not a socket of this machine
          remedy: set DOCKER_HOST to `unix:///PATH`, or unset it

        DOCKER_HOST names `ssh://u@h`, which is not a socket of this machine
          remedy: set DOCKER_HOST to `unix:///PATH`, or unset it

        DOCKER_HOST names `/x/d.sock`, which is not a socket of this machine
          remedy: set DOCKER_HOST to `unix:///PATH`, or unset it

        DOCKER_HOST names `unix://x/d.sock`, which is not a socket of this machine
          remedy: set DOCKER_HOST to `unix:///PATH`, or unset it

        DOCKER_HOST names `fd://`, which is not a socket of this machine
          remedy: set DOCKER_HOST to `unix:///PATH`, or unset it
    "#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn the_chosen_context_is_followed() {
    let home = Home::new("context");
    home.config(r#"{"auths": {}, "currentContext": "rootless"}"#);
    home.context("rootless", r#"{"Name":"rootless","Endpoints":{"docker":{"Host":"unix:///r/d.sock"}}}"#);
    home.context("far", r#"{"Name":"far","Endpoints":{"docker":{"Host":"ssh://far"}}}"#);
    home.context("odd", r#"{"Name":"odd","Endpoints":{}}"#);
    let of = |variables: &[(&str, &str)]| shown(Kind::Docker, &machine(&home.0, variables));
    assert_eq!(of(&[]), "/r/d.sock (the Docker context `rootless`)\n");
    assert_eq!(of(&[("DOCKER_HOST", "unix:///x")]), "/x (DOCKER_HOST)\n");
    assert!(of(&[("DOCKER_CONTEXT", "default")]).starts_with("/var/run/docker.sock"));
    assert!(of(&[("DOCKER_CONTEXT", "far")]).starts_with("the Docker context `far` names `ssh://far`, which is not"));
    assert!(of(&[("DOCKER_CONTEXT", "odd")]).contains("names no daemon"));
    assert!(of(&[("DOCKER_CONTEXT", "../../x")]).starts_with("cannot read the Docker context `../../x`"));
    // A broken configuration is an error, not a default.
    home.config("{");
    assert!(of(&[]).starts_with("cannot read the Docker context `current`"));
}

fn judged(socket: &Path, host: &HostFacts) -> String {
    match judge(Kind::Docker, socket, host, None) {
        Ok(()) => "fine".to_owned(),
        Err(DaemonError::Unreachable { source, .. }) => source.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_socket_that_a_command_or_a_stranger_could_have_made_is_refused() {
    let home = Home::new("judge");
    let (socket, file, link) = (home.0.join("d.sock"), home.0.join("file"), home.0.join("link"));
    let _listener = UnixListener::bind(&socket).expect("a listener");
    fs::write(&file, "").expect("a file");
    std::os::unix::fs::symlink(&socket, &link).expect("a link");
    let owner = fs::metadata(&socket).expect("the socket").uid();
    let mut host = machine(&home.0, &[]);
    host.user.uid = owner;
    assert_eq!(judged(&socket, &host), "fine");
    assert_eq!(judged(&link, &host), "fine");
    assert!(judged(&file, &host).ends_with("is not a socket"));
    assert!(judged(&home.0.join("none"), &host).starts_with("there is no socket"));
    if owner != 0 {
        host.user.uid = owner + 1;
        assert!(judged(&socket, &host).ends_with("who is neither root nor the caller"));
        host.user.uid = owner;
    }
    // A workspace around it.
    host.tree.root = home.0.canonicalize().expect("a path");
    assert!(judged(&socket, &host).ends_with("lies where a command can write"));
}

#[test]
fn the_sockets_of_all_daemons_are_known() {
    let home = Home::new("known");
    let at = |name: &str| home.0.join(name);
    fs::create_dir_all(at("run/podman")).expect("a directory");
    let names = ["said", "contained", "run/docker.sock", "run/podman/podman.sock", "chosen", "other", "unknown"];
    let _listening: Vec<_> = names.iter().map(|name| UnixListener::bind(at(name)).expect("a socket")).collect();
    fs::write(at("file"), "").expect("a file");
    for name in ["chosen", "other", "file", "absent"] {
        home.context(name, &format!(r#"{{"Endpoints":{{"docker":{{"Host":"unix://{}"}}}}}}"#, at(name).display()));
    }
    home.context("far", r#"{"Endpoints":{"docker":{"Host":"ssh://elsewhere"}}}"#);
    home.context("broken", "{");
    home.config(r#"{"currentContext":"chosen"}"#);
    let address = |name: &str| format!("unix://{}", at(name).display());
    let run = at("run").display().to_string();
    let variables =
        [("DOCKER_HOST", &*address("said")), ("CONTAINER_HOST", &address("contained")), ("XDG_RUNTIME_DIR", &run)];
    let known = known_sockets(&machine(&home.0, &variables));
    let own = home.0.canonicalize().expect("a home");
    let mut known: Vec<_> = known.iter().filter_map(|socket| socket.strip_prefix(&own).ok()).collect();
    known.sort();
    let expected = ["chosen", "contained", "other", "run/docker.sock", "run/podman/podman.sock", "said"];
    assert_eq!(known, expected.map(Path::new));
}
