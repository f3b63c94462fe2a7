use super::*;
use crate::testing::{HOME, document, layers, parsed, refused, resolved, scope, vocabulary};
use crate::*;
use polder_facts::Origin;

fn shipped(variables: &[(&str, &str)]) -> Result<Vec<ToolProfile>, Faults> {
    let variables: Vec<_> = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    tool_profiles(&vocabulary(), Path::new(HOME), &variables)
}

fn hosts(profiles: &[ToolProfile], name: &str) -> Vec<String> {
    let profile = profiles.iter().find(|profile| profile.name == name).expect("a profile");
    profile.binds.iter().map(|bind| bind.host.to_string()).collect()
}

#[test]
fn shipped_profiles_are_complete_and_only_read() {
    let profiles = shipped(&[]).expect("no faults");
    let names: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, PROFILE_NAMES, "each is named as its file");
    for ToolProfile { name, description, programs, binds } in &profiles {
        assert!(!description.is_empty() && !programs.is_empty(), "{name}");
        for Bind { host, guest, access, optional } in binds {
            assert_eq!((host.as_path(), *access, *optional), (guest.as_path(), Access::ReadOnly, true), "{name}");
            // The home itself, and directories of it that hold more than tools.
            let wide = ["", ".local", ".local/share", ".config", ".cache", ".cargo", "bin", "go"];
            assert!(!wide.iter().any(|wide| host.as_path() == Path::new(HOME).join(wide)), "{name}: {host}");
        }
    }
}

#[test]
fn shipped_profile_lines_carry_their_reasons() {
    for (name, text) in SHIPPED {
        let mut reasoned = false;
        for line in text.lines().skip_while(|line| !line.starts_with("bind_paths:")) {
            match line.trim_start() {
                comment if comment.starts_with('#') => reasoned = true,
                item if item.starts_with("- ") => assert!(reasoned, "{name}: {item}"),
                _ => reasoned = false,
            }
        }
    }
}

#[test]
fn profile_places_follow_the_variables_of_the_caller() {
    assert_eq!(hosts(&shipped(&[]).unwrap(), "rust")[..2], ["/home/u/.cargo/bin", "/home/u/.rustup"]);
    let moved = shipped(&[("CARGO_HOME", "/opt/cargo/"), ("RUSTUP_HOME", "relative")]).unwrap();
    assert_eq!(hosts(&moved, "rust")[..2], ["/opt/cargo/bin", "/home/u/.rustup"]);
    for wide in ["/home/u", "/home", "/", "/home/u/"] {
        let faults = shipped(&[("NVM_DIR", wide)]).expect_err("a home that would be shown").to_string();
        assert!(faults.starts_with("environment NVM_DIR: `NVM_DIR` is `"), "{faults}");
    }
}

#[test]
fn profile_rules_are_weaker_than_those_of_a_layer() {
    let text = "profiles: [rust]\nsandboxes: {a: {profiles: [node, rust], path: [/opt/x], env_passthrough: ['!NVM_DIR'],\
        bind_paths: [{host: ~/.rustup, read_only: false}]}}\nsandbox: a";
    let policy = resolved(&layers(vec![document("polder.yaml", text)])).unwrap();
    let names: Vec<_> = policy.profiles.iter().map(|name| format!("{} {}", name.value, name.origin)).collect();
    assert_eq!(names, ["rust /repo/polder.yaml:1", "node /repo/polder.yaml:2"]);
    let last = policy.binds.last().unwrap();
    assert_eq!((last.value.host.to_string(), last.value.access), ("/home/u/.rustup".to_owned(), Access::ReadWrite));
    assert_eq!(policy.env.pass.last().unwrap().value.glob, "NVM_DIR");
    assert_eq!(policy.path[0].value, Path::new("/opt/x"));
    let of_rust = |origin: &Origin| matches!(origin, Origin::Profile { name, .. } if name == "rust");
    assert!(of_rust(&policy.binds[0].origin) && of_rust(&policy.path[1].origin), "{:?}", policy.path);
}

#[test]
fn profile_that_is_unknown_names_the_nearest() {
    let unknown = |name: &str| refused(&layers(vec![document("polder.yaml", &format!("profiles: [{name}]"))]));
    assert_eq!(unknown("rsut"), "polder.yaml:1: there is no profile `rsut`; did you mean `rust`?");
    assert!(unknown("cobol").ends_with("there is no profile `cobol`; there are go, jvm, node, python, rust"));
}

#[test]
fn profile_of_a_project_asks_for_trust_once() {
    let project = || parsed("polder.yaml", "sandboxes: {a: {profiles: [rust]}}\nsandbox: a", Level::Project).unwrap();
    let asks = |layers: &Layers| match resolve(layers, &vocabulary(), &scope(), &Trust::Only(Vec::new())) {
        Ok(_) => Vec::new(),
        Err(ResolveError::Untrusted { asks, .. }) => asks.into_iter().map(|ask| (ask.what, ask.flag)).collect(),
        Err(other) => panic!("{other}"),
    };
    let mut layers = layers(vec![project()]);
    let told = asks(&layers);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].0.starts_with("the profile `rust`, to read `/home/u/.cargo/bin`, `/home/u/.rustup`"), "{told:?}");
    assert_eq!(told[0].1.as_deref(), Some("--profile rust"));
    layers.overrides.profile = vec!["rust".to_owned()];
    assert_eq!(asks(&layers), []);
}

#[test]
fn profile_grants_nothing_that_is_not_enforced() {
    let system = "enforce: {bind_paths: [{host: ~/.cargo}], env_passthrough: [PATH]}";
    let system = parsed("polder.yaml", system, Level::System).unwrap();
    let mut layers = layers(vec![system]);
    layers.overrides.profile = vec!["rust".to_owned()];
    let faults = refused(&layers);
    assert!(faults.contains("`bind_paths: /home/u/.rustup` is more than the system allows"), "{faults}");
    assert!(faults.contains("`env_passthrough: RUSTUP_HOME` is more than the system allows"), "{faults}");
    assert!(!faults.contains(".cargo/bin"), "{faults}");
}
