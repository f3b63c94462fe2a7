//! Many commands in one container, by every daemon that this machine declares.

use polder_e2e::{Daemon, Place, Said, daemons, image, until, with_daemons};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, ExitCode, Stdio};

/// The same on every Linux that is tested.
const O_NONBLOCK: i32 = 0o4000;

fn main() -> ExitCode {
    with_daemons(&[
        ("b10_fifty_first_uses_at_once_start_one_container", fifty_first_uses_at_once_start_one_container),
        ("with_scope_run_every_step_has_its_own", with_scope_run_every_step_has_its_own),
        ("a_failing_command_ends_nothing_but_itself", a_failing_command_ends_nothing_but_itself),
        ("a_command_whose_time_is_up_is_dead_and_the_others_go_on", a_command_whose_time_is_up_is_dead),
        ("a_command_cannot_reach_another_of_its_session", a_command_cannot_reach_another_of_its_session),
        ("volumes_of_an_image_lead_from_no_run_to_the_next", volumes_of_an_image_lead_from_no_run_to_the_next),
        ("a_container_that_is_gone_is_replaced", a_container_that_is_gone_is_replaced),
        ("what_a_session_leaves_behind_is_told_at_its_end", what_a_session_leaves_behind_is_told_at_its_end),
        ("whatever_ends_polder_nothing_of_the_session_stays", whatever_ends_polder_nothing_of_the_session_stays),
    ])
}

/// A sandbox of the image that every daemon has, and steps in it.
fn configure(daemon: &Daemon, place: &Place, sandbox: &str, rest: &str) {
    let (engine, image) = (daemon.engine, image());
    let text = format!("sandboxes:\n  box: {{engine: {engine}, image: '{image}'{sandbox}}}\nsandbox: box\n{rest}");
    place.write("work/polder.yaml", text);
}

/// A polder that runs steps. One that a failed test leaves behind is killed.
struct Steps(Option<Child>);

