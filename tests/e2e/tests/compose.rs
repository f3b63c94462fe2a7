//! Services beside a command, by every daemon that this machine declares.
#![forbid(unsafe_code)]

use polder_e2e::{Daemon, Place, Said, daemons, image, until, with_daemons};
use std::process::{Child, Command, ExitCode, Stdio};

fn main() -> ExitCode {
    with_daemons(&[
        (
            "a_command_takes_the_place_of_its_service_and_reaches_the_others",
            a_command_takes_the_place_of_its_service_and_reaches_the_others,
        ),
        ("a_service_that_is_not_well_shows_its_last_lines", a_service_that_is_not_well_shows_its_last_lines),
        ("steps_have_services_and_one_that_dies_breaks_them", steps_have_services_and_one_that_dies_breaks_them),
        ("services_of_a_session_are_shared_and_one_that_dies_is_told", services_of_a_session_are_shared),
        ("a_service_has_no_right_and_no_way_out", a_service_has_no_right_and_no_way_out),
        ("what_is_not_allowed_is_refused_at_its_line", what_is_not_allowed_is_refused_at_its_line),
        ("services_need_a_network_of_their_own", services_need_a_network_of_their_own),
        ("whatever_ends_polder_no_service_stays", whatever_ends_polder_no_service_stays),
        (
            "steps_with_several_daemons_remove_what_was_left_with_each",
            steps_with_several_daemons_remove_what_was_left_with_each,
        ),
        ("a_run_that_is_ended_while_it_waits_ends_at_once", a_run_that_is_ended_while_it_waits_ends_at_once),
    ])
}

/// A command's service and a web server; `more` is added to the server's keys.
fn file(test: &str, more: &str) -> String {
    let image = image();
    format!(
        "services:\n  app:\n    image: {image}\n    environment: {{SERVER: web}}\n    depends_on: {{web: {{condition: service_healthy}}}}\n  \
         web:\n    image: {image}\n    depends_on: [note]\n    \
         command: [sh, -c, 'echo first words; echo served >/data/page && exec httpd -f -p 8080 -h /data']\n    \
         volumes: ['data:/data']\n    healthcheck: {{test: {test}, interval: 100ms, timeout: 30s, retries: 5}}\n    {more}\n  \
         note:\n    image: {image}\n    user: '1000'\n    tmpfs: /scratch\n    \
         command: [sh, -c, 'test $$(id -u) = 1000 && echo >/scratch/x && exec sleep 600']\n  \
         unneeded: {{image: 'no-such/image:here'}}\nvolumes: {{data: }}\n"
    )
}

const WELL: &str = "'wget -q -O /dev/null http://web:8080/page'";

fn configure(daemon: &Daemon, place: &Place, file: &str) {
    let text = format!(
        "sandboxes:\n  box: {{engine: {}, compose: compose.yaml, service: app, network: false, options: {{pull: never}}}}\n\
         sandbox: box\n",
        daemon.engine
    );
    place.write("work/polder.yaml", text);
    place.write("work/compose.yaml", file);
}

fn start(daemon: &Daemon, place: &Place, script: &str) -> Child {
    let mut command = daemon.polder(place, &["run", "--", "sh", "-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder")
}

fn nothing_stays(daemon: &Daemon, id: u32) {
    until("the end of every container", || daemon.containers_of(id) == "[]");
    assert_eq!(daemon.volumes_of(id), "");
}

/// Runs to the end, after which nothing stays.
fn run(daemon: &Daemon, place: &Place, script: &str) -> Said {
    let child = start(daemon, place, script);
    let id = child.id();
    let said = child.wait_with_output().expect("an end").into();
    nothing_stays(daemon, id);
    said
}

fn a_command_takes_the_place_of_its_service_and_reaches_the_others() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, &file(WELL, ""));
        let script = "wget -q -O - http://$SERVER:8080/page && touch made && grep -c : /proc/net/dev";
        let said = run(&daemon, &place, script);
        assert_eq!((said.code, said.out.as_str()), (0, "served\n1\n"), "a loopback and nothing else: {said:?}");
        assert!(place.has("work/made"));
        // The next run obeys the file.
        let said = run(&daemon, &place, "echo more >>compose.yaml");
        assert!(said.code != 0 && !place.read("work/compose.yaml").contains("more"), "{said:?}");
    }
}

