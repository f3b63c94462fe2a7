//! Credentials as variables: only where the policy says so, for git as it really is, and in nobody's output.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

const TOKEN: &str = "ghp_0123456789abcdef";
const GIVEN: &str = "sandboxes:
  with:
    env_passthrough: [GIT_CONFIG_*]
    credentials: [{name: github, source: 'env:MY_TOKEN', hosts: [github.com], via: environment}]
  without: {}
sandbox: with
audit: required
";

/// The user's own file, which needs no trust.
fn place() -> Place {
    let place = Place::new();
    place.write("home/.config/polder/polder.yaml", GIVEN);
    place
}

fn run(place: &Place, arguments: &[&str]) -> Said {
    let mut command = place.polder(arguments);
    command.env("MY_TOKEN", TOKEN).env("GITHUB_TOKEN", "not-this-one-either");
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "user.name").env("GIT_CONFIG_VALUE_0", "kept");
    command.output().expect("polder").into()
}

/// How long the token is, whether both tools have it, and what git makes of addresses.
const LOOK: &str = "echo ${#GITHUB_TOKEN} ${#GH_TOKEN}; git config user.name; \
    for a in https://github.com/o/r git@github.com:o/r ssh://git@github.com/o/r https://other.example/o/r; do git ls-remote --get-url $a; done";

#[test]
fn git_and_gh_have_the_token_and_nobody_reads_it() {
    let place = place();
    let said = run(&place, &["run", "--", "sh", "-c", LOOK]);
    let address = "https://x-access-token:***@github.com/o/r\n";
    let wanted = format!("20 20\nkept\n{address}{address}{address}https://other.example/o/r\n");
    assert_eq!((said.code, said.out), (0, wanted), "{}", said.err);
}

#[test]
fn without_the_key_there_is_no_token() {
    let place = place();
    let said = run(&place, &["run", "--sandbox", "without", "--", "sh", "-c", "env"]);
    assert_eq!(said.code, 0);
    for word in [TOKEN, "GITHUB_TOKEN", "GH_TOKEN", "not-this-one", "MY_TOKEN", "x-access-token"] {
        assert!(!said.out.contains(word), "{word}: {}", said.out);
    }
}

