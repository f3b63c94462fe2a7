//! The client and the images against real daemons. A machine that declares them must have them.

use super::api::{ApiError, Channel, Client, Deadline, Demux, ImageName, ObjectName, WaitFor};
use super::daemon;
use super::image::{self, ImageError, Pull, Settings};
use super::kind::Kind;
use crate::shimmed::testing;
use polder_engine::{Lookout, Notice};
use polder_facts::{Entry, HostFacts, Origin, Sourced};
use polder_plan::{Plan, World, compile_in};
use polder_policy::{Image, Network, NetworkMode, PathPattern, built_in};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The daemons that this machine declares, found as a run finds them.
fn daemons() -> Vec<(Kind, Client)> {
    let declared = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    assert!(declared.contains("docker") || declared.contains("podman"), "POLDER_TEST_HAS declares no daemon");
    let has = |name: &str| declared.split(',').any(|word| word == name);
    let mut found = Vec::new();
    for (kind, name) in [(Kind::Docker, "docker"), (Kind::Podman, "podman")] {
        if has(name) {
            let client = daemon::connect(kind, &machine(Path::new("/nonexistent")), None);
            found.push((kind, client.unwrap_or_else(|error| panic!("declared and missing: {error}"))));
        }
    }
    found
}

/// The image that every declared daemon has.
fn image() -> ImageName {
    std::env::var("POLDER_TEST_IMAGE").unwrap_or_default().parse().expect("the image of the tests")
}

/// Nobody listens as long as nothing goes wrong, and everybody waits.
struct Nobody;

impl Lookout for Nobody {
    fn tell(&mut self, notice: Notice) {
        if let Notice::Warning(text) = notice {
            panic!("{text}");
        }
    }

