use crate::shape::SANDBOX;
use crate::testing::{document, faults, layers, parsed, policy, resolved, vocabulary};
use crate::{steps as steps_of, *};
use expect_test::expect;
use proptest::prelude::*;

/// The examples of the seeds, indented again, each as the file that it is said to be.
mod examples {
    pub(super) const ENGINES: &str = "
sandboxes:
  # Linux: use bubblewrap for lightweight isolation
  bwrap:
    engine: bubblewrap
    network: true
  mac:
    engine: seatbelt
    network: true
  docker:
    image: node:20-alpine
sandbox: bwrap # or mac, or docker
steps:
  lint:
    type: command
    exec: eslint src/
  build:
    type: command
    sandbox: docker
    exec: npm run build
";
    pub(super) const BINDS: &str = "
sandboxes:
  dev:
    engine: bubblewrap
    bind_paths:
      - host: ~/.gitconfig # read-only by default
      - host: ~/.ssh
      - host: /opt/custom-tools
        container: /opt/custom-tools
      - host: ~/shared-cache
        container: /cache
        read_only: false
";
    pub(super) const WORKDIR: &str = "
sandboxes:
  agent-sandbox:
    engine: bubblewrap
    workdir: \"host\"
    bind_paths:
      - host: ~/.gitconfig
";
    pub(super) const DEFAULTS: &str = "
sandboxes:
  bwrap:
    engine: bubblewrap
    network: true
    read_only: false
    workdir: /workspace
";
    pub(super) const PER_STEP: &str = "
sandboxes:
  fast:
    engine: bubblewrap
    network: false
  full:
    image: node:20-alpine
    cache:
      paths: [node_modules]
sandbox: fast
steps:
  lint: {type: command, exec: eslint src/}
  build: {type: command, sandbox: full, exec: npm run build}
  test:
    type: command
    exec: npm test
    read_only: true
";
    pub(super) const CHECKS: &str = "
sandboxes:
  ci-runner:
    image: node:20-alpine
    cache:
      paths: [/workspace/node_modules]
  bwrap:
    engine: bubblewrap
    network: true
    read_only: false
sandbox: bwrap
checks:
  lint:
    type: command
    exec: eslint src/
  heavy-build:
    type: command
    sandbox: ci-runner
    exec: npm run build
";
    pub(super) const DESIGN: &str = "
sandboxes:
  fast:
    engine: native
    network: false
    read_only: false
    workdir: /workspace
    env_passthrough: [CARGO_*]
    bind_paths: [{host: ~/.gitconfig}, {host: ~/cache, container: /cache, read_only: false}]
    limits: {memory: 2G, cpus: 1.5, pids: 256, disk: 5G, files: 4096, output: 50M, timeout: 10m}
    workspace: {mode: cow}
    protect: [.git/hooks, .git/config, \"**/.env\"]
    deny_read: [\"~/.aws\"]
    credentials: [{name: github, source: env:GITHUB_TOKEN, hosts: [github.com, api.github.com]}]
    cache: {paths: [/root/.cache], ttl: 7d, max_scopes: 10}
    require: [fs, net, pids]
  full:
    image: node:20-alpine
sandbox: fast
sandbox_defaults: {env_passthrough: [PATH, HOME]}
steps:
  lint: {type: command, exec: eslint src/}
  build: {type: command, sandbox: full, exec: npm run build, depends_on: [lint]}
";
    pub(super) const PROFILES: &str = "
[[sandbox]]
name = \"jail\"
type = \"bwrap\"
[sandbox.options]
seccomp = true

[[sandbox]]
name = \"box\"
type = \"container\"
image = \"node:20\"
[sandbox.options]
user = \"1000\"

[[sandbox]]
name = \"micro\"
type = \"vm\"

[[sandbox]]
name = \"fire\"
type = \"firejail\"

[[sandbox]]
name = \"ns\"
type = \"nsjail\"

[[sandbox]]
name = \"host\"
type = \"unsandboxed\"
";
}

#[test]
fn every_example_of_the_seeds_is_read() {
    for text in [examples::ENGINES, examples::BINDS, examples::WORKDIR, examples::DEFAULTS, examples::CHECKS] {
        document(".visor.yaml", text);
        document("polder.yaml", text);
    }
    document("polder.yaml", examples::DESIGN);
    let profiles = document("polder.toml", examples::PROFILES);
    assert_eq!(profiles.sandboxes().collect::<Vec<_>>(), ["jail", "box", "micro", "fire", "ns", "host"]);
}

#[test]
fn the_example_with_a_relative_cache_path_fails_as_it_should() {
    expect![".visor.yaml:9: `node_modules` must be absolute, starting with `/`; what lies in the workspace is there again at the next run without a cache"]
        .assert_eq(&faults(".visor.yaml", examples::PER_STEP));
}

#[test]
fn the_same_keys_work_in_toml_and_json() {
    let toml = "sandbox = \"a\"\n[sandboxes.a]\nengine = \"native\"\n[sandboxes.a.limits]\nmemory = \"1G\"\n[steps.x]\nexec = \"true\"\n";
    let json = r#"{"sandbox": "a", "sandboxes": {"a": {"engine": "native", "limits": {"memory": "1G"}}}, "steps": {"x": {"exec": "true"}}}"#;
    for (name, text) in [("polder.toml", toml), ("polder.json", json)] {
        let document = document(name, text);
        assert_eq!(document.sandboxes().collect::<Vec<_>>(), ["a"]);
        assert_eq!(document.steps.len(), 1);
    }
}

#[test]
fn what_belongs_to_a_layer_needs_one() {
    let text =
        "sandboxes:\n  a:\n    workspace:\n      mode: direct\n      name: w\n      from: v\n      keep: false\n";
    expect![[r#"
        polder.yaml:5: `name` works with `mode: cow` or `mode: worktree`
        polder.yaml:6: `from` works with `mode: cow` or `mode: worktree`
        polder.yaml:7: `keep` works with `mode: cow` or `mode: worktree`"#]]
    .assert_eq(&faults("polder.yaml", text));
}

#[test]
fn all_faults_are_reported_at_once_in_the_order_of_the_file() {
    let text = "
sandboxs: {}
sandboxes:
  none: {}
  -bad: {}
  a:
    engine: bubblewarp
    netwrok: false
    read_only: yes
    workdir: work
    env_passthrough: [A-B]
    env: {1X: y}
    bind_paths:
      - host: ../up
      - host: ~root/x
      - container: /x
      - {host: /x, container: rel, mode: rw}
    limits: {memory: lots, cpus: 0, pids: 1.5, timeout: 0s, files: -1, output: 10}
    workspace: {mode: overlay}
    protect: [../x]
    deny_read: all
    credentials: [{name: gh, source: ghp_secret, hosts: []}]
    cache: {paths: [rel], ttl: 0d}
    require: [fs, pid]
    image: x
    compose: y
    network: {mode: full, allow: [x.org]}
  b:
    engine: native
    image: x
    service: y
steps:
  x: {exec: a, command: [b], timeout: 60, colour: red}
checks: {}
max_parallelism: 0
enforce: {network: false}
allow_unsandboxed: true
";
    expect![[r#"
        polder.yaml:2: unknown key `sandboxs`; did you mean `sandboxes`?
        polder.yaml:4: a sandbox cannot be called `none`: the word is a step's explicit opt-out
        polder.yaml:5: `-bad` is not a name: letters, digits, `.`, `_` and `-`, beginning with a letter or digit
        polder.yaml:7: unknown engine `bubblewarp`; did you mean `bubblewrap`? known are auto, native, bubblewrap, seatbelt, docker, firejail, nsjail, vm, none
        polder.yaml:8: unknown key `netwrok`; did you mean `network`?
        polder.yaml:9: `read_only` must be true or false, not a text
        polder.yaml:10: `work` must be absolute, starting with `/`
        polder.yaml:11: `A-B` is not a pattern for names of variables
        polder.yaml:12: `1X` is not the name of a variable
        polder.yaml:14: `../up` must not contain `..`
        polder.yaml:15: `~root/x`: only `~` and `~/…` are expanded
        polder.yaml:16: an item of `bind_paths` has no `host`
        polder.yaml:17: unknown key `mode`
        polder.yaml:17: `rel` must be absolute, starting with `/`
        polder.yaml:18: `memory`: `lots` must start with a number
        polder.yaml:18: `cpus` must be a number above zero
        polder.yaml:18: `pids` must be a whole number above zero
        polder.yaml:18: `timeout`: `0s` must be more than zero; leave it out for no limit
        polder.yaml:18: `files` must be a whole number above zero
        polder.yaml:19: `mode` cannot be `overlay`; known are direct, cow, worktree
        polder.yaml:20: `../x` must not contain `..`
        polder.yaml:21: `deny_read` must be a list, not a text
        polder.yaml:22: `source` must say where the secret is, as in `env:GITHUB_TOKEN`, never the secret
        polder.yaml:22: `hosts` is empty: nobody could see the credential
        polder.yaml:23: `ttl`: `0d` must be more than zero; leave it out for no limit
        polder.yaml:23: `rel` must be absolute, starting with `/`; what lies in the workspace is there again at the next run without a cache
        polder.yaml:24: `pid` is not a guarantee; known are fs, protect, second-layer, net, ipc, processes, privileges, syscalls, env, memory, cpus, pids, files, disk, output, timeout; did you mean `pids`?
        polder.yaml:26: `image` and `compose` exclude each other; give one
        polder.yaml:27: `allow` works with `mode: restricted` only
        polder.yaml:30: `image` does not work with engine `native`
        polder.yaml:31: `service` needs `compose`
        polder.yaml:31: `service` does not work with engine `native`
        polder.yaml:33: `timeout` must be a time as in `10m`, not a number
        polder.yaml:33: unknown key `colour`
        polder.yaml:33: `exec` and `command` exclude each other; give one
        polder.yaml:34: `steps` and `checks` are the same thing; give one
        polder.yaml:35: `max_parallelism` must be a whole number above zero
        polder.yaml:36: `enforce` counts in a system file only
        polder.yaml:37: `allow_unsandboxed` counts in a system or user file only"#]].assert_eq(&faults("polder.yaml", text));
}

#[test]
fn what_is_most_likely_ours_is_not_left_alone_in_another_tools_file() {
    let others = "version ai_provider ai_model output fail_fast fail_if tag_filter routing limits env hooks http_server memory tools \
        imports inputs outputs slack scheduler policy on on_init frontends tests description name id schema config triggers";
    let file: String = others.split_whitespace().map(|key| format!("{key}: x\n")).collect();
    document(".visor.yaml", &file);
    expect![[r#"
        .visor.yaml:1: unknown key `sandboxs`; did you mean `sandboxes`?
        .visor.yaml:2: unknown key `sandbox_default`; did you mean `sandbox_defaults`?
        .visor.yaml:3: unknown key `Steps`; did you mean `steps`?
        .visor.yaml:4: `enforce` is not read in this file; write it in a file of polder's own
        .visor.yaml:5: `audit` is not read in this file; write it in a file of polder's own"#]]
    .assert_eq(&faults(
        ".visor.yaml",
        "sandboxs: {}\nsandbox_default: {env_passthrough: []}\nSteps: {}\nenforce: {}\naudit: required",
    ));
}

#[test]
fn another_tools_keys_are_left_alone_in_its_own_file() {
    let text = "
version: '1.0'
ai_provider: google
workspace: {enabled: true, base_path: /tmp/x}
max_parallelism: 3
sandboxes: {a: {engine: bubblewrap}}
steps:
  review: {type: ai, prompt: look, sandbox: '{{ inputs.sandbox }}', schema: code-review}
  plain: {prompt: look}
  run: {type: command, exec: x, timeout: 60000}
";
    assert_eq!(document(".visor.yaml", text).steps.len(), 3);
    expect![[r#"
        polder.yaml:2: unknown key `version`
        polder.yaml:3: unknown key `ai_provider`
        polder.yaml:4: unknown key `workspace`
        polder.yaml:8: `type` cannot be `ai`; known are command
        polder.yaml:8: unknown key `prompt`
        polder.yaml:8: unknown key `schema`
        polder.yaml:9: unknown key `prompt`
        polder.yaml:10: `timeout` must be a time as in `10m`, not a number"#]]
    .assert_eq(&faults("polder.yaml", text));
    expect![[r#"
        .visor.yaml:1: unknown key `engin`; did you mean `engine`?
        .visor.yaml:2: unknown key `promt`"#]]
    .assert_eq(&faults(".visor.yaml", "sandboxes: {a: {engin: x}}\nsteps: {r: {type: command, exec: x, promt: y}}"));
}

#[test]
fn image_keys_need_an_engine_that_takes_images() {
    let text = "sandboxes: {a: {engine: bubblewrap, cache: {paths: [/c]}, resources: {memory: 1g}}}";
    expect![[r#"
        .visor.yaml:1: `resources` does not work with engine `bubblewrap`
        .visor.yaml:1: `cache` does not work with engine `bubblewrap`"#]]
    .assert_eq(&faults(".visor.yaml", text));
    expect!["polder.yaml:1: `resources` does not work with engine `bubblewrap`"]
        .assert_eq(&faults("polder.yaml", text));
    document("polder.yaml", "sandboxes: {a: {engine: bubblewrap, cache: {paths: [/c]}}}");
}

#[test]
fn one_source_of_an_image_and_no_more() {
    let fault = |keys: &str| faults("polder.yaml", &format!("sandboxes: {{a: {{{keys}}}}}"));
    expect!["polder.yaml:1: `image` and `dockerfile` exclude each other; give one"]
        .assert_eq(&fault("image: x, dockerfile: y"));
    expect!["polder.yaml:1: `dockerfile` and `dockerfile_inline` exclude each other; give one"]
        .assert_eq(&fault("dockerfile: y, dockerfile_inline: FROM x"));
    expect!["polder.yaml:1: `compose` needs `service`"].assert_eq(&fault("compose: c.yml"));
    expect!["polder.yaml:1: `service` needs `compose`"].assert_eq(&fault("image: x, service: s"));
    expect!["polder.yaml:1: `../Dockerfile` must not contain `..`"].assert_eq(&fault("dockerfile: ../Dockerfile"));
    expect!["polder.yaml:1: `image` is empty"].assert_eq(&fault("image: ''"));
}

#[test]
fn resources_are_limits_in_other_words() {
    let policy = policy("sandboxes: {a: {image: x, resources: {memory: 512m, cpu: 1.0}}}");
    assert_eq!(policy.limits.memory.unwrap().value.to_string(), "512M");
    assert_eq!(policy.limits.cpus.unwrap().value, 1.0);
    let twice = "sandboxes: {a: {image: x, limits: {cpus: 1}, resources: {cpu: 2}}}";
    expect!["polder.yaml:1: `resources.cpu` and `limits.cpus` are the same thing; give one"]
        .assert_eq(&faults("polder.yaml", twice));
}

#[test]
fn a_project_never_says_some_things() {
    let fault = |text| parsed("polder.yaml", text, Level::Project).unwrap_err().to_string();
    expect![[r#"
        /repo/polder.yaml:1: `none` enforces nothing and never comes from a project
        /repo/polder.yaml:2: `enforce` counts in a system file only
        /repo/polder.yaml:3: `allow_unsandboxed` counts in a system or user file only"#]]
    .assert_eq(&fault("sandboxes: {a: {engine: none}}\nenforce: {}\nallow_unsandboxed: true"));
    expect!["/repo/polder.yaml:1: `unsandboxed` enforces nothing and never comes from a project"]
        .assert_eq(&fault("sandboxes: {a: {engine: unsandboxed}}"));
}

#[test]
fn a_profile_has_a_name_and_one_engine() {
    let text = "[[sandbox]]\ntype = \"bwrap\"\n[[sandbox]]\nname = \"a\"\ntype = \"bwrap\"\nengine = \"native\"\n[[sandbox]]\nname = \"a\"\ncolour = 1\n";
    expect![[r#"
        polder.toml:1: an item of `sandbox` has no `name`
        polder.toml:5: `type` and `engine` are the same thing; give one
        polder.toml:8: the sandbox `a` is defined twice
        polder.toml:9: unknown key `colour`"#]]
    .assert_eq(&faults("polder.toml", text));
}

const SPEC: &str = r#"{
  "sessionId": "s1", "workspaceId": "w", "agentId": "a",
  "mounts": [
    {"hostPath": "/data", "guestPath": "/data", "writable": true},
    {"hostPath": "/src/app", "guestPath": "/work", "writable": true}
  ],
  "networkEgress": true,
  "workdir": "/work/sub",
  "mode": "chat"
}"#;

#[test]
fn a_spec_is_a_sandbox_with_its_own_tree() {
    let policy_of = |text: &str| {
        let document = document("spec.json", text);
        let root = document.root().cloned();
        (resolved(&layers(vec![document])).unwrap(), root.unwrap())
    };
    let (chat, root) = policy_of(SPEC);
    assert_eq!((root.root.to_string(), root.working_dir.to_string()), ("/src/app".into(), "/src/app/sub".into()));
    assert_eq!(chat.access.value, Access::ReadWrite);
    assert_eq!(chat.network.value.mode, NetworkMode::Full);
    assert_eq!(chat.binds.len(), 1);
    assert_eq!(chat.binds[0].value.access, Access::ReadWrite);
    for mode in ["review", "plan", "orchestrate"] {
        let (policy, _) = policy_of(&SPEC.replace("chat", mode).replace("\"networkEgress\": true,", ""));
        assert_eq!(policy.access.value, Access::ReadOnly);
        assert_eq!(policy.binds[0].value.access, Access::ReadOnly);
        assert_eq!(policy.network.value.mode, NetworkMode::None);
    }
}

#[test]
fn a_spec_with_faults_says_which() {
    let text = SPEC
        .replace("chat", "yolo")
        .replace("/work/sub", "/other")
        .replace("\"/data\", \"guest", "\"/x/../y\", \"guest");
    expect![[r#"
        spec.json:2: unknown key `agent`; did you mean `agentId`?
        spec.json:4: `/x/../y` must not contain `..`
        spec.json:8: `workdir` `/other` is in no mount
        spec.json:9: `mode` cannot be `yolo`; known are chat, review, plan, orchestrate"#]]
    .assert_eq(&faults("spec.json", &text.replace("\"agentId\"", "\"agent\"")));
    expect![[r#"
        spec.json:1: the spec has no `mounts`
        spec.json:1: the spec has no `workdir`
        spec.json:1: the spec has no `mode`"#]]
    .assert_eq(&faults("spec.json", "{\"sessionId\": \"x\"}"));
}

#[test]
fn a_hostile_file_costs_no_more_than_its_size() {
    let begin = worked();
    let keys = |n: usize, value: &str| (0..n).map(|i| format!("  k{i}: {value}\n")).collect::<String>();
    let steps: String =
        (0..1000).map(|i| format!("  s{i}: {{exec: x, depends_on: [{}]}}\n", "q|".repeat(400))).collect();
    let unknown = format!("sandboxes:\n a:\n{}", keys(30_000, "1").replace("  k", "   k"));
    for text in [format!("sandboxes:\n{}", keys(40_000, "{}")), format!("steps:\n{}", keys(40_000, "{}")), unknown] {
        assert!(parsed("polder.yaml", &text, Level::Project).is_err());
    }
    let layers = layers(vec![document("polder.yaml", &format!("steps:\n{steps}"))]);
    assert!(steps_of(&layers).is_err());
    // Generous, because machines differ; what is quadratic here takes minutes.
    let took = worked().saturating_sub(begin);
    assert!(took.as_secs() < 20, "{took:?}");
}

/// How long this thread has had a processor: unlike the time on the wall, it does not grow with what others do. Nothing
/// where the system does not say.
fn worked() -> std::time::Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0);
    std::time::Duration::from_nanos(ns)
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for name in ["polder.yaml", ".visor.yaml", "polder.toml", "spec.json"] {
            let _ = parse(&Source::new(name, bytes.clone(), Level::Project), &vocabulary(), "/h".as_ref());
        }
    }

    #[test]
    fn no_value_under_a_known_key_makes_it_panic(
        key in proptest::sample::select(SANDBOX.keys(Dialect::Own).map(|key| key.name).collect::<Vec<_>>()),
        value in "([a-z~./*!:0-9-]{0,8}|\\[[a-z~./, ]{0,8}\\]|\\{(mode|host|paths|name|memory): [a-z0-9/~.]{0,6}\\}|-?[0-9.]{1,20})",
    ) {
        let _ = parsed("polder.yaml", &format!("sandboxes:\n  a:\n    {key}: {value}\n"), Level::Project);
    }
}
