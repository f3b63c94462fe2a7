//! What a run waits for before its command: an image that comes from elsewhere, or is built.
#![forbid(unsafe_code)]

use polder_e2e::{Daemon, Place, Registry, Said, daemons, image, on_a_terminal, until, with_daemons};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

fn main() -> ExitCode {
    with_daemons(&[
        ("a_pull_is_told_as_events_and_otherwise_silent", a_pull_is_told_as_events_and_otherwise_silent),
        ("every_daemon_pulls_and_always_means_the_newer_image", every_daemon_pulls_and_always_means_the_newer_image),
        ("a_terminal_shows_how_far_a_pull_is", a_terminal_shows_how_far_a_pull_is),
        ("a_pull_has_a_time_of_its_own", a_pull_has_a_time_of_its_own),
        ("a_pull_or_a_build_ends_when_somebody_asks_for_it", a_pull_or_a_build_ends_when_somebody_asks_for_it),
        ("a_build_is_told_line_by_line", a_build_is_told_line_by_line),
        ("a_build_has_a_time_of_its_own", a_build_has_a_time_of_its_own),
        ("a_build_gets_what_it_begins_with_only_where_it_may", a_build_gets_what_it_begins_with_only_where_it_may),
        ("what_a_build_left_that_was_killed_goes_with_the_next_start", what_a_build_left_that_was_killed_goes),
    ])
}

/// Only this daemon takes a registry at any port of the loopback without being told.
fn docker() -> Option<Daemon> {
    daemons().into_iter().find(|daemon| daemon.engine == "docker")
}

fn configure(daemon: &Daemon, place: &Place, keys: &str) {
    place
        .write("work/polder.yaml", format!("sandboxes:\n  box: {{engine: {}, {keys}}}\nsandbox: box\n", daemon.engine));
}

fn start(daemon: &Daemon, place: &Place, words: &[&str]) -> Child {
    let mut command = daemon.polder(place, words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")
}

fn end(child: Child) -> Said {
    child.wait_with_output().expect("an end").into()
}

/// The events of a type, from what a run with `--json` wrote.
fn events(said: &Said, kind: &str) -> Vec<serde_json::Value> {
    let lines = said.out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    lines.filter(|event| event["type"] == kind).collect()
}

fn a_pull_is_told_as_events_and_otherwise_silent() {
    let Some(daemon) = docker() else { return };
    let place = Place::new();
    let registry = Registry::start(&place);
    configure(&daemon, &place, &format!("image: '{}'", registry.image));
    let child = start(&daemon, &place, &["run", "--json", "--", "sh", "-c", "echo ran"]);
    until("the first half", || registry.is_reached());
    registry.open();
    let said = end(child);
    assert_eq!(said.code, 0, "{said:?}");
    let progress = events(&said, "progress");
    let what = format!("pull {}", registry.image);
    assert!(progress.iter().all(|event| event["what"] == what.as_str()), "{progress:?}");
    assert!(progress.iter().any(|event| event["total_bytes"].as_u64() > Some(4_000_000)), "{progress:?}");
    assert_eq!(progress.last().map(|event| event["done"].clone()), Some(true.into()), "{progress:?}");
    // What the daemon has is not fetched again, and nobody who does not watch hears of it.
    let said = end(start(&daemon, &place, &["run", "--json", "--", "true"]));
    assert_eq!((said.code, events(&said, "progress").len()), (0, 0), "{said:?}");
    let elsewhere = Place::new();
    let other = Registry::start(&elsewhere);
    other.open();
    configure(&daemon, &place, &format!("image: '{}'", other.image));
    let said = end(start(&daemon, &place, &["run", "--", "sh", "-c", "echo ran"]));
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "ran\n", ""), "{said:?}");
    for registry in [&registry, &other] {
        daemon.forget_image(&registry.image);
    }
}

