//! The same model in the formats of the seeds.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

/// Seed 000 and 001, as they stand there.
const ENGINES: &str = "
sandboxes:
  # Linux: use bubblewrap for lightweight isolation
  bwrap:
    engine: bubblewrap
    network: true
  # macOS: use seatbelt for native isolation
  mac:
    engine: seatbelt
    network: true
  # Any platform: use Docker for full container isolation
  docker:
    image: node:20-alpine
# Default all steps to a sandbox
sandbox: bwrap # or mac, or docker
steps:
  lint:
    type: command
    exec: eslint src/
  build:
    type: command
    sandbox: docker # Override: use Docker for this step
    exec: npm run build
";
const WORKDIR: &str = "
sandboxes:
  agent-sandbox:
    engine: bubblewrap
    workdir: \"host\"
    bind_paths:
      - host: ~/.gitconfig
";
const CHECKS: &str = "
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

#[test]
fn examples_of_the_seeds_are_right() {
    for text in [ENGINES, WORKDIR, CHECKS] {
        let place = Place::new();
        place.write("work/.visor.yaml", text);
        let said = place.says(&["config", "check"]);
        assert!(said.code == 0 && said.out.starts_with("ok: "), "{said:?}");
    }
}

#[test]
fn an_engine_that_cannot_be_had_here_is_refused_by_name() {
    let place = Place::new().trusting();
    place.write("work/.visor.yaml", ENGINES);
    for (flags, engine) in [
        (&["run", "--sandbox", "docker", "--", "touch", "ran"][..], "docker` does not work here"),
        (&["run", "--sandbox", "mac", "--", "touch", "ran"], "seatbelt` does not work here"),
    ] {
        // The user's own daemon may listen on the default socket.
        let socket = format!("unix://{}", place.dir().join("no.sock").display());
        let said: Said = place.polder(flags).env("DOCKER_HOST", socket).output().expect("polder").into();
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains(&format!("engine `{engine}")), "{}", said.err);
        assert!(said.err.contains("remedy"), "{}", said.err);
        assert!(!place.has("work/ran"), "an engine asked for by name is never replaced");
    }
}

#[test]
fn a_sandbox_of_a_visor_file_runs_on_an_engine_that_is_there() {
    let place = Place::new().trusting();
    place.write("work/.visor.yaml", ENGINES);
    for flags in [&["--sandbox", "bwrap"][..], &["--sandbox", "bwrap", "--engine", "native"]] {
        let said = place.says(&[&["run"], flags, &["--", "sh", "-c", "echo ran >>made; pwd"]].concat());
        assert_eq!((said.code, said.out.as_str()), (0, "/workspace\n"), "{said:?}");
    }
    assert_eq!(place.read("work/made"), "ran\nran\n");
    // There the network is on when nothing is said.
    place.write("work/.visor.yaml", "sandboxes: {a: {engine: native}}\nsandbox: a\n");
    assert!(place.says(&["config", "show"]).out.contains("full"));
    let said = place.says(&["run", "--dry-run", "--", "true"]);
    assert!(said.out.contains("network     full"), "{}", said.out);
}

#[test]
fn toml_profiles_are_sandboxes() {
    let place = Place::new();
    place.write(
        "work/polder.toml",
        "[[sandbox]]\nname = \"jail\"\ntype = \"native\"\n\n[[sandbox]]\nname = \"box\"\ntype = \"container\"\nimage = \"nobody/has-this:ever\"\n",
    );
    let said = place.says(&["config", "check"]);
    assert_eq!(said.code, 0, "{said:?}");
    let said = place.says(&["run", "--sandbox", "jail", "--", "sh", "-c", "echo inside; pwd"]);
    assert_eq!((said.code, said.out), (0, format!("inside\n{}\n", place.work().display())), "{}", said.err);
    let said = place.says(&["run", "--sandbox", "box", "--", "true"]);
    // A container is asked for by its engine's name, and never replaced, whether there is a daemon here or not.
    assert!(said.code == 125 && said.err.contains("docker"), "{said:?}");
    let said = place.says(&["run", "--sandbox", "nowhere", "--", "true"]);
    assert!(said.code == 125 && said.err.contains("box, jail"), "{said:?}");
}

#[test]
fn a_json_spec_says_mounts_and_mode() {
    let place = Place::new();
    let (work, shared) = (place.work(), place.dir().join("shared"));
    place.write("shared/file", "shared");
    for (mode, writes) in [("chat", true), ("review", false), ("plan", false), ("orchestrate", false)] {
        let spec = serde_json::json!({
            "sessionId": "s", "workspaceId": "w", "agentId": "a", "mode": mode, "networkEgress": false,
            "workdir": "/workspace",
            "mounts": [
                {"hostPath": work, "guestPath": "/workspace", "writable": true},
                {"hostPath": shared, "guestPath": "/shared", "writable": false},
            ],
        });
        let file = place.write("spec.json", spec.to_string());
        let file = file.display().to_string();
        let script = format!("cat /shared/file; pwd; echo x >{mode} && cat {mode}");
        let said = place.says(&["run", "--config", &file, "--", "sh", "-c", &script]);
        assert_eq!(said.code == 0, writes, "{mode}: {said:?}");
        assert!(said.out.starts_with("shared/workspace\n"), "{mode}: {said:?}");
        assert_eq!(place.has(format!("work/{mode}")), writes, "{mode}");
    }
}
