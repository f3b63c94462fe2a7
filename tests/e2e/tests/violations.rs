//! What was blocked is said exactly, and the suggested grant makes the same command succeed: for every kind, on the
//! engines with our shim.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, is_root};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};

const ENGINES: [&str; 2] = ["native", "bubblewrap"];

/// Runs a shell text in the place's workspace and gives the violations that were told.
fn blocked(place: &Place, engine: &str, flags: &[&str], script: &str) -> (Said, Vec<Value>) {
    let arguments = [&["run", "--json", "--engine", engine, "--observe", "exact"], flags, &["--", "sh", "-c", script]];
    let said = place.says(&arguments.concat());
    let events = said.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event a line"));
    let violations = events.filter(|event| event["type"] == "violation").map(|event| event["violation"].clone());
    (said.clone(), violations.collect())
}

fn exit_code(said: &Said) -> i64 {
    let exit = said.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let code = exit.filter(|event| event["type"] == "exit").map(|event| event["outcome"]["exitCode"].as_i64()).next();
    code.flatten().unwrap_or_else(|| panic!("it did not end: {said:?}"))
}

/// The whole circle: it works outside, fails inside, is told with this action and target, and works with the grant.
fn circle(place: &Place, script: &str, action: &str, target: &str) {
    for engine in ENGINES {
        let control = Command::new("sh").args(["-c", script]).current_dir(place.work()).status().expect("sh");
        assert!(control.success(), "the control fails: {script}");
        with_grant(place, engine, &[], script, action, target);
    }
}

fn with_grant(place: &Place, engine: &str, flags: &[&str], script: &str, action: &str, target: &str) {
    let (said, violations) = blocked(place, engine, flags, script);
    assert_ne!(exit_code(&said), 0, "{engine}: it was not blocked: {script}");
    let found = violations.iter().find(|violation| violation["action"] == action && violation["target"] == target);
    let Some(found) = found else { panic!("{engine}: {action} {target} is not told: {violations:#?}") };
    assert!(found["rule"].is_string() && found["layer"].is_string(), "{found}");
    let grant = found["suggestedCapability"].as_str().unwrap_or_else(|| panic!("{engine}: no grant: {found}"));
    let (said, violations) = blocked(place, engine, &[flags, &["--allow", grant]].concat(), script);
    assert_eq!(exit_code(&said), 0, "{engine}: {grant} does not let it: {said:?}");
    let again = violations.iter().any(|violation| violation["action"] == action && violation["target"] == target);
    assert!(!again, "{engine}: still told with the grant: {violations:#?}");
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// There the host's own root stays in place: whoever asks finds the file, and only Landlock keeps it closed.
#[test]
fn what_landlock_alone_denies_is_told_too() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    let script = format!("cat {file} > /dev/null");
    assert_eq!(place.sh(&script).code, 0, "the control");
    let weaker = ["fs", "second-layer", "ipc", "privileges"].map(|name| ["--accept", name]).concat();
    with_grant(&place, "firejail", &weaker, &script, "file-read", &file);
    let (_, violations) = blocked(&place, "firejail", &weaker, &script);
    assert_eq!((violations.len(), violations[0]["layer"].as_str()), (1, Some("Landlock")), "{violations:#?}");
    // From where the caller is, as well.
    let script = format!("cd {} && cat data > /dev/null", text(&place.dir().join("other")));
    assert_eq!(place.sh(&script).code, 0, "the control");
    with_grant(&place, "firejail", &weaker, &script, "file-read", &file);
    let (_, violations) = blocked(&place, "firejail", &weaker, &format!("test -e {file}"));
    assert!(violations.is_empty(), "to ask is not denied: {violations:#?}");
}

#[test]
fn reading_a_file_outside() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    circle(&place, &format!("cat {file}"), "file-read", &file);
}

#[test]
fn asking_for_a_file_outside_without_opening_it() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    circle(&place, &format!("test -f {file}"), "file-read", &file);
}

#[test]
fn going_to_a_directory_outside() {
    let place = Place::new();
    place.write("other/data", "");
    let other = text(&place.dir().join("other"));
    circle(&place, &format!("cd {other}"), "file-read", &other);
    circle(&place, &format!("python3 -c 'import os; os.chdir(\"{other}\")'"), "file-read", &other);
}

