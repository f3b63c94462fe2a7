use super::*;
use crate::testing::policy;
use expect_test::expect;
use serde_json::json;

const ALL: &str = "
allow_unsandboxed: true
sandboxes:
  a:
    image: node:20
    network: {allow: ['*.x.org'], deny: [y.org]}
    workdir: host
    env_passthrough: ['!CI', A_*]
    env: {B: \"x\\e[31m y\"}
    bind_paths: [{host: ~/c}]
    limits: {memory: 2G, cpus: 1.5, pids: 256, disk: 5G, files: 4096, output: 50M, timeout: 10m}
    workspace: {mode: cow, name: w}
    deny_read: ['~/.aws']
    credentials: [{name: gh, source: env:T, hosts: [github.com]}]
    cache: {paths: [/c], prefix: p}
    visor_path: /opt/visor
    require: [fs]
    accept: [net]
    options: {k: v}
";

fn all() -> Policy {
    let mut layers = crate::testing::layers(vec![crate::testing::parsed("p.yaml", ALL, crate::Level::User).unwrap()]);
    layers.overrides.sandbox = Some("a".into());
    crate::testing::resolved(&layers).unwrap()
}

#[test]
fn every_line_has_its_origin() {
    expect![[r##"
        # sandbox a
        engine: docker                                                # p.yaml:5
        network:
          mode: restricted                                            # p.yaml:6
          allow:
            - "*.x.org"                                               # p.yaml:6
          deny:
            - y.org                                                   # p.yaml:6
        read_only: false                                              # built-in
        observe: cheap                                                # built-in
        scope: session                                                # built-in
        git_identity: true                                            # built-in
        workdir: host                                                 # p.yaml:7
        workspace: {mode: cow, name: w}                               # p.yaml:12
        env_passthrough:
          - PATH                                                      # built-in
          - HOME                                                      # built-in
          - USER                                                      # built-in
          - CI                                                        # built-in
          - NODE_ENV                                                  # built-in
          - LANG                                                      # built-in
          - "!CI"                                                     # p.yaml:8
          - "A_*"                                                     # p.yaml:8
        env:
          B: "x�[31m y"                                               # p.yaml:9
        bind_paths:
          - {host: /home/u/c, container: /home/u/c, read_only: true}  # p.yaml:10
        limits:
          memory: 2G                                                  # p.yaml:11
          cpus: 1.5                                                   # p.yaml:11
          pids: 256                                                   # p.yaml:11
          disk: 5G                                                    # p.yaml:11
          files: 4096                                                 # p.yaml:11
          output: 50M                                                 # p.yaml:11
          timeout: 10m                                                # p.yaml:11
        protect:
          - .git/hooks                                                # built-in
          - .git/config                                               # built-in
        deny_read:
          - /home/u/.aws                                              # p.yaml:13
        credentials:
          - {name: gh, source: "env:T", hosts: [github.com]}          # p.yaml:14
        cache: {paths: [/c], prefix: p, ttl: 7d, max_scopes: 10}      # p.yaml:15
        image: "node:20"                                              # p.yaml:5
        visor_path: /opt/visor                                        # p.yaml:16
        require:
          - fs                                                        # p.yaml:17
        accept:
          - net                                                       # p.yaml:18
        allow_unsandboxed: true                                       # p.yaml:2
        options for docker: {"k":"v"}                                 # p.yaml:19
    "##]]
    .assert_eq(&show(&all()).replace("/repo/", ""));
}

#[test]
fn json_has_the_same_fields() {
    let json = to_json(&all());
    assert_eq!(json["limits"]["memory"], json!({ "value": "2G", "origin": "/repo/p.yaml:11" }));
    assert_eq!(json["network"]["value"]["allow"][0]["value"], "*.x.org");
    assert_eq!(json["options"]["docker"]["value"], json!({ "k": "v" }));
    let empty = to_json(&policy("sandboxes: {a: {}}"));
    assert_eq!(empty["engine"], json!({ "value": "auto", "origin": "built-in" }));
    assert_eq!(empty["image"], Value::Null);
}
