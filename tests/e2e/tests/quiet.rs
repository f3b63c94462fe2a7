//! A violation is what made something fail that the program needed. Ordinary programs look for much and do without it, so
//! ordinary commands print nothing; what does fail is still told.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Programs that Debian's base system and the test packages have.
const COMMANDS: [&str; 32] = [
    "mkdir -p ~/.npm/_cacache/tmp ~/.cache/pip/x ~/.config/tool/a/b",
    "touch ~/.profile && cat ~/.profile",
    "mkdir ~/.npm/_logs || { mkdir ~/.npm && mkdir ~/.npm/_logs; }",
    "python3 -c 'import os; os.makedirs(os.path.expanduser(\"~/.npm/_logs/deep\"), exist_ok=True)'",
    "python3 -c 'import pathlib; p = pathlib.Path.home() / \".cache/pip\"; p.mkdir(parents=True); (p / \"x\").write_text(\"\")'",
    "python3 -c 'import json, sqlite3, ssl, email, unittest'",
    "PYTHONPATH=../lib python3 -c 'import module'",
    "python3 -m venv --without-pip venv && venv/bin/python -c 'import sys'",
    "python3 -m compileall -q .",
    "pip3 --version",
    "git init -q r && cd r && git config user.name x && git config user.email x@y",
    "cd r && git commit -q --allow-empty -m x && git log && git status",
    "cd r && git branch b && git checkout -q b && git gc -q && git fsck",
    "git config --global user.name x && git config --global user.name",
    "sh -c 'echo $HOME; cd; pwd'",
    "bash -lc true",
    "bash -ic true </dev/null",
    "perl -MFile::Path -e 'File::Path::make_path(\"$ENV{HOME}/.cpan/build\")'",
    "awk 'BEGIN { print 1 }' && sed -n 1p /etc/passwd",
    "find / -maxdepth 2 -name polder-none 2>/dev/null; true",
    "tar cf - . | gzip > /tmp/a.tgz && tar tzf /tmp/a.tgz",
    "openssl rand -hex 8 && openssl version -a",
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout /tmp/k -out /tmp/c",
    "getent passwd root && id && whoami",
    "df . && ls -la / && uname -a && date && nproc",
    "mktemp && mktemp -d && echo x > /var/tmp/x",
    "dpkg -l >/dev/null && apt-cache policy >/dev/null 2>&1; true",
    "setpriv --dump >/dev/null && unshare --version",
    "busybox ls && busybox mkdir -p ~/.local/share/x/y",
    "mount && sort /etc/group | uniq | wc -l",
    "env | sort && hostname",
    "mkfs.btrfs --version && uptime || true",
];

/// Programs that a machine may have; each with the command.
const OTHERS: [(&str, &str); 12] = [
    ("make", "make --version && printf 'all:\\n\\ttrue\\n' > Makefile && make"),
    ("cc", "echo 'int main(void) { return 0; }' > a.c && cc a.c -o a && ./a"),
    ("gpg", "gpg --list-keys"),
    (
        "ssh",
        "ssh -V && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 || ssh-keygen -q -t ed25519 -N '' -f /tmp/id",
    ),
    ("curl", "curl --version && curl -s file:///etc/passwd"),
    ("node", "node -e 'require(\"fs\").mkdirSync(process.env.HOME + \"/.npm/_logs\", {recursive: true})'"),
    ("npm", "npm --version && npm config list && npm init -y && npm ls"),
    ("vim", "vim -es +q; vim --version"),
    ("sqlite3", "sqlite3 a.db 'create table a(b)'"),
    ("tmux", "tmux -L polder-e2e-$TEST new-session -d true"),
    ("man", "man --version"),
    ("xz", "echo x | xz | xz -d"),
];

/// A home with what users have there: each of these is something that the private home has not.
fn lived_in() -> Place {
    let place = Place::new();
    for file in [
        ".npm/_logs/x.log",
        ".npm/_cacache/tmp/x",
        ".cache/pip/http/x",
        ".config/git/config",
        ".config/tool/a/b/c",
        ".cargo/registry/index/x",
        ".local/share/x/y/z",
        ".local/state/x/y",
        ".cpan/build/x",
        ".gitconfig",
        ".profile",
        ".bashrc",
        ".gnupg/pubring.kbx",
        ".ssh/known_hosts",
        ".python_history",
    ] {
        place.write(Path::new("home").join(file), "");
    }
    place.write("work/a.txt", "x\n");
    place.write("lib/module.py", "x = 1\n");
    place
}