    fn interrupted(&mut self) -> Option<i32> {
        None
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

/// This machine, with a workspace, in which `hidden` is a file.
fn machine(root: &Path) -> HostFacts {
    let uid = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").expect("this process"));
    let mut host = testing::linux_host(uid);
    host.environment = std::env::vars_os().collect();
    (host.tree.root, host.tree.start) = (root.to_owned(), root.to_owned());
    host.tree.entries = [(root.join("hidden"), Entry::File { links: 1 })].into();
    host
}

/// A workspace with a few files, which goes away with the value.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let base = std::env::temp_dir().canonicalize().expect("a directory");
        let path = base.join(format!("polder-image-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a tree");
        fs::write(path.join("kept"), "kept").expect("a file");
        fs::write(path.join("ignored"), "ignored").expect("a file");
        fs::write(path.join(".dockerignore"), "ignored\n").expect("a list");
        Self(path)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A plan for such a machine, without a network, in which nobody may read `hidden`.
fn plan(host: &HostFacts, image: Image) -> Plan {
    let said = |text: &str| Sourced::new(PathPattern(text.to_owned()), Origin::Api);
    let mut policy = built_in();
    policy.image = Some(Sourced::new(image, Origin::Api));
    policy.network.value = Network::of(NetworkMode::None);
    policy.deny_read = vec![said("hidden")];
    compile_in(World::Made, &policy, host, &["true".into()]).expect("a plan")
}

/// Runs a command in a container and says what it wrote and how it ended.
fn run(client: &Client, image: &str, command: &[&str]) -> (String, i64) {
    let name: ObjectName = format!("polder-acceptance-{}-{}", std::process::id(), rand()).parse().expect("a name");
    let description = serde_json::json!({ "Image": image, "Cmd": command, "HostConfig": { "NetworkMode": "none" } });
    let made = client.create_container(&name, &description, soon()).expect("a container");
    client.start_container(&made.id, soon()).expect("started");
    let waited = client.wait_container(&made.id, WaitFor::NotRunning, soon()).expect("waited");
    let logs = client.container_logs(&made.id, 1000, soon()).expect("logs");
    client.remove_container(&made.id, soon()).expect("removed");
    (String::from_utf8_lossy(&logs.stdout).into_owned(), waited.code)
}

fn rand() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_daemon_says_what_it_is() {
    for (kind, client) in daemons() {
        let facts = client.facts(soon()).expect("facts");
        assert_eq!(facts.is_podman, kind == Kind::Podman);
        assert_eq!(facts.system, "linux");
        assert!(!facts.runtimes.is_empty(), "{facts:?}");
        let error = client.inspect_image(&"no/such:image".parse().expect("a name"), soon()).expect_err("no image");
        assert!(error.is_absent(), "{error}");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_container_lives_and_goes() {
    for (_, client) in daemons() {
        let (wrote, code) = run(&client, &image().to_string(), &["sh", "-c", "echo out; echo err >&2; exit 7"]);
        assert_eq!((wrote.as_str(), code), ("out\n", 7));
        let label = vec![format!("polder.acceptance={}", std::process::id())];
        assert!(client.list_containers(&label, soon()).expect("a list").is_empty());
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn streams_go_both_ways_and_apart() {
    for (_, client) in daemons() {
        let name: ObjectName = format!("polder-attached-{}-{}", std::process::id(), rand()).parse().expect("a name");
        let description = serde_json::json!({
            "Image": image().to_string(),
            "Cmd": ["sh", "-c", "cat; echo err >&2"],
            "OpenStdin": true, "StdinOnce": true, "AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
            "HostConfig": { "NetworkMode": "none" },
        });
        let made = client.create_container(&name, &description, soon()).expect("a container");
        let mut attached = client.attach_container(&made.id, soon()).expect("streams");
        client.start_container(&made.id, soon()).expect("started");
        let mut input = attached.writer().expect("an input");
        // More than any buffer on the way holds, while it comes back.
        let sent = vec![b'x'; 1024 * 1024];
        let writer = std::thread::spawn(move || {
            input.write_all(&sent).expect("written");
            input.close().expect("closed");
        });
        let (mut out, mut err, mut demux, mut chunk) = (0, Vec::new(), Demux::new(), vec![0; 64 * 1024]);
        loop {
            let count = attached.read(&mut chunk).expect("read");
            if count == 0 {
                break;
            }
            let split = demux.feed(&chunk[..count], &mut |channel, bytes| match channel {
                Channel::Stdout => out += bytes.len(),
                Channel::Stderr => err.extend_from_slice(bytes),
            });
            split.expect("frames");
        }
        writer.join().expect("the writer");
        client.remove_container(&made.id, soon()).expect("removed");
        assert_eq!((out, err.as_slice(), demux.is_between()), (1024 * 1024, b"err\n".as_slice(), true));
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn an_image_is_there_or_the_error_says_so() {
    for (_, client) in daemons() {
        let tree = Tree::new("named");
        let host = machine(&tree.0);
        let facts = image::ready(
            &client,
            &plan(&host, Image::Named(image().to_string())),
            &host,
            &Settings::USUAL,
            &mut Nobody,
        );
        assert!(facts.expect("an image").is_some_and(|facts| facts.env.contains(&"PATH=/bin:/usr/bin".to_owned())));
        let never = Settings { pull: Pull::Never, ..Settings::USUAL };
        let absent = plan(&host, Image::Named("polder-test/absent:x".to_owned()));
        assert!(matches!(image::ready(&client, &absent, &host, &never, &mut Nobody), Err(ImageError::Missing { .. })));
        // Nothing can be got on a test machine; the daemon's own words come back.
        let error = image::ready(
            &client,
            &absent,
            &host,
            &Settings { pull_time: Duration::from_secs(50), ..Settings::USUAL },
            &mut Nobody,
        );
        assert!(matches!(error, Err(ImageError::Pull { .. })), "{error:?}");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn the_same_content_is_built_once_and_gets_what_it_may() {
    for (_, client) in daemons() {
        let tree = Tree::new("build");
        fs::write(tree.0.join("hidden"), "hidden").expect("a file");
        fs::write(tree.0.join("Dockerfile"), format!("FROM {}\nCOPY . /context\nRUN date +%N >/made\n", image()))
            .expect("a recipe");
        let host = machine(&tree.0);
        let plan = plan(&host, Image::Recipe(tree.0.join("Dockerfile").display().to_string()));
        let ready =
            || image::ready(&client, &plan, &host, &Settings::USUAL, &mut Nobody).expect("an image").expect("one");
        // All at once, from threads: one of them builds.
        let ids: BTreeSet<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| ready().id)).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        assert_eq!(ids.len(), 1, "{ids:?}");
        let id = ready().id;
        let (listed, code) = run(&client, &id, &["ls", "-A", "/context"]);
        assert_eq!((listed.as_str(), code), (".dockerignore\nDockerfile\nkept\n", 0));
        fs::write(tree.0.join("kept"), "other").expect("a file");
        let other = ready();
        assert_ne!(other.id, id);
        for name in [id, other.id] {
            client.remove_image(&name.parse().expect("an id"), soon()).expect("removed");
        }
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_recipe_in_the_configuration_is_built_and_not_copied() {
    for (_, client) in daemons() {
        let tree = Tree::new("inline");
        let host = machine(&tree.0);
        let inline = plan(&host, Image::Inline(format!("FROM {}\nCOPY . /context\n", image())));
        let facts =
            image::ready(&client, &inline, &host, &Settings::USUAL, &mut Nobody).expect("an image").expect("one");
        let (listed, _) = run(&client, &facts.id, &["ls", "-A", "/context"]);
        client.remove_image(&facts.id.parse().expect("an id"), soon()).expect("removed");
        assert_eq!(listed, ".dockerignore\nkept\n");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_failing_build_shows_its_last_lines_and_leaves_nothing() {
    for (_, client) in daemons() {
        let tree = Tree::new("failing");
        let host = machine(&tree.0);
        let mark = rand();
        let recipe =
            format!("FROM {}\nLABEL polder.mark={mark}\nRUN echo first\nRUN echo last-words-{mark}; exit 3\n", image());
        let error = image::ready(&client, &plan(&host, Image::Inline(recipe)), &host, &Settings::USUAL, &mut Nobody)
            .expect_err("failed");
        let said = error.to_string();
        assert!(said.contains(&format!("last-words-{mark}")), "{said}");
        let left = client.list_images(&[format!("polder.mark={mark}")], soon()).expect("a list");
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_build_without_a_network_has_none() {
    for (_, client) in daemons() {
        let tree = Tree::new("network");
        let host = machine(&tree.0);
        // A network that leads somewhere has a link; the control is the host's own.
        let recipe = format!("FROM {}\nRUN cat /proc/net/dev >/seen\n", image());
        let facts = image::ready(&client, &plan(&host, Image::Inline(recipe)), &host, &Settings::USUAL, &mut Nobody);
        let facts = facts.expect("an image").expect("one");
        let (seen, _) = run(&client, &facts.id, &["cat", "/seen"]);
        client.remove_image(&facts.id.parse().expect("an id"), soon()).expect("removed");
        let links = |text: &str| -> Vec<String> {
            let links = text.lines().filter_map(|line| line.split_once(": ").map(|(name, _)| name.trim().to_owned()));
            links.filter(|name| name.starts_with("eth") || name.starts_with("en")).collect()
        };
        let own = fs::read_to_string("/proc/net/dev").expect("the host's links");
        assert!(!links(&own).is_empty(), "the control: {own}");
        assert!(links(&seen).is_empty(), "{seen}");
        let fetching = plan(&host, Image::Inline(format!("FROM {}\nADD http://127.0.0.1:1/x /x\n", image())));
        let error = image::ready(&client, &fetching, &host, &Settings::USUAL, &mut Nobody).expect_err("refused");
        assert!(matches!(error, ImageError::Reaches { line: 2, .. }), "{error}");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_name_cannot_say_anything_else() {
    for (_, client) in daemons() {
        let host = machine(Path::new("/nonexistent"));
        for text in ["x?y", "x#y", "../../containers/json", "x\r\nHost: y", "X"] {
            let error = image::ready(
                &client,
                &plan(&host, Image::Named(text.to_owned())),
                &host,
                &Settings::USUAL,
                &mut Nobody,
            );
            assert!(matches!(error, Err(ImageError::Name(_))), "{text:?}");
        }
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn a_runtime_that_is_not_known_is_refused_by_the_daemon() {
    for (kind, client) in daemons() {
        if kind == Kind::Podman {
            continue;
        }
        let name: ObjectName = format!("polder-runtime-{}", rand()).parse().expect("a name");
        let description = serde_json::json!({ "Image": image().to_string(), "HostConfig": { "Runtime": "no-such" } });
        let error = client.create_container(&name, &description, soon()).expect_err("refused");
        assert!(matches!(error, ApiError::Refused { .. }), "{error:?}");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn images_of_earlier_builds_go_and_those_of_others_stay() {
    for (_, client) in daemons() {
        let (tree, other) = (Tree::new("pruned"), Tree::new("kept"));
        let build = |tree: &Tree, number: usize| {
            let host = machine(&tree.0);
            let recipe = format!("FROM {}\nLABEL polder.mark={}\nRUN echo {number} >/n\n", image(), rand());
            image::ready(&client, &plan(&host, Image::Inline(recipe)), &host, &Settings::USUAL, &mut Nobody)
                .expect("an image")
                .expect("one")
        };
        let theirs = build(&other, 0);
        let own: Vec<_> = (1..=5).map(|number| build(&tree, number)).collect();
        let there =
            |facts: &super::api::ImageFacts| client.inspect_image(&facts.names[0].parse().expect("a name"), soon());
        let left: Vec<bool> = own.iter().map(|facts| there(facts).is_ok()).collect();
        let others_stay = there(&theirs).is_ok();
        for facts in own.iter().chain([&theirs]) {
            client.remove_image(&facts.names[0].parse().expect("a name"), soon()).expect("removed");
        }
        assert_eq!(left.iter().filter(|there| **there).count(), 3, "{left:?}");
        assert!(left[4] && !left[0], "the newest stays and the oldest does not: {left:?}");
        assert!(others_stay, "another repository's");
    }
}

#[test]
#[ignore = "needs a container daemon that POLDER_TEST_HAS declares; `cargo xtask test` has them"]
fn another_base_under_the_same_name_makes_another_image() {
    for (_, client) in daemons() {
        let tree = Tree::new("base");
        let host = machine(&tree.0);
        let base: ImageName = format!("localhost/polder-acceptance-base:{}", rand()).parse().expect("a name");
        let never = Settings { pull: Pull::Never, ..Settings::USUAL };
        let ready =
            |recipe: String| image::ready(&client, &plan(&host, Image::Inline(recipe)), &host, &never, &mut Nobody);
        let recipes = [
            format!("FROM {base}\nRUN cat /version >/seen\n"),
            format!(
                "ARG TAG={}\nFROM {}:${{TAG}} AS first\nFROM first\nRUN cat /version >/seen\n",
                base.reference(),
                base.repository()
            ),
            format!("FROM {}\nCOPY --from={base} /version /seen\n", image()),
        ];
        for recipe in &recipes {
            let error = ready(recipe.clone()).expect_err("the base is not there, and nobody may get it");
            assert!(matches!(error, ImageError::Missing { .. }), "{error}");
        }
        for version in ["first", "second"] {
            let made =
                ready(format!("FROM {}\nRUN echo {version} >/version\n", image())).expect("an image").expect("one");
            client.tag_image(&made.names[0].parse().expect("a name"), &base, soon()).expect("a name");
            for recipe in &recipes {
                let built = ready(recipe.clone()).expect("an image").expect("one");
                let (seen, _) = run(&client, &built.id, &["cat", "/seen"]);
                assert_eq!(seen, format!("{version}\n"), "{recipe}");
                let again = ready(recipe.clone()).expect("an image").expect("one");
                assert_eq!(again.id, built.id, "the same content is built once: {recipe}");
            }
        }
        client.remove_image(&base, soon()).expect("removed");
    }
}