fn every_daemon_pulls_and_always_means_the_newer_image() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("image/version", "first");
        let registry = Registry::for_everybody(&place);
        registry.open();
        let says = |pull: &str| {
            configure(&daemon, &place, &format!("image: '{}', options: {{pull: {pull}}}", registry.image));
            let said = end(start(&daemon, &place, &["run", "--", "cat", "/version"]));
            (said.code, said.out.clone(), said.err)
        };
        assert_eq!(says("never").0, 125, "the control: {} does not have it", daemon.engine);
        assert_eq!(says("missing"), (0, "first".into(), String::new()), "{}", daemon.engine);
        place.write("image/version", "second");
        registry.renew(&place);
        assert_eq!(says("missing"), (0, "first".into(), String::new()), "what is there is not fetched again");
        assert_eq!(says("always"), (0, "second".into(), String::new()), "{}", daemon.engine);
        assert_eq!(says("never").1, "second", "and it stays");
        daemon.forget_image(&registry.image);
    }
}

fn a_terminal_shows_how_far_a_pull_is() {
    let Some(daemon) = docker() else { return };
    let place = Place::new();
    let registry = Registry::start(&place);
    configure(&daemon, &place, &format!("image: '{}'", registry.image));
    let script = format!(
        r#"
import threading
os.environ[{:?}] = {:?}
os.environ['POLDER_TRUST_PROJECT'] = '1'
t = Terminal([POLDER, 'run', '--', 'sh', '-c', 'echo ran'])
t.see(r'\rpolder: pull {}: .* of 1 parts \([0-9.]+ MB of [0-9.]+ MB\)')
open('seen', 'w').close()
t.see(r'\r\x1b\[K')
t.see(r'ran')
if t.end() != 0: sys.exit('failed')
"#,
        daemon.variable, daemon.address, registry.image
    );
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("the line", || place.has("work/seen"));
            registry.open();
        });
        on_a_terminal(&place, &script)
    });
    daemon.forget_image(&registry.image);
    assert_eq!(said.code, 0, "{said:?}");
}

fn a_pull_has_a_time_of_its_own() {
    let Some(daemon) = docker() else { return };
    let place = Place::new();
    let registry = Registry::start(&place);
    configure(&daemon, &place, &format!("image: '{}', options: {{pull_timeout: 1s}}", registry.image));
    let said = end(start(&daemon, &place, &["run", "--", "touch", "ran"]));
    assert!(registry.is_reached(), "the control: it had begun");
    assert!(said.code == 125 && said.err.contains("did not come in 1 seconds"), "{said:?}");
    assert!(said.err.contains("pull_timeout"), "{said:?}");
    assert!(!place.has("work/ran"));
}

fn a_pull_or_a_build_ends_when_somebody_asks_for_it() {
    for daemon in daemons() {
        let place = Place::new();
        let ended = |what: &str, begun: &dyn Fn(&str) -> bool| {
            let mut child = start(&daemon, &place, &["run", "--json", "--", "touch", "ran"]);
            let id = child.id();
            let mut told = BufReader::new(child.stdout.take().expect("events")).lines();
            assert!(told.any(|line| begun(&line.expect("a line"))), "{what} begins");
            assert!(Command::new("kill").args(["-s", "TERM", &id.to_string()]).status().expect("kill").success());
            let last: Vec<String> = told.map_while(Result::ok).collect();
            let said = end(child);
            assert_eq!(said.code, 128 + 15, "{what}: {last:?} {said:?}");
            assert_eq!(daemon.containers_of(id), "[]", "{what}");
            assert!(!place.has("work/ran"));
        };
        if daemon.engine == "docker" {
            let registry = Registry::start(&place);
            configure(&daemon, &place, &format!("image: '{}'", registry.image));
            ended("the pull", &|line| line.contains("of 1 parts"));
        }
        let before = daemon.containers_running();
        place.write("work/Dockerfile", format!("FROM {}\nRUN echo {} && sleep 600\n", image(), mark()));
        configure(&daemon, &place, "dockerfile: Dockerfile");
        ended("the build", &|line| line.contains("RUN echo"));
        until("the end of the step", || daemon.containers_running() <= before);
    }
}

/// Words that no build has said before, so that none is remembered.
fn mark() -> String {
    format!("{}-{:?}", std::process::id(), std::time::Instant::now()).replace(|c: char| !c.is_ascii_alphanumeric(), "-")
}