/// Runs a shell text, with what lies beside the workspace shown read-only; `$TEST` is this process.
fn run(place: &Place, engine: &str, script: &str) -> Said {
    let lib = place.dir().join("lib").display().to_string();
    // The workspace has no name inside that a test could rely on.
    let script = script.replace("../lib", &lib).replace("$TEST", &std::process::id().to_string());
    place.says(&["run", "--engine", engine, "--bind", &lib, "--", "sh", "-c", &script])
}

fn told(said: &Said) -> Vec<String> {
    said.err.lines().filter(|line| line.starts_with("polder: ")).map(str::to_owned).collect()
}

fn has(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

/// A socket of the host where tmux looks for its server.
struct HostSocket {
    path: PathBuf,
    _listener: UnixListener,
    made: Option<PathBuf>,
}

impl HostSocket {
    fn new() -> Self {
        let uid = fs::metadata("/proc/self").expect("this process").uid();
        let directory = PathBuf::from(format!("/tmp/tmux-{uid}"));
        let made = DirBuilder::new().mode(0o700).create(&directory).is_ok().then(|| directory.clone());
        let path = directory.join(format!("polder-e2e-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self { _listener: UnixListener::bind(&path).expect("a socket"), path, made }
    }
}

impl Drop for HostSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.made.iter().for_each(|directory| drop(fs::remove_dir(directory)));
    }
}

/// A client that starts its own server where it finds none, as tmux does.
fn client(path: &Path) -> String {
    format!(
        "python3 -c 'import os, socket
s = socket.socket(socket.AF_UNIX)
try: s.connect(\"{0}\")
except OSError: os.makedirs(os.path.dirname(\"{0}\"), exist_ok=True); s.bind(\"{0}\"); os.unlink(\"{0}\")'",
        path.display()
    )
}

#[test]
#[expect(clippy::print_stdout, reason = "programs that this machine does not have are listed as skipped")]
fn forty_ordinary_commands_print_nothing() {
    let place = lived_in();
    let socket = HostSocket::new();
    let mut alarms = Vec::new();
    let (there, missing): (Vec<_>, Vec<_>) = OTHERS.iter().partition(|(program, _)| has(program));
    missing.iter().for_each(|(program, _)| println!("skipped: there is no {program}"));
    let update = "python3 -c 'import socket
try: socket.getaddrinfo(\"updates.example\", 80)
except OSError: pass'";
    let own = client(&socket.path);
    let commands = COMMANDS.into_iter().chain(there.iter().map(|(_, script)| *script)).chain([update, own.as_str()]);
    for script in commands {
        let said = run(&place, "native", script);
        let lines = told(&said);
        if said.code != 0 || !lines.is_empty() {
            alarms.push(format!("{script}\n  ended with {}: {}{lines:#?}", said.code, said.err));
        }
    }
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

#[test]
fn ordinary_commands_under_bubblewrap_print_nothing() {
    let place = lived_in();
    for script in COMMANDS.into_iter().take(7) {
        let said = run(&place, "bubblewrap", script);
        assert!(said.code == 0 && told(&said).is_empty(), "{script}: {said:?}");
    }
}

/// The same kinds of calls, where the command does not come to what it needs.
#[test]
fn commands_that_miss_what_they_need_are_told() {
    let place = lived_in();
    let socket = HostSocket::new();
    let home = place.home().display().to_string();
    let connect =
        format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{}\")'", socket.path.display());
    for (script, wanted) in [
        ("mkdir ~/.npm/new".to_owned(), format!("blocked write to {home}/.npm/new")),
        ("echo x > ~/.config/tool/a/new".to_owned(), format!("blocked write to {home}/.config/tool/a/new")),
        (connect, format!("blocked connection to {}", socket.path.display())),
        ("echo x > ../lib/new.py".to_owned(), "blocked write to".to_owned()),
        (
            "python3 -c 'import socket; socket.getaddrinfo(\"needed.example\", 80)'".to_owned(),
            "blocked connection to needed.example".to_owned(),
        ),
    ] {
        for engine in ["native", "bubblewrap"] {
            let said = run(&place, engine, &script);
            assert_ne!(said.code, 0, "{engine}: {script}: {said:?}");
            assert!(told(&said).iter().any(|line| line.contains(&wanted)), "{engine}: {script}: {said:?}");
        }
    }
}

/// What a command that ended with 0 was denied is not printed, and is in the record.
#[test]
fn connections_that_a_command_survived_are_in_the_record() {
    let place = lived_in();
    let script = "python3 -c 'import socket; socket.getaddrinfo(\"updates.example\", 80)' 2>/dev/null; true";
    let said = run(&place, "native", script);
    assert!(said.code == 0 && told(&said).is_empty(), "{said:?}");
    let story = place.says(&["explain"]);
    assert!(story.out.contains("updates.example"), "{story:?}");
}
