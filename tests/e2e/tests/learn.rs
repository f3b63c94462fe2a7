//! `polder learn`: the policy that it writes lets the same command through, and gives nothing away by itself.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

const ENGINES: [&str; 2] = ["native", "bubblewrap"];

fn text(path: impl AsRef<std::path::Path>) -> String {
    path.as_ref().display().to_string()
}

/// Runs a shell text with what the project says, trusted by hand.
fn trusted(place: &Place, engine: &str, script: &str) -> Said {
    assert_eq!(place.says(&["trust"]).code, 0);
    place.says(&["run", "--engine", engine, "--", "sh", "-c", script])
}

#[test]
fn the_written_policy_lets_the_same_command_through() {
    for engine in ENGINES {
        let place = Place::new();
        let [data, more] = ["data", "more"].map(|name| text(place.write(format!("{name}/file"), "seen\n")));
        let script = format!("cat {data}; cat {more}");
        let before = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
        assert!(before.code != 0 && !before.out.contains("seen"), "the control: {before:?}");
        let learnt = place.says(&["learn", "--engine", engine, "--", "sh", "-c", &script]);
        assert!(learnt.code != 0, "every rule stays enforced meanwhile: {learnt:?}");
        assert!(!learnt.out.contains("seen"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains(&format!("host: \"{data}\", read_only: true")), "{policy}");
        assert!(policy.contains(&format!("host: \"{more}\", read_only: true")), "{policy}");
        assert!(policy.contains("# file-read of") && policy.contains("by /"), "every line says who asked: {policy}");
        assert!(
            !policy.contains("network") && !policy.contains(&format!("host: \"{}\"", text(place.home()))),
            "{policy}"
        );
        // It is a project's file: it counts when the user trusts it.
        let untrusted = place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]);
        assert_eq!(untrusted.code, 125, "{untrusted:?}");
        let after = trusted(&place, engine, &script);
        assert_eq!((after.code, after.out.as_str(), after.err.as_str()), (0, "seen\nseen\n", ""), "{policy}");
    }
}