fn a_build_is_told_line_by_line() {
    for daemon in daemons() {
        let place = Place::new();
        let words = mark();
        place.write("work/Dockerfile", format!("FROM {}\nRUN echo {words}\n", image()));
        configure(&daemon, &place, "dockerfile: Dockerfile");
        let said = end(start(&daemon, &place, &["run", "--json", "--", "true"]));
        assert_eq!(said.code, 0, "{said:?}");
        let progress = events(&said, "progress");
        assert!(progress.iter().any(|event| event["text"] == words.as_str()), "{progress:?}");
        assert_eq!(progress.last().map(|event| event["done"].clone()), Some(true.into()), "{progress:?}");
        let said = end(start(&daemon, &place, &["run", "--", "true"]));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    }
}

fn a_build_has_a_time_of_its_own() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("work/Dockerfile", format!("FROM {}\nRUN echo its-last-words && sleep 600\n", image()));
        configure(&daemon, &place, "dockerfile: Dockerfile, options: {build_timeout: 5s}");
        let said = end(start(&daemon, &place, &["run", "--", "touch", "ran"]));
        assert!(said.code == 125 && said.err.contains("was not built in 5 seconds"), "{said:?}");
        assert!(said.err.contains("build_timeout"), "{said:?}");
        assert!(!place.has("work/ran"));
    }
}

fn a_build_gets_what_it_begins_with_only_where_it_may() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("image/version", "first");
        let registry = Registry::for_everybody(&place);
        registry.open();
        place.write("work/Dockerfile", format!("FROM {}\nENV MARK={}\n", registry.image, mark()));
        let says = |pull: &str| {
            configure(&daemon, &place, &format!("dockerfile: Dockerfile, options: {{pull: {pull}}}"));
            end(start(&daemon, &place, &["run", "--json", "--", "sh", "-c", "cat /version >seen"]))
        };
        let seen = || if place.has("work/seen") { place.read("work/seen") } else { String::new() };
        place.write("work/.dockerignore", "seen\npolder.yaml\n");
        let said = says("never");
        assert!(said.code == 125 && said.err.contains(&registry.image), "{}: {said:?}", daemon.engine);
        assert!(!registry.is_reached() && !place.has("work/seen"), "nobody asked for it");
        let said = says("missing");
        assert_eq!((said.code, seen().as_str()), (0, "first"), "the control: {said:?}");
        let said = says("never");
        assert_eq!((said.code, events(&said, "progress").len()), (0, 0), "it was built once: {said:?}");
        place.write("image/version", "second");
        registry.renew(&place);
        assert_eq!((says("missing").code, seen().as_str()), (0, "first"), "what is there is not fetched again");
        let said = says("always");
        assert_eq!((said.code, seen().as_str()), (0, "second"), "{said:?}");
        let said = says("never");
        assert_eq!((said.code, seen().as_str(), events(&said, "progress").len()), (0, "second", 0), "{said:?}");
        daemon.forget_image(&registry.image);
    }
}

fn what_a_build_left_that_was_killed_goes() {
    for daemon in daemons() {
        let place = Place::new();
        place.write("work/Dockerfile", format!("FROM {}\nRUN echo {} && sleep 600\n", image(), mark()));
        configure(&daemon, &place, "dockerfile: Dockerfile");
        let mut child = start(&daemon, &place, &["run", "--json", "--", "true"]);
        let mut told = BufReader::new(child.stdout.take().expect("events")).lines();
        assert!(told.any(|line| line.expect("a line").contains("RUN echo")), "the build begins");
        let held = std::fs::read_dir(format!("/proc/{}/fd", child.id())).expect("its files").flatten();
        let mut held = held.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        let lock = held.find(|path| path.to_string_lossy().starts_with("/tmp/polder-build-")).expect("a lock");
        assert!(lock.exists(), "the control: {}", lock.display());
        child.kill().expect("a signal");
        child.wait().expect("an end");
        configure(&daemon, &place, &format!("image: '{}'", image()));
        let said = end(start(&daemon, &place, &["run", "--", "true"]));
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
        assert!(!lock.exists(), "{} stayed", lock.display());
    }
}
