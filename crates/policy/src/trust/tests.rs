use super::*;
use crate::shape::{Reach, SPEC, STEP, Shape, TOP, Table};
use crate::testing::{layers, parsed, policy, resolved, scope, vocabulary};
use crate::{Dialect, Document, Level, ResolveError, asks, parse, resolve, resolve_service, resolve_step};
use expect_test::expect;
use std::collections::BTreeMap;

const PROJECT: &str = "
sandboxes:
  quiet:
    engine: native
    network: false
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
    network: true
    engine: seatbelt
    limits: {pids: 5000}
    observe: off
  composed: {compose: c.yml, service: s}
sandbox: quiet
";

fn project(text: &str) -> Document {
    parsed("polder.yaml", text, Level::Project).unwrap_or_else(|faults| panic!("{faults}\n{text}"))
}

fn asked(documents: Vec<Document>) -> Vec<String> {
    let asks = asks(&layers(documents), &vocabulary(), &scope());
    asks.iter().map(|ask| ask.to_string().replace("/repo/", "")).collect()
}

#[test]
fn asks_of_project_name_each_line_that_reaches_out() {
    expect![[r#"
        polder.yaml:13: to read `/home/u/.ssh`
        polder.yaml:13: to read `/run/x.sock`
        polder.yaml:13: to write `inside`
        polder.yaml:14: the credential `env:T` for github.com
        polder.yaml:15: variables that match `AWS_*`
        polder.yaml:16: to accept gaps in `net`
        polder.yaml:17: the host's network
        polder.yaml:18: a weaker engine (`seatbelt`)
        polder.yaml:19: `limits.pids` of 5000 instead of 4096
        polder.yaml:20: to be watched less (`observe: off`)
        polder.yaml:21: to start what the compose file `c.yml` says"#]]
    .assert_eq(&asked(vec![project(PROJECT)]).join("\n"));
    assert_eq!(asked(vec![parsed("polder.yaml", PROJECT, Level::User).unwrap()]), [""; 0]);
}

#[test]
fn untrusted_project_stops_only_sandbox_that_asks() {
    let document = project(PROJECT);
    let mut layers = layers(vec![document.clone()]);
    assert!(resolved(&layers).is_ok());
    layers.overrides.sandbox = Some("loud".to_owned());
    let Err(ResolveError::Untrusted { path, hash, asks }) = resolved(&layers) else { panic!() };
    assert_eq!((path.as_path(), hash.as_str(), asks.len()), (document.path(), document.fingerprint(), 10));
    for trust in [Trust::Everything, Trust::Only(vec![hash])] {
        assert!(resolve(&layers, &vocabulary(), &scope(), &trust).is_ok());
    }
}

/// Every place that can speak of the network, in every notation.
#[test]
fn network_in_any_place_or_notation_asks() {
    let refused = |layers: &crate::Layers, of: &str| {
        let (vocabulary, scope, trust) = (vocabulary(), scope(), Trust::Only(Vec::new()));
        let result = match of {
            "step" => resolve_step(layers, &vocabulary, &scope, &trust, "s", None),
            "service" => resolve_service(layers, &vocabulary, &scope, &trust, "v"),
            _ => resolve(layers, &vocabulary, &scope, &trust),
        };
        matches!(result, Err(ResolveError::Untrusted { asks, .. }) if asks[0].what.contains("network"))
    };
    let cases = [
        ("polder.yaml", "run", "sandboxes: {a: {network: true}}\nsandbox: a"),
        ("polder.yaml", "run", "sandboxes: {a: {network: full}}\nsandbox: a"),
        ("polder.yaml", "run", "sandboxes: {a: {network: restricted}}\nsandbox: a"),
        ("polder.yaml", "run", "sandboxes: {a: {network: {}}}\nsandbox: a"),
        ("polder.yaml", "run", "sandboxes: {a: {network: {mode: full}}}\nsandbox: a"),
        ("polder.yaml", "run", "sandboxes: {a: {network: {allow: [x.org]}}}\nsandbox: a"),
        ("polder.yaml", "run", "sandbox: [{name: a, network: true}]\nsandboxes: {}\n"),
        ("polder.yaml", "step", "steps: {s: {exec: x, network: true}}"),
        ("polder.yaml", "step", "steps: {s: {exec: x, network: {allow: [x.org]}}}"),
        ("polder.yaml", "step", "sandboxes: {a: {network: true}}\nsteps: {s: {exec: x, sandbox: a}}"),
        (
            "polder.yaml",
            "service",
            "sandboxes: {a: {network: true}}\nservices: {v: {exec: x, sandbox: a, ready: {port: 2000}}}",
        ),
        ("polder.toml", "run", "[[sandbox]]\nname = \"a\"\nnetwork = true\n"),
        ("polder.toml", "run", "sandbox = \"a\"\n[sandboxes.a.network]\nmode = \"full\"\n"),
        (".visor.yaml", "run", "sandboxes: {a: {}}\nsandbox: a"),
        (".visor.yml", "step", "sandboxes: {a: {}}\nchecks: {s: {type: command, exec: x, sandbox: a}}"),
    ];
    for (name, of, text) in cases {
        let mut layers = layers(vec![parsed(name, text, Level::Project).unwrap()]);
        if text.starts_with("sandbox: [") || text.starts_with("[[") {
            layers.overrides.sandbox = Some("a".to_owned());
        }
        assert!(refused(&layers, of), "{name}: {text}");
        // The controls: the same with the user's word for that very value.
        let open = if text.contains("allow") || text.contains("restricted") || text.contains("{}}}") {
            "restricted"
        } else {
            "full"
        };
        layers.overrides.network = Some(open.to_owned());
        assert_eq!(refused(&layers, of), text.contains("allow"), "{name}: {text}");
        layers.overrides.network = Some("none".to_owned());
        assert!(!refused(&layers, of), "{name}: {text}");
    }
    // In a file that is extended, also when it is JSON or a spec.
    let spec = r#"{"sessionId": "s", "networkEgress": true, "mode": "review", "workdir": "/w",
        "mounts": [{"hostPath": "/repo", "guestPath": "/w"}]}"#;
    let bases = [
        ("base.yaml", "sandboxes: {a: {network: true}}\nsandbox: a"),
        ("base.json", r#"{"sandboxes": {"a": {"network": true}}, "sandbox": "a"}"#),
        ("base.toml", "sandbox = \"a\"\n[sandboxes.a]\nnetwork = true\n"),
        ("spec.json", spec),
    ];
    for (name, text) in bases {
        let base = Source::new(format!("/repo/{name}"), text, Level::Project);
        let child = Source::new("/repo/polder.yaml", "sandboxes: {b: {}}", Level::Project);
        let child = Source { extends: vec![base], ..child };
        let document = parse(&child, &vocabulary(), Path::new("/home/u")).unwrap();
        assert!(refused(&layers(vec![document]), "run"), "{name}");
    }
}

#[test]
fn allowed_hosts_of_project_ask_beside_flags() {
    let text = "sandboxes: {a: {network: {allow: [x.org]}}}\nsandbox: a";
    let mut layers = layers(vec![project(text)]);
    layers.overrides.allow_host = vec!["y.org".to_owned()];
    let Err(ResolveError::Untrusted { asks, .. }) = resolved(&layers) else { panic!() };
    assert_eq!(asks[0].what, "the network to `x.org`");
    layers.overrides.allow_host.push("x.org".to_owned());
    assert!(resolved(&layers).is_ok(), "the flag names the very host");
}

#[test]
fn widened_defaults_ask_for_every_sandbox() {
    let text = "sandboxes: {a: {}}\nsandbox_defaults: {env_passthrough: [PATH, SECRET_*]}\n";
    let layers = layers(vec![project(text)]);
    assert!(matches!(resolved(&layers), Err(ResolveError::Untrusted { .. })));
    policy(text);
}

#[test]
fn users_sandbox_changed_or_chosen_by_project_asks() {
    let user = parsed("u.yaml", "sandboxes: {a: {bind_paths: [{host: ~/.npmrc}]}}", Level::User).unwrap();
    let refusal = |text: &str| match resolved(&layers(vec![user.clone(), project(text)])) {
        Err(ResolveError::Untrusted { asks, .. }) => asks.iter().map(ToString::to_string).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    };
    assert_eq!(refusal("sandbox: a"), ["/repo/polder.yaml:1: to read `/home/u/.npmrc`"]);
    assert_eq!(
        refusal("sandboxes: {a: {workdir: /w}}\nsandbox: a"),
        ["/repo/polder.yaml:2: to read `/home/u/.npmrc`", "/repo/polder.yaml:1: to change your own sandbox `a`"]
    );
    // The user names the sandbox, and the project does not change it.
    let mut named = layers(vec![user.clone(), project("sandbox: a")]);
    named.overrides.sandbox = Some("a".to_owned());
    assert!(resolved(&named).is_ok());
    assert_eq!(refusal("sandboxes: {b: {}}\nsandbox: b"), [""; 0]);
}

#[test]
fn step_without_sandbox_asks_where_user_permits_it() {
    let user = parsed("u.yaml", "allow_unsandboxed: true", Level::User).unwrap();
    let text = "steps: {s: {exec: x, sandbox: none}}";
    let layers = layers(vec![user, project(text)]);
    let with = |trust: &Trust| resolve_step(&layers, &vocabulary(), &scope(), trust, "s", None);
    let Err(ResolveError::Untrusted { asks, .. }) = with(&Trust::Only(Vec::new())) else { panic!() };
    assert_eq!(asks[0].what, "to run without a sandbox");
    assert!(with(&Trust::Everything).is_ok());
}

#[test]
fn parallelism_above_built_in_asks() {
    let layers = |text: &str| layers(vec![project(text)]);
    let nothing = Trust::Only(Vec::new());
    assert_eq!(layers("max_parallelism: 10").max_parallelism(&nothing).unwrap().unwrap().value, 10);
    assert!(layers("max_parallelism: 11").max_parallelism(&nothing).is_err());
    assert!(layers("max_parallelism: 11").max_parallelism(&Trust::Everything).is_ok());
}

/// A sandbox of the user's own that is narrower than the built-in one.
const USER: &str = "sandboxes: {u: {read_only: true, git_identity: false, workspace: cow, limits: {memory: 1G, cpus: 1, \
                    output: 1M, timeout: 1m}}}\nsandbox: u\nmax_parallelism: 2";
/// The same as a project writes it, up to the part in question.
const SAME: &str =
    "read_only: true, git_identity: false, workspace: cow, limits: {memory: 1G, cpus: 1, output: 1M, timeout: 1m}";

/// For every key: a value that counts at once, and one that is asked for. `A` stands for a sandbox, `S`
/// for a step, `V` for a service, `U` for a sandbox beside a narrower one of the user's.
const EXAMPLES: &[(&str, &str, &str, &str)] = &[
    ("file", "sandbox", "sandboxes: {a: {}}\nsandbox: a", "U sandboxes: {a: {}}\nsandbox: a"),
    ("file", "max_parallelism", "max_parallelism: 9", "max_parallelism: 99"),
    ("sandbox", "engine", "A engine: docker, image: x", "A engine: seatbelt"),
    ("sandbox", "network", "A network: false", "A network: true"),
    ("sandbox", "read_only", "A read_only: true", "U read_only: false"),
    ("sandbox", "workdir", "A workdir: host", ""),
    ("sandbox", "observe", "A observe: exact", "A observe: off"),
    ("sandbox", "scope", "A scope: run", ""),
    ("file", "profiles", "profiles: []", "profiles: [rust]"),
    ("sandbox", "profiles", "A profiles: []", "A profiles: [node]"),
    ("sandbox", "path", "A path: [/opt/x, bin]", ""),
    ("sandbox", "git_identity", "A git_identity: false", "U git_identity: true"),
    ("sandbox", "env_passthrough", "A env_passthrough: [PATH, '!HOME']", "A env_passthrough: [X]"),
    ("sandbox", "env", "A env: {LD_PRELOAD: x}", ""),
    ("sandbox", "bind_paths", "A bind_paths: []", "A bind_paths: [{host: ./x}]"),
    ("sandbox", "workspace", "A workspace: worktree", "U workspace: direct"),
    ("sandbox", "protect", "A protect: [/etc, '**/x']", ""),
    ("sandbox", "deny_read", "A deny_read: [~/x]", ""),
    ("sandbox", "credentials", "", "A credentials: [{name: g, source: 'env:T', hosts: [x.org]}]"),
    ("sandbox", "require", "A require: [fs]", ""),
    ("sandbox", "accept", "A accept: []", "A accept: [fs]"),
    ("sandbox", "image", "A image: x", ""),
    ("sandbox", "dockerfile", "A dockerfile: x", ""),
    ("sandbox", "dockerfile_inline", "A dockerfile_inline: FROM x", ""),
    ("sandbox", "compose", "", "A compose: c, service: s"),
    ("sandbox", "service", "", "A compose: c, service: s"),
    ("sandbox", "visor_path", "A visor_path: /v", ""),
    ("sandbox", "options", "", "A engine: docker, image: x, options: {pull: always}"),
    ("profile", "name", "sandbox: [{name: a}]", ""),
    ("profile", "type", "sandbox: [{name: a, type: bwrap}]", "sandbox: [{name: a, type: seatbelt}]"),
    (
        "sandbox_defaults",
        "env_passthrough",
        "sandbox_defaults: {env_passthrough: [PATH]}",
        "sandbox_defaults: {env_passthrough: ['*']}",
    ),
    ("network", "mode", "A network: {mode: none}", "A network: {mode: restricted}"),
    ("network", "allow", "", "A network: {allow: [x.org]}"),
    ("network", "deny", "B network: {mode: restricted, deny: [x.org]}", ""),
    ("bind", "host", "", "A bind_paths: [{host: /x}]"),
    ("bind", "container", "", "A bind_paths: [{host: /x, container: /y}]"),
    ("bind", "read_only", "", "A bind_paths: [{host: /x, read_only: true}]"),
    ("bind", "optional", "", "A bind_paths: [{host: /x, optional: true}]"),
    ("limits", "memory", "A limits: {memory: 1T}", "U limits: {memory: 2G}"),
    ("limits", "cpus", "A limits: {cpus: 99}", "U limits: {cpus: 2}"),
    ("limits", "pids", "A limits: {pids: 4096}", "A limits: {pids: 4097}"),
    ("limits", "disk", "A limits: {disk: 2G}", "A limits: {disk: 3G}"),
    ("limits", "files", "A limits: {files: 4096}", "A limits: {files: 4097}"),
    ("limits", "output", "A limits: {output: 1T}", "U limits: {output: 2M}"),
    ("limits", "timeout", "A limits: {timeout: 9h}", "U limits: {timeout: 2m}"),
    ("resources", "memory", "A image: x, resources: {memory: 1T}", "U image: x, resources: {memory: 2G}"),
    ("resources", "cpu", "A image: x, resources: {cpu: 9}", "U image: x, resources: {cpu: 9}"),
    ("workspace", "mode", "A workspace: {mode: cow}", "U workspace: {mode: direct}"),
    ("workspace", "name", "A workspace: {name: x}", ""),
    ("workspace", "from", "A workspace: {from: x}", ""),
    ("workspace", "keep", "A workspace: {mode: cow, keep: false}", ""),
    ("workspace", "untracked", "A workspace: {mode: worktree, untracked: true}", ""),
    ("workspace", "projects", "", "A workspace: {mode: worktree, projects: {x: /x}}"),
    ("workspace", "main_project_name", "A workspace: {mode: worktree, main_project_name: x}", ""),
    ("credential", "name", "", "A credentials: [{name: g, source: 'env:T', hosts: [x.org]}]"),
    ("credential", "source", "", "A credentials: [{name: g, source: 'env:T', hosts: [x.org]}]"),
    ("credential", "hosts", "", "A credentials: [{name: g, source: 'env:T', hosts: [x.org]}]"),
    ("credential", "via", "", "A credentials: [{name: g, source: 'env:T', hosts: [x.org], via: environment}]"),
    ("cache", "paths", "A cache: {paths: [~/.cargo]}", ""),
    ("cache", "prefix", "A cache: {paths: [/x], prefix: y}", ""),
    ("cache", "fallback_prefix", "A cache: {paths: [/x], fallback_prefix: y}", ""),
    ("cache", "ttl", "A cache: {paths: [/x], ttl: 7d}", "A cache: {paths: [/x], ttl: 8d}"),
    ("cache", "max_scopes", "A cache: {paths: [/x], max_scopes: 10}", "A cache: {paths: [/x], max_scopes: 11}"),
    ("step", "type", "S type: command", ""),
    ("step", "exec", "S", ""),
    ("step", "command", "steps: {s: {command: [x]}}", ""),
    ("step", "sandbox", "sandboxes: {a: {}}\nsteps: {s: {exec: x, sandbox: a}}", "P sandbox: none"),
    ("step", "depends_on", "S depends_on: []", ""),
    ("step", "env", "S env: {X: y}", ""),
    ("step", "timeout", "S timeout: 9h", "T timeout: 2m"),
    ("step", "read_only", "S read_only: true", "T read_only: false"),
    ("step", "network", "S network: false", "S network: true"),
    ("step", "continue_on_failure", "S continue_on_failure: true", ""),
    ("step", "if", "S if: always()", ""),
    ("step", "stdin", "S stdin: x", ""),
    ("step", "services", "services: {v: {exec: x, ready: {port: 2000}}}\nsteps: {s: {exec: x, services: v}}", ""),
    ("services", "exec", "V", ""),
    ("services", "command", "services: {v: {command: [x], ready: {port: 2000}}}", ""),
    (
        "services",
        "sandbox",
        "sandboxes: {a: {}}\nservices: {v: {exec: x, ready: {port: 2000}, sandbox: a}}",
        "U services: {v: {exec: x, ready: {port: 2000}, sandbox: a}}\nsandboxes: {a: {}}",
    ),
    ("services", "depends_on", "V depends_on: []", ""),
    ("services", "env", "V env: {X: y}", ""),
    ("services", "read_only", "V read_only: true", "U services: {v: {exec: x, ready: {port: 2000}, read_only: false}}"),
    ("services", "ready", "V", ""),
    ("ready", "port", "V", ""),
    ("ready", "exec", "services: {v: {exec: x, ready: {exec: y}}}", ""),
    ("ready", "timeout", "services: {v: {exec: x, ready: {exec: y, timeout: 9h}}}", ""),
];

/// The user's file and the project's, for one example.
fn example(text: &str) -> (&'static str, String) {
    let (kind, body) = text.split_once(' ').unwrap_or((text, ""));
    let comma = if body.is_empty() { "" } else { ", " };
    match kind {
        "A" => ("", format!("sandboxes: {{a: {{{body}}}}}\nsandbox: a")),
        "U" if body.contains(": {") && (body.starts_with("sandboxes") || body.starts_with("services")) => {
            (USER, body.to_owned())
        }
        "U" => (USER, format!("sandboxes: {{a: {{{}}}}}\nsandbox: a", narrowed(body))),
        "B" => (
            "sandboxes: {u: {network: {mode: restricted}}}\nsandbox: u",
            format!("sandboxes: {{a: {{{body}}}}}\nsandbox: a"),
        ),
        "S" => ("", format!("steps: {{s: {{exec: x{comma}{body}}}}}").replace("exec: x, command", "command")),
        "T" => (USER, format!("steps: {{s: {{exec: x{comma}{body}}}}}")),
        "P" => ("allow_unsandboxed: true", format!("steps: {{s: {{exec: x{comma}{body}}}}}")),
        "V" => ("", format!("services: {{v: {{exec: x, ready: {{port: 2000}}{comma}{body}}}}}")),
        _ => ("", text.to_owned()),
    }
}

/// The user's own narrow sandbox as a project writes it, with one key changed.
fn narrowed(body: &str) -> String {
    let (key, value) = body.split_once(": ").unwrap_or_default();
    match key {
        "limits" => {
            let (limit, _) = value.trim_matches(['{', '}']).split_once(':').unwrap_or_default();
            let mut limits = BTreeMap::from([("memory", "1G"), ("cpus", "1"), ("output", "1M"), ("timeout", "1m")]);
            let (_, more) = value.trim_matches(['{', '}']).split_once(": ").unwrap_or_default();
            limits.insert(limit, more);
            let limits: Vec<_> = limits.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            format!("read_only: true, git_identity: false, workspace: cow, limits: {{{}}}", limits.join(", "))
        }
        "read_only" => SAME.replace("read_only: true", body),
        "workspace" => SAME.replace("workspace: cow", body),
        "git_identity" => SAME.replace("git_identity: false", body),
        _ => {
            format!("read_only: true, git_identity: false, workspace: cow, limits: {{output: 1M, timeout: 1m}}, {body}")
        }
    }
}

fn tables() -> Vec<&'static Table> {
    fn add(shape: &'static Shape, found: &mut Vec<&'static Table>) {
        match shape {
            Shape::Map(table) => add_table(table, found),
            Shape::MapOf(inner) | Shape::ListOf(inner) => add(inner, found),
            Shape::Either(shapes) => shapes.iter().for_each(|shape| add(shape, found)),
            Shape::Step => add_table(&STEP, found),
            _ => {}
        }
    }
    fn add_table(table: &'static Table, found: &mut Vec<&'static Table>) {
        if !found.iter().any(|known| std::ptr::eq(*known, table)) {
            found.push(table);
            table.keys.iter().copied().flatten().for_each(|key| add(&key.shape, found));
        }
    }
    let mut found = Vec::new();
    add_table(&TOP, &mut found);
    found
}

/// The decision in the table of keys is what happens, for every key that there is.
#[test]
fn every_key_is_decided_and_the_decision_holds() {
    for table in tables() {
        for key in table.keys(Dialect::Own) {
            if table.name == "profile" && !matches!(key.name, "name" | "type") {
                continue;
            }
            let rows: Vec<_> = EXAMPLES.iter().filter(|row| (row.0, row.1) == (table.name, key.name)).collect();
            let (free, asked_for) = match (key.reach, rows.as_slice()) {
                (Reach::Parts | Reach::Own | Reach::Unread, []) => continue,
                (_, [(_, _, free, asked_for)]) => (*free, *asked_for),
                _ => panic!("`{}.{}` needs one row in EXAMPLES", table.name, key.name),
            };
            let asks = |text: &str| {
                let (user, text) = example(text);
                let user = parsed("user.yaml", user, Level::User).unwrap();
                asked(vec![user, project(&text)])
            };
            let at = format!("`{}.{}`, {:?}", table.name, key.name, key.reach);
            assert!(!free.is_empty() || key.reach == Reach::Outside, "{at}");
            assert_eq!(asked_for.is_empty(), key.reach == Reach::Inside, "{at}");
            if !free.is_empty() {
                assert_eq!(asks(free), [""; 0], "{at}: {free}");
            }
            if !asked_for.is_empty() {
                assert_ne!(asks(asked_for), [""; 0], "{at}: {asked_for}");
            }
        }
    }
    // A spec is no project's file; one that is extended becomes an ordinary sandbox, judged as such.
    assert!(SPEC.keys(Dialect::Own).all(|key| key.reach != Reach::Own));
}

/// The documentation tells the decision of every key.
#[test]
fn documentation_tells_reach_of_every_key() {
    let text = include_str!("../../../../docs/configuration.md");
    for table in tables() {
        for key in table.keys(Dialect::Own) {
            if table.name == "profile" && key.name != "type" {
                continue;
            }
            let word = match key.reach {
                Reach::Inside => "counts",
                Reach::Outside => "needs trust",
                Reach::Weaker => "needs trust if weaker",
                Reach::Own => "never",
                Reach::Parts | Reach::Unread => continue,
            };
            let row = format!("| `{}` | `{}` | {word} |", table.name, key.name);
            assert!(text.contains(&row), "docs/configuration.md lacks the row\n{row}");
        }
    }
}

#[test]
fn fingerprint_covers_every_extended_file() {
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

#[test]
fn seal_differs_by_place_and_named_file() {
    let place = |path: &str, inode, born_ns| RepositoryIdentity {
        path: path.into(),
        file: "polder.yaml".into(),
        inode,
        born_ns,
    };
    let file = |bytes: Option<&str>| vec![("/r/Dockerfile".into(), bytes.map(|text| text.as_bytes().to_vec()))];
    let here = place("/r", 7, Some(9));
    let seals = [
        sealed("c", &[], &here),
        sealed("d", &[], &here),
        sealed("c", &[], &place("/s", 7, Some(9))),
        sealed("c", &[], &place("/r", 8, Some(9))),
        sealed("c", &[], &place("/r", 7, Some(8))),
        sealed("c", &[], &place("/r", 7, None)),
        sealed("c", &file(None), &here),
        sealed("c", &file(Some("")), &here),
        sealed("c", &file(Some("x")), &here),
    ];
    for (i, seal) in seals.iter().enumerate() {
        assert!(!seals[..i].contains(seal), "{i}");
    }
    assert_eq!(seals[0], sealed("c", &[], &here));
}