#[test]
fn following_a_link_of_the_workspace_to_the_outside() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    std::os::unix::fs::symlink(&file, place.work().join("link")).expect("a link");
    circle(&place, "cat link", "file-read", &file);
}

/// A name that was missing a moment ago, and one that led into the workspace, lead outside from now on.
#[test]
fn a_link_that_is_made_during_the_run() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    let other = text(&place.dir().join("other"));
    place.write("work/in/data", "");
    for making in ["ln -s {} l", "ln -s {} m && mv m l", "ln -s {} m && ln m l && rm m"] {
        let making = making.replace("{}", &other);
        let missing = format!("cat l/data 2>/dev/null; cat l/data 2>/dev/null; {making}");
        circle(&place, &format!("{missing} && cat l/data; r=$?; rm l; exit $r"), "file-read", &file);
        let led_in = format!("ln -s in l && cat l/data l/data && rm l && {making}");
        circle(&place, &format!("{led_in} && cat l/data; r=$?; rm l; exit $r"), "file-read", &file);
    }
}

/// Looking whether a link leads somewhere is reading, too, also after something was missing beside it.
#[test]
fn looking_at_a_link_of_the_workspace_to_the_outside() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    std::os::unix::fs::symlink(&file, place.work().join("link")).expect("a link");
    std::os::unix::fs::symlink(place.dir().join("other"), place.work().join("way")).expect("a link");
    for looking in ["test -e link", "test -e way/data", "python3 -c 'import os; os.stat(\"link\")'"] {
        circle(&place, &format!("test -e no; test -e no/way; {looking}"), "file-read", &file);
    }
}

/// A file of the command's own that is gone again is missing, where the host has one.
#[test]
fn what_was_the_commands_own_hides_what_the_host_has_only_as_long_as_it_is_there() {
    let place = Place::new();
    let name = format!("polder-e2e-own-{}", std::process::id());
    let file = format!("/tmp/{name}");
    fs::write(&file, "seen\n").expect("a file of the host");
    let script = format!("cd /tmp && {{ echo x > {name} && cat {name} {name} && rm {name}; }} 2>/dev/null; cat {name}");
    assert_eq!(place.sh(&format!("cd /tmp && cat {name}")).out, "seen\n", "the control");
    for engine in ENGINES {
        let (said, violations) = blocked(&place, engine, &[], &script);
        assert_ne!(exit_code(&said), 0, "{engine}: {said:?}");
        assert!(violations.iter().any(|one| one["target"] == file.as_str()), "{engine}: {violations:?}");
    }
    fs::remove_file(&file).expect("it is there");
}

/// Threads share where they are. What one of them tries where it may is not told, whenever another goes elsewhere.
#[test]
fn a_thread_that_goes_elsewhere_makes_nobody_a_violator() {
    let place = Place::new();
    let script = "python3 -c \"
import os, threading
here, over = os.getcwd(), threading.Event()
def go():
    while not over.is_set():
        os.chdir('/usr'); os.chdir(here)
other = threading.Thread(target=go); other.start()
for i in range(4000):
    try: os.close(os.open('f', os.O_WRONLY | os.O_CREAT))
    except OSError: pass
over.set(); other.join()\"";
    for engine in ENGINES {
        let (said, violations) = blocked(&place, engine, &[], script);
        assert_eq!(exit_code(&said), 0, "{engine}: {said:?}");
        let targets = violations.iter().filter_map(|one| one["target"].as_str());
        let untrue: Vec<_> = targets.filter(|target| !target.starts_with("/usr/")).collect();
        assert!(untrue.is_empty(), "{engine}: {untrue:?}");
    }
}

/// What is missing in the workspace says nothing about where a link to it lies.
#[test]
fn a_link_into_the_workspace_does_not_hide_what_is_missing_beside_it() {
    let place = Place::new();
    let name = format!("polder-e2e-beside-{}", std::process::id());
    let file = format!("/tmp/{name}");
    fs::write(&file, "seen\n").expect("a file of the host");
    let link = format!("/tmp/{name}.link");
    let script = format!("ln -s $PWD/none {link}; cat {link}; cat {link} no; rm {link}; cd /tmp && cat {name}");
    circle(&place, &script, "file-read", &file);
    fs::remove_file(&file).expect("it is there");
}

