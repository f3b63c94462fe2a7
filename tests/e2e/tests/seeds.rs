//! Configurations as users of a `.visor.yaml` have them, unchanged, step by step.
//!
//! Where an example names an image, `seed_images.rs` has a daemon and runs that part, too.
//!
//! Programs that a machine may not have (`eslint`, `npm`) are scripts of the test's own, found by `PATH`.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

/// The steps of this file; `eslint` and `npm` say that they were called.
fn place(text: &str) -> Place {
    let place = Place::new().trusting();
    place.write("work/.visor.yaml", text);
    for name in ["eslint", "npm"] {
        let path = place.write(format!("work/bin/{name}"), format!("#!/bin/sh\necho {name} \"$@\" in $PWD\n"));
        let made = place.sh(&format!("chmod 755 {}", path.display()));
        assert_eq!(made.code, 0);
    }
    place
}

fn steps(place: &Place, arguments: &[&str]) -> Said {
    let mut all = vec!["steps", "--env", "PATH=/workspace/bin:/usr/bin:/bin"];
    all.extend(arguments);
    place.says(&all)
}

const THREE_ENGINES: &str = include_str!("seeds/three-engines.yaml");

#[test]
fn three_engines_in_one_file() {
    let place = place(THREE_ENGINES);
    assert_eq!(place.says(&["config", "check"]).code, 0);
    let said = steps(&place, &["lint"]);
    assert_eq!((said.code, said.out.as_str()), (0, "eslint src/ in /workspace\n"), "{}", said.err);
    assert!(said.err.contains("lint (bubblewrap)"), "{}", said.err);
    // An engine for another system says so, and none other takes its place.
    let said = steps(&place, &["lint", "--sandbox", "mac"]);
    assert!(said.code == 125 && said.out.is_empty() && said.err.contains("seatbelt"), "{said:?}");
    // Where there is no such image, the step is refused or breaks, and is never run elsewhere.
    let said = steps(&place, &["build"]);
    assert!(said.code == 125 && said.out.is_empty() && said.err.contains("docker"), "{said:?}");
}

#[test]
fn checks_with_a_default_and_an_override() {
    let place = place(include_str!("seeds/checks.yaml"));
    let said = steps(&place, &["lint"]);
    assert_eq!((said.code, said.out.as_str()), (0, "eslint src/ in /workspace\n"), "{}", said.err);
    assert_eq!(steps(&place, &["heavy-build"]).code, 125);
}

#[test]
fn paths_beside_the_repository() {
    let place = place(
        "\
sandboxes:
  dev:
    engine: bubblewrap
    bind_paths:
      - host: ~/.gitconfig # read-only by default
      - host: ~/.ssh # read-only by default
      - host: ~/custom-tools # read-only, another path inside the sandbox
        container: /opt/custom-tools
      - host: ~/shared-cache # writable mount
        container: /cache
        read_only: false
sandbox: dev
steps:
  look: {type: command, exec: 'git config user.name; cat /opt/custom-tools/tool; echo kept > /cache/new'}
  write: {type: command, exec: 'echo x > /opt/custom-tools/tool'}
",
    );
    place.write("home/.gitconfig", "[user]\nname = somebody\n");
    place.write("home/.ssh/config", "");
    place.write("home/custom-tools/tool", "a tool\n");
    place.write("home/shared-cache/old", "");
    // It reaches into the home directory, so it is read first.
    let said: Said = place.polder(&["steps"]).env_remove("POLDER_TRUST_PROJECT").output().expect("polder").into();
    assert!(said.code == 125 && said.err.contains("you have not trusted it"), "{said:?}");
    let said = steps(&place, &["look"]);
    assert_eq!((said.code, said.out.as_str()), (0, "somebody\na tool\n"), "{}", said.err);
    assert_eq!(place.read("home/shared-cache/new"), "kept\n");
    assert_eq!(steps(&place, &["write"]).code, 1);
    assert_eq!(place.read("home/custom-tools/tool"), "a tool\n");
}

#[test]
fn the_repository_at_its_own_path() {
    let place = place(
        "\
sandboxes:
  agent-sandbox:
    engine: bubblewrap
    workdir: \"host\"
    bind_paths:
      - host: ~/.gitconfig
sandbox: agent-sandbox
steps: {where: {type: command, exec: pwd}}
",
    );
    place.write("home/.gitconfig", "");
    let said = steps(&place, &["--trust"]);
    assert_eq!((said.code, said.out), (0, format!("{}\n", place.work().display())), "{}", said.err);
}

#[test]
fn the_defaults_written_out() {
    let place = place(
        "\
sandboxes:
  bwrap:
    engine: bubblewrap
    network: true # Allow network access (default: true)
    read_only: false # Writable workspace (default: false)
    workdir: /workspace # Working directory inside sandbox (default: /workspace)
sandbox: bwrap
steps:
  a: {type: command, exec: 'echo $PWD > made; ls ~ | wc -l; cat /etc/shadow 2>/dev/null; ls /proc | grep -c \"^[0-9]\"'}
",
    );
    place.write("home/.ssh/id_ed25519", "a key");
    let said = steps(&place, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "0", "the home directory is an empty one");
    assert!(lines[1].parse::<u32>().is_ok_and(|processes| processes < 10), "{said:?}");
    assert_eq!(place.read("work/made"), "/workspace\n");
}

#[test]
fn a_fast_and_a_full_sandbox() {
    let text = include_str!("seeds/fast-and-full.yaml");
    let place = place(text);
    // A path inside is absolute, here as in the tool that the example is from; the fault names the line, and why nobody
    // needs it: the workspace itself is kept.
    let said = steps(&place, &["lint"]);
    assert!(said.code == 125 && said.err.contains(".visor.yaml:8: `node_modules` must be absolute"), "{said:?}");
    assert!(said.err.contains("what lies in the workspace is there again at the next run without a cache"), "{said:?}");
    place.write("work/.visor.yaml", text.replace("[node_modules]", "[/workspace/node_modules]"));
    let said = steps(&place, &["lint", "test"]);
    let wanted = "eslint src/ in /workspace\nnpm test in /workspace\n";
    assert_eq!((said.code, said.out.as_str()), (0, wanted), "{}", said.err);
    assert_eq!(steps(&place, &["build"]).code, 125);
}

#[test]
fn fields_of_another_engine_are_an_error() {
    let place = place(
        "sandboxes: {a: {engine: bubblewrap, image: node}}\nsandbox: a\nsteps: {a: {type: command, exec: 'true'}}\n",
    );
    let said = steps(&place, &[]);
    assert!(said.code == 125 && said.err.contains("image"), "{said:?}");
}

#[test]
fn a_trace_goes_on_inside() {
    let place = place(
        "sandboxes: {s: {engine: native}}\nsandbox: s\nsteps: {a: {type: command, exec: 'echo $TRACEPARENT $TRACESTATE'}}\n",
    );
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut command = place.polder(&["steps"]);
    let said: Said = command.env("TRACEPARENT", trace).env("TRACESTATE", "a=b").output().expect("polder").into();
    assert_eq!((said.code, said.out), (0, format!("{trace} a=b\n")));
    for wrong in [
        "x",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    ] {
        let mut command = place.polder(&["steps"]);
        let said: Said = command.env("TRACEPARENT", wrong).env("TRACESTATE", "a=b").output().expect("polder").into();
        assert_eq!((said.code, said.out.as_str()), (0, "\n"), "{wrong}");
    }
}