fn a_service_that_is_not_well_shows_its_last_lines() {
    for daemon in daemons() {
        let place = Place::new();
        let hasty = file("[CMD, 'false']", "").replace("timeout: 30s, retries: 5}", "timeout: 1s, retries: 1}");
        configure(&daemon, &place, &hasty);
        let said = run(&daemon, &place, "touch ran");
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("`web` is not healthy: its check failed once"), "{said:?}");
        assert!(said.err.contains("| first words"), "{said:?}");
        configure(&daemon, &place, &file(WELL, "entrypoint: [sh, -c, 'echo last words; exit 3']"));
        let said = run(&daemon, &place, "touch ran");
        assert_eq!(said.code, 125, "{said:?}");
        assert!(said.err.contains("code 3") && said.err.contains("| last words"), "{said:?}");
        assert!(!place.has("work/ran"));
    }
}

fn services_of_a_session_are_shared() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, &file(WELL, ""));
        let ask = "wget -q -O - http://$SERVER:8080/page";
        let steps = format!(
            "max_parallelism: 1\nsteps:\n  a: {{exec: '{ask}'}}\n  \
             b: {{exec: '{ask}; touch begun; while ! test -e go; do sleep 0.1; done', depends_on: [a]}}\n  \
             c: {{exec: '{ask}', depends_on: [b]}}\n"
        );
        let text = place.read("work/polder.yaml").replace("network: false", "network: false, scope: session");
        place.write("work/polder.yaml", text + &steps);
        let mut command = daemon.polder(&place, &["steps"]);
        let polder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
        let id = polder.id();
        until("the second step", || place.has("work/begun"));
        assert_eq!(daemon.made_by(id), 3, "the command's container and two services, for both steps");
        daemon.end_services_of(id);
        place.write("work/go", "");
        let said = Said::from(polder.wait_with_output().expect("an end"));
        // The third step found that they were gone, and has new ones.
        assert_eq!((said.code, said.out.as_str()), (0, "served\nserved\nserved\n"), "{said:?}");
        assert!(said.err.contains("warning: service `") && said.err.contains("ended with code 137"), "{said:?}");
        assert!(said.err.contains("all services were started again"), "{said:?}");
        assert_eq!(daemon.made_by(id), 6, "{said:?}");
        nothing_stays(&daemon, id);
    }
}

fn a_service_has_no_right_and_no_way_out() {
    for daemon in daemons() {
        let place = Place::new();
        let test = "'grep -q ^CapBnd:.0*$$ /proc/1/status && grep -q ^NoNewPrivs:.1$$ /proc/1/status && \
                    test $$(grep -c : /proc/net/dev) = 1 && ! test -e /.polder'";
        configure(&daemon, &place, &file(test, ""));
        let said = run(&daemon, &place, "true");
        assert_eq!(said.code, 0, "{said:?}");
    }
}

fn what_is_not_allowed_is_refused_at_its_line() {
    for daemon in daemons() {
        let place = Place::new();
        let keys = [
            "privileged: true",
            "network_mode: host",
            "cap_add: [SYS_ADMIN]",
            "pid: host",
            "ports: ['1:1']",
            "environment: {A: \"${HOME}\"}",
        ];
        for key in keys {
            configure(&daemon, &place, &file(WELL, key));
            let said = run(&daemon, &place, "touch ran");
            assert_eq!(said.code, 125, "{key}: {said:?}");
            assert!(said.err.contains("compose.yaml:12: "), "{key}: {said:?}");
        }
        configure(&daemon, &place, &file(WELL, "").replace("'data:/data'", "'/:/data'"));
        let said = run(&daemon, &place, "touch ran");
        assert!(said.code == 125 && said.err.contains("compose.yaml:10: "), "{said:?}");
        configure(&daemon, &place, &file(WELL, "").replace("  app:", "  other:"));
        let said = run(&daemon, &place, "touch ran");
        assert!(said.code == 125 && said.err.contains("it has `note`, `other`, `unneeded`, `web`"), "{said:?}");
        assert!(!place.has("work/ran"));
        configure(&daemon, &place, &file(WELL, ""));
        assert_eq!(run(&daemon, &place, "touch ran").code, 0, "the control");
        assert!(place.has("work/ran"));
    }
}

fn services_need_a_network_of_their_own() {
    for daemon in daemons() {
        let place = Place::new();
        configure(&daemon, &place, &file(WELL, ""));
        let text = place.read("work/polder.yaml").replace("network: false", "network: true");
        place.write("work/polder.yaml", text);
        let said = run(&daemon, &place, "touch ran");
        assert!(said.code != 0 && said.err.contains("network: false"), "{said:?}");
        assert!(!place.has("work/ran"));
    }
}

