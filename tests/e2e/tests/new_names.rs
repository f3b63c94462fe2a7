//! Names that must not come into being, and do not exist when a run begins: polder watches for them on the host, so
//! honest programs notice nothing of it, and what the host would obey is set aside as soon as it is there.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, is_root};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// The engines that the machine is said to have; at least the native one.
fn engines() -> Vec<&'static str> {
    let has = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    let is_there = |engine: &str| engine == "native" || has.split(',').any(|word| word == engine);
    ["native", "bubblewrap"].into_iter().filter(|engine| is_there(engine)).collect()
}

fn run(place: &Place, engine: &str, script: &str) -> Said {
    place.says(&["run", "--engine", engine, "--", "sh", "-c", script])
}

/// The host's shell, in the workspace.
fn host(place: &Place, script: &str) -> Said {
    place.sh(&format!("export GIT_TERMINAL_PROMPT=0 LC_ALL=C\n{script}"))
}

const IDENTITY: &str = "git config --global user.name A; git config --global user.email a@example.com
    git config --global init.defaultBranch main; git config --global protocol.file.allow always\n";

/// A directory beside the workspace with a repository to clone.
fn source(place: &Place) -> String {
    let source = place.dir().join("source");
    let made = host(
        place,
        &format!(
            "set -e; {IDENTITY} git init -q '{0}'; cd '{0}'; mkdir -p a/b
            for i in 1 2 3 4 5 6 7 8 9; do echo $i >a/b/$i; echo $i >$i; done; git add .; git commit -qm first",
            source.display()
        ),
    );
    assert_eq!(made.code, 0, "{made:?}");
    source.display().to_string()
}

#[test]
fn git_clone_outside_of_a_repository_works_every_time() {
    for engine in engines() {
        let place = Place::new();
        let source = source(&place);
        let script = format!("set -e; for i in 1 2 3 4 5; do git clone -q 'file://{source}' c$i; done; echo cloned");
        let said = place.says(&["run", "--engine", engine, "--bind", &source, "--", "sh", "-c", &script]);
        assert_eq!((said.code, said.out.as_str()), (0, "cloned\n"), "{engine} {said:?}");
        let after = host(&place, "set -e; for i in 1 2 3 4 5; do git -C c$i fsck; git -C c$i diff --exit-code; done");
        assert_eq!(after.code, 0, "{engine} {after:?}");
    }
}

#[test]
fn repository_made_at_the_top_inside_is_usable_outside() {
    for engine in engines() {
        let place = Place::new();
        let source = source(&place);
        let bind = ["--bind", source.as_str()];
        let clone = format!("git clone -q 'file://{source}' .");
        let init = "git init -q; git add -A";
        for (name, make) in [("clone", clone.as_str()), ("init", init)] {
            let script = format!(
                "set -e; {IDENTITY} {make}; echo new >new; git add new; git commit -qm inside
                git worktree add -q linked -b side; git -C linked commit -q --allow-empty -m side; echo made"
            );
            let said = place.says(&[&["run", "--engine", engine], &bind[..], &["--", "sh", "-c", &script]].concat());
            assert_eq!((said.code, said.out.as_str()), (0, "made\n"), "{engine} {name} {said:?}");
            assert!(!said.err.contains("set aside") && !said.err.contains("taken out"), "{engine} {name} {said:?}");
            let after = host(
                &place,
                "set -e; git fsck; git status --short | grep -v linked || true; git log --format=%s -1
                git commit -q --allow-empty -m outside; git log --format=%s -1; git log --format=%s -1 side",
            );
            assert_eq!(after.code, 0, "{engine} {name} {after:?}");
            assert!(after.out.ends_with("inside\noutside\nside\n"), "{engine} {name} {after:?}");
            let left = host(&place, "find . -name '*.from-sandbox*'");
            assert_eq!(left.out, "", "{engine} {name}");
            // The next way begins with an empty tree.
            host(&place, "rm -rf .git * .gitignore");
        }
    }
}