/// The same relative path means another thing after somebody went elsewhere, by name or by descriptor.
#[test]
fn a_relative_path_is_looked_for_where_the_caller_is() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    place.write("work/a/b/data", "");
    place.write("work/a/other/data", "");
    for going in ["os.chdir('..')", "os.fchdir(os.open('..', os.O_RDONLY))"] {
        let script = format!(
            "python3 -c \"import os; os.chdir('a/b'); open('../other/data'); open('../other/data'); {going}; {going}; \
             open('../other/data')\""
        );
        assert_eq!(place.sh(&script).code, 0, "the control");
        for engine in ENGINES {
            with_grant(&place, engine, &["--workdir", "host"], &script, "file-read", &file);
        }
    }
}

#[test]
fn writing_a_file_outside() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    circle(&place, &format!("echo x >> {file}"), "file-write", &file);
}

#[test]
fn writing_to_a_bind_that_is_shown_elsewhere() {
    let place = Place::new();
    place.write("other/data", "");
    let other = text(&place.dir().join("other"));
    let (read, write) = (format!("{other}:/data"), format!("{other}:/data:rw"));
    let script = "echo x > /data/new && rm /data/new";
    for engine in ENGINES {
        let (said, violations) = blocked(&place, engine, &["--bind", &read], script);
        assert_ne!(exit_code(&said), 0, "the control");
        let found = violations.iter().find(|violation| violation["target"] == "/data/new").expect("it is told");
        assert_eq!(found["suggestedCapability"], Value::Null, "a grant would show it at another path: {found}");
        let note = found["note"].as_str().expect("a note");
        assert!(note.contains(&format!("`--bind {write}`")), "{note}");
        let (said, _) = blocked(&place, engine, &["--bind", &write], script);
        assert_eq!(exit_code(&said), 0, "{engine}: the bind does not let it: {said:?}");
    }
}

#[test]
fn making_and_removing_a_file_outside() {
    let place = Place::new();
    place.write("other/data", "");
    let file = text(&place.dir().join("other/new"));
    circle(&place, &format!("echo x > {file} && rm {file}"), "file-write", &file);
    let directory = text(&place.dir().join("other/made"));
    circle(&place, &format!("mkdir {directory} && rmdir {directory}"), "file-write", &directory);
}

#[test]
fn the_default_tells_of_a_shell_that_writes_outside_and_exact_of_every_language() {
    let place = Place::new();
    // Without a repository every new name is looked at, lest it become one.
    assert!(Command::new("git").args(["init", "-q"]).current_dir(place.work()).status().expect("git").success());
    place.write("other/data", "");
    let file = text(&place.dir().join("other/new"));
    let shell = format!("echo x > {file}");
    let python = format!("python3 -c 'open(\"{file}\", \"w\")'");
    let told = |observe: &str, script: &str| {
        let said = place.says(&["run", "--engine", "native", "--observe", observe, "--", "sh", "-c", script]);
        assert_ne!(said.code, 0, "it was not blocked: {script}");
        said.err.contains(&format!("blocked write to {file}"))
    };
    for script in [&shell, &python] {
        let control = Command::new("sh").args(["-c", script]).current_dir(place.work()).status().expect("sh");
        assert!(control.success(), "the control fails: {script}");
    }
    assert!(told("cheap", &shell) && told("exact", &shell) && told("exact", &python));
    // How it opens a file is how thousands are written, so this is where the default saves its look.
    assert!(!told("cheap", &python), "docs/violations.md says that the default does not see this");
}

#[test]
fn writing_a_protected_file() {
    let place = with_protected_file();
    circle(&place, "echo >> kept", "file-write", &text(&place.work().join("kept")));
}

/// A workspace that is a repository.
fn repository() -> Place {
    let place = Place::new();
    assert!(Command::new("git").args(["init", "-q"]).current_dir(place.work()).status().expect("git").success());
    place
}

/// A workspace with a protected file that another one can replace.
fn with_protected_file() -> Place {
    let place = Place::new();
    place.write("work/kept", "[core]\n\tbare = false\n");
    place.write("work/polder.yaml", "sandboxes: {a: {protect: [kept]}}\nsandbox: a\n");
    place
}