#[test]
fn several_runs_are_merged_and_rounds_come_further_by_themselves() {
    let place = Place::new();
    let [first, second, third] = ["a", "b", "c"].map(|name| text(place.write(format!("{name}/data"), "seen\n")));
    for file in [&first, &second] {
        place.says(&["learn", "--", "cat", file]);
    }
    let policy = place.read("work/polder.yaml");
    assert!(policy.contains(&first) && policy.contains(&second) && policy.contains("from 2 runs"), "{policy}");
    let script = format!("set -e; cat {first}; cat {second}; cat {third}");
    assert_ne!(place.says(&["learn", "--", "sh", "-c", &script]).code, 0);
    let learnt = place.says(&["learn", "--", "sh", "-c", &script]);
    assert_eq!((learnt.code, learnt.out.as_str()), (0, "seen\nseen\nseen\n"), "{learnt:?}");
    assert_eq!(trusted(&place, "native", &script).code, 0);
    // The same in one call, in another file.
    let learnt = place.says(&["learn", "--to", "../ci.yaml", "--rounds", "5", "--", "sh", "-c", &script]);
    assert_eq!(learnt.code, 0, "{learnt:?}");
    fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    let learnt = place.says(&["learn", "--to", "../ci2.yaml", "--rounds", "5", "--json", "--", "sh", "-c", &script]);
    assert_eq!(learnt.code, 0, "{learnt:?}");
    let told: Value = serde_json::from_str(learnt.out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(told["lesson"]["runs"], 4, "one for each file, and one that asked for nothing new: {told}");
    assert_eq!(place.says(&["run", "--config", "../ci2.yaml", "--", "sh", "-c", &script]).code, 0);
}

#[test]
fn what_is_sensitive_is_listed_and_never_granted() {
    let place = Place::new();
    let secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".bash_history",
        ".config/chromium/Default/Cookies",
        "site.pem",
        ".profile",
    ]
    .map(|name| text(place.write(format!("home/{name}"), "a-secret\n")));
    let plain = text(place.write("home/notes", "plain\n"));
    let script = format!(
        "cat {} {plain}; python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 9))'",
        secrets.join(" ")
    );
    let control = place.sh(&format!("cat {}", secrets.join(" ")));
    assert_eq!(control.out.matches("a-secret").count(), secrets.len(), "the control");
    for engine in ENGINES {
        let learnt = place.says(&["learn", "--engine", engine, "--rounds", "3", "--", "sh", "-c", &script]);
        assert!(!learnt.out.contains("a-secret"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        let granted: String = policy.lines().filter(|line| !line.starts_with('#')).collect();
        for secret in &secrets {
            assert!(!granted.contains(secret.as_str()), "{secret} is granted: {policy}");
            let is_listed = |line: &str| line.starts_with("#   ") && line.contains(secret.as_str());
            assert!(policy.lines().any(is_listed), "{secret} is not listed: {policy}");
        }
        assert!(granted.contains(&plain) && !granted.contains("network"), "{policy}");
        assert!(policy.contains("#   net=full (it opens the host's whole network"), "{policy}");
        let used = trusted(&place, engine, &script);
        assert!(used.out.contains("plain") && !used.out.contains("a-secret"), "{used:?}");
    }
}

/// What is granted is given to the next round, before anybody has read it.
#[test]
fn no_round_changes_the_host_or_speaks_to_it() {
    let place = Place::new();
    let notes = text(place.write("home/.notes", "mine\n"));
    let out = text(place.dir().join("out"));
    fs::create_dir(&out).expect("a directory");
    let socket = text(place.dir().join("socket/s"));
    fs::create_dir(place.dir().join("socket")).expect("a directory");
    let _listening = UnixListener::bind(&socket).expect("a socket");
    let connect =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\"); print(\"spoke\")'");
    let script =
        format!("cat {notes} && echo evil >> {notes}; echo evil > {out}/x; ls {}/socket; {connect}", text(place.dir()));
    let control = place.sh(&format!("test -w {notes} && touch {out}/x && rm {out}/x && {connect}"));
    assert_eq!((control.code, control.out.as_str()), (0, "spoke\n"), "the control");
    for engine in ENGINES {
        let learnt = place.says(&["learn", "--engine", engine, "--rounds", "5", "--", "sh", "-c", &script]);
        assert!(!learnt.out.contains("spoke") && learnt.out.contains("mine"), "{learnt:?}");
        assert_eq!((place.read("home/.notes").as_str(), place.has("out/x")), ("mine\n", false), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        for held in [format!("fs.write={notes}"), format!("fs.write={out}"), format!("fs.read={socket}")] {
            assert!(policy.contains(&format!("#   {held}")), "{held} is not listed: {policy}");
        }
        assert!(!policy.contains("read_only: false"), "{policy}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    }
}

#[test]
fn several_files_are_not_their_directory_where_that_holds_secrets() {
    let place = Place::new();
    let plain = ["a", "b", "c"].map(|name| text(place.write(format!("mixed/{name}"), "plain\n"))).join(" ");
    let secret = text(place.write("mixed/deep/.env", "a-secret\n"));
    let script = format!("cat {plain}; cat {secret}");
    assert!(place.sh(&script).out.contains("a-secret"), "the control");
    for engine in ENGINES {
        let learnt = place.says(&["learn", "--engine", engine, "--rounds", "5", "--", "sh", "-c", &script]);
        assert!(learnt.out.contains("plain") && !learnt.out.contains("a-secret"), "{learnt:?}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    }
}

/// A link in a place that commands write is theirs.
#[test]
fn a_link_that_a_command_made_leads_nowhere() {
    let place = Place::new();
    let (keys, shared) = (text(place.dir().join("home/.ssh")), text(place.dir().join("shared")));
    place.write("home/.ssh/own", "a-secret\n");
    fs::create_dir(&shared).expect("a directory");
    let bind = format!("{shared}:/shared:rw");
    let script = format!("ln -sfn {keys} /shared/l; ls {shared}/l; cat {shared}/l/own");
    for engine in ENGINES {
        let learn = ["learn", "--engine", engine, "--bind", &bind, "--rounds", "5", "--", "sh", "-c", &script];
        let learnt = place.says(&learn);
        assert!(!learnt.out.contains("a-secret"), "{learnt:?}");
        assert!(fs::read_link(format!("{shared}/l")).is_ok(), "the link is there");
        assert!(place.sh(&format!("cat {shared}/l/own")).out.contains("a-secret"), "the control");
        // Nor does one that led to something harmless when it was learnt.
        let grant = format!("fs.read={shared}/l");
        let said = place.says(&["run", "--engine", engine, "--bind", &bind, "--allow", &grant, "--", "true"]);
        assert!(said.code == 125 && said.err.contains("leads out of"), "{said:?}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    }
}

/// The same for the workspace, by its path on the host; and the rounds go on without it.
#[test]
fn a_link_out_of_the_workspace_is_said_and_stops_no_round() {
    let place = Place::new();
    let (own, data) = (text(place.write("data/own", "seen\n")), text(place.write("other/file", "plain\n")));
    let work = text(place.work());
    let script = format!("ln -sfn {} l; cat {work}/l/own; cat {data}", text(place.dir().join("data")));
    for engine in ENGINES {
        // Elsewhere inside, so that the path of the host is one that is asked for.
        let flags = ["learn", "--engine", engine, "--workdir", "/workspace"];
        let learnt = place.says(&[&flags[..], &["--rounds", "3", "--", "sh", "-c", &script]].concat());
        assert!(learnt.code == 0 && learnt.out.ends_with("plain\n") && !learnt.out.contains("seen"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains(&format!("leads to `{own}`")), "{policy}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
        // And where the link comes later than the lesson.
        fs::remove_file(place.work().join("l")).expect("removed");
        place.write("work/l/own", "mine\n");
        let turned = format!("cat {work}/l/own; cat {data} || exit 1; rm -rf l; {script}");
        let learnt = place.says(&[&flags[..], &["--rounds", "4", "--", "sh", "-c", &turned]].concat());
        assert!(learnt.code == 0 && learnt.out.ends_with("plain\n") && !learnt.out.contains("seen"), "{learnt:?}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
        fs::remove_file(place.work().join("l")).expect("removed");
    }
}

#[test]
fn what_is_given_by_hand_is_in_the_file_too() {
    for engine in ENGINES {
        let place = Place::new();
        place.write("out/old", "");
        let (data, out) = (text(place.write("other/data", "seen\n")), text(place.dir().join("out")));
        let script = format!("cat {data} > {out}/new");
        let flags = ["learn", "--engine", engine];
        let learnt = place.says(&[&flags[..], &["--", "sh", "-c", &script]].concat());
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains(&format!("#   fs.write={out} (")), "it is listed first: {learnt:?}, {policy}");
        let grant = format!("fs.write={out}");
        let learnt =
            place.says(&[&flags[..], &["--rounds", "3", "--allow", &grant, "--", "sh", "-c", &script]].concat());
        assert_eq!((learnt.code, place.read("out/new").as_str()), (0, "seen\n"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains(&format!("host: \"{out}\", read_only: false}}  # given with --allow")), "{policy}");
        assert!(!policy.contains("#   fs.write="), "{policy}");
        fs::remove_file(place.dir().join("out/new")).expect("removed");
        let used = trusted(&place, engine, &script);
        assert_eq!((used.code, place.read("out/new").as_str()), (0, "seen\n"), "{used:?}");
    }
}

#[test]
fn learn_names_flags_that_the_file_does_not_hold() {
    let place = Place::new();
    let data = text(place.write("other/data", "seen\n"));
    let learnt = place.says(&["learn", "--rounds", "2", "--env", "A=hunter2", "--", "cat", &data]);
    assert!(learnt.err.contains("give them again: --env A=VALUE\n"), "{learnt:?}");
    assert!(!place.read("work/polder.yaml").contains("hunter2"), "{learnt:?}");
}

#[test]
fn learn_writes_binds_and_profiles_that_flags_gave() {
    for engine in ENGINES {
        let place = Place::new();
        let tool = place.write("home/.cargo/bin/tool", "#!/bin/sh\necho ran\n");
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("rights");
        let [data, more] = ["other", "more"].map(|name| text(place.write(format!("{name}/data"), "seen\n")));
        let out = text(place.dir().join("out"));
        fs::create_dir(&out).expect("a directory");
        let script = format!("set -e; tool; cat {more} /aside; echo new > {out}/file; cat {data}");
        let (aside, writable) = (format!("{more}:/aside"), format!("{out}:rw"));
        let absent = format!("{}:optional", text(place.dir().join("absent")));
        let binds = ["--bind", &more, "--bind", &aside, "--bind", &writable, "--bind", &absent, "--profile", "rust"];
        let flags = ["learn", "--engine", engine];
        let learnt = place.says(&[&flags[..], &binds, &["--", "sh", "-c", &script]].concat());
        assert!(!learnt.err.contains("give them again"), "{learnt:?}");
        fs::remove_file(place.dir().join("out/file")).expect("the command wrote it");
        let used = trusted(&place, engine, &script);
        assert_eq!((used.code, used.out.as_str()), (0, "ran\nseen\nseen\nseen\n"), "{used:?}");
        assert_eq!(place.read("out/file"), "new\n");
        // A later call without the flags keeps them.
        let learnt = place.says(&[&flags[..], &["--", "sh", "-c", &script]].concat());
        assert_eq!(learnt.code, 0, "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains("profiles: [\"rust\"]  # given with --profile"), "{policy}");
        assert!(policy.contains("container: \"/aside\", read_only: true}  # given with --bind"), "{policy}");
        // A command that needs nothing else works with the flags only, so the file is written as well.
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
        let named = ["--to", "../named.yaml", "--bind", &more, "--", "cat", &more];
        assert_eq!(place.says(&[&flags[..], &named].concat()).code, 0);
        let used = place.says(&["run", "--engine", engine, "--config", "../named.yaml", "--", "cat", &more]);
        assert_eq!(used.out, "seen\n", "{used:?}");
    }
}

#[test]
fn a_command_that_is_itself_outside_is_learnt() {
    let place = Place::new();
    let tool = place.write("other/tool", "#!/bin/sh\necho ran\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("rights");
    let tool = text(tool);
    let learnt = place.says(&["learn", "--rounds", "2", "--", &tool]);
    assert_eq!((learnt.code, learnt.out.as_str()), (0, "ran\n"), "{learnt:?}");
    let policy = place.read("work/polder.yaml");
    assert!(policy.contains(&format!("host: \"{tool}\", read_only: true")), "{policy}");
    assert_eq!(place.says(&["trust"]).code, 0);
    assert_eq!(place.says(&["run", "--", &tool]).out, "ran\n");
}

#[test]
fn where_there_is_nothing_to_learn_nothing_is_written() {
    let place = Place::new();
    let said = place.says(&["learn", "--", "echo", "fine"]);
    assert!(said.code == 0 && said.out == "fine\n" && said.err.contains("no policy is needed"), "{said:?}");
    let said = place.says(&["learn", "--", "no-such-command"]);
    assert!(said.code == 125 && said.err.contains("nothing was learnt"), "{said:?}");
    let said = place.says(&["learn", "--", "sh", "-c", "exit 3"]);
    let failed = "the command ended with 3, and nothing that polder watches was denied to it";
    assert!(said.code == 3 && said.err.contains(failed) && !said.err.contains("no policy is needed"), "{said:?}");
    let said = place.says(&["learn", "--observe", "cheap", "--", "true"]);
    assert!(said.code == 125 && said.err.contains("leave --observe out"), "{said:?}");
    assert!(!place.has("work/polder.yaml") && !place.has("home/.local/state/polder/learned"));
}

/// The pipe is full before polder starts, and its reader waits until polder has ended.
#[test]
fn learn_with_timeout_ends_beside_a_reader_that_does_not_read() {
    let place = Place::new();
    let data = text(place.write("other/data", "seen\n"));
    let script = r#"
import fcntl, os, subprocess, sys
read, write = os.pipe()
fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
try:
    while True:
        os.write(write, b"x" * 4096)
except BlockingIOError:
    pass
fcntl.fcntl(write, fcntl.F_SETFL, 0)
child = subprocess.Popen(sys.argv[1:], stdout=write, stderr=write)
try:
    print(child.wait(60))
except subprocess.TimeoutExpired:
    child.kill()
    print("it waits for its reader")
"#;
    let polder = text(polder_e2e::binary());
    for flags in [&[][..], &["--json"]] {
        let shell = format!("cat {data}; sleep 1000");
        let words = [&[polder.as_str(), "learn"], flags, &["--timeout", "1s", "--", "sh", "-c", &shell]].concat();
        let output = place.command("python3").args(["-c", script]).args(words).output().expect("python3");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "124\n", "{flags:?}");
        fs::remove_file(place.work().join("polder.yaml")).expect("the lesson was written");
    }
}

#[test]
fn what_somebody_else_wrote_is_neither_read_nor_replaced() {
    let place = Place::new();
    let data = text(place.write("other/data", "seen\n"));
    place.write("work/polder.yaml", "sandboxes: {a: {}}\nsandbox: a\n");
    let said = place.says(&["learn", "--", "cat", &data]);
    assert!(said.code == 125 && said.err.contains("not as `polder learn` wrote it"), "{said:?}");
    fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    // A command cannot teach more than it was denied: not by the file, and not by what is remembered.
    let script = format!(
        "cat {data}; echo 'sandboxes: {{learned: {{network: true}}}}' > polder.yaml; echo x > ~/.local/state/polder/learned/x"
    );
    place.says(&["learn", "--", "sh", "-c", &script]);
    let policy = place.read("work/polder.yaml");
    assert!(policy.contains(&data) && !policy.contains("network: true"), "{policy}");
    place.write("work/polder.yaml", policy.replace("read_only: true", "read_only: false"));
    let said = place.says(&["learn", "--", "cat", &data]);
    assert!(said.code == 125 && place.read("work/polder.yaml").contains("read_only: false"), "{said:?}");
    let target = place.write("target", "theirs");
    symlink(&target, place.dir().join("link.yaml")).expect("a link");
    let said = place.says(&["learn", "--to", "../link.yaml", "--", "cat", &data]);
    assert_eq!((said.code, place.read("target").as_str()), (125, "theirs"), "{said:?}");
    // Nor does the file go where the command turns its directory to.
    place.write("work/sub/mine", "");
    fs::create_dir(place.dir().join("elsewhere")).expect("a directory");
    let elsewhere = text(place.dir().join("elsewhere"));
    let script = format!("rm -r sub && ln -s {elsewhere} sub; cat {data}");
    fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    let said = place.says(&["learn", "--to", "sub/polder.yaml", "--", "sh", "-c", &script]);
    assert!(fs::read_link(place.work().join("sub")).is_ok(), "the control: {said:?}");
    assert!(said.code == 125 && !place.has("elsewhere/polder.yaml"), "{said:?}");
}

#[test]
fn tightening_says_what_is_granted_and_not_asked_for() {
    let place = Place::new();
    let [needed, unused, wide, aside] = ["needed", "unused", "wide", "aside"].map(|name| {
        place.write(format!("{name}/data"), "seen\n");
        text(place.dir().join(name))
    });
    let config = format!(
        "sandboxes:\n  a:\n    network: true\n    bind_paths:\n      - {{host: {needed}/data}}\n      - {{host: {unused}}}\n      - {{host: {wide}, read_only: false}}\n      - {{host: {aside}, container: /aside}}\nsandbox: a\n"
    );
    let config = text(place.write("policy.yaml", config));
    let script = format!("set -e; cat {needed}/data; cat {wide}/data");
    for engine in ENGINES {
        let flags = ["learn", "--tighten", "--engine", engine, "--config", &config];
        let said = place.says(&[&flags[..], &["--json", "--", "sh", "-c", &script]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        let told: Value = serde_json::from_str(said.out.lines().last().expect("a line")).expect("JSON");
        let finding = |grant: &str| {
            let findings = told["findings"].as_array().expect("findings");
            let found = findings.iter().find(|finding| finding["grant"] == grant);
            found.unwrap_or_else(|| panic!("{grant}: {told:#}")).clone()
        };
        assert_eq!(finding(&format!("fs.read={needed}/data"))["finding"], "needed");
        assert_eq!(finding(&format!("fs.read={unused}"))["finding"], "unused");
        assert_eq!(finding("net=full")["finding"], "unused");
        assert_eq!(finding(&format!("fs.read={aside}"))["finding"], "not-judged");
        let narrower = finding(&format!("fs.write={wide}"));
        assert_eq!(
            (&narrower["finding"], &narrower["asked"][0]),
            (&"narrower".into(), &format!("fs.read={wide}/data").into())
        );
        assert!(
            finding(&format!("fs.read={unused}"))["origin"]
                .as_str()
                .is_some_and(|origin| origin.contains("policy.yaml:6"))
        );
        let said = place.says(&[&flags[..], &["--", "sh", "-c", &script]].concat());
        assert!(said.out.contains(&format!("unused      fs.read={unused}")), "{said:?}");
    }
    assert!(!place.has("work/polder.yaml"), "nothing is written");
}

#[test]
fn tightening_takes_away_what_the_call_itself_grants() {
    let place = Place::new();
    let (file, unused) = (text(place.write("needed/data", "seen\n")), text(place.write("unused/data", "")));
    let [needed, unused] = [&file, &unused].map(|file| format!("fs.read={}", file.trim_end_matches("/data")));
    for engine in ENGINES {
        let flags = ["learn", "--tighten", "--engine", engine, "--allow", &needed, "--allow", &unused];
        let said = place.says(&[&flags[..], &["--allow", "net=full", "--", "cat", &file]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        assert!(
            said.out.contains(&format!("narrower    {needed} (flag --allow): enough is fs.read={file}\n")),
            "{said:?}"
        );
        assert!(said.out.contains(&format!("unused      {unused} (")), "{said:?}");
        assert!(said.out.contains("unused      net=full ("), "{said:?}");
        let script =
            "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect((\"192.0.2.1\", 9))'";
        let said = place.says(&[&flags[..4], &["--allow", "net=full", "--", "sh", "-c", script]].concat());
        assert!(said.out.contains("needed      net=full ("), "{said:?}");
    }
}

/// A place in which the user permits learning beyond a policy, with something to read and something to keep.
fn permitting() -> (Place, String, Vec<String>) {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", "allow_permissive: true\n");
    let tool = place.write("home/tool/run", "#!/bin/sh\ncat \"$1\"\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("rights");
    let plain = text(place.write("home/data/plain", "seen\n"));
    let secrets = [
        ".ssh/own",
        "data/site.pem",
        "data/deep/.env",
        "data/shut/site.pem",
        "files/cloud/own",
        "files/net",
        "data/behind",
    ];
    let mut secrets = secrets.map(|name| text(place.write(format!("home/{name}"), "a-secret\n"))).to_vec();
    // Its name says it, and what it leads to is the last of those.
    let link = place.home().join("data/id_rsa");
    symlink(place.home().join("data/behind"), &link).expect("a link");
    secrets.push(text(link));
    // What many have instead of the directories themselves.
    for (link, behind) in [(".aws", "files/cloud"), (".netrc", "files/net")] {
        symlink(place.home().join(behind), place.home().join(link)).expect("a link");
    }
    // Nobody can list it, and whoever knows a name can open that.
    fs::set_permissions(place.home().join("data/shut"), fs::Permissions::from_mode(0o311)).expect("rights");
    (place, format!("{} {plain}", text(tool)), secrets)
}

#[test]
fn permissive_learning_is_one_round_and_shows_no_secret() {
    for engine in ENGINES {
        let (place, works, secrets) = permitting();
        let out = text(place.home().join("data/new"));
        let socket = text(place.home().join("data/socket"));
        let _listening = UnixListener::bind(&socket).expect("a socket");
        let connect = format!(
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{socket}\"); print(\"spoke\")'"
        );
        // A read-only mount keeps nobody from writing into a pipe.
        let pipe = text(place.home().join("data/pipe"));
        assert_eq!(place.sh(&format!("mkfifo {pipe}")).code, 0);
        let _reading = fs::File::options().read(true).write(true).open(&pipe).expect("a pipe");
        let connect = format!("{connect}; test -p {pipe} && echo word > {pipe} && echo piped");
        let script = format!("{works} || exit 7; cat {}; touch {out}; {connect}; true", secrets.join(" "));
        let control = place.sh(&format!("{script} && rm {out}"));
        let secret = control.out.matches("a-secret").count();
        assert!(control.code == 0 && secret == secrets.len() && control.out.contains("spoke"), "{control:?}");
        assert!(control.out.contains("piped"), "{control:?}");
        assert_eq!(place.says(&["run", "--engine", engine, "--", "sh", "-c", &script]).code, 7, "the control");
        let learnt = place.says(&["learn", "--permissive", "--engine", engine, "--", "sh", "-c", &script]);
        assert_eq!((learnt.code, learnt.out.as_str()), (0, "seen\n"), "{learnt:?}");
        assert!(learnt.err.contains("warning: --permissive (") && !place.has("home/data/new"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        let granted: String = policy.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(granted.contains("data/plain") && granted.contains("tool/run"), "{policy}");
        for held in secrets.iter().filter(|path| !path.ends_with("behind")).chain([&socket]) {
            assert!(!granted.contains(held.as_str()), "{held}: {policy}");
            let is_listed = |line: &str| line.starts_with("#   ") && line.contains(held.as_str());
            assert!(policy.lines().any(is_listed) || held.ends_with("id_rsa"), "{held}: {policy}");
        }
        assert!(policy.contains("#   fs.write="), "{policy}");
        let log = place.says(&["audit", "show", "--json"]);
        assert!(log.out.contains("learn --permissive"), "{log:?}");
        let after = trusted(&place, engine, &works);
        assert_eq!((after.code, after.out.as_str(), after.err.as_str()), (0, "seen\n", ""), "{policy}");
        fs::set_permissions(place.home().join("data/shut"), fs::Permissions::from_mode(0o755)).expect("rights");
    }
}

/// A grant of it would be refused, and the next round with it.
#[test]
fn what_polder_keeps_is_not_learnt() {
    let (place, works, _) = permitting();
    let own = text(place.write("home/.local/state/polder/runs/own", "a-secret\n"));
    assert_eq!(place.sh(&format!("cat {own}")).out, "a-secret\n", "the control");
    let script = format!("cat {own}; {works}");
    for flags in [&["--rounds", "4"][..], &["--permissive", "--rounds", "2"]] {
        let learnt = place.says(&[&["learn"], flags, &["--", "sh", "-c", &script]].concat());
        assert!(learnt.code == 0 && !learnt.out.contains("a-secret"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        assert!(policy.contains("nobody is shown what polder keeps"), "{policy}");
        fs::remove_file(place.work().join("polder.yaml")).expect("removed");
    }
}

#[test]
fn permissive_learning_is_refused_without_a_word_of_the_users_own() {
    let (place, works, _) = permitting();
    fs::set_permissions(place.home().join("data/shut"), fs::Permissions::from_mode(0o755)).expect("rights");
    let learn = ["learn", "--permissive", "--", "sh", "-c", &works];
    let refused = |why: &str| {
        let said = place.says(&learn);
        assert!(said.code == 125 && said.out.is_empty() && said.err.contains(why), "{why}: {said:?}");
    };
    // What cannot be recorded is not done.
    let audit = place.write("home/.local/state/polder/audit", "in the way");
    refused("it cannot be recorded, so it is not done");
    fs::remove_file(audit).expect("removed");
    place.write("home/.config/polder/polder.yaml", "allow_permissive: false\n");
    refused("`allow_permissive` is false");
    fs::remove_file(place.home().join(".config/polder/polder.yaml")).expect("removed");
    refused("a user or system file permits it with `allow_permissive: true`");
    place.write("work/polder.yaml", "allow_permissive: true\n");
    refused("counts in a system or user file only");
    assert!(place.says(&["learn", "--permissive", "--tighten", "--", "true"]).code != 0);
}

#[test]
fn what_a_rule_denies_behind_a_link_is_neither_lent_nor_granted() {
    for engine in ENGINES {
        let place = Place::new();
        let [plain, kept] = ["plain", "kept"].map(|name| text(place.write(format!("home/store/{name}"), "seen\n")));
        symlink(place.home().join("store"), place.home().join("link")).expect("a link");
        let denied = text(place.home().join("link/kept"));
        let policy = format!("allow_permissive: true\nsandboxes: {{a: {{deny_read: ['{denied}']}}}}\nsandbox: a\n");
        place.write("home/.config/polder/polder.yaml", policy);
        let script = format!("cat {plain}; cat {kept}; true");
        assert_eq!(place.sh(&script).out, "seen\nseen\n", "the control");
        let learnt = place.says(&["learn", "--permissive", "--engine", engine, "--", "sh", "-c", &script]);
        assert_eq!((learnt.code, learnt.out.as_str()), (0, "seen\n"), "{learnt:?}");
        let policy = place.read("work/polder.yaml");
        let granted: String = policy.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(granted.contains(&plain) && !granted.contains(&kept), "{policy}");
    }
}