/// A signal every ten milliseconds while names are made, by the C library, which repeats nothing by itself. A call that
/// is made twice says EEXIST or ENOENT.
const TIMER: &str = "
import ctypes, errno, os, shutil, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
failed = set()
def check(name, result):
    if result < 0:
        failed.add(name + ' ' + errno.errorcode[ctypes.get_errno()])
    return result
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, sys.argv[1] == 'interrupt')
os.mkdir('d')
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for i in range(2000):
    file = check('open', libc.open(b'd/%d' % i, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if file >= 0:
        libc.close(file)
        check('rename', libc.rename(b'd/%d' % i, b'd/r%d' % i))
    check('mkdir', libc.mkdir(b'd/m%d' % i, 0o700))
signal.setitimer(signal.ITIMER_REAL, 0)
shutil.rmtree('d')
print('failed:', *sorted(failed))
";

/// As gpg-agent and ssh-agent do.
const NOT_DUMPABLE: &str = "
import ctypes, os
PR_SET_DUMPABLE = 4
assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
os.mkdir('secret')
open('secret/key', 'x').write('k')
os.rename('secret/key', 'secret/other')
print('made')
";

#[test]
fn calls_that_make_names_are_the_commands_own() {
    for engine in engines() {
        let place = Place::new();
        assert!(!place.work().join(".git").exists(), "there are names that must not come into being");
        let said = place.says(&["run", "--engine", engine, "--", "python3", "-c", NOT_DUMPABLE]);
        assert_eq!((said.code, said.out.as_str()), (0, "made\n"), "{engine} {said:?}");
        for observe in ["off", "cheap", "exact"] {
            let timer = |handler: &str| {
                let run = ["run", "--engine", engine, "--observe", observe, "--"];
                place.says(&[&run[..], &["python3", "-c", TIMER, handler]].concat())
            };
            let said = timer("restart");
            assert_eq!((said.code, said.out.as_str()), (0, "failed:\n"), "{engine} {observe} {said:?}");
            // Without SA_RESTART the kernel gives up a call that the shim has not received yet (docs/violations.md).
            // It is never made twice, and no call says it that is not looked at.
            let said = timer("interrupt");
            let looked_at: &[&str] = match observe {
                "off" => &[],
                "cheap" => &["rename", "mkdir"],
                _ => &["open", "rename", "mkdir"],
            };
            let told = said.out.strip_prefix("failed:").unwrap_or("no word").trim().to_owned();
            let words: Vec<&str> = told.split_whitespace().collect();
            let known = |pair: &[&str]| looked_at.contains(&pair[0]) && pair[1..] == ["EINTR"];
            assert!(said.code == 0 && words.chunks(2).all(known), "{engine} {observe} {said:?}");
        }
    }
}

/// A command that runs, with the events of its run.
struct Running {
    child: Child,
    events: BufReader<ChildStdout>,
    heard: String,
}

impl Running {
    fn start(place: &Place, engine: &str, script: &str) -> Self {
        let mut command = place.polder(&["run", "--json", "--engine", engine, "--", "sh", "-c", script]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("polder");
        let events = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, events, heard: String::new() }
    }

    /// Waits for an event in which all of these stand.
    fn hears(&mut self, words: &[&str]) {
        loop {
            let mut line = String::new();
            let got = self.events.read_line(&mut line).expect("an event");
            assert!(got > 0, "{words:?} was not told:\n{}", self.heard);
            self.heard.push_str(&line);
            if words.iter().all(|word| line.contains(word)) {
                return;
            }
        }
    }

    fn ends(mut self) -> (i32, String) {
        let mut line = String::new();
        while self.events.read_line(&mut line).expect("an event") > 0 {}
        self.heard.push_str(&line);
        (self.child.wait().expect("an end").code().unwrap_or(-1), self.heard)
    }
}

/// What makes the host's git run code in a repository that is made by hand, and what polder tells of it.
const BAITS: [(&str, &str, &str); 4] = [
    ("a key", "git config core.fsmonitor 'touch CANARY; false'", "core.fsmonitor"),
    (
        "a key by mmap-like writing",
        "printf '[core]\\n\\tfsmonitor = touch CANARY; false\\n' >>.git/config",
        "core.fsmonitor",
    ),
    (
        "a hook",
        "printf '#!/bin/sh\\ntouch CANARY\\n' >h; chmod 755 h; mv h .git/hooks/post-index-change",
        "post-index-change",
    ),
    (
        "another repository",
        "git init -q --bare other; git -C other config core.fsmonitor 'touch CANARY; false'
        echo ../other >.git/commondir",
        "commondir",
    ),
];

const TRIGGER: &str = "touch file; git status; git add .; git status; git commit -q --allow-empty -m x";

#[test]
fn git_of_the_host_runs_nothing_once_polder_has_answered() {
    let filled = |place: &Place, text: &str| text.replace("CANARY", &place.dir().join("canary").display().to_string());
    for engine in engines() {
        for (name, bait, told) in BAITS {
            let made = |place: &Place| filled(place, &format!("{IDENTITY} git init -q .; {bait}"));
            let control = Place::new();
            host(&control, &made(&control));
            let seen = host(&control, TRIGGER);
            assert!(control.has("canary"), "the control of {name}: {seen:?}");

            let place = Place::new();
            let script = format!("{}; while ! test -e end; do sleep 0.02; done", made(&place));
            let mut running = Running::start(&place, engine, &script);
            running.hears(&["\"violation\"", told, "watch"]);
            host(&place, &format!("{IDENTITY} {TRIGGER}"));
            assert!(!place.has("canary"), "{engine} {name}: the host ran it during the run");
            place.write("work/end", "");
            let (code, heard) = running.ends();
            assert_eq!(code, 0, "{engine} {name}: {heard}");
            host(&place, TRIGGER);
            assert!(!place.has("canary"), "{engine} {name}: the host ran it after the run: {heard}");
        }
    }
}

#[test]
fn configuration_made_during_a_run_is_gone_at_once() {
    for engine in engines() {
        let place = Place::new();
        place.write("work/rule.yaml", "sandboxes: {a: {protect: [keep/out]}}\nsandbox: a\n");
        std::fs::create_dir(place.work().join("keep")).expect("a directory");
        let script = "for name in polder.yaml .visor.yaml keep/out; do
            echo 'sandboxes: {}' >$name; while test -e $name; do sleep 0.02; done
            test -e $name.from-sandbox && echo $name is gone; done";
        let said = place.says(&["run", "--config", "rule.yaml", "--engine", engine, "--", "sh", "-c", script]);
        assert_eq!(said.code, 0, "{engine} {said:?}");
        assert_eq!(said.out, "polder.yaml is gone\n.visor.yaml is gone\nkeep/out is gone\n", "{engine} {said:?}");
        assert!(said.err.contains("--allow fs.write=keep/out"), "{engine} {said:?}");
    }
}

#[test]
fn command_that_makes_a_name_again_and_again_is_ended() {
    for engine in engines() {
        let place = Place::new();
        let script = "while :; do test -e polder.yaml || echo 'sandboxes: {}' >polder.yaml; done";
        let said = run(&place, engine, script);
        assert_eq!(said.code, 125, "{engine} {said:?}");
        assert!(said.err.contains("polder.yaml` again after polder had set it aside (8 times)"), "{engine} {said:?}");
        assert!(!place.has("work/polder.yaml"), "{engine} {said:?}");
        assert!(place.has("work/polder.yaml.from-sandbox"), "{engine} {said:?}");
    }
}

#[test]
fn name_protected_everywhere_is_set_aside_at_the_end() {
    let place = Place::new();
    place.write("work/rule.yaml", "sandboxes: {a: {protect: [\"**/.envrc\"]}}\nsandbox: a\n");
    place.write("work/old/.envrc", "mine");
    let script = "mkdir -p a/b closed; echo x >a/b/.envrc; echo x >closed/.ENVRC; chmod 000 closed; echo x >old/.envrc";
    let said = place.says(&["run", "--config", "rule.yaml", "--", "sh", "-c", script]);
    assert!(said.err.contains("a/b/.envrc") && said.err.contains("fs.write=**/.envrc"), "{said:?}");
    assert!(!place.has("work/a/b/.envrc") && place.has("work/a/b/.envrc.from-sandbox"), "{said:?}");
    assert!(place.has("work/closed/.ENVRC.from-sandbox"), "{said:?}");
    assert_eq!(place.read("work/old/.envrc"), "mine", "{said:?}");
    let plan = place.says(&["run", "--config", "rule.yaml", "--dry-run", "--", "true"]);
    assert!(plan.out.contains("new files named `.envrc` are set aside when the run has ended"), "{plan:?}");
}

#[test]
fn protected_name_in_a_layer_is_set_aside() {
    let place = Place::new();
    place.write("work/rule.yaml", "sandboxes: {a: {protect: [keep, \"**/.envrc\"]}}\nsandbox: a\n");
    let script = "mkdir sub; echo x >keep; echo x >sub/.envrc; echo x >fine";
    let said = place.says(&["run", "--config", "rule.yaml", "--cow", "--workspace", "w", "--", "sh", "-c", script]);
    assert_eq!(said.code, 0, "{said:?}");
    let applied = place.says(&["workspace", "apply", "w"]);
    assert!(place.has("work/fine"), "{applied:?}");
    assert!(!place.has("work/keep") && !place.has("work/sub/.envrc"), "{said:?} {applied:?}");
}

/// The limit of inotify instances is the user's, so it is lowered in a user namespace of the test.
#[test]
fn run_without_a_watch_does_not_start() {
    if is_root() {
        // The root of another user namespace has no ids to map a command to.
        return;
    }
    let place = Place::new();
    let polder = place.polder(&["run", "--", "touch", "ran"]).get_program().to_string_lossy().into_owned();
    let script = format!(
        "unshare --user --map-current-user --keep-caps sh -c \
         'echo 0 >/proc/sys/user/max_inotify_instances && exec setpriv --inh-caps=-all --ambient-caps=-all \
         \"{polder}\" run -- touch ran'"
    );
    let said = place.sh(&script);
    assert_eq!(said.code, 125, "{said:?}");
    assert!(said.err.contains("cannot watch for names") && said.err.contains("max_user_instances"), "{said:?}");
    assert!(!place.has("work/ran"));
}