#[test]
fn replacing_or_removing_a_protected_file() {
    for script in [
        "git config --file kept user.name name",
        "sed -i s/bare/bare/ kept",
        "cp kept new && mv -f new kept",
        "cp kept old && rm -f kept && cp old kept",
        "mv kept old && mv old kept",
    ] {
        let place = with_protected_file();
        circle(&place, script, "file-write", &text(&place.work().join("kept")));
    }
    // The default sees it, too: a rename is rare.
    let place = with_protected_file();
    let said = place.says(&["run", "--", "git", "config", "--file", "kept", "user.name", "name"]);
    let told = format!("blocked write to {}; to allow it: --allow", text(&place.work().join("kept")));
    assert!(said.code != 0 && said.err.contains(&told), "{said:?}");
}

/// Only the name goes, and that is in a directory of the command's own.
#[test]
fn a_link_to_something_read_only_can_be_removed_and_is_not_told() {
    let place = Place::new();
    let script = "ln -s /usr/bin/env a && ln -s /usr/bin/env b && mv -f a b && rm b";
    for engine in ENGINES {
        let (said, violations) = blocked(&place, engine, &[], script);
        assert_eq!((exit_code(&said), violations), (0, Vec::new()), "{engine}");
    }
}

#[test]
fn making_a_name_that_must_not_come_into_being() {
    let place = Place::new();
    // The second name shows that polder has looked: it goes after the first, and the control makes it go itself.
    let script =
        "rm -f polder.yaml; echo x >polder.yaml; echo x >.visor.yaml; test -e /run/polder/policy.json || rm .visor.yaml
        while test -e .visor.yaml; do sleep 0.02; done; test -e polder.yaml && rm polder.yaml";
    circle(&place, script, "file-write", &text(&place.work().join("polder.yaml")));
}

