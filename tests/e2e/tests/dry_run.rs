//! `polder run --dry-run`: what would happen, and what enforces it.
#![forbid(unsafe_code)]

use expect_test::{ExpectFile, expect_file};
use polder_e2e::{Place, golden};

fn check(place: &Place, arguments: &[&str], golden: ExpectFile) {
    let said = place.says(arguments);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    golden.assert_eq(&place.normal(&said.out));
    assert_eq!(place.says(arguments).out, said.out, "the same question has the same answer");
}

#[test]
fn of_the_built_in_policy() {
    let place = Place::new();
    check(&place, &["run", "--dry-run", "--", "make", "test"], expect_file![golden("plan-built-in.txt")]);
    assert!(place.names().is_empty());
}

#[test]
fn of_many_flags() {
    let place = Place::new();
    place.write("shared/file", "");
    place.write("work/.git/config", "");
    place.write("work/.git/hooks/x", "");
    let bind = format!("{}:/cache:rw", place.dir().join("shared").display());
    let flags = [
        "run",
        "--dry-run",
        "--read-only",
        "--workdir",
        "/srv/here",
        "--bind",
        &bind,
        "--env",
        "A=secret value",
        "--network",
        "full",
        "--timeout",
        "10m",
        "--output",
        "5M",
        "--disk",
        "1G",
        "--files",
        "100",
        "--pids",
        "50",
        "--",
        "sh",
        "-c",
        "echo 'a b'\n",
    ];
    check(&place, &flags, expect_file![golden("plan-flags.txt")]);
    assert!(!place.says(&flags).out.contains("secret value"), "values are not printed");
}

#[test]
fn an_optional_bind_that_is_missing_is_named_and_the_run_goes_on() {
    let place = Place::new();
    place.write("home/here", "shown");
    place.write(
        "home/.config/polder/polder.yaml",
        "sandboxes: {s: {bind_paths: [{host: ~/gone, optional: true}, {host: ~/here, optional: true}]}}\nsandbox: s\n",
    );
    let gone = place.home().join("gone");
    let here = place.home().join("here");
    let (gone, here) = (gone.display(), here.display());
    let said = place.says(&["run", "--bind", &format!("{gone}-too:rw:optional"), "--dry-run", "--", "true"]);
    assert_eq!(said.code, 0, "{said:?}");
    for line in [format!("skipped     {gone} ("), format!("skipped     {gone}-too ("), format!("bind        {here} at")]
    {
        assert!(said.out.contains(&line), "{line}: {}", said.out);
    }
    let script = format!("cat {here} && ! test -e {gone} && ! test -e {gone}-too");
    let flag = format!("{gone}-too:rw:optional");
    let said = place.says(&["run", "--bind", &flag, "--", "sh", "-c", &script]);
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "shown", ""), "{said:?}");
    assert!(!place.has("home/gone") && !place.has("home/gone-too"), "nothing is made on the host");
    // The control: a bind that is not optional is missed.
    let said = place.says(&["run", "--bind", &format!("{gone}"), "--", "true"]);
    assert!(said.code == 125 && said.err.contains("does not exist") && said.err.contains(":optional"), "{said:?}");
}

#[test]
fn of_protected_paths() {
    let place = Place::new();
    place.write("work/a/held", "");
    place.write("work/hidden/file", "");
    place.write("work/sub/.env", "");
    place.write(
        "work/polder.yaml",
        "sandboxes:\n  fast:\n    protect: [a/held, b/c, '**/.env']\n    deny_read: [hidden]\n    limits: {timeout: 5s}\nsandbox: fast\n",
    );
    check(&place, &["run", "--dry-run", "--", "true"], expect_file![golden("plan-protect.txt")]);
}

#[test]
fn as_json() {
    let place = Place::new();
    let said = place.says(&["run", "--dry-run", "--json", "--timeout", "1m", "--", "true"]);
    assert_eq!(said.code, 0, "{said:?}");
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["engine", "hash", "plan", "policy", "refused", "report"]);
    assert_eq!(value["hash"].as_str().map(str::len), Some(64));
    assert!(value["engine"]["id"].is_string() && value["refused"].is_null());
    assert_eq!(value["report"]["fs"]["verdict"], "enforced");
    assert!(value["report"]["timeout"]["by"].is_string());
    let text = place.says(&["run", "--dry-run", "--timeout", "1m", "--", "true"]).out;
    assert!(text.contains(value["hash"].as_str().unwrap_or("?")), "both forms have one hash");
}

#[test]
fn of_a_refused_run_says_why_and_fails() {
    let place = Place::new();
    let said = place.says(&["run", "--dry-run", "--require", "memory", "--", "true"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.out.contains("refused") && said.out.contains("memory"), "{}", said.out);
    let said = place.says(&["run", "--dry-run", "--json", "--network", "restricted", "--", "true"]);
    let value: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(said.code, 125);
    assert!(value["refused"].as_str().is_some_and(|text| text.contains("net")), "{value}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let place = Place::new();
    let said = place.says(&["run", "--dry-run", "--", "echo", "\u{1b}[31mred\u{7}"]);
    assert_eq!(said.code, 0);
    assert!(!said.out.contains('\u{1b}') && !said.out.contains('\u{7}'), "{:?}", said.out);
}

#[test]
fn makes_no_directory_for_a_service() {
    let place = Place::new();
    let services = "home/.local/state/polder/services/notes";
    let said = place.says(&["run", "--dry-run", "--service", "notes", "--", "true"]);
    assert!(said.code == 0 && said.out.contains("/var/lib/service"), "{said:?}");
    assert!(!place.has(services), "{said:?}");
    assert_eq!(place.says(&["run", "--service", "notes", "--", "true"]).code, 0);
    assert!(place.has(services), "the control");
}