fn started(daemon: &Daemon, place: &Place) -> Steps {
    let mut command = daemon.polder(place, &["steps"]);
    Steps(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")))
}

impl Steps {
    fn id(&self) -> u32 {
        self.0.as_ref().expect("it has not ended").id()
    }

    fn goes_on(&mut self) -> bool {
        self.0.as_mut().is_some_and(|polder| polder.try_wait().expect("polder").is_none())
    }

    fn end(mut self) -> Said {
        self.0.take().expect("it has not ended").wait_with_output().expect("an end").into()
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some(mut polder) = self.0.take() {
            let _ = polder.kill();
            let _ = polder.wait();
        }
    }
}

/// Runs the steps to their end; says how many containers were made for them.
fn steps(daemon: &Daemon, place: &Place) -> (Said, usize) {
    let polder = started(daemon, place);
    let id = polder.id();
    let said = polder.end();
    assert_eq!(daemon.containers_of(id), "[]", "a container stayed: {said:?}");
    (said, daemon.made_by(id))
}

fn fifty_first_uses_at_once_start_one_container() {
    for daemon in daemons() {
        let place = Place::new();
        let steps_text: String = (0..50).map(|n| format!("  s{n}: {{exec: 'echo {n} >made{n}'}}\n")).collect();
        configure(&daemon, &place, "", &format!("max_parallelism: 50\nsteps:\n{steps_text}"));
        let (said, made) = steps(&daemon, &place);
        assert_eq!(said.code, 0, "{said:?}");
        assert!((0..50).all(|n| place.read(format!("work/made{n}")) == format!("{n}\n")), "every step has run");
        assert_eq!(made, 1, "{}", daemon.engine);
    }
}

/// The control of the test above: the same way of counting sees more than one.
fn with_scope_run_every_step_has_its_own() {
    for daemon in daemons() {
        let place = Place::new();
        let text = "steps:\n  a: {exec: 'true'}\n  b: {exec: 'true'}\n  c: {exec: 'true'}\n";
        configure(&daemon, &place, ", scope: run", text);
        let (said, made) = steps(&daemon, &place);
        assert_eq!((said.code, made), (0, 3), "{}: {said:?}", daemon.engine);
    }
}

fn a_failing_command_ends_nothing_but_itself() {
    for daemon in daemons() {
        let place = Place::new();
        let text = "max_parallelism: 1\nsteps:\n  code: {exec: 'exit 3'}\n  killed: {exec: 'kill -9 $$'}\n  \
                    all: {exec: 'kill -9 -1'}\n  missing: {command: [no-such-program]}\n  last: {exec: 'echo reached'}\n";
        configure(&daemon, &place, "", text);
        let (said, made) = steps(&daemon, &place);
        assert_eq!((said.code, said.out.as_str(), made), (1, "reached\n", 1), "{}: {said:?}", daemon.engine);
        assert!(said.err.contains("4 failed, 1 passed"), "{said:?}");
    }
}

fn a_command_whose_time_is_up_is_dead() {
    for daemon in daemons() {
        let place = Place::new();
        let fifo = place.work().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
        let mut pipe = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&fifo).expect("the pipe");
        // Held open as long as any process of the slow step lives, also one that nobody waits for and no signal impresses.
        let slow = "(trap : TERM INT HUP; touch held; while :; do sleep 1; done) >fifo & while :; do sleep 1; done";
        let text = format!(
            "steps:\n  slow: {{exec: '{slow}', timeout: 4s}}\n  \
             other: {{exec: 'while ! test -e go; do sleep 0.1; done; echo alive'}}\n"
        );
        configure(&daemon, &place, "", &text);
        let mut polder = started(&daemon, &place);
        until("the slow step", || place.has("work/held"));
        let mut is_held = || pipe.read(&mut [0; 8]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(is_held(), "the control: somebody holds the pipe");
        until("the end of the slow step", || !is_held());
        assert!(polder.goes_on(), "the other one goes on");
        assert_ne!(daemon.containers_of(polder.id()), "[]", "and so does the container");
        place.write("work/go", "");
        let id = polder.id();
        let said = polder.end();
        assert_eq!((said.out.as_str(), daemon.made_by(id)), ("alive\n", 1), "{}: {said:?}", daemon.engine);
        assert!(said.err.contains("timed out") || said.err.contains("timed-out"), "{said:?}");
    }
}

/// Everything in which a command could find another one: processes with their variables and streams, and every file of a
/// name.
const SEARCH: &str = "cat /proc/[0-9]*/environ 2>/dev/null | tr \"\\\\0\" \"\\\\n\" | grep -a SAID; \
                      find / -name left 2>/dev/null; ls /.polder 2>/dev/null; \
                      ls -l /proc/[0-9]*/fd 2>/dev/null | grep -o \"pipe:.*\"";

fn a_command_cannot_reach_another_of_its_session() {
    for daemon in daemons() {
        let place = Place::new();
        // Wherever it can write.
        let leaves = "find / -type d 2>/dev/null | while read -r d; do touch \"$d/left\"; done 2>/dev/null; \
                      echo $(readlink /proc/$$/fd/1) >streams; touch all; while ! test -e go; do sleep 0.1; done; echo unharmed";
        let text = format!(
            "steps:\n  first: {{exec: '{leaves}', env: {{SAID: first-secret}}}}\n  \
             second: {{exec: 'while ! test -e seen; do sleep 0.1; done; {SEARCH}; kill -9 -1; touch go', \
             env: {{SAID: second-secret}}}}\n  after: {{exec: 'touch go; {SEARCH}', depends_on: [second], if: always()}}\n"
        );
        configure(&daemon, &place, "", &text);
        let polder = started(&daemon, &place);
        until("the first step", || place.has("work/all"));
        let id = polder.id();
        assert!(on_this_host("SAID=first-secret"), "the control: whoever sees its process sees its variable");
        assert!(!inspected(&daemon, id).contains("first-secret"), "the daemon is told nothing of it");
        place.write("work/seen", "");
        let said = polder.end();
        assert_eq!(daemon.made_by(id), 1, "the control: they were in the same container");
        assert!(said.out.contains("unharmed\n"), "{said:?}");
        // The search finds what it looks for: the searcher's own.
        assert!(said.out.contains("SAID=second-secret"), "the control: {said:?}");
        assert!(!said.out.contains("first-secret"), "{}: {said:?}", daemon.engine);
        let found = said.out.lines().filter(|line| line.ends_with("/left"));
        let left = place.work().join("left").display().to_string();
        assert_eq!(found.collect::<Vec<_>>(), [left.as_str(); 2], "{}: {said:?}", daemon.engine);
        let stream = place.read("work/streams");
        assert!(stream.starts_with("pipe:[") && said.out.contains("pipe:["), "the control: there are pipes: {said:?}");
        assert!(!said.out.contains(stream.trim()), "{}: {said:?}", daemon.engine);
    }
}

/// Whether a process of this user's has this variable.
fn on_this_host(variable: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut environments = processes.filter_map(|process| fs::read(process.path().join("environ")).ok());
    environments.any(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()))
}

/// Everything that the daemon knows of a polder's containers.
fn inspected(daemon: &Daemon, pid: u32) -> String {
    let listed: serde_json::Value = serde_json::from_str(&daemon.containers_of(pid)).expect("JSON");
    let ids = listed.as_array().expect("a list").iter().filter_map(|container| container["Id"].as_str());
    let inspected: String = ids.map(|id| daemon.inspected(id)).collect();
    assert!(inspected.contains("polder-porter"), "the control: {inspected}");
    inspected
}