#[test]
fn the_token_is_in_no_output_no_event_no_plan_no_log_and_no_file() {
    let place = place();
    place.write(
        "work/polder.yaml",
        "steps: {a: {exec: 'env; echo $GITHUB_TOKEN'}, b: {exec: 'echo {{ outputs.a }}', depends_on: a}}\n",
    );
    // In two pieces, on both streams, and as a header carries it.
    let show = "printf %s ${GITHUB_TOKEN%????}; sleep 0.1; echo ${GITHUB_TOKEN#????????????????}; env >&2; printf x-access-token:$GH_TOKEN | base64";
    for arguments in [
        &["run", "--", "sh", "-c", show][..],
        &["run", "--json", "--", "sh", "-c", show],
        &["run", "--dry-run", "--json", "--", "true"],
        &["run", "--dry-run", "--", "true"],
        &["config", "show"],
        &["config", "show", "--json"],
        &["steps", "--junit", "../report.xml"],
        &["steps", "--json"],
        &["audit", "export"],
    ] {
        let said = run(&place, arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        let all = said.out + &said.err;
        assert!(!all.contains(TOKEN) && !all.contains("Z2hwXzAxMjM0NTY3ODlhYmNkZWY"), "{arguments:?}: {all}");
    }
    let found = place.sh(&format!("grep -rl {TOKEN} .. ; true"));
    assert_eq!(found.out, "", "nothing is written to a disk");
    // The control: the command really had it.
    let said = run(&place, &["run", "--", "sh", "-c", "test $GITHUB_TOKEN = ghp_0123456789abcdef"]);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn what_was_blocked_is_told_without_the_token_and_so_is_the_grant() {
    let place = place();
    let ext = place.dir().join("ext");
    place.write(format!("ext/{TOKEN}/there"), "");
    let touch = format!("touch {}/$GITHUB_TOKEN/n; true", ext.display());
    place.write("work/polder.yaml", format!("steps: {{a: {{exec: '{touch}'}}}}\n"));
    let mut told = String::new();
    for arguments in [
        &["run", "--", "sh", "-c", &touch][..],
        &["run", "--json", "--", "sh", "-c", &touch],
        &["steps"],
        &["steps", "--json"],
        &["explain"],
        &["explain", "--json"],
        &["learn", "--to", "../learnt.yaml", "--", "sh", "-c", &touch],
        &["learn", "--to", "../learnt.yaml", "--json", "--", "sh", "-c", &touch],
        &["audit", "export"],
    ] {
        let said = run(&place, arguments);
        let all = said.out + &said.err;
        assert!(!all.contains(TOKEN), "{arguments:?}: {all}");
        told += &all;
    }
    let blocked = format!("{}/***/n", ext.display());
    assert!(told.contains(&blocked) && told.contains("names a secret of the run"), "{told}");
    let found = place.sh(&format!("grep -rl {TOKEN} .. ; true"));
    assert_eq!(found.out, "", "nothing is written to a disk");
    // The control: where that text is nobody's secret, the grant names it.
    let touch = touch.replace("$GITHUB_TOKEN", TOKEN);
    let said = run(&place, &["run", "--sandbox", "without", "--", "sh", "-c", &touch]);
    assert!(said.err.contains(&format!("--allow fs.write={}/{TOKEN}", ext.display())), "{said:?}");
}

#[test]
fn what_is_missing_or_not_known_stops_the_run_with_the_place() {
    let place = place();
    let said = place.says(&["run", "--", "touch", "ran"]);
    assert!(said.code == 125 && said.err.contains("polder.yaml:4: the secret `env:MY_TOKEN` is not there"), "{said:?}");
    for (from, to, wanted) in [
        ("name: github", "name: npm", "`via: environment` knows the credential `github`, not `npm`"),
        ("hosts: [github.com]", "hosts: ['*.github.com']", "`*.github.com` is not one host"),
        (", via: environment", "", "credentials need the broker"),
    ] {
        place.write("home/.config/polder/polder.yaml", GIVEN.replace(from, to));
        let said = run(&place, &["run", "--", "touch", "ran"]);
        assert!(said.code == 125 && said.err.contains(wanted), "{wanted}: {said:?}");
    }
    assert!(!place.has("work/ran"));
}

#[test]
fn a_project_gets_none_without_trust() {
    let place = Place::new();
    place.write("work/polder.yaml", GIVEN.replace("audit: required\n", ""));
    let said = run(&place, &["run", "--", "true"]);
    assert!(
        said.code == 125
            && said.err.contains("the credential `env:MY_TOKEN` for github.com, in the command's own variables"),
        "{said:?}"
    );
    assert_eq!(run(&place, &["run", "--trust", "--", "true"]).code, 0);
}

/// What a user of the other tool writes to get their credentials inside.
const PASSING: &str = "version: '1.0'
sandboxes: {all: {env_passthrough: [GITHUB_TOKEN, GH_TOKEN, 'GIT_CONFIG_*', NPM_TOKEN]}}
sandbox: all
steps:
  a: {type: command, exec: 'env; echo $GITHUB_TOKEN; printf x-access-token:$GH_TOKEN | base64; touch {ext}/$NPM_TOKEN; true'}
  b: {type: command, exec: 'echo {{ outputs.a }} {{ env.NPM_TOKEN }}', depends_on: [a]}
";

#[test]
fn what_passes_by_a_name_that_everybody_knows_is_kept_out_of_everything_as_well() {
    const OTHER: &str = "npm_9876543210fedcba";
    let place = Place::new();
    let ext = place.dir().join("ext").display().to_string();
    place.write("ext/there", "");
    place.write("work/.visor.yaml", PASSING.replace("{ext}", &ext));
    place.write("home/.config/polder/polder.yaml", "audit: required\n");
    let run = |arguments: &[&str]| -> Said {
        let mut command = place.polder(arguments);
        command.env("GITHUB_TOKEN", TOKEN).env("GH_TOKEN", TOKEN).env("NPM_TOKEN", OTHER);
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_VALUE_0", "https://github.com/");
        command.env("GIT_CONFIG_KEY_0", format!("url.https://x-access-token:{TOKEN}@github.com/.insteadOf"));
        command.env("POLDER_TRUST_PROJECT", "1").output().expect("polder").into()
    };
    let show = "env; echo $NPM_TOKEN >&2; git ls-remote --get-url https://github.com/o/r; touch {ext}/$NPM_TOKEN; true";
    let show = &show.replace("{ext}", &ext);
    let mut told = String::new();
    for arguments in [
        &["run", "--", "sh", "-c", show][..],
        &["run", "--json", "--", "sh", "-c", show],
        &[
            "run",
            "--sandbox",
            "all",
            "--env",
            "OTHER_API_KEY=ghp_0123456789abcdef",
            "--",
            "sh",
            "-c",
            "echo $OTHER_API_KEY",
        ],
        &["run", "--dry-run", "--json", "--", "true"],
        &["config", "show", "--json"],
        &["steps", "--junit", "../report.xml"],
        &["steps", "--json"],
        &["explain", "--json"],
        &["audit", "export"],
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        let all = said.out + &said.err;
        for word in [TOKEN, OTHER, "Z2hwXzAxMjM0NTY3ODlhYmNkZWY"] {
            assert!(!all.contains(word), "{arguments:?}: {all}");
        }
        told += &all;
    }
    assert!(told.contains("https://x-access-token:***@github.com/o/r\n"), "{told}");
    let found = place.sh(&format!("grep -rlE '{TOKEN}|{OTHER}' .. ; true"));
    assert_eq!(found.out, "", "nothing is written to a disk");
    // The controls: the command really has them, and what has a name that says nothing is nobody's secret.
    let said =
        run(&["run", "--", "sh", "-c", "test $GITHUB_TOKEN$NPM_TOKEN = ghp_0123456789abcdefnpm_9876543210fedcba"]);
    assert_eq!(said.code, 0, "{said:?}");
    let said = run(&["run", "--env", "PLAIN=abc_0123456789abcdef", "--", "sh", "-c", "echo $PLAIN"]);
    assert_eq!(said.out, "abc_0123456789abcdef\n", "{said:?}");
}

#[test]
fn a_secret_that_a_step_gets_by_an_expression_is_one_and_a_text_of_the_file_is_none() {
    let place = Place::new();
    place.write(
        "work/polder.yaml",
        "steps:
  given: {exec: 'echo $DEPLOY_TOKEN', env: {DEPLOY_TOKEN: '{{ inputs.t }}'}}
  written: {exec: 'echo $POSTGRES_PASSWORD', env: {POSTGRES_PASSWORD: postgres}}
",
    );
    let said = place.says(&["steps", "--input", &format!("t={TOKEN}")]);
    assert_eq!((said.code, said.out.as_str()), (0, "***\npostgres\n"), "{said:?}");
    // A flag still has the last word.
    let said = place.says(&["steps", "--input", "t=x", "--env", "DEPLOY_TOKEN=of-a-flag", "given"]);
    assert_eq!((said.code, said.out.as_str()), (0, "***\n"), "{said:?}");
    let said = place.says(&["steps", "--input", "t=x", "--env", "DEPLOY_TOKEN=flag", "given"]);
    assert_eq!((said.code, said.out.as_str()), (0, "flag\n"), "{said:?}");
}
