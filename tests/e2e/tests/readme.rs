//! The examples of the README and of other pages do what is said there.

use polder_e2e::{Place, binary};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the project, also when the tests run from a copy of it.
fn project(name: &str) -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.join("../..").join(name)
}

/// Every `console` block: commands after `$ `, and what they print.
fn blocks(text: &str) -> Vec<Vec<(String, String)>> {
    let mut blocks = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut steps: Vec<(String, String)> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => output.push_str(&format!("{line}\n")),
                (None, None) => panic!("a block begins with output: {line}"),
            }
        }
        blocks.push(steps);
    }
    blocks
}

#[test]
fn the_examples_print_what_the_readme_says() {
    let text = fs::read_to_string(project("README.md")).expect("the README");
    assert!(blocks(&text).len() >= 5, "the README has examples");
    check(&text, None);
}

#[test]
fn the_examples_print_what_the_page_of_steps_says() {
    let text = fs::read_to_string(project("docs/steps.md")).expect("the page");
    assert!(blocks(&text).len() >= 2, "the page has examples");
    let config = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
    check(&text, Some(config));
}

#[test]
fn the_examples_print_what_the_page_of_services_says() {
    let text = fs::read_to_string(project("docs/services.md")).expect("the page");
    assert!(!blocks(&text).is_empty(), "the page has an example");
    check(&text, None);
}

#[test]
fn the_examples_print_what_the_page_about_configuration_says() {
    let text = fs::read_to_string(project("docs/configuration.md")).expect("the page");
    assert!(!blocks(&text).is_empty(), "the page has an example");
    check(&text, None);
}

#[test]
fn the_examples_print_what_the_page_of_workspaces_says() {
    let text = fs::read_to_string(project("docs/workspaces.md")).expect("the page");
    assert!(blocks(&text).len() >= 2, "the page has examples");
    check(&text, None);
}

/// Where the examples are said to be typed.
const PROJECT: &str = "/home/you/project";

/// Runs every block in a place of its own, in which a configuration may lie.
fn check(text: &str, config: Option<&str>) {
    let blocks = blocks(text);
    let tools = Place::new();
    // The examples say `polder`, whatever the file is called here.
    let bin = tools.home().join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    fs::copy(binary(), bin.join("polder")).expect("a copy of polder");
    for steps in blocks {
        let place = Place::new();
        if let Some(config) = config {
            place.write("work/polder.yaml", config);
        }
        for (command, expected) in steps {
            let output = Command::new("sh")
                .args(["-c", &format!("exec 2>&1; {command}")])
                .current_dir(place.work())
                .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
                .env("HOME", place.home())
                .output()
                .expect("a shell");
            let code = output.status.code().unwrap_or(-1);
            let printed = String::from_utf8_lossy(&output.stdout);
            let printed = printed.replace(&place.work().display().to_string(), PROJECT);
            let printed = format!("{printed}[exit {code}]\n");
            assert_eq!(printed, expected, "$ {command}");
        }
    }
}

/// What `cargo xtask generate` writes is committed.
#[test]
fn generated_files_are_up_to_date() {
    let printed = |args: &[&str]| Command::new(binary()).args(args).output().expect("polder").stdout;
    for (args, file) in [
        (&["config", "schema"][..], "docs/schema/polder.schema.json"),
        (&["config", "schema", "--visor"][..], "docs/schema/visor.schema.json"),
    ] {
        let committed = fs::read(project(file)).expect(file);
        assert!(printed(args) == committed, "{file} is stale: cargo xtask generate");
    }
    let place = Place::new();
    let fresh = place.home().join("man");
    let written = Command::new(binary()).args(["man", "--output"]).arg(&fresh).status().expect("polder");
    assert!(written.success());
    let names = |dir: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(dir).expect("pages").map(|page| page.expect("a page").file_name()).collect();
        names.sort();
        names
    };
    let committed = project("docs/man");
    assert_eq!(names(&fresh), names(&committed), "docs/man is stale: cargo xtask generate");
    for name in names(&fresh) {
        let (new, old) = (fs::read(fresh.join(&name)), fs::read(committed.join(&name)));
        assert!(new.expect("new") == old.expect("old"), "docs/man/{name:?} is stale: cargo xtask generate");
    }
}