#[test]
fn executing_a_program_outside() {
    let place = Place::new();
    let tool = place.write("other/tool", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    circle(&place, &text(&tool), "exec", &text(&tool));
}

/// An executable script outside of the workspace, or in it.
fn script(place: &Place, name: &str, text: &str) -> String {
    let path = place.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    path.display().to_string()
}

#[test]
fn a_command_that_is_itself_outside() {
    let place = Place::new();
    let tool = script(&place, "other/tool", "#!/bin/sh\nexit 0\n");
    script(&place, "work/script", &format!("#!{tool} -x\n"));
    let grant = format!("fs.read={tool}");
    for engine in ENGINES {
        for command in [tool.as_str(), "./script"] {
            let run = ["run", "--engine", engine];
            let said = place.says(&[&run[..], &["--", command]].concat());
            assert_eq!((said.code, flags(&said)), (127, vec![grant.clone()]), "{said:?}");
            assert!(said.err.contains(&format!("polder: blocked execution of {tool}; ")), "{said:?}");
            let said = place.says(&[&run[..], &["--allow", &grant, "--", command]].concat());
            assert_eq!((said.code, said.err.as_str()), (0, ""), "{engine}: {command}");
        }
        for missing in ["./missing", "no-such-command", "/no/such/command"] {
            let said = place.says(&["run", "--engine", engine, "--", missing]);
            assert!(said.code == 127 && !said.err.contains("blocked"), "it is nowhere: {said:?}");
        }
    }
}

#[test]
fn connecting_to_a_socket_of_the_host() {
    let place = Place::new();
    let path = place.dir().join("s");
    let _listener = UnixListener::bind(&path).expect("a socket");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("a mode");
    let path = text(&path);
    let script = format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'");
    circle(&place, &script, "network", &path);
}

/// With a network, too: the socket is a file, and no network leads to it.
#[test]
fn sending_to_a_socket_of_the_host() {
    let place = Place::new();
    let path = place.dir().join("s");
    let _listener = UnixDatagram::bind(&path).expect("a socket");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("a mode");
    let path = text(&path);
    let send = "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto";
    let script = format!("python3 -c '{send}(b\"x\", \"{path}\")'");
    circle(&place, &script, "network", &path);
    for engine in ENGINES {
        with_grant(&place, engine, &["--network", "full"], &script, "network", &path);
    }
}

#[test]
fn connecting_to_an_address() {
    // The machine's own address on a real interface: outside of a sandbox it answers without leaving the machine.
    let probe = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    if probe.connect("192.0.2.1:9").is_err() {
        return;
    }
    let listener = TcpListener::bind((probe.local_addr().expect("an address").ip(), 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let place = Place::new();
    let (ip, port) = (address.ip(), address.port());
    let script = format!("python3 -c 'import socket; socket.create_connection((\"{ip}\", {port}))'");
    circle(&place, &script, "network", &address.to_string());
}

#[test]
fn a_name_that_nobody_answers_for() {
    let place = Place::new();
    for engine in ENGINES {
        let script = "python3 -c 'import socket; socket.getaddrinfo(\"polder.example\", 80)'";
        let (_, violations) = blocked(&place, engine, &[], script);
        let found = violations.iter().find(|violation| violation["target"] == "polder.example");
        assert_eq!(found.map(|found| found["suggestedCapability"].as_str()), Some(Some("net=full")), "{violations:#?}");
    }
}

#[test]
fn a_limit_and_its_next_step() {
    let place = Place::new();
    let mut limits = vec![
        ("timeout", "2s", "sleep 3"),
        ("output", "2K", "head -c 3000 /dev/zero"),
        ("disk", "4M", "head -c 6000000 /dev/zero >/tmp/full"),
    ];
    if is_root() {
        // What only a cgroup counts, which an ordinary user has none of here.
        limits.push(("memory", "64M", "python3 -c 'x = bytearray(90_000_000)'"));
        let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done; wait; test -z \"$(jobs -p)\"";
        limits.push(("pids", "10", many));
    }
    for engine in ENGINES {
        for (limit, value, script) in &limits {
            with_grant(&place, engine, &[&format!("--{limit}"), value], script, "limit", limit);
        }
    }
}

#[test]
fn a_refused_system_call_has_no_grant_and_says_so() {
    let place = Place::new();
    for engine in ENGINES {
        let (_, violations) = blocked(&place, engine, &[], "unshare -U true");
        let found = violations.iter().find(|violation| violation["action"] == "syscall").expect("a violation");
        assert_eq!((found["target"].as_str(), &found["suggestedCapability"]), (Some("unshare"), &Value::Null));
        assert!(found["note"].as_str().is_some_and(|note| note.contains("nothing allows")), "{found}");
    }
}

#[test]
fn what_exists_nowhere_and_what_is_probed_in_passing_is_no_violation() {
    let place = Place::new();
    place.write("work/closed", "");
    fs::set_permissions(place.work().join("closed"), fs::Permissions::from_mode(0o0)).expect("a mode");
    let script = "cat /no/such/file /etc/ld.so.preload ~/.no-such-rc; no-such-program; rm -f /no/such/thing; \
                  for i in 1 2 3; do cat no no/such/way .git/no /usr/no/such/way; cd /usr; cd - ; done; mkdir -p \"$PWD\"; cat closed; LANG=xx_YY.UTF-8 ls; python3 -c pass; true";
    for engine in ENGINES {
        let (_, violations) = blocked(&place, engine, &[], script);
        assert_eq!(violations, [] as [Value; 0], "{engine}");
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", "echo Permission denied >&2; false"]);
        assert_eq!((said.code, said.err.as_str()), (1, "Permission denied\n"), "{engine}: text is never a violation");
    }
}

#[test]
fn a_flood_is_one_violation_with_a_count() {
    let place = Place::new();
    let file = text(&place.write("other/data", "seen\n"));
    let script = format!(
        "python3 -c '
import os
for i in range(5000):
    try: os.open(\"{file}\", 0)
    except OSError: pass
'"
    );
    for engine in ENGINES {
        let (_, violations) = blocked(&place, engine, &[], &script);
        let told: Vec<_> = violations.iter().filter(|violation| violation["target"] == file.as_str()).collect();
        assert!(told.len() <= 2, "one when it is new and one with the rest: {told:#?}");
        assert_eq!(told.iter().filter_map(|violation| violation["count"].as_u64()).sum::<u64>(), 5000, "{engine}");
        assert!(told[0]["exe"].as_str().is_some_and(|exe| exe.contains("python3")), "{told:#?}");
    }
}

#[test]
fn runs_at_once_do_not_mix() {
    let place = Place::new();
    let files: Vec<_> = (0..20).map(|number| text(&place.write(format!("other/{number}"), ""))).collect();
    for engine in ENGINES {
        std::thread::scope(|scope| {
            for file in &files {
                let place = &place;
                scope.spawn(move || {
                    let (said, violations) = blocked(place, engine, &[], &format!("cat {file}; exec false"));
                    let targets: Vec<_> = violations.iter().map(|violation| violation["target"].as_str()).collect();
                    assert_eq!(targets, [Some(file.as_str())], "{engine}");
                    assert!(violations[0]["exe"].as_str().is_some_and(|exe| exe.ends_with("/cat")), "{violations:?}");
                    // Its record is its own, too.
                    let event: Value = serde_json::from_str(said.out.lines().next().expect("an event")).expect("JSON");
                    let record = place.says(&["explain", "--json", event["run"].as_str().expect("a name")]);
                    let record: Value = serde_json::from_str(&record.out).expect("a record");
                    assert_eq!(record["violations"].as_array().map(Vec::len), Some(1), "{record}");
                    assert_eq!(record["violations"][0]["target"], file.as_str());
                });
            }
        });
    }
}

/// Denied opens in one loop: a million where it is our own engine, fewer where the same shim runs on another's ground.
fn denials(engine: &str) -> u64 {
    if engine == "native" { 1_000_000 } else { 50_000 }
}

/// The largest memory of a process so far; nothing when it is gone.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn many_denials_neither_grow_polder_nor_hold_up_others() {
    let place = Place::new();
    let (file, other) = (text(&place.write("other/data", "")), text(&place.write("other/else", "")));
    let flood = |count: u64| {
        format!(
            "import os, sys\nfor i in range({count}):\n    if i == 1000: os.close(os.open('started', os.O_CREAT))\n    try: os.open('{file}', 0)\n    except OSError: pass\n"
        )
    };
    for engine in ENGINES {
        let _ = fs::remove_file(place.work().join("started"));
        place.write("work/flood.py", flood(denials(engine)));
        let mut polder = place
            .polder(&["run", "--json", "--engine", engine, "--observe", "exact", "--", "python3", "flood.py"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("polder");
        while !place.has("work/started") {
            assert!(polder.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        let id = polder.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("children");
        let watched: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).chain([id]).collect();
        let before: Vec<_> = watched.iter().map(|pid| peak_kib(*pid)).collect();
        assert!(before.iter().any(Option::is_some), "somebody is measured");
        // Meanwhile others come and go, and hear of nothing but their own.
        let mut after = before.clone();
        for _ in 0..3 {
            let (said, violations) = blocked(&place, engine, &[], &format!("cat {other}; exit 5"));
            assert_eq!((exit_code(&said), violations.len()), (5, 1), "{engine}: {violations:?}");
            assert_eq!(violations[0]["target"], other.as_str());
        }
        while polder.try_wait().expect("a child").is_none() {
            let now = watched.iter().map(|pid| peak_kib(*pid));
            after = now.zip(&after).map(|(now, known)| now.or(*known)).collect();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for (before, after) in before.iter().zip(&after) {
            let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
            assert!(after <= before + 4096, "{engine}: it grew from {before} to {after} KiB");
        }
        let output = polder.wait_with_output().expect("output");
        let events =
            output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let told: Vec<Value> = events.filter(|event| event["violation"]["target"] == file.as_str()).collect();
        let count: u64 = told.iter().filter_map(|event| event["violation"]["count"].as_u64()).sum();
        assert!(told.len() <= 2 && count == denials(engine), "{engine}: {count} in {} events", told.len());
    }
}

#[test]
fn people_get_few_lines_with_flags_and_nothing_when_nothing_was_blocked() {
    let place = Place::new();
    let (first, second) = (text(&place.write("other/a", "")), text(&place.write("other/b", "")));
    let other = text(&place.dir().join("other"));
    let script = format!("cat {first} {second} 2>/dev/null");
    let said = place.says(&["run", "--observe", "exact", "--", "sh", "-c", &script]);
    let line = format!("polder: blocked read of {first} and 1 more beside it; to allow it: --allow fs.read={other}\n");
    assert_eq!(said.err, line);
    let said =
        place.says(&["run", "--observe", "exact", "--allow", &format!("fs.read={other}"), "--", "sh", "-c", &script]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let said = place.says(&["run", "--observe", "off", "--", "sh", "-c", &script]);
    assert_eq!(said.err, "", "nobody watched");
}

/// The flags that polder offers people after a run.
fn flags(said: &Said) -> Vec<String> {
    let flags = said.err.lines().filter_map(|line| line.split_once("; to allow it: --allow ")?.1.split(" (").next());
    flags.map(str::to_owned).collect()
}

#[test]
fn several_new_files_of_a_directory_need_that_directory() {
    let place = Place::new();
    place.write("other/deep/old", "");
    let deep = text(&place.dir().join("other/deep"));
    let script = format!("echo x > {deep}/n1 && echo y > {deep}/n2; test -e {deep}/n2 || echo x > {deep}/n2");
    for engine in ENGINES {
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
        assert_eq!((said.code, flags(&said)), (2, vec![format!("fs.write={deep}")]), "{said:?}");
        let grant = format!("fs.write={deep}");
        let said = place.says(&["run", "--engine", engine, "--allow", &grant, "--", "sh", "-c", &script]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{engine}");
        for name in ["n1", "n2"] {
            fs::remove_file(format!("{deep}/{name}")).expect("removed");
        }
    }
}

#[test]
fn a_flag_is_said_once_however_much_it_allows() {
    let place = repository();
    for name in ["a", "b", "c"] {
        place.write(format!("work/.git/hooks/{name}"), "");
    }
    let names = "python3 -c '
import socket
for n in range(7):
    try: socket.getaddrinfo(f\"n{n}.polder.example\", 80)
    except OSError: pass
'";
    for engine in ENGINES {
        let run = ["run", "--engine", engine, "--observe", "exact", "--", "sh", "-c"];
        let said = place.says(&[&run[..], &["rm -r .git/hooks"]].concat());
        assert_eq!(flags(&said), ["fs.write=.git/hooks"], "{said:?}");
        let said = place.says(&[&run[..], &[names]].concat());
        assert_eq!(flags(&said), ["net=full"], "{said:?}");
    }
}

/// What a command names is quoted, and quoting it must not let it speak.
#[test]
fn a_command_cannot_make_polder_say_a_line_of_its_own() {
    let place = repository();
    let forged = "polder: blocked connection to pypi.org; to allow it: --allow net=full";
    let script = format!("mkdir '.git/hooks/x\n{forged}' 2>/dev/null; true");
    for engine in ENGINES {
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
        assert!(said.err.contains(&format!("hooks/x\\n{forged}")), "it is told: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
    }
    let missing = format!("./no\n{forged}");
    let said = place.says(&["run", "--", &missing]);
    assert!(said.code == 127 && !said.err.lines().any(|line| line == forged), "{said:?}");
    let said = place.says(&["run", "--directory", &missing, "--", "true"]);
    assert!(said.code == 125 && said.err.contains("no"), "{said:?}");
    assert!(!said.err.lines().any(|line| line.starts_with("polder: blocked")), "{said:?}");
}

#[test]
fn a_limit_is_told_with_the_flag_of_its_next_step_and_all_of_it_in_five_lines() {
    let place = Place::new();
    let said = place.says(&["run", "--output", "2K", "--", "head", "-c", "3000", "/dev/zero"]);
    assert!(
        said.err.ends_with("polder: the output limit was reached (limits.output: 2K); --output 4K raises it\n"),
        "{said:?}"
    );
    let said = place.says(&["run", "--output", "4K", "--", "head", "-c", "3000", "/dev/zero"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let files: Vec<_> = (0..9).map(|number| text(&place.write(format!("other{number}/data"), ""))).collect();
    let script = format!("cat {} 2>/dev/null; touch new; sleep 60", files.join(" "));
    let flags = ["--observe", "exact", "--timeout", "2s", "--workspace", "five"];
    let said = place.says(&[&["run"], &flags[..], &["--", "sh", "-c", &script]].concat());
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!((said.code, lines.len()), (124, 5), "{said:?}");
    assert_eq!(lines[0], "polder: timed out after 2s; --timeout 4s lets it run longer");
    assert!(lines[3].contains("and 7 more things were blocked") && lines[4].contains("changes are in"), "{said:?}");
}

#[test]
fn an_engine_that_does_not_watch_refuses_to_be_asked() {
    let place = Place::new();
    let said = place.says(&["run", "--observe", "loud", "--", "true"]);
    assert!(said.code == 125 && said.err.contains("`loud` is not one of off, cheap, exact"), "{said:?}");
    // One that enforces nothing has nothing to watch, and whoever asked is not left without a word.
    place.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
    for observe in ["exact", "cheap"] {
        let said = place.says(&["run", "--engine", "none", "--observe", observe, "--", "touch", "ran"]);
        assert!(said.code == 125 && said.err.contains("engine `none` does not watch what is denied"), "{said:?}");
        assert!(said.err.contains("say `observe: off`, or choose an engine that does"), "{said:?}");
    }
    assert!(!place.has("work/ran"));
    assert_eq!(place.says(&["run", "--engine", "none", "--observe", "off", "--", "touch", "ran"]).code, 0);
    assert!(place.has("work/ran"), "the control");
}

/// The processes that a process started.
fn children(pid: &str) -> Vec<String> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// The first process below another one whose first word is this, and who started it.
fn below(pid: &str, name: &str) -> Option<(String, String)> {
    children(pid).into_iter().find_map(|child| {
        let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        if words.split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
            return Some((pid.to_owned(), child));
        }
        below(&child, name)
    })
}

#[test]
fn killing_the_observer_ends_the_run() {
    for engine in ENGINES {
        let place = Place::new();
        let mut polder = place
            .polder(&["run", "--engine", engine, "--observe", "exact", "--", "sh", "-c", "touch started; sleep 600"])
            .spawn()
            .expect("polder");
        while !place.has("work/started") {
            assert!(polder.try_wait().expect("a child").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        // Whoever started the command is the shim, and the observer in it.
        let (shim, command) = below(&polder.id().to_string(), "sh").expect("the command runs");
        assert!(Command::new("kill").args(["-9", &shim]).status().expect("kill").success());
        let status = polder.wait().expect("an end");
        assert_eq!(status.code(), Some(125), "{engine}: the sandbox vanished");
        assert!(!Path::new(&format!("/proc/{command}")).exists(), "{engine}: the command lives on");
    }
}

/// The kernel lets no other process read the memory of one that is not dumpable; see prctl(2).
#[test]
fn observer_of_a_process_that_is_not_dumpable_says_so() {
    let place = Place::new();
    let script = "import ctypes; ctypes.CDLL(None).prctl(4, 0)\ntry: open('/opt/polder-none/x')\nexcept OSError: pass";
    place.write("work/hide.py", script);
    for engine in ENGINES {
        let (said, violations) = blocked(&place, engine, &[], "exec python3 hide.py");
        assert_eq!(exit_code(&said), 0, "{engine}: {said:?}");
        let told = violations.iter().any(|violation| violation["layer"] == "the observer");
        assert!(told, "{engine}: {violations:#?}");
    }
}

/// Package managers try for minutes, without a word: the line comes while they do, and not once more at the end.
#[test]
fn network_that_is_tried_again_is_told_while_the_command_runs_once() {
    let place = Place::new();
    let script = "import os, socket, sys, time\n\
        for turn in range(600):\n\
        \x20   try: socket.create_connection(('192.0.2.1', 443), 1)\n\
        \x20   except OSError: pass\n\
        \x20   if os.path.exists('heard'): sys.exit(1)\n\
        \x20   time.sleep(0.1)\n";
    for engine in ENGINES {
        let mut polder = place.polder(&["run", "--engine", engine, "--", "python3", "-c", script]);
        let mut child = polder.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("polder");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|line| line.expect("text"));
        let told = lines.find(|line| line.contains("192.0.2.1:443")).expect("the line");
        assert!(told.contains("--allow net="), "{engine}: {told}");
        assert!(child.try_wait().expect("a child").is_none(), "{engine}: it came at the end");
        let heard = place.write(place.work().join("heard"), "");
        let rest: Vec<String> = lines.collect();
        assert_eq!(child.wait().expect("an end").code(), Some(1), "{engine}: {rest:?}");
        assert!(!rest.iter().any(|line| line.contains("192.0.2.1")), "{engine}: told twice: {rest:?}");
        fs::remove_file(heard).expect("removed");
    }
}
