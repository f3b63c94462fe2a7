use crate::testing::{layers, parsed, refused, resolved, vocabulary};
use crate::*;
use expect_test::expect;
use polder_facts::{ByteSize, Grant};
use proptest::prelude::*;

const ENFORCE: &str = "
enforce:
  engine: native
  network: {mode: restricted, allow: [corp.org], deny: [bad.org]}
  read_only: true
  limits: {memory: 1G, pids: 100, timeout: 1m}
  protect: [secrets]
  deny_read: [~/.aws]
  require: [net]
  accept: []
  env_passthrough: [PATH, CARGO_*, '!CARGO_TOKEN']
  bind_paths: [{host: /opt}]
";

fn system(text: &str) -> Document {
    parsed("system.yaml", text, Level::System).unwrap()
}

#[test]
fn silence_is_lowered_without_a_word() {
    let policy = resolved(&layers(vec![system(ENFORCE)])).unwrap();
    expect![[r#"
        engine: native             # system.yaml:3
        network: none              # built-in
        read_only: true            # system.yaml:5
        observe: cheap             # built-in
        scope: session             # built-in
        git_identity: true         # built-in
        workdir: host              # built-in
        workspace: {mode: direct}  # built-in
        env_passthrough:
          - PATH                   # built-in
          - "!CARGO_TOKEN"         # system.yaml:11
        limits:
          memory: 1G               # system.yaml:6
          pids: 100                # system.yaml:6
          timeout: 1m              # system.yaml:6
        protect:
          - .git/hooks             # built-in
          - .git/config            # built-in
          - secrets                # system.yaml:7
        deny_read:
          - /home/u/.aws           # system.yaml:8
        require:
          - net                    # system.yaml:9
    "#]]
    .assert_eq(&show(&policy).replace("/repo/", ""));
}

#[test]
fn every_attempt_at_more_names_both_places() {
    let user = "
sandboxes:
  a:
    engine: docker
    image: x
    network: true
    read_only: false
    limits: {memory: 2G, pids: 50, timeout: 1h}
    accept: [fs]
    env_passthrough: [CARGO_HOME, CARGO_TOKEN, AWS_*]
    bind_paths: [{host: /opt/x}, {host: /opt/y, read_only: false}, {host: ~/.aws/credentials}]
sandbox: a
";
    let mut layers = layers(vec![system(ENFORCE), parsed("user.yaml", user, Level::User).unwrap()]);
    layers.overrides.allow = vec![Grant::FsWrite("/repo/secrets/x".into())];
    expect![[r#"
        system.yaml:3: engine `native` takes no image, and one is given at user.yaml:5
        user.yaml:4: `engine` is more than the system allows; it is enforced at system.yaml:3
        user.yaml:6: `network` is more than the system allows; it is enforced at system.yaml:4
        user.yaml:7: `read_only` is more than the system allows; it is enforced at system.yaml:5
        user.yaml:8: `memory` is more than the system allows; it is enforced at system.yaml:6
        user.yaml:8: `timeout` is more than the system allows; it is enforced at system.yaml:6
        user.yaml:9: `accept: fs` is more than the system allows; it is enforced at system.yaml:10
        user.yaml:10: `env_passthrough: CARGO_TOKEN` is more than the system allows; it is enforced at system.yaml:11
        user.yaml:10: `env_passthrough: AWS_*` is more than the system allows; it is enforced at system.yaml:11
        user.yaml:11: `/home/u/.aws` is more than the system allows; it is enforced at system.yaml:8
        user.yaml:11: `bind_paths: /opt/y` is more than the system allows; it is enforced at system.yaml:12
        user.yaml:11: `bind_paths: /home/u/.aws/credentials` is more than the system allows; it is enforced at system.yaml:12
        flag --allow: `secrets` is more than the system allows; it is enforced at system.yaml:7"#]]
    .assert_eq(&refused(&layers));
}

#[test]
fn an_implied_network_is_no_attempt() {
    let visor = parsed(".visor.yaml", "sandboxes: {a: {engine: bwrap}}\nsandbox: a", Level::Project).unwrap();
    let policy = resolved(&layers(vec![system("enforce: {network: false}"), visor])).unwrap();
    assert_eq!(policy.network.value.mode, NetworkMode::None);
}

#[test]
fn two_enforcements_hold_together() {
    let base = Source::new("/etc/polder/base.yaml", "enforce: {limits: {memory: 4G}, network: false}", Level::System);
    let child = Source::new("/etc/polder/polder.yaml", "enforce: {limits: {memory: 2G}, network: true}", Level::System);
    let child = Source { extends: vec![base], ..child };
    let document = parse(&child, &vocabulary(), "/h".as_ref()).unwrap();
    let policy = resolved(&layers(vec![document])).unwrap();
    assert_eq!(policy.limits.memory.unwrap().value, ByteSize(2 << 30));
    assert_eq!(policy.network.value.mode, NetworkMode::None);
}

/// A few keys of a sandbox. Few, because one refusal hides whatever else would have slipped through.
fn keys() -> impl Strategy<Value = String> {
    let key = proptest::sample::select(vec![
        "network: true",
        "network: false",
        "network: {allow: [corp.org, x.org]}",
        "network: {allow: [corp.org]}",
        "read_only: true",
        "read_only: false",
        "limits: {memory: 512M}",
        "limits: {memory: 3G, pids: 7}",
        "engine: native",
        "engine: auto",
        "engine: firejail",
        "accept: [fs]",
        "bind_paths: [{host: /opt/z}]",
        "bind_paths: [{host: /srv}]",
        "env_passthrough: [X]",
        "env_passthrough: ['!PATH']",
    ]);
    proptest::option::weighted(0.4, key).prop_map(|key| key.unwrap_or_default().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever the layers below say, what comes out is a refusal or within what is enforced.
    #[test]
    fn layering_never_widens_past_what_is_enforced(
        user in keys(), project in keys(), visor in any::<bool>(),
        network in proptest::option::weighted(0.2, proptest::sample::select(vec!["none", "restricted", "full"])),
        memory in proptest::option::weighted(0.2, proptest::sample::select(vec!["1M", "9G"])),
        hosts in proptest::collection::vec(proptest::sample::select(vec!["corp.org", "evil.org"]), 0..=1),
        grants in proptest::collection::vec(proptest::sample::select(vec!["fs.write=/repo/secrets", "fs.write=/repo/a", "fs.read=/opt/q", "fs.read=/home/u/.aws", "env=CARGO_X", "env=Y"]), 0..=1),
    ) {
        let name = if visor { ".visor.yaml" } else { "polder.yaml" };
        let file = |name: &str, keys: &str, level| parsed(name, &format!("sandboxes: {{a: {{{keys}}}}}\nsandbox: a"), level).unwrap();
        let mut layers = layers(vec![system(ENFORCE), file("user.yaml", &user, Level::User), file(name, &project, Level::Explicit)]);
        layers.overrides.network = network.map(str::to_owned);
        layers.overrides.memory = memory.map(str::to_owned);
        layers.overrides.allow_host = hosts.into_iter().map(str::to_owned).collect();
        layers.overrides.allow = grants.into_iter().map(|grant| grant.parse().unwrap()).collect();
        let Ok(policy) = resolved(&layers) else { return Ok(()) };
        prop_assert_eq!(policy.engine.value, EngineChoice::Named("native".into()));
        prop_assert_eq!(policy.access.value, Access::ReadOnly);
        prop_assert!(policy.network.value.mode != NetworkMode::Full);
        if policy.network.value.mode == NetworkMode::Restricted {
            prop_assert!(policy.network.value.allow.iter().all(|peer| peer.value == "corp.org"));
            prop_assert!(policy.network.value.deny.iter().any(|peer| peer.value == "bad.org"));
        }
        prop_assert!(policy.limits.memory.unwrap().value <= ByteSize(1 << 30));
        prop_assert!(policy.limits.pids.unwrap().value <= 100);
        prop_assert!(policy.limits.timeout.is_some());
        prop_assert!(policy.accept.is_empty());
        prop_assert!(policy.binds.iter().all(|bind| bind.value.host.as_path().starts_with("/opt") && bind.value.access == Access::ReadOnly));
        prop_assert!(policy.env.pass.iter().all(|p| p.value.negated || p.value.glob == "PATH" || p.value.glob.starts_with("CARGO_")));
        prop_assert!(policy.protect.iter().any(|path| path.value.0 == "secrets"));
        prop_assert!(policy.deny_read.iter().any(|path| path.value.0 == "/home/u/.aws"));
        prop_assert!(policy.unprotect.iter().all(|path| path.value.0 == "a"));
        prop_assert!(policy.require.iter().any(|guarantee| guarantee.value.name() == "net"));
    }
}
