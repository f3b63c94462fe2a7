use super::*;
use expect_test::expect;
use std::time::Duration;

fn told(text: &str) -> Result<Project, Faults> {
    judge(Path::new("compose.yaml"), text.as_bytes(), "app")
}

/// A file with one more key in a service beside the command's.
fn with(key: &str) -> String {
    format!(
        "services:\n  app:\n    image: app:1\n    depends_on: [db]\n  db:\n    image: db:1\n    {key}\n  other:\n    image: o:1\n\
         volumes:\n  data:\n"
    )
}

fn fault(text: &str) -> String {
    told(text).expect_err("refused").to_string()
}

#[test]
fn what_is_understood() {
    let text = r#"
version: "3"
x-common: &common {LEVEL: "5"}
services:
  app:
    image: app:1
    command: replaced by the run
    environment: {URL: "db:5432", PORT: 80, COST: "$$5"}
    depends_on:
      db: {condition: service_healthy}
      cache: {condition: service_started}
  db:
    image: db@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    command: ["serve", "--port=1"]
    entrypoint: sh -c 'a "b" c' d\ e
    environment: {<<: *common, MODE: x}
    user: "999:db"
    working_dir: /srv//db
    healthcheck: {test: ["CMD", "ask"], interval: 500ms, timeout: 1s, retries: 4, start_period: 1m30s}
    expose: [5432]
    tmpfs: /run
    read_only: true
    mem_limit: 64m
    cpus: 0.5
    pids_limit: 10
    stop_grace_period: 5s
    networks: [default]
    restart: "no"
    depends_on: [cache]
    volumes: ["data:/data", {type: volume, source: data, target: /more, read_only: true}, /own]
  cache:
    image: cache
    environment: ["A=b=c"]
    healthcheck: {disable: true}
  not-needed:
    image: x
volumes: {data: {}}
networks: {default: null}
"#;
    let Project { own, others } = told(text).expect("understood");
    assert_eq!(own.env.get("COST").map(String::as_str), Some("$5"));
    assert_eq!(own.env.get("PORT").map(String::as_str), Some("80"));
    let [cache, db] = others.as_slice() else { panic!("{others:?}") };
    assert_eq!((cache.name.as_str(), db.name.as_str()), ("cache", "db"));
    assert_eq!(cache.env.get("A").map(String::as_str), Some("b=c"));
    assert_eq!(db.entrypoint.as_deref().expect("words"), ["sh", "-c", "a \"b\" c", "d e"]);
    assert_eq!(db.env.get("LEVEL").map(String::as_str), Some("5"));
    assert_eq!((db.workdir.as_deref(), db.memory_bytes, db.pids), (Some("/srv/db"), Some(64 << 20), Some(10)));
    assert_eq!(db.user.as_deref(), Some("999:db"));
    assert_eq!(db.mounts.len(), 3);
    let check = db.check.as_ref().expect("a check");
    assert_eq!((check.interval, check.start_period), (Duration::from_millis(500), Duration::from_secs(90)));
}

#[test]
fn every_dangerous_key_is_refused_at_its_line() {
    told(&with("read_only: true")).expect("the control");
    for key in [
        "privileged: true",
        "privileged: false",
        "cap_add: [SYS_ADMIN]",
        "devices: [/dev/kvm]",
        "network_mode: host",
        "pid: host",
        "ipc: host",
        "userns_mode: host",
        "uts: host",
        "cgroup: host",
        "cgroup_parent: /",
        "security_opt: [seccomp=unconfined]",
        "sysctls: {a: 1}",
        "extends: {file: other.yaml, service: x}",
        "env_file: .env",
        "secrets: [x]",
        "configs: [x]",
        "build: .",
        "container_name: x",
        "ports: ['1:1']",
        "runtime: x",
        "user: 'a b'",
        "user: 'a:b:c'",
        "user: 999",
        "links: [app]",
        "profiles: [x]",
        "deploy: {}",
        "labels: {polder.owner: x}",
        "volumes: ['/:/host']",
        "volumes: ['.:/work']",
        "volumes: ['./x:/work:ro']",
        "volumes: ['~/.ssh:/work']",
        "volumes: ['/var/run/docker.sock:/var/run/docker.sock']",
        "volumes: [{type: bind, source: /, target: /host}]",
        "volumes: ['undefined:/x']",
        "volumes: ['data:/x:z']",
        "volumes: ['data:/proc/x']",
        "volumes: ['data:/a/../../x']",
        "volumes_from: [app]",
        "tmpfs: '/run:exec'",
        "environment: [HOME]",
        "environment: {HOME: }",
        "environment: {A: \"${HOME}\"}",
        "environment: {A: $HOME}",
        "command: echo $HOME",
        "command: \"echo 'open\"",
        "restart: always",
        "init: true",
        "mem_limit: 0",
        "mem_limit: -1",
        "mem_limit: 1x",
        "cpus: 0",
        "cpus: .inf",
        "pids_limit: 0",
        "pids_limit: -1",
        "stop_grace_period: 1h",
        "networks: [other]",
        "networks: {default: {aliases: [x]}}",
        "healthcheck: {test: x, interval: 0s}",
        "healthcheck: {test: x, retries: 0}",
        "healthcheck: {test: x, start_period: 1h}",
        "healthcheck: {test: [x]}",
        "healthcheck: {interval: 1s}",
        "depends_on: {other: {condition: service_healthy}}",
        "depends_on: {other: {condition: service_completed_successfully}}",
        "depends_on: [nobody]",
        "imagee: x",
    ] {
        let said = fault(&with(key));
        assert!(said.starts_with("compose.yaml:7: "), "{key}: {said}");
        assert_eq!(said.lines().count(), 1, "{key}: {said}");
    }
}

