//! `polder why`, outside and inside, says what really happens; and the file inside that everybody can read.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, binary};
use serde_json::Value;

const ENGINES: [&str; 2] = ["native", "bubblewrap"];

fn answers(said: &Said) -> Value {
    assert_eq!(said.code, 0, "{said:?}");
    let value: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    value["answers"].clone()
}

#[test]
fn the_answer_outside_the_answer_inside_and_what_happens_are_the_same() {
    let place = Place::new();
    place.write("other/data", "seen\n");
    place.write("shown/data", "seen\n");
    place.write("work/secret", "seen\n");
    place.write("work/polder.yaml", "sandboxes:\n  a:\n    protect: [held]\n    deny_read: [secret]\nsandbox: a\n");
    let (other, shown) = (place.dir().join("other/data"), place.dir().join("shown"));
    let (other, bind) = (other.display().to_string(), format!("{}:/shown", shown.display()));
    let program = format!("{}:/opt/polder", binary().display());
    let [new, held, secret] = ["new", "held", "secret"].map(|name| place.work().join(name).display().to_string());
    for engine in ENGINES {
        for (path, read, write) in [
            (other.as_str(), false, false),
            (new.as_str(), true, true),
            (held.as_str(), true, false),
            (secret.as_str(), false, false),
            ("/shown/data", true, false),
            ("/usr/bin/env", true, false),
            ("/etc/passwd", true, false),
            ("/etc/shadow", false, false),
            ("/tmp/new", true, true),
            ("/run/polder/policy.json", true, false),
        ] {
            let outside = answers(&place.says(&["why", "--engine", engine, "--bind", &bind, "--json", path]));
            let flags = ["run", "--engine", engine, "--observe", "off", "--bind", &bind, "--bind", &program, "--"];
            let inside = answers(&place.says(&[&flags[..], &["/opt/polder", "why", "--json", path]].concat()));
            for answers in [&outside, &inside] {
                assert_eq!(answers["read"]["allowed"], read, "{engine} {path}: {answers}");
                assert_eq!(answers["write"]["allowed"], write, "{engine} {path}: {answers}");
            }
            // What happens: reading, where there is something, and writing.
            if !path.ends_with("/new") && !path.ends_with("/held") {
                let said = place.says(&[&flags[..], &["sh", "-c", &format!("grep -q . {path} 2>/dev/null")]].concat());
                assert_eq!(said.code == 0, read, "{engine}: reading {path}: {said:?}");
            }
            let said = place.says(&[&flags[..], &["sh", "-c", &format!(": 2>/dev/null >> {path}")]].concat());
            // A protected name that did not exist is set aside as soon as it does.
            let stays = if path.ends_with("/held") { place.has("work/held") } else { said.code == 0 };
            assert_eq!(stays, write, "{engine}: writing {path}: {said:?}");
            let _ = std::fs::remove_file(place.work().join("new"));
        }
    }
}

/// They are there, and hold nothing but what is shown.
#[test]
fn directories_that_only_hold_what_is_shown_can_be_listed_and_not_written() {
    let place = Place::new();
    for directory in ["/", "/run", "/var"] {
        let answers = answers(&place.says(&["why", "--json", directory]));
        let happens = |script: &str| place.says(&["run", "--observe", "off", "--", "sh", "-c", script]).code == 0;
        assert!(happens(&format!("ls {directory}")) && answers["read"]["allowed"] == true, "{directory}: {answers}");
        assert!(!happens(&format!("touch {directory}/x")), "{directory}");
        assert_eq!(answers["write"]["allowed"], false, "{directory}: {answers}");
        assert!(answers["write"]["suggestedCapability"].is_null(), "nobody gives the machine away: {answers}");
    }
}

#[test]
fn a_grant_that_is_named_lets_it() {
    let place = Place::new();
    let file = place.write("other/data", "seen\n").display().to_string();
    let answers = answers(&place.says(&["why", "--json", &file]));
    let grant = answers["read"]["suggestedCapability"].as_str().expect("a grant").to_owned();
    assert_ne!(place.says(&["run", "--", "cat", &file]).code, 0, "the control");
    assert_eq!(place.says(&["run", "--allow", &grant, "--", "cat", &file]).out, "seen\n");
    let said = place.says(&["why", &file]);
    assert!(
        said.out.contains(&format!("denied, the path is not shown inside; to allow it: --allow {grant}")),
        "{said:?}"
    );
}

