use super::*;
use crate::container::compose::judge::judge;
use expect_test::expect_file;
use std::path::Path;

fn asked(kind: Kind, ceiling: &Ceiling) -> String {
    let text = "services:\n  app: {image: app, depends_on: [db]}\n  db:\n    image: db\n    command: [serve]\n    \
                environment: {A: b}\n    user: '7'\n    working_dir: /srv\n    tmpfs: [/run]\n    read_only: true\n    mem_limit: 1g\n    \
                cpus: 2\n    pids_limit: 10\n    volumes: ['data:/data:ro', /own]\nvolumes: {data: }\n";
    let project = judge(Path::new("compose.yaml"), text.as_bytes(), "app").expect("understood");
    let beside = "0123456789ab".parse().expect("an id");
    let volumes = BTreeMap::from([("data".to_owned(), "polder-1-2-volume-0".parse().expect("a name"))]);
    let labels = BTreeMap::from([("polder.service", "yes".to_owned())]);
    let setting = Setting {
        kind,
        image: "sha256:0",
        beside: &beside,
        volumes: &volumes,
        ceiling,
        hosts: Path::new("/tmp/place/hosts"),
        runtime: None,
        labels: &labels,
    };
    format!("{:#}\n", request(&project.others[0], &setting))
}

#[test]
fn a_service_asks_for_less_and_never_for_more() {
    let ceiling =
        Ceiling { memory_bytes: Some(64 << 20), cpus: Some(4.0), pids: Some(100), scratch_bytes: 4096, held: true };
    expect_file!["./tests/docker.json"].assert_eq(&asked(Kind::Docker, &ceiling));
}

#[test]
fn a_daemon_that_holds_no_limits_is_asked_for_none() {
    let ceiling =
        Ceiling { memory_bytes: Some(64 << 20), cpus: None, pids: Some(100), scratch_bytes: 4096, held: false };
    expect_file!["./tests/podman.json"].assert_eq(&asked(Kind::Podman, &ceiling));
}
