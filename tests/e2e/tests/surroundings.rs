//! What a program expects to find around it: the terminal's variables, its directories in `PATH`, the user's name for
//! git, and the tools that the user has below the home.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, on_a_terminal};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A program of this text, with its directories.
fn program(place: &Place, path: &str, text: &str) {
    let path = place.write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Runs polder with the caller's `PATH` and `HOME`.
fn with_path(place: &Place, path: &str, arguments: &[&str]) -> Said {
    place.polder(arguments).env("PATH", path).output().expect("polder").into()
}

#[test]
fn terminal_variables_pass_where_a_stream_is_a_terminal() {
    let place = Place::new();
    let said = on_a_terminal(
        &place,
        r#"
os.environ.update(COLORTERM='truecolor', LC_TIME='C', LANGUAGE='de', NO_COLOR='1', CLICOLOR='0', LINES='7',
                  TERM_PROGRAM='x', SSH_TTY='/dev/x')
names = 'for n in TERM COLORTERM LC_TIME LANGUAGE NO_COLOR CLICOLOR COLUMNS LINES TERM_PROGRAM SSH_TTY; do eval "echo $n=\\$$n"; done'
t = Terminal([POLDER, 'run', '--', 'sh', '-c', names])
t.see('TERM=xterm\r\nCOLORTERM=truecolor\r\nLC_TIME=C\r\nLANGUAGE=de\r\nNO_COLOR=1\r\nCLICOLOR=0\r\n'
      'COLUMNS=\r\nLINES=\r\nTERM_PROGRAM=\r\nSSH_TTY=\r\n')
assert t.end() == 0
open('polder.yaml', 'w').write('sandboxes: {a: {env_passthrough: ["!TERM", "!LC_*"]}}\nsandbox: a\n')
t = Terminal([POLDER, 'run', '--', 'sh', '-c', names])
t.see('TERM=\r\nCOLORTERM=truecolor\r\nLC_TIME=\r\n')
assert t.end() == 0
t = Terminal([POLDER, 'run', '--dry-run', '--', 'true'])
t.see("env +CLICOLOR COLORTERM LANGUAGE NO_COLOR +# the caller's terminal")
assert t.end() == 0
t = Terminal([POLDER, 'config', 'show'])
t.see("- COLORTERM +# the caller's terminal")
assert t.end() == 0
"#,
    );
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

#[test]
fn terminal_variables_stay_out_where_no_stream_is_a_terminal() {
    let place = Place::new();
    let mut polder = place.polder(&["run", "--", "sh", "-c", "env | grep -E '^(TERM|COLORTERM|LC_|LANG|NO_COLOR)'"]);
    polder.env("TERM", "xterm").env("COLORTERM", "1").env("LC_ALL", "C").env("NO_COLOR", "1");
    let said = Said::from(polder.output().expect("polder"));
    assert_eq!((said.code, said.out.as_str()), (0, "LANG=C.UTF-8\n"), "{said:?}");
}

#[test]
fn path_entries_of_the_workspace_stay_in_order() {
    let place = Place::new();
    for (path, word) in [("work/.venv/bin/tool", "venv"), ("work/node_modules/.bin/other", "modules")] {
        program(&place, path, &format!("#!/bin/sh\necho {word} $PATH\n"));
    }
    program(&place, "elsewhere/tool", "#!/bin/sh\necho elsewhere\n");
    let (work, dir) = (place.work().display().to_string(), place.dir().display().to_string());
    let path = format!("{dir}/elsewhere:{work}/.venv/bin:/usr/bin:node_modules/.bin::.:/bin");
    for (at, flags) in [(work.as_str(), ["--workdir", "host"]), ("/code", ["--workdir", "/code"])] {
        let inside = format!("{at}/.venv/bin:/usr/bin:{at}/node_modules/.bin:/bin");
        for (name, word) in [("tool", "venv"), ("other", "modules")] {
            let said = with_path(&place, &path, &[&["run"], &flags[..], &["--", name]].concat());
            assert_eq!((said.code, said.out), (0, format!("{word} {inside}\n")), "{}", said.err);
        }
    }
}

/// Makes a repository in the workspace, with a commit of another author.
fn repository(place: &Place) {
    let said =
        place.sh("git init -q . && git -c user.name=First -c user.email=first@x.y commit -qm first --allow-empty");
    assert_eq!(said.code, 0, "{said:?}");
}

const COMMIT: &str = "git commit -qm work --allow-empty && git log -1 --format='%an <%ae> %cn <%ce>'";

#[test]
fn git_inside_commits_as_the_user_and_knows_nothing_else() {
    let place = Place::new();
    repository(&place);
    place.write(
        "home/.gitconfig",
        "[user]\n name = Jane \"J\" Döe\n email = jane@example.org\n[core]\n editor = mine\n",
    );
    for flags in [
        &[][..],
        &["--cow", "--discard"],
        &["--worktree", "--discard"],
        &["--engine", "bubblewrap", "--cow", "--discard"],
    ] {
        let said = place.says(&[&["run"], flags, &["--", "sh", "-c", COMMIT]].concat());
        let author = "Jane J Döe <jane@example.org>";
        assert_eq!((said.code, said.out), (0, format!("{author} {author}\n")), "{flags:?}: {}", said.err);
    }
    let said = place.says(&["run", "--", "git", "config", "core.editor"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    let plan = place.says(&["run", "--dry-run", "--", "true"]).out;
    assert!(plan.contains("git         Jane J Döe <jane@example.org>  # "), "{plan}");
}

#[test]
fn git_inside_obeys_nearer_settings_than_the_users() {
    let place = Place::new();
    repository(&place);
    place.write("home/.gitconfig", "[user]\n name = Jane\n email = jane@example.org\n");
    let author = |script: &str| {
        let said = place.says(&["run", "--cow", "--discard", "--", "sh", "-c", &format!("{script} && {COMMIT}")]);
        assert_eq!(said.code, 0, "{said:?}");
        said.out
    };
    assert_eq!(author("git config --global user.email g@x.y"), "Jane <g@x.y> Jane <g@x.y>\n");
    assert_eq!(author("export GIT_AUTHOR_NAME=Env"), "Env <jane@example.org> Jane <jane@example.org>\n");
    let near = place.sh("git config user.name Near");
    assert_eq!(near.code, 0, "{near:?}");
    assert_eq!(author("true"), "Near <jane@example.org> Near <jane@example.org>\n");
    let copied = place.says(&["run", "--worktree", "--discard", "--", "sh", "-c", COMMIT]);
    assert_eq!(copied.out, "Near <jane@example.org> Near <jane@example.org>\n", "{copied:?}");
    let unset = place.sh("git config --unset user.name");
    assert_eq!(unset.code, 0, "{unset:?}");
    // The user's own word on a system's configuration counts as well.
    place.write("own", "[user]\n name = Own\n email = own@x.y\n");
    let own = place.dir().join("own").display().to_string();
    let flags = [
        "run",
        "--cow",
        "--discard",
        "--bind",
        &own,
        "--env",
        &format!("GIT_CONFIG_SYSTEM={own}"),
        "--",
        "sh",
        "-c",
        COMMIT,
    ];
    let said = place.says(&flags);
    assert_eq!((said.code, said.out.as_str()), (0, "Own <own@x.y> Own <own@x.y>\n"), "{said:?}");
}

#[test]
fn git_inside_asks_who_commits_where_the_host_does_not_know() {
    let place = Place::new();
    repository(&place);
    let refused = |said: Said| {
        assert_eq!((said.code, said.out.as_str()), (128, ""), "{said:?}");
        assert!(said.err.contains("Please tell me who you are"), "{said:?}");
    };
    refused(place.says(&["run", "--", "sh", "-c", COMMIT]));
    place.write("home/.gitconfig", "[user]\n name = Jane\n email = jane@example.org\n");
    place.write("work/polder.yaml", "sandboxes: {a: {git_identity: false}}\nsandbox: a\n");
    refused(place.says(&["run", "--", "sh", "-c", COMMIT]));
    place.write(
        "work/polder.yaml",
        "steps:\n  a: {exec: \"git commit -qm x --allow-empty; git log -1 --format=%an\"}\n",
    );
    let said = place.says(&["steps"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Jane\n"), "{said:?}");
}