fn volumes_of_an_image_lead_from_no_run_to_the_next() {
    for daemon in daemons() {
        let place = Place::new();
        // Everybody may write there, as far as the image is concerned.
        let recipe = format!("FROM {}\\nRUN mkdir -m 1777 /data\\nVOLUME /data\\n", image());
        let text = format!(
            "sandboxes:\n  box: {{engine: {}, dockerfile_inline: \"{recipe}\"}}\nsandbox: box\nmax_parallelism: 1\nsteps:\n  \
             a: {{exec: 'touch /data/left'}}\n  b: {{exec: 'ls /data; echo nothing'}}\n",
            daemon.engine
        );
        place.write("work/polder.yaml", text);
        let (said, made) = steps(&daemon, &place);
        assert_eq!((said.out.as_str(), made), ("nothing\n", 1), "{}: {said:?}", daemon.engine);
        assert!(said.err.contains("/data/left: Permission denied"), "{said:?}");
    }
}

fn a_container_that_is_gone_is_replaced() {
    for daemon in daemons() {
        let place = Place::new();
        let text = "max_parallelism: 1\nsteps:\n  a: {exec: 'touch begun; while ! test -e go; do sleep 0.1; done'}\n  \
                    b: {exec: 'echo anew'}\n";
        configure(&daemon, &place, "", text);
        let polder = started(&daemon, &place);
        until("the first step", || place.has("work/begun"));
        let id = polder.id();
        daemon.remove_containers_of(id);
        let said = polder.end();
        // The step whose container went is lost; the next one has another.
        assert_eq!(
            (said.code, said.out.as_str(), daemon.made_by(id)),
            (125, "anew\n", 2),
            "{}: {said:?}",
            daemon.engine
        );
        assert_eq!(daemon.containers_of(id), "[]");
    }
}

fn what_a_session_leaves_behind_is_told_at_its_end() {
    for daemon in daemons() {
        let place = Place::new();
        let text = "max_parallelism: 1\nsteps:\n  a: {exec: 'true'}\n  \
                    b: {exec: 'touch begun; while ! test -e go; do sleep 0.1; done', depends_on: [a]}\n";
        configure(&daemon, &place, "", text);
        let polder = started(&daemon, &place);
        until("the second step", || place.has("work/begun"));
        let directories = directories_of(polder.id());
        let [own] = directories.as_slice() else { panic!("{directories:?}") };
        // Something in the directory of the container that this user cannot remove.
        let stuck = std::path::Path::new("/tmp").join(own).join("stuck");
        fs::create_dir_all(stuck.join("in")).expect("a directory");
        let shell =
            |text: &str| Command::new("sh").args(["-c", text, "sh"]).arg(&stuck).status().expect("sh").success();
        assert!(shell("if test $(id -u) = 0; then mount -t tmpfs none \"$1\"; else chmod 0 \"$1\"; fi"));
        place.write("work/go", "");
        let said = polder.end();
        assert!(shell("if test $(id -u) = 0; then umount \"$1\"; else chmod 700 \"$1\"; fi; rm -rf \"${1%/*}\""));
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(
            said.err.matches("polder: warning: the directory of the run could not be removed").count(),
            1,
            "{said:?}"
        );
    }
}

fn whatever_ends_polder_nothing_of_the_session_stays() {
    for daemon in daemons() {
        for signal in ["KILL", "TERM", "INT"] {
            let place = Place::new();
            let text = "steps:\n  a: {exec: 'touch a; sleep 600'}\n  b: {exec: 'touch b; sleep 600'}\n";
            configure(&daemon, &place, "", text);
            let polder = started(&daemon, &place);
            until("the steps", || place.has("work/a") && place.has("work/b"));
            let id = polder.id();
            assert_ne!(daemon.containers_of(id), "[]", "the control: there is a container");
            assert_ne!(directories_of(id), Vec::<String>::new(), "the control: there is a directory");
            let sent = Command::new("kill").args(["-s", signal, &id.to_string()]).status();
            assert!(sent.expect("kill").success());
            polder.end();
            until("the end of the container", || daemon.containers_of(id) == "[]");
            // The next start removes what only polder itself could have.
            let said = daemon.says(&place, &["run", "--", "true"]);
            assert_eq!(said.code, 0, "{said:?}");
            assert_eq!(directories_of(id), Vec::<String>::new(), "{signal}");
        }
    }
}

/// The directories that a polder has made for its containers.
fn directories_of(pid: u32) -> Vec<String> {
    let names = fs::read_dir("/tmp").expect("/tmp").flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("polder-container-") && name.contains(&format!("-{pid}-"))).collect()
}
