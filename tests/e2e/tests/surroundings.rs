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