#[test]
fn why_tells_what_is_there_from_what_would_be_allowed() {
    let place = Place::new();
    place.write("home/.ssh/id_ed25519", "seen\n");
    place.write("home/notes", "seen\n");
    place.write("work/there", "seen\n");
    let program = format!("{}:/opt/polder", binary().display());
    let of = |path: &str| answers(&place.says(&["why", "--json", path]));
    let line = |path: &str| place.says(&["why", path]).out.lines().next().expect("a line").to_owned();
    // The private home has nothing of the host: reading it fails, and a key is not offered.
    let key = of("~/.ssh/id_ed25519");
    assert_eq!((&key["read"]["allowed"], &key["read"]["found"]), (&false.into(), &false.into()), "{key}");
    assert!(key["read"]["suggestedCapability"].is_null(), "{key}");
    assert!(line("~/.ssh/id_ed25519").contains("nothing is there") && line("~/.ssh/id_ed25519").contains("holds keys"));
    assert_ne!(place.says(&["run", "--", "cat", &format!("{}/.ssh/id_ed25519", place.home().display())]).code, 0);
    // What holds no secret is offered, and the grant works.
    let notes = of("~/notes");
    assert_eq!((&notes["read"]["allowed"], &notes["read"]["found"]), (&false.into(), &false.into()), "{notes}");
    let grant = notes["read"]["suggestedCapability"].as_str().expect("a grant");
    let file = place.home().join("notes").display().to_string();
    assert_eq!(place.says(&["run", "--allow", grant, "--", "cat", &file]).out, "seen\n");
    assert_eq!((&notes["write"]["allowed"], &notes["write"]["found"]), (&true.into(), &false.into()), "{notes}");
    for (path, allowed, found) in [("there", true, true), ("new", true, false), ("~/new", true, false)] {
        let told = of(path);
        assert_eq!((&told["read"]["allowed"], &told["read"]["found"]), (&allowed.into(), &found.into()), "{told}");
        let inside = ["run", "--observe", "off", "--bind", &program, "--", "/opt/polder", "why", "--json", path];
        let told = answers(&place.says(&inside));
        assert_eq!((&told["read"]["allowed"], &told["read"]["found"]), (&allowed.into(), &found.into()), "{told}");
    }
    assert!(line("there").contains("allowed, it is there"), "{}", line("there"));
    assert!(line("new").contains("would be allowed, nothing is there"), "{}", line("new"));
}

#[test]
fn why_takes_a_host_for_a_peer_and_a_file_for_a_file() {
    let place = Place::new();
    place.write("work/there.com", "");
    let asked = |word: &str| answers(&place.says(&["why", "--json", word]));
    for host in ["github.com", "https://github.com/a/b", "github.com:22", "10.0.0.1"] {
        let answer = asked(host);
        assert_eq!(answer["connect"]["allowed"], false, "{host}: {answer}");
        assert_eq!(answer["connect"]["suggestedCapability"], "net=full", "{host}: {answer}");
    }
    assert_eq!(asked("localhost")["connect"]["allowed"], true);
    for file in ["there.com", "main.rs", "Makefile", "./github.com"] {
        assert!(asked(file)["read"].is_object(), "{file}");
    }
}

#[test]
fn peers_are_answered_for() {
    let place = Place::new();
    let connect = |flags: &[&str], peer: &str| {
        answers(&place.says(&[&["why", "--json"], flags, &[peer]].concat()))["connect"].clone()
    };
    assert_eq!(connect(&[], "example.com:443")["allowed"], false);
    assert_eq!(connect(&[], "example.com:443")["suggestedCapability"], "net=full");
    assert_eq!(connect(&[], "127.0.0.1:80")["allowed"], true);
    assert_eq!(connect(&["--network", "full"], "example.com:443")["allowed"], true);
}

#[test]
fn the_file_inside_is_for_everybody_and_for_nobody_to_change() {
    let place = Place::new();
    for engine in ENGINES {
        let script = "cat /run/polder/policy.json; echo x >> /run/polder/policy.json; rm -f /run/polder/policy.json; \
                      mv /run/polder /run/away; touch /run/polder/x; cat /run/polder/policy.json";
        let flags = ["run", "--engine", engine, "--workdir", "/workspace", "--env", "SECRET=hunter2"];
        let said = place.says(&[&flags[..], &["--", "sh", "-c", script]].concat());
        let lines: Vec<&str> = said.out.lines().collect();
        assert!(lines.len() == 2 && lines[0] == lines[1], "{engine}: {said:?}");
        let told: Value = serde_json::from_str(lines[0]).expect("JSON");
        assert_eq!((told["workdir"].as_str(), told["network"]["mode"].as_str()), (Some("/workspace"), Some("none")));
        assert!(told["ask"].as_str().is_some_and(|ask| ask.contains("--allow GRANT")), "{told}");
        let work = place.work().display().to_string();
        assert!(!said.out.contains("hunter2") && !said.out.contains(&work), "{said:?}");
    }
}

#[test]
fn hostile_words_reach_no_terminal_and_dots_are_refused() {
    let place = Place::new();
    let said = place.says(&["why", "/opt/\u{1b}]0;x\u{7}\n"]);
    assert!(said.code == 0 && !said.out.contains(['\u{1b}', '\u{7}']) && said.out.lines().count() == 2, "{said:?}");
    let said = place.says(&["why", "../x"]);
    assert!(said.code == 125 && said.err.contains("holds `..`"), "{said:?}");
}