fn whatever_ends_polder_no_service_stays() {
    for daemon in daemons() {
        for signal in ["TERM", "INT", "KILL"] {
            let place = Place::new();
            configure(&daemon, &place, &file(WELL, ""));
            let mut polder = start(&daemon, &place, "touch begun; sleep 600");
            let id = polder.id();
            until("the command", || place.has("work/begun"));
            assert_eq!(daemon.containers_of(id).matches("\"polder.service\"").count(), 2, "the control: two services");
            assert_ne!(daemon.volumes_of(id), "", "the control: a volume");
            let sent = Command::new("kill").args(["-s", signal, &id.to_string()]).status();
            assert!(sent.expect("kill").success());
            polder.wait().expect("the end of polder");
            if signal == "KILL" {
                // Nobody was left to end them; the next start does.
                assert_eq!(run(&daemon, &place, "true").code, 0);
            }
            nothing_stays(&daemon, id);
        }
    }
}

fn steps_with_several_daemons_remove_what_was_left_with_each() {
    let (daemons, mut left) = (daemons(), Vec::new());
    for daemon in &daemons {
        let place = Place::new();
        configure(daemon, &place, &file(WELL, ""));
        let mut polder = start(daemon, &place, "touch begun; sleep 600");
        until("the command", || place.has("work/begun"));
        polder.kill().expect("a signal");
        polder.wait().expect("the end of polder");
        left.push(polder.id());
    }
    let place = Place::new();
    let (mut text, mut steps) = ("sandboxes:\n".to_owned(), "steps:\n".to_owned());
    for Daemon { engine, .. } in &daemons {
        text += &format!("  box-{engine}: {{engine: {engine}, image: '{}'}}\n", image());
        steps += &format!("  step-{engine}: {{exec: 'echo ran', sandbox: box-{engine}}}\n");
    }
    place.write("work/polder.yaml", text + &steps);
    let mut command = daemons.first().expect("a daemon").polder(&place, &["steps"]);
    command.envs(daemons.iter().map(|daemon| (daemon.variable, &daemon.address)));
    let said = Said::from(command.output().expect("polder"));
    assert_eq!((said.code, said.out.as_str()), (0, "ran\n".repeat(daemons.len()).as_str()), "{said:?}");
    for (daemon, id) in daemons.iter().zip(left) {
        nothing_stays(daemon, id);
    }
}

fn a_run_that_is_ended_while_it_waits_ends_at_once() {
    for daemon in daemons() {
        let place = Place::new();
        let patient = file("[CMD, 'false']", "").replace("retries: 5}", "retries: 100}");
        configure(&daemon, &place, &patient);
        let polder = start(&daemon, &place, "touch ran");
        let id = polder.id();
        until("the services", || daemon.containers_of(id).matches("\"polder.service\"").count() == 2);
        assert!(Command::new("kill").args(["-s", "TERM", &id.to_string()]).status().expect("kill").success());
        let said: Said = polder.wait_with_output().expect("an end").into();
        assert!(said.code != 0, "{said:?}");
        assert!(!place.has("work/ran"));
        nothing_stays(&daemon, id);
    }
}

fn steps_have_services_and_one_that_dies_breaks_them() {
    for daemon in daemons() {
        for (more, code, out) in
            [("", 0, "served\nafter served\n"), ("entrypoint: [sh, -c, 'echo last words; exit 3']", 125, "")]
        {
            let place = Place::new();
            configure(&daemon, &place, &file(WELL, more));
            let steps = "steps:\n  \
                ask: {exec: 'wget -q -O - http://$SERVER:8080/page'}\n  \
                then: {exec: \"echo after {{ outputs.ask }}\", depends_on: ask}\n";
            place.write("work/polder.yaml", place.read("work/polder.yaml") + steps);
            let mut command = daemon.polder(&place, &["steps"]);
            let polder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("polder");
            let id = polder.id();
            let said = Said::from(polder.wait_with_output().expect("an end"));
            assert_eq!((said.code, said.out.as_str()), (code, out), "{more}: {said:?}");
            // What a service said last before it died is told with the step that waited for it.
            assert_eq!(said.err.contains("| last words"), code != 0, "{more}: {said:?}");
            nothing_stays(&daemon, id);
        }
    }
}
