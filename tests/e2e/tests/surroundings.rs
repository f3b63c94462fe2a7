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
t = Terminal([POLDER, 'config', 'show', '--no-pager'])
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

#[test]
fn shell_prompt_says_sandbox_and_directory_unless_the_user_sets_one() {
    let place = Place::new();
    let said = on_a_terminal(
        &place,
        r#"
for name in ['/bin/bash', '/bin/dash']:
    t = Terminal([POLDER, 'shell', '--workdir', '/code', name])
    t.see(r'\[polder\] /code ?[$#] ')
    t.send('mkdir -p sub; cd sub\n')
    t.see(r'\[polder\] /code/sub ?[$#] ')
    t.send('exit 3\n')
    assert t.end() == 3
t = Terminal([POLDER, 'shell', '--env', 'PS1=mine> ', '/bin/bash'])
t.see('mine> ')
t.send('exit\n')
assert t.end() == 0
os.environ['PS1'] = 'passed> '
t = Terminal([POLDER, 'shell', '--env', 'PS1', '/bin/bash'])
t.see('passed> ')
t.send('exit\n')
assert t.end() == 0
"#,
    );
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

/// Makes a symlink, with its directories.
fn link(place: &Place, at: &str, target: &str) {
    let at = place.dir().join(at);
    fs::create_dir_all(at.parent().expect("a link lies in a directory")).expect("directories");
    std::os::unix::fs::symlink(target, at).expect("a link");
}

const ENGINES: [&str; 2] = ["native", "bubblewrap"];

#[test]
fn rust_profile_shows_toolchain_and_leaves_cargo_writable() {
    let place = Place::new();
    let script = "#!/bin/sh\nread -r chosen <~/.rustup/settings.toml && echo $chosen\n\
        mkdir -p ~/.cargo/registry && echo x >~/.cargo/registry/y && cat ~/.cargo/registry/y\n\
        touch ~/.cargo/bin/z ~/.rustup/z 2>/dev/null || echo read-only\nls ~/.cargo; echo ${CARGO_HOME-none}\n";
    program(&place, "home/.cargo/bin/cargo", script);
    place.write("home/.cargo/credentials.toml", "token");
    place.write("home/.rustup/settings.toml", "stable\n");
    for engine in ENGINES {
        // The caller's PATH does not name ~/.cargo/bin: the profile does.
        let said = place.says(&["run", "--engine", engine, "--profile", "rust", "--", "cargo"]);
        let out = "stable\nx\nread-only\nbin\nregistry\nnone\n";
        assert_eq!((said.code, said.out.as_str()), (0, out), "{engine}: {}", said.err);
    }
    assert!(!place.has("home/.cargo/registry"), "nothing came out");
    let plan = place.says(&["run", "--dry-run", "--profile", "rust", "--profile", "node", "--", "cargo"]).out;
    let home = place.home().display().to_string();
    assert!(
        plan.contains(&format!("bind        {home}/.rustup at {home}/.rustup (read-only)  # profile rust:")),
        "{plan}"
    );
    assert!(plan.contains(&format!("path        {home}/.cargo/bin  # profile rust:")), "{plan}");
    assert!(!plan.contains("skipped"), "{plan}");
}

#[test]
fn node_profile_runs_a_version_of_the_users_path() {
    let place = Place::new();
    let version = "home/.nvm/versions/node/v1";
    program(&place, &format!("{version}/bin/engine"), "#!/bin/sh\necho \"engine $(basename $1) of $NVM_DIR\"\n");
    program(&place, &format!("{version}/lib/node_modules/tool/cli.js"), "#!/usr/bin/env engine\n");
    link(&place, &format!("{version}/bin/tool"), "../lib/node_modules/tool/cli.js");
    let nvm = place.home().join(".nvm").display().to_string();
    let path = format!("{}:/usr/bin:/bin", place.dir().join(version).join("bin").display());
    for engine in ENGINES {
        let mut polder = place.polder(&["run", "--engine", engine, "--profile", "node", "--", "tool"]);
        let said = Said::from(polder.env("PATH", &path).env("NVM_DIR", &nvm).output().expect("polder"));
        assert_eq!((said.code, said.out), (0, format!("engine tool of {nvm}\n")), "{engine}: {}", said.err);
    }
}

#[test]
fn python_profile_runs_a_shim_of_pyenv() {
    let place = Place::new();
    let root = place.home().join(".pyenv").display().to_string();
    let shim = format!("#!/usr/bin/env bash\nexport PYENV_ROOT={root}\nexec {root}/libexec/pyenv exec python \"$@\"\n");
    program(&place, "home/.pyenv/shims/python", &shim);
    let exec = "#!/usr/bin/env bash\nshift 2\nexec \"$PYENV_ROOT/versions/${PYENV_VERSION:-3}/bin/python\" \"$@\"\n";
    program(&place, "home/.pyenv/libexec/pyenv", exec);
    link(&place, "home/.pyenv/versions/3/bin/python", "/usr/bin/python3");
    let said = place.says(&["run", "--profile", "python", "--", "python", "-c", "print(6 * 7)"]);
    assert_eq!((said.code, said.out.as_str()), (0, "42\n"), "{said:?}");
}

#[test]
fn profile_is_asked_for_by_a_project_and_unknown_ones_are_refused() {
    let place = Place::new();
    program(&place, "home/.cargo/bin/cargo", "#!/bin/sh\necho cargo\n");
    let said = place.says(&["run", "--profile", "rsut", "--", "true"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("flag --profile: there is no profile `rsut`; did you mean `rust`?"), "{said:?}");
    place.write("work/polder.yaml", "profiles: [rust]\n");
    let said = place.says(&["run", "--", "cargo"]);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("the profile `rust`") && said.err.contains("`--profile rust`"), "{said:?}");
    for trusted in [&["run", "--trust", "--", "cargo"][..], &["run", "--profile", "rust", "--", "cargo"]] {
        let said = place.says(trusted);
        assert_eq!((said.code, said.out.as_str()), (0, "cargo\n"), "{said:?}");
    }
    // The user's own file counts at once.
    fs::remove_file(place.work().join("polder.yaml")).expect("the file");
    place.write("home/.config/polder/polder.yaml", "profiles: [rust]\n");
    let said = place.says(&["run", "--", "cargo"]);
    assert_eq!((said.code, said.out.as_str()), (0, "cargo\n"), "{said:?}");
}

/// Runs a program that the sandbox does not have, then again with the flags that the message names.
fn follow(place: &Place, path: &str, name: &str) -> (String, Said) {
    let first = with_path(place, path, &["run", "--", name]);
    assert_eq!((first.code, first.out.as_str()), (127, ""), "{first:?}");
    let advice = first.err.lines().find_map(|line| Some(line.split_once("; to show it: ")?.1.to_owned()));
    let advice = advice.unwrap_or_else(|| panic!("no advice: {first:?}"));
    assert!(!first.err.contains("--allow"), "two ways are told: {first:?}");
    let script = format!("PATH='{path}'; export PATH; exec \"$POLDER\" run {advice} -- {name}");
    (advice, place.sh(&script))
}

#[test]
fn missing_program_advice_makes_it_run() {
    let place = Place::new();
    let home = place.home().display().to_string();
    let path = format!("{home}/.local/bin:{home}/.npm-global/bin:{home}/tools:/usr/bin:/bin");
    // As uv installs a tool: a link, a script in an environment, its interpreter elsewhere.
    let environment = "home/.local/share/uv/tools/agent";
    let python = format!("{home}/.local/share/uv/python/cpython-3/bin/python3");
    program(&place, "home/.local/share/uv/python/cpython-3/bin/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n");
    fs::create_dir_all(place.dir().join("home/.local/share/uv/python/cpython-3/lib")).expect("a directory");
    link(&place, &format!("{environment}/bin/python"), &python);
    place.write(format!("{environment}/lib/words.txt"), "from its tree");
    let script = format!(
        "#!{home}/.local/share/uv/tools/agent/bin/python\nimport os, sys\n\
         print(open(os.path.join(os.path.dirname(os.path.realpath(sys.argv[0])), '../lib/words.txt')).read())\n"
    );
    program(&place, &format!("{environment}/bin/agent"), &script);
    link(&place, "home/.local/bin/agent", &format!("{home}/.local/share/uv/tools/agent/bin/agent"));
    let (advice, said) = follow(&place, &path, "agent");
    assert_eq!((advice.as_str(), said.out.as_str()), ("--profile python", "from its tree\n"), "{said:?}");

    // A package of no family, with a link and an interpreter that only `PATH` names.
    program(&place, "home/tools/runs", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
    program(
        &place,
        "home/apps/pack/bin/main",
        "#!/usr/bin/env runs\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/words.txt\"\n",
    );
    place.write("home/apps/pack/lib/words.txt", "packed\n");
    link(&place, "home/tools/main", "../apps/pack/bin/../bin/main");
    let (advice, said) = follow(&place, &path, "main");
    assert_eq!(advice, "--bind ~/apps/pack --bind ~/tools");
    assert_eq!((said.code, said.out.as_str()), (0, "packed\n"), "{said:?}");
}

#[test]
fn missing_program_of_no_host_is_told_as_such() {
    let place = Place::new();
    let said = place.says(&["run", "--", "no-such-program"]);
    assert_eq!(said.code, 127, "{said:?}");
    assert!(said.err.contains("`no-such-program` does not exist in the sandbox"), "{said:?}");
    assert!(said.err.contains("; the host does not have it either\n"), "{said:?}");
    assert!(!said.err.contains("--bind"), "{said:?}");
}

/// The variables by which the caller's own git knows who commits.
#[test]
fn git_variables_of_the_caller_name_who_commits() {
    let place = Place::new();
    repository(&place);
    let commit = "git commit -q --allow-empty -m x && git log -1 --format='%an %ae %cn %ce'";
    let with = |flags: &[&str]| {
        let words = [&["run"], flags, &["--", "sh", "-c", commit]].concat();
        let mut polder = place.polder(&words);
        polder.env("GIT_AUTHOR_NAME", "Ann").env("GIT_AUTHOR_EMAIL", "ann@example.org");
        polder.env("GIT_COMMITTER_NAME", "Carl").env("GIT_COMMITTER_EMAIL", "carl@example.org");
        Said::from(polder.output().expect("polder"))
    };
    let said = with(&[]);
    assert_eq!((said.code, said.out.as_str()), (0, "Ann ann@example.org Carl carl@example.org\n"), "{said:?}");
    let said = with(&["--env", "GIT_AUTHOR_NAME=Other"]);
    assert_eq!((said.code, said.out.as_str()), (0, "Other ann@example.org Carl carl@example.org\n"), "{said:?}");
}

/// Neither the variables nor the files by which the caller's own git knows who commits.
#[test]
fn git_identity_withheld_keeps_the_callers_variables_out() {
    let place = Place::new();
    place.write("home/.gitconfig", "[user]\n name = Filed\n email = filed@example.org\n");
    for engine in ENGINES {
        let seen = || {
            let script = "env; cat \"$GIT_CONFIG_SYSTEM\"";
            let mut polder = place.polder(&["run", "--engine", engine, "--", "sh", "-c", script]);
            polder.env("GIT_AUTHOR_NAME", "Ann").env("GIT_AUTHOR_EMAIL", "ann@example.org");
            polder.env("GIT_COMMITTER_NAME", "Carl").env("GIT_COMMITTER_EMAIL", "carl@example.org");
            let said = Said::from(polder.output().expect("polder"));
            assert_eq!(said.code, 0, "{engine}: {said:?}");
            let words = ["Ann", "ann@", "Carl", "carl@", "Filed", "filed@"];
            words.into_iter().filter(|word| said.out.contains(word)).collect::<Vec<_>>()
        };
        assert_eq!(seen().len(), 6, "{engine}: the control: they come in where the policy does not withhold them");
        let file = place.write("work/polder.yaml", "sandboxes: {x: {git_identity: false}}\nsandbox: x\n");
        assert_eq!(seen(), [""; 0], "{engine}");
        fs::remove_file(file).expect("the file");
    }
}

#[test]
fn git_configuration_that_cannot_be_read_is_told() {
    let place = Place::new();
    let file = place.write("home/.gitconfig", "[user\nname = x\n").display().to_string();
    let warning = format!("git's configuration `{file}` cannot be read");
    let said = place.says(&["run", "--", "true"]);
    assert!(said.code == 0 && said.err.contains(&warning), "{said:?}");
    assert!(place.says(&["run", "--dry-run", "--", "true"]).out.contains(&warning));
    place.write("home/.gitconfig", "[user]\nname = x\n");
    assert_eq!(place.says(&["run", "--", "true"]).err, "");
}

#[test]
fn npm_names_a_package_after_its_directory() {
    let place = Place::new();
    place.write("work/my-project/x", "");
    let said = place.says(&["run", "-C", "my-project", "--", "npm", "init", "-y"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.read("work/my-project/package.json").contains("\"name\": \"my-project\""));
}

/// GNU tar sets the owners of an archive's files where it is uid 0, as root is inside, without CAP_CHOWN.
#[test]
fn tar_unpacks_files_of_other_owners() {
    let place = Place::new();
    let packed = place.sh("mkdir d && echo x >d/f && tar cf a.tar --owner=1234 --group=1234 d && rm -r d");
    assert_eq!(packed.code, 0, "{packed:?}");
    for engine in ENGINES {
        let unpack = "tar xf a.tar && cat d/f && rm -r d";
        let said = place.says(&["run", "--engine", engine, "--", "sh", "-c", unpack]);
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "x\n", ""), "{engine}");
    }
    // The user's own options stay as they are, and an option of the command line wins.
    let mine = ["run", "--env", "TAR_OPTIONS=--mine", "--", "sh", "-c", "echo $TAR_OPTIONS"];
    assert_eq!(place.says(&mine).out, "--mine\n");
    let said = place.says(&["run", "--", "tar", "xf", "a.tar", "--same-owner"]);
    assert!(said.code == 2 && said.err.contains("Cannot change ownership to uid 1234"), "{said:?}");
}

/// Debian's `sitecustomize.py` is a symlink into `/etc`.
#[test]
fn python_reads_the_file_behind_its_sitecustomize() {
    let place = Place::new();
    let script = "import sitecustomize; print(len(open(sitecustomize.__file__).read()) > 0)";
    let outside = place.command("/usr/bin/python3").args(["-c", script]).output().expect("python3").into();
    let inside = place.says(&["run", "--", "/usr/bin/python3", "-c", script]);
    let right = Said { code: 0, out: "True\n".to_owned(), err: String::new() };
    assert_eq!((outside, inside), (right.clone(), right));
}
