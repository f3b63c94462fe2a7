use super::*;
use crate::testing::{layers, parsed, policy, resolved, scope, vocabulary};
use crate::{ResolveError, resolve};
use expect_test::expect;

const PROJECT: &str = "
sandboxes:
  quiet:
    engine: native
    network: true
    read_only: false
    limits: {memory: 64G}
    env_passthrough: [PATH, '!HOME']
    deny_read: [~/.aws]
    protect: [/etc]
    require: [fs]
  loud:
    bind_paths: [{host: ~/.ssh}, {host: ./inside, read_only: false}, {host: /run/x.sock}]
    credentials: [{name: gh, source: env:T, hosts: [github.com]}]
    env_passthrough: [CI, AWS_*]
    accept: [net]
  composed: {compose: c.yml, service: s}
sandbox: quiet
";

#[test]
fn what_reaches_outside_asks_and_the_rest_does_not() {
    let document = parsed("polder.yaml", PROJECT, Level::Project).unwrap();
    let list: Vec<_> = asks(&document).iter().map(|ask| ask.to_string().replace("/repo/", "")).collect();
    expect![[r#"
        polder.yaml:13: to read `/home/u/.ssh`
        polder.yaml:13: to write `inside`
        polder.yaml:13: to read `/run/x.sock`
        polder.yaml:14: the credential `env:T` for github.com
        polder.yaml:15: variables that match `AWS_*`
        polder.yaml:16: to accept gaps in `net`
        polder.yaml:17: to start what the compose file `c.yml` says"#]]
    .assert_eq(&list.join("\n"));
    let own = parsed("polder.yaml", PROJECT, Level::User).unwrap();
    assert_eq!(asks(&own), []);
}

#[test]
fn an_untrusted_project_stops_only_what_it_asks_for() {
    let document = parsed("polder.yaml", PROJECT, Level::Project).unwrap();
    let mut layers = layers(vec![document.clone()]);
    assert!(resolved(&layers).is_ok());
    layers.overrides.sandbox = Some("loud".to_owned());
    let Err(ResolveError::Untrusted { path, hash, asks }) = resolved(&layers) else { panic!() };
    assert_eq!((path.as_path(), hash.as_str(), asks.len()), (document.path(), document.fingerprint(), 6));
    for trust in [Trust::Everything, Trust::Only(vec![hash])] {
        assert!(resolve(&layers, &vocabulary(), &scope(), &trust).is_ok());
    }
}

#[test]
fn widened_defaults_ask_for_every_sandbox() {
    let text = "sandboxes: {a: {}}\nsandbox_defaults: {env_passthrough: [PATH, SECRET_*]}\n";
    let layers = layers(vec![parsed("polder.yaml", text, Level::Project).unwrap()]);
    assert!(matches!(resolved(&layers), Err(ResolveError::Untrusted { .. })));
    policy(text);
}

#[test]
fn a_project_changes_no_sandbox_of_the_users_by_itself() {
    let user = parsed("u.yaml", "sandboxes: {a: {bind_paths: [{host: ~/.npmrc}]}}", Level::User).unwrap();
    let project = |text| parsed("polder.yaml", text, Level::Project).unwrap();
    assert!(resolved(&layers(vec![user.clone(), project("sandbox: a")])).is_ok());
    let change = project("sandboxes: {a: {network: true}}\nsandbox: a");
    let Err(ResolveError::Untrusted { asks, .. }) = resolved(&layers(vec![user, change.clone()])) else { panic!() };
    assert_eq!(asks[0].to_string(), "/repo/polder.yaml:1: to change your own sandbox `a`");
    assert!(resolved(&layers(vec![change])).is_ok());
}

#[test]
fn the_fingerprint_covers_what_is_extended() {
    let base = |text: &str| Source::new("/repo/base.yaml", text, Level::Project);
    let child = |bases: Vec<Source>| Source { extends: bases, ..Source::new("/repo/polder.yaml", "x", Level::Project) };
    let hashes = [
        fingerprint(&child(vec![])),
        fingerprint(&child(vec![base("")])),
        fingerprint(&child(vec![base("a"), base("b")])),
        fingerprint(&child(vec![base("ab"), base("")])),
    ];
    for (i, hash) in hashes.iter().enumerate() {
        assert_eq!(hash.len(), 64);
        assert!(!hashes[..i].contains(hash));
    }
}