#[test]
fn what_the_sandbox_says_the_commands_service_cannot_say() {
    for key in ["user: x", "working_dir: /x", "volumes: [/x]", "tmpfs: /x", "mem_limit: 1g", "cpus: 1", "pids_limit: 1"]
    {
        let said = fault(&format!("services:\n  app:\n    image: x\n    {key}\n"));
        assert!(said.starts_with("compose.yaml:4: "), "{key}: {said}");
    }
}

#[test]
fn all_faults_at_once_with_what_was_meant() {
    let text = "include: [other.yaml]\nservices:\n  app:\n    image: UPPER\n    privilegd: true\n    environmnt: {}\n  \
                bad/name:\n    image: x\n  none: {}\n  list: []\nvolumes:\n  data: {external: true}\n";
    expect![[r#"
        compose.yaml:1: `include`: it would bring another file in, which nobody has judged
        compose.yaml:4: `image`: `UPPER` is not the name of an image: names of images are lower case
        compose.yaml:5: the key `privilegd` is not understood
        compose.yaml:6: the key `environmnt` is not understood; did you mean `environment`?
        compose.yaml:7: `bad/name` is not the name of a service
        compose.yaml:9: service `none` has no `image`
        compose.yaml:10: a service must be a map, not a list
        compose.yaml:10: service `list` has no `image`
        compose.yaml:12: `external`: a volume is the run's own, and has no options"#]]
    .assert_eq(&fault(text));
}

#[test]
fn a_service_that_is_not_there_and_a_circle() {
    let text = "services:\n  web: {image: x}\n  db: {image: x}\n";
    expect!["compose.yaml:1: the file has no service `app`; it has `db`, `web`"].assert_eq(&fault(text));
    expect!["compose.yaml:1: the file has no service `app`; it has none"].assert_eq(&fault(""));
    let text = "services:\n  app: {image: x, depends_on: [a]}\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [a]}\n";
    expect!["compose.yaml:3: these services wait for each other: a → b → a"].assert_eq(&fault(text));
    let text = "services:\n  app: {image: x, depends_on: [app]}\n";
    expect!["compose.yaml:2: these services wait for each other: app → app"].assert_eq(&fault(text));
}

#[test]
fn a_hostile_file_costs_what_its_size_says() {
    let deep = format!("services: {}", "[".repeat(10_000));
    assert_eq!(fault(&deep).lines().count(), 1);
    let many: String = (0..40).map(|n| format!("  s{n}: {{image: x}}\n")).collect();
    assert!(fault(&format!("services:\n  app: {{image: x}}\n{many}")).contains("more than 32 services"));
    let circle: String = (0..30).map(|n| format!("  s{n}: {{image: x, depends_on: [s{}]}}\n", n + 1)).collect();
    assert!(fault(&format!("services:\n  app: {{image: x, depends_on: [s0]}}\n{circle}")).contains("no service `s30`"));
    assert!(
        fault("services:\n  app: {image: x}\n  \"a\\e[31m\": {image: x}\n")
            .chars()
            .all(|c| !c.is_control() || c == '\n')
    );
}
