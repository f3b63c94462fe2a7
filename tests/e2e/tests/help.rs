//! What the command says about itself.
#![forbid(unsafe_code)]

use expect_test::expect_file;
use polder_e2e::{Place, golden};

fn check(words: &[&str], golden: expect_test::ExpectFile) {
    let place = Place::new();
    let mut arguments = words.to_vec();
    arguments.push("--help");
    let said = place.says(&arguments);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    golden.assert_eq(&said.out);
}

#[test]
fn help_of_polder() {
    check(&[], expect_file![golden("help.txt")]);
}

#[test]
fn help_of_run() {
    check(&["run"], expect_file![golden("help-run.txt")]);
}

#[test]
fn help_of_again() {
    check(&["again"], expect_file![golden("help-again.txt")]);
}

#[test]
fn help_of_shell() {
    check(&["shell"], expect_file![golden("help-shell.txt")]);
}

#[test]
fn help_of_steps() {
    check(&["steps"], expect_file![golden("help-steps.txt")]);
}

#[test]
fn help_of_doctor() {
    check(&["doctor"], expect_file![golden("help-doctor.txt")]);
}

#[test]
fn help_of_explain() {
    check(&["explain"], expect_file![golden("help-explain.txt")]);
}

#[test]
fn help_of_why() {
    check(&["why"], expect_file![golden("help-why.txt")]);
}

#[test]
fn help_of_learn() {
    check(&["learn"], expect_file![golden("help-learn.txt")]);
}

#[test]
fn help_of_grant() {
    check(&["grant"], expect_file![golden("help-grant.txt")]);
}

#[test]
fn help_of_config() {
    check(&["config"], expect_file![golden("help-config.txt")]);
    check(&["config", "check"], expect_file![golden("help-config-check.txt")]);
    check(&["config", "show"], expect_file![golden("help-config-show.txt")]);
    check(&["config", "schema"], expect_file![golden("help-config-schema.txt")]);
}

#[test]
fn help_of_audit() {
    check(&["audit"], expect_file![golden("help-audit.txt")]);
    check(&["audit", "show"], expect_file![golden("help-audit-show.txt")]);
    check(&["audit", "verify"], expect_file![golden("help-audit-verify.txt")]);
    check(&["audit", "export"], expect_file![golden("help-audit-export.txt")]);
}

#[test]
fn help_of_workspace() {
    check(&["workspace"], expect_file![golden("help-workspace.txt")]);
    for verb in ["list", "diff", "apply", "discard", "revert"] {
        check(&["workspace", verb], expect_file![golden(&format!("help-workspace-{verb}.txt"))]);
    }
}

#[test]
fn help_of_trust() {
    check(&["trust"], expect_file![golden("help-trust.txt")]);
}

#[test]
fn help_of_cache() {
    check(&["cache"], expect_file![golden("help-cache.txt")]);
    check(&["cache", "list"], expect_file![golden("help-cache-list.txt")]);
    check(&["cache", "clear"], expect_file![golden("help-cache-clear.txt")]);
}

#[test]
fn help_of_completions() {
    check(&["completions"], expect_file![golden("help-completions.txt")]);
}

#[test]
fn help_of_man() {
    check(&["man"], expect_file![golden("help-man.txt")]);
}

#[test]
fn every_verb_that_help_lists_has_help_of_its_own() {
    let place = Place::new();
    let help = place.says(&["--help"]).out;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.contains(&"run"), "{help}");
    for verb in verbs {
        assert_eq!(place.says(&[verb, "--help"]).code, 0, "{verb}");
    }
}

#[test]
fn version_is_one_line() {
    let said = Place::new().says(&["--version"]);
    assert!(said.code == 0 && said.out.starts_with("polder ") && said.out.lines().count() == 1, "{said:?}");
}

#[test]
fn a_wrong_call_is_polders_failure_and_not_the_commands() {
    let place = Place::new();
    for wrong in [&["no-such-verb"][..], &["run"], &["run", "--no-such-flag", "--", "true"], &[]] {
        let said = place.says(wrong);
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        assert!(!said.err.is_empty());
    }
    let said = place.says(&["run", "--tmeout", "1s", "--", "true"]);
    assert!(said.err.contains("--timeout"), "the nearest flag is named: {}", said.err);
    assert!(!said.err.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn completions_are_scripts() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = place.says(&["completions", shell]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("polder complete -- "), "the script for {shell} asks polder: {}", said.out);
    }
    let known = place.sh("bash -c \"source <($POLDER completions bash); complete -p polder\"");
    assert!(known.code == 0 && known.out.contains("polder"), "{known:?}");
    // Other shells have the verbs and flags of the table.
    let elvish = place.says(&["completions", "elvish"]).out;
    assert!(["run", "doctor", "timeout"].iter().all(|word| elvish.contains(word)), "{elvish}");
    assert_eq!(place.says(&["completions", "tcsh"]).code, 125);
}

#[test]
fn man_pages_are_written() {
    let place = Place::new();
    assert_eq!(place.says(&["man", "--output", "../man"]).code, 0);
    assert!(place.read("man/polder-run.1").contains("timeout"));
}

/// Layers can be switched off in a test build only (`cargo xtask mutate`).
#[test]
fn program_shipped_knows_no_layer_to_switch_off() {
    let program = std::fs::read(polder_e2e::binary()).expect("the program");
    let holds = |text: &[u8]| program.windows(text.len()).any(|window| window == text);
    assert!(holds(b"POLDER_TRUST_PROJECT"), "the control: names of variables are found");
    assert!(!holds(b"MUTATE_POLDER"));
}

#[test]
fn mistyped_name_gets_the_nearest() {
    let place = Place::new();
    place.write("work/polder.yaml", "sandboxes: {fast: {}, slow: {}}\nsteps: {build: {exec: x}, test: {exec: x}}\n");
    let run = place.says(&["run", "--workspace", "demo", "--", "touch", "x"]);
    assert_eq!(run.code, 0, "{run:?}");
    for (line, near) in [
        (&["rnu", "--", "true"][..], "'run'"),
        (&["docter"], "'doctor'"),
        (&["workspace", "dfif"], "'diff'"),
        (&["run", "--sandbox", "fsat", "--", "true"], "did you mean `fast`?"),
        (&["run", "--engine", "ntaive", "--", "true"], "did you mean `native`?"),
        (&["steps", "biuld"], "did you mean `build`?"),
        (&["workspace", "diff", "dmeo"], "did you mean `demo`?"),
        (&["workspace", "discard", "dmeo"], "did you mean `demo`?"),
    ] {
        let said = place.says(line);
        assert!(said.code == 125 && said.err.contains(near), "{line:?}: {said:?}");
    }
    let far = place.says(&["xyzzy"]);
    assert!(far.code == 125 && !far.err.contains("similar"), "nothing is near: {far:?}");
}
