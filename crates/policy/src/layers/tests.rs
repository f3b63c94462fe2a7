use crate::testing::{document, layers, parsed, policy, refused, resolved, scope, vocabulary};
use crate::*;
use expect_test::expect;

#[test]
fn nothing_said_is_the_workspace_and_nothing_else() {
    let policy = resolved(&layers(Vec::new())).unwrap();
    assert_eq!(policy, built_in());
    expect![[r#"
        engine: auto               # built-in
        network: none              # built-in
        read_only: false           # built-in
        observe: cheap             # built-in
        scope: session             # built-in
        git_identity: true         # built-in
        workdir: host              # built-in
        workspace: {mode: direct}  # built-in
        env_passthrough:
          - PATH                   # built-in
          - HOME                   # built-in
          - USER                   # built-in
          - CI                     # built-in
          - NODE_ENV               # built-in
          - LANG                   # built-in
        limits:
          pids: 4096               # built-in
        protect:
          - .git/hooks             # built-in
          - .git/config            # built-in
    "#]]
    .assert_eq(&show(&policy));
}

#[test]
fn a_later_layer_wins_a_value_and_lists_grow() {
    let user = "sandboxes: {a: {network: false, limits: {memory: 1G, pids: 9}, protect: [x], env_passthrough: [A]}}";
    let project =
        "sandboxes: {a: {network: restricted, limits: {memory: 2G}, protect: [y], read_only: true}}\nsandbox: a";
    let user = parsed("polder.yaml", user, Level::User).unwrap();
    let project = parsed("polder.yaml", project, Level::Project).unwrap();
    // The order in the list does not matter; the level does.
    let layers = layers(vec![project, user]);
    let policy = resolve(&layers, &vocabulary(), &scope(), &Trust::Everything).unwrap();
    assert_eq!(policy.network.value.mode, NetworkMode::Restricted);
    assert_eq!(policy.limits.memory.unwrap().value.to_string(), "2G");
    assert_eq!(policy.limits.pids.unwrap().value, 9);
    let protect: Vec<_> = policy.protect.iter().map(|path| path.value.0.as_str()).collect();
    assert_eq!(protect, [".git/hooks", ".git/config", "x", "y"]);
    assert_eq!(policy.env.pass.last().unwrap().value.glob, "A");
}

#[test]
fn an_absent_workdir_is_the_trees_own_path_or_a_visor_files() {
    let text = "sandboxes: {a: {engine: native}}\nsandbox: a\n";
    let place = |documents| {
        let policy = resolved(&layers(documents)).unwrap();
        let workdir = match &policy.workdir.value {
            Workdir::Host => "host".to_owned(),
            Workdir::At(path) => path.to_string(),
        };
        (workdir, policy.workdir.origin.to_string())
    };
    let said = |workdir: &str, origin: &str| (workdir.to_owned(), origin.to_owned());
    assert_eq!(place(vec![]), said("host", "built-in"));
    assert_eq!(place(vec![document("polder.yaml", text)]), said("host", "built-in"));
    // No layer asked for it, so an engine without places of its own may show the tree where it is.
    assert_eq!(place(vec![document(".visor.yaml", text)]), said("/workspace", "built-in"));
    let asked = text.replace("native", "native, workdir: host");
    assert_eq!(place(vec![document(".visor.yaml", &asked)]), said("host", "/repo/.visor.yaml:1"));
    let user = parsed("polder.yaml", &asked, Level::User).unwrap();
    assert_eq!(place(vec![user, document(".visor.yaml", text)]), said("host", "/repo/polder.yaml:1"));
    let several = "sandboxes: {a: {workspace: {mode: worktree, projects: {b: /srv/b}}}}\nsandbox: a\n";
    assert_eq!(place(vec![document("polder.yaml", several)]), said("/workspace", "built-in"));
}

#[test]
fn terminal_patterns_come_first_and_every_rule_wins() {
    let globs = |text: &str, level: Level| {
        let mut layers = layers(vec![parsed("polder.yaml", text, level).unwrap()]);
        layers.overrides.terminal = CallerTerminal::Present;
        let policy = resolved(&layers).unwrap();
        let word = |pattern: &polder_facts::Sourced<EnvPattern>| {
            format!("{}{}", if pattern.value.negated { "!" } else { "" }, pattern.value.glob)
        };
        let by_terminal = |pattern: &&polder_facts::Sourced<_>| pattern.origin == polder_facts::Origin::Terminal;
        let from_terminal = policy.env.pass.iter().filter(by_terminal).count();
        (policy.env.pass.iter().map(word).collect::<Vec<_>>().join(" "), from_terminal)
    };
    let terminal = "TERM COLORTERM LANG LC_* LANGUAGE NO_COLOR FORCE_COLOR CLICOLOR*";
    let own = "sandboxes: {a: {env_passthrough: ['!TERM']}}\nsandbox: a\nsandbox_defaults: {env_passthrough: [A]}";
    assert_eq!(globs(own, Level::User), (format!("{terminal} A !TERM"), 8));
    // What the system enforces takes them away without a fault, because no layer asked for them.
    let enforced = "enforce: {env_passthrough: [PATH, LC_ALL, TERM]}";
    assert_eq!(globs(enforced, Level::System), ("TERM PATH".to_owned(), 1));
}

#[test]
fn an_absent_network_is_on_in_a_visor_file_and_off_in_ours() {
    let text = "sandboxes: {a: {engine: bubblewrap}}\nsandbox: a";
    let visor = resolved(&layers(vec![document(".visor.yaml", text)])).unwrap();
    assert_eq!(visor.network.value.mode, NetworkMode::Full);
    assert_eq!(visor.network.origin.to_string(), "/repo/.visor.yaml:1");
    assert_eq!(policy(text).network.value.mode, NetworkMode::None);
    // What another layer said is not taken back by silence.
    let user = parsed("polder.yaml", "sandboxes: {a: {network: false}}", Level::User).unwrap();
    let both = resolved(&layers(vec![user, document(".visor.yaml", text)])).unwrap();
    assert_eq!(both.network.value.mode, NetworkMode::None);
}

#[test]
fn an_image_brings_its_engine() {
    let engine = |keys: &str| policy(&format!("sandboxes: {{a: {{{keys}}}}}")).engine.value;
    assert_eq!(engine("image: x"), EngineChoice::Named("docker".into()));
    assert_eq!(engine("dockerfile_inline: FROM x"), EngineChoice::Named("docker".into()));
    assert_eq!(engine("image: x, engine: vm"), EngineChoice::Named("vm".into()));
    assert_eq!(engine(""), EngineChoice::Auto);
    let refusal = |text: &str, engine: Option<&str>| {
        let mut layers = layers(vec![document("polder.yaml", text)]);
        layers.overrides.sandbox = Some("a".into());
        layers.overrides.engine = engine.map(str::to_owned);
        refused(&layers)
    };
    expect!["flag --engine: engine `native` takes no image, and one is given at polder.yaml:1"]
        .assert_eq(&refusal("sandboxes: {a: {image: x}}", Some("native")));
    expect!["polder.yaml:1: engine `docker` needs an image; give `image`, `dockerfile` or `compose`"]
        .assert_eq(&refusal("sandboxes: {a: {engine: docker}}", None));
}

#[test]
fn defaults_replace_the_list_of_variables_even_with_nothing() {
    let pass = |text: &str| policy(text).env.pass.into_iter().map(|pattern| pattern.value.glob).collect::<Vec<_>>();
    assert_eq!(pass("sandboxes: {a: {env_passthrough: [A]}}"), ["PATH", "HOME", "USER", "CI", "NODE_ENV", "LANG", "A"]);
    assert_eq!(pass("sandboxes: {a: {env_passthrough: [A]}}\nsandbox_defaults: {env_passthrough: []}"), ["A"]);
    assert_eq!(pass("sandboxes: {a: {}}\nsandbox_defaults: {env_passthrough: [X, '!Y']}"), ["X", "Y"]);
}

#[test]
fn a_reference_to_nothing_lists_what_there_is() {
    let text = "sandboxes: {a: {}, b: {}}\nsandbox: c\nsteps: {x: {exec: 'true', sandbox: d, depends_on: y}}";
    expect![[r#"
        polder.yaml:2: there is no sandbox `c`; defined are a, b
        polder.yaml:3: there is no sandbox `d`; defined are a, b
        polder.yaml:3: there is no step `y`"#]]
    .assert_eq(&refused(&layers(vec![document("polder.yaml", text)])));
    expect!["polder.yaml:1: there is no sandbox `c`; none is defined"]
        .assert_eq(&refused(&layers(vec![document("polder.yaml", "sandbox: c")])));
}

#[test]
fn without_a_permission_nothing_runs_without_a_sandbox() {
    let project = "steps: {x: {exec: 'true', sandbox: none}}";
    let project = parsed("polder.yaml", project, Level::Project).unwrap();
    let step = |documents| resolve_step(&layers(documents), &vocabulary(), &scope(), &Trust::Everything, "x", None);
    expect!["/repo/polder.yaml:1: engine `none` enforces nothing and is not permitted; a user or system file permits it with `allow_unsandboxed: true`"].assert_eq(&step(vec![project.clone()]).unwrap_err().to_string());
    let system = |text| parsed("system.yaml", text, Level::System).unwrap();
    let user = parsed("user.yaml", "allow_unsandboxed: true", Level::User).unwrap();
    let policy = step(vec![user.clone(), project.clone()]).unwrap();
    assert_eq!(policy.engine.value, EngineChoice::Named("none".into()));
    assert!(policy.allow_unsandboxed.is_some());
    // The system's no is the last word.
    assert!(step(vec![system("allow_unsandboxed: false"), user.clone(), project.clone()]).is_err());
    // And a user cannot get around what the system enforces.
    let enforced = "enforce: {network: false}";
    expect!["/repo/polder.yaml:1: engine `none` would not keep what is enforced at /repo/system.yaml:1; only the system's own file can permit it"]
        .assert_eq(&step(vec![system(enforced), user, project.clone()]).unwrap_err().to_string());
    assert!(step(vec![system(&format!("{enforced}\nallow_unsandboxed: true")), project]).is_ok());
}

#[test]
fn options_belong_to_the_engine_beside_them() {
    let policy = policy("sandboxes: {a: {engine: bwrap, options: {x: 1}}}");
    assert_eq!(policy.engine_options["bubblewrap"].value, serde_json::json!({ "x": 1 }));
    let mut layers = layers(vec![document("polder.yaml", "sandboxes: {a: {options: {}}}\nsandbox: a")]);
    expect!["polder.yaml:1: `options` needs an `engine` that is not `auto`"].assert_eq(&refused(&layers));
    layers.overrides.engine = Some("native".into());
    assert!(resolved(&layers).unwrap().engine_options.contains_key("native"));
}

#[test]
fn a_step_changes_its_sandbox() {
    let text = "
sandboxes: {a: {network: true, limits: {memory: 1G, timeout: 5m}, env: {X: a}}, b: {}}
sandbox: a
steps:
  x: {exec: 'true', read_only: true, network: false, limits: {memory: 2G}, timeout: 1m, env: {X: 1, Y: true}}
  y: {exec: 'true', sandbox: b}
";
    let layers = layers(vec![document("polder.yaml", text)]);
    let step = |name| resolve_step(&layers, &vocabulary(), &scope(), &Trust::Everything, name, None);
    expect![[r##"
        # sandbox a
        engine: auto               # built-in
        network: none              # polder.yaml:5
        read_only: true            # polder.yaml:5
        observe: cheap             # built-in
        scope: session             # built-in
        git_identity: true         # built-in
        workdir: host              # built-in
        workspace: {mode: direct}  # built-in
        env_passthrough:
          - PATH                   # built-in
          - HOME                   # built-in
          - USER                   # built-in
          - CI                     # built-in
          - NODE_ENV               # built-in
          - LANG                   # built-in
        env:
          X: "1"                   # polder.yaml:5
          Y: "true"                # polder.yaml:5
        limits:
          memory: 2G               # polder.yaml:5
          pids: 4096               # built-in
          timeout: 1m              # polder.yaml:5
        protect:
          - .git/hooks             # built-in
          - .git/config            # built-in
    "##]]
    .assert_eq(&show(&step("x").unwrap()).replace("/repo/", ""));
    assert_eq!(step("y").unwrap().name.as_deref(), Some("b"));
    expect!["the calling program: there is no step `z`"].assert_eq(&step("z").unwrap_err().to_string());
}

#[test]
fn a_user_can_ask_for_a_stricter_record_and_never_for_a_laxer_one() {
    let mode = |system: &str, user: &str| {
        let file = |text: &str, level| parsed("polder.yaml", text, level).unwrap();
        layers(vec![file(system, Level::System), file(user, Level::User)]).audit().map(|mode| mode.value)
    };
    assert_eq!(mode("", ""), None);
    assert_eq!(mode("audit: required", "audit: off"), Some(AuditMode::Required));
    assert_eq!(mode("audit: off", "audit: best_effort"), Some(AuditMode::BestEffort));
    let fault = parsed("polder.yaml", "audit: off", Level::Project).unwrap_err().to_string();
    assert!(fault.contains("`audit` counts in a system or user file only"), "{fault}");
}

#[test]
fn only_the_users_and_the_systems_own_files_permit_learning_beyond_a_policy() {
    let file = |text: &str, level| parsed("polder.yaml", text, level).unwrap();
    let permits = |system: &str, user: &str| {
        let documents = vec![file(system, Level::System), file(user, Level::User)];
        layers(documents).permissive().is_ok()
    };
    let (yes, no) = ("allow_permissive: true", "allow_permissive: false");
    assert!(permits(yes, "") && permits("", yes) && !permits("", ""));
    assert!(!permits(no, yes) && !permits("", no), "a user cannot permit what the system refuses");
    assert!(!permits("enforce: {network: false}", yes), "nor what would get around what it enforces");
    assert!(permits("enforce: {network: false}\nallow_permissive: true", ""));
    let fault = parsed("polder.yaml", "allow_permissive: true", Level::Project).unwrap_err().to_string();
    assert!(fault.contains("`allow_permissive` counts in a system or user file only"), "{fault}");
}

#[test]
fn lists_beyond_their_bound_are_faults() {
    let list = |key: &str, count: usize, item: &str| {
        let items: Vec<_> = (0..count).map(|at| format!("'{item}{at}'")).collect();
        format!("sandboxes: {{a: {{{key}: [{}]}}}}\nsandbox: a", items.join(","))
    };
    for key in ["protect", "deny_read", "env_passthrough"] {
        assert!(parsed("polder.yaml", &list(key, 4096, "x"), Level::User).is_ok(), "{key}");
        let faults = parsed("polder.yaml", &list(key, 4097, "x"), Level::User).unwrap_err().to_string();
        let expected = format!("`{key}` has 4097 entries, more than 4096");
        assert!(faults.contains(&expected), "{faults}");
    }
    // Two files of the bound each.
    let both =
        [Level::System, Level::User].map(|level| parsed("polder.yaml", &list("protect", 4096, "x"), level).unwrap());
    let said = refused(&layers(both.to_vec()));
    assert!(said.contains("`protect` has 8194 entries in all files together, more than 4096"), "{said}");
    let globs = |count| layers(vec![parsed("polder.yaml", &list("protect", count, "**/x"), Level::User).unwrap()]);
    assert!(resolved(&globs(64)).is_ok());
    assert!(refused(&globs(65)).contains("more than 64 patterns together"));
}
