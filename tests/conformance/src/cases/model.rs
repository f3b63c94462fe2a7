//! Random policies and random actions: every engine agrees with the model, or refuses the policy by its fit.
//!
//! One run makes all the attempts of a case. What counts is what came of them on the host: the whole tree afterwards is
//! exactly what the model says, nothing that is hidden was learned, and what is allowed was done. A guarantee that an
//! engine does not keep, by its own report, is not tried; that it refuses who requires it, is.
//!
//! The cases follow from a number, so that every call makes the same ones. A failure prints the smallest case that
//! fails and the number; a bug that it finds gets a case of its own in this suite, so no file of old seeds is kept.
//! `POLDER_TEST_MODEL_CASES` and `POLDER_TEST_MODEL_SEED` make more cases, or others.

use super::network::{Greeter, greeter};
use crate::model::{Access, Action, Answer, Attempt, Place, Rules, judge};
use crate::scene::{Scene, told};
use polder::{EngineClass, Guarantee, Planned, Report, Sandbox, Unfit, Verdict};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CASES: u32 = 128;
const SEED: u64 = 1;
const ACTIONS: usize = 12;
/// A step of shrinking is a run, too.
const SHRINK_STEPS_MAX: u32 = 256;

const ATTEMPTS: [Attempt; 7] =
    [Attempt::Read, Attempt::Write, Attempt::Create, Attempt::Delete, Attempt::Rename, Attempt::Replace, Attempt::Link];
const PLACES: [Place; 12] = [
    Place::Free,
    Place::Kept,
    Place::KeptAgain,
    Place::KeptTree,
    Place::Never,
    Place::Hidden,
    Place::HiddenTree,
    Place::Hooks,
    Place::Bound,
    Place::Outside,
    Place::Home,
    Place::System,
];

const VARIABLE: &str = "MODEL_VARIABLE";
const SECRET: &str = "s3cret";
const AGAIN: &str = "/opt/again";
const ELSEWHERE: &str = "/opt/elsewhere";
const MOVED: &str = "/workspace";
/// What the whole system can read, inside and outside.
const READABLE: &str = "/etc/passwd";

/// Makes each attempt, and says for each whether it was done and what was learned.
const HELPER: &str = r#"
import os, socket, sys
def attempt(what, at):
    if what == 'Read':
        with open(at, 'rb') as f: return f.read()
    if what == 'Write':
        with open(at, 'r+b', buffering=0) as f: f.seek(0, 2); f.write(b'+')
    if what == 'Create':
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, 'xb', buffering=0) as f: f.write(b'made')
    if what == 'Delete': os.unlink(at)
    if what == 'Rename': os.rename(at, at + '.moved')
    if what == 'Replace':
        other = at + '.other'
        with open(other, 'xb', buffering=0) as f: f.write(b'new')
        try: os.rename(other, at)
        except OSError: os.unlink(other); raise
    if what == 'Link':
        os.link(at, at + '.alias')
        with open(at + '.alias', 'r+b', buffering=0) as f: f.seek(0, 2); f.write(b'+')
    if what == 'Connect':
        host, port = at.split(' ')
        return socket.create_connection((host, int(port)), timeout=5).recv(100)
    if what == 'Variable': return os.environb.get(at.encode(), b'')
    if what == 'Process':
        found = b''
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try: found += open(f'/proc/{pid}/cmdline', 'rb').read() + b'\n'
            except OSError: pass
        return found
    return b''
for what, at in zip(sys.argv[1::2], sys.argv[2::2]):
    try: print('done', attempt(what, at).hex())
    except OSError as error: print('failed', os.strerror(error.errno).encode().hex())
"#;

#[derive(Clone, Debug)]
struct Case {
    rules: Rules,
    actions: Vec<Action>,
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![3 => Just(Access::ReadWrite), 1 => Just(Access::ReadOnly)]
}

prop_compose! {
    fn rules()(
        workspace in access(),
        [at_own_path, is_repository, network, passes_variable] in any::<[bool; 4]>(),
        [protects_files, protects_tree, protects_everywhere, hides_files, hides_tree] in any::<[bool; 5]>(),
        bound in prop::option::of(access()),
        bound_elsewhere in prop::bool::weighted(0.25),
        again in prop::option::weighted(0.3, access()),
    ) -> Rules {
        Rules {
            workspace, at_own_path, is_repository, protects_files, protects_tree, protects_everywhere, hides_files,
            hides_tree, bound, bound_elsewhere, again, network, passes_variable,
        }
    }
}

fn action() -> impl Strategy<Value = Action> {
    let file = (prop::sample::select(&ATTEMPTS[..]), prop::sample::select(&PLACES[..]));
    prop_oneof![
        12 => file.prop_map(|(attempt, place)| Action::File(attempt, place)),
        1 => Just(Action::Connect),
        1 => Just(Action::Variable),
        1 => Just(Action::Process),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    (rules(), prop::collection::vec(action(), 1..=ACTIONS)).prop_map(|(rules, mut actions)| {
        for action in &mut actions {
            match action {
                // There are no hooks without a repository, but they can be made.
                Action::File(attempt, Place::Hooks) if !rules.is_repository => *attempt = Attempt::Create,
                // Nothing of the real system is at stake.
                Action::File(attempt, Place::System) if *attempt != Attempt::Read => *attempt = Attempt::Create,
                Action::File(..) | Action::Connect | Action::Variable | Action::Process => {}
            }
        }
        Case { rules, actions }
    })
}

fn number<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not `{text}`")))
}

pub(super) fn a_random_policy_means_what_the_model_says(scene: &Scene) {
    // Where a run takes a second, a few cases show what there is to show.
    let usual = if scene.class() == EngineClass::Container { CASES / 16 } else { CASES };
    let (cases, seed) = (number("POLDER_TEST_MODEL_CASES", usual), number("POLDER_TEST_MODEL_SEED", SEED));
    let greeter = greeter();
    control(scene, &greeter);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: SHRINK_STEPS_MAX, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (ran, refused) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&case(), |case| {
        let counter = if agrees(scene, &greeter, &case)? { &ran } else { &refused };
        counter.set(counter.get() + 1);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\nthe same again: POLDER_TEST_MODEL_SEED={seed} POLDER_TEST_MODEL_CASES={cases}");
    }
    assert!(ran.get() > refused.get() / 4, "{} cases were refused and only {} ran", refused.get(), ran.get());
}

/// Where the file of an action is on the host.
fn host_path(scene: &Scene, index: usize, place: Place) -> PathBuf {
    let below = |dir: &str, name: String| scene.dir().join(dir).join(name);
    match place {
        Place::Free => below("work/free", format!("f{index}")),
        Place::Kept | Place::KeptAgain => below("work/mixed", format!("k{index}")),
        Place::KeptTree => below("work/kept", format!("f{index}")),
        Place::Never => below("work/any", format!("d{index}/never")),
        Place::Hidden => below("work/mixed", format!("h{index}")),
        Place::HiddenTree => below("work/hidden", format!("f{index}")),
        Place::Hooks => below("work/.git/hooks", format!("f{index}")),
        Place::Bound => below("bound", format!("f{index}")),
        Place::Outside => below("outside", format!("f{index}")),
        Place::Home => below("home", format!("f{index}")),
        Place::System => PathBuf::from(format!("/etc/polder-model.{}.{index}", std::process::id())),
    }
}

/// What stands in the file of an action.
fn content(index: usize) -> Vec<u8> {
    format!("content-{index};").into_bytes()
}

/// The caller's variables.
fn environment(scene: &Scene) -> Vec<(OsString, OsString)> {
    let mut environment = scene.environment();
    environment.push((VARIABLE.into(), SECRET.into()));
    environment
}

/// The words that make the helper try these actions, with the paths that `at` gives them.
fn words(greeter: &Greeter, actions: &[(usize, Action)], at: impl Fn(usize, Place) -> PathBuf) -> Vec<OsString> {
    let mut words = vec!["-c".into(), HELPER.into()];
    for &(index, action) in actions {
        words.extend(match action {
            Action::File(Attempt::Read, Place::System) => ["Read".into(), READABLE.into()],
            Action::File(attempt, place) => [format!("{attempt:?}").into(), at(index, place).into_os_string()],
            Action::Connect => ["Connect".into(), greeter.peers[..2].join(" ").into()],
            Action::Variable => ["Variable".into(), VARIABLE.into()],
            Action::Process => ["Process".into(), OsString::new()],
        });
    }
    words
}

/// Whether an attempt was made to the end, and what was learned by it or why it failed.
#[derive(Debug)]
struct Tried {
    done: bool,
    learned: Vec<u8>,
}

/// What the helper said; a helper that said less than it was asked for proves nothing.
fn tried(stdout: &[u8], actions: &[(usize, Action)]) -> Option<Vec<Tried>> {
    let text = std::str::from_utf8(stdout).ok()?;
    let bytes = |hex: &str| -> Option<Vec<u8>> {
        let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        digits.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
    };
    let line = |line: &str| {
        let (word, hex) = line.split_once(' ')?;
        Some(Tried { done: word == "done", learned: bytes(hex)? })
    };
    let lines: Vec<Tried> = text.lines().map(line).collect::<Option<_>>()?;
    (lines.len() == actions.len()).then_some(lines)
}

/// Whether an action reached what it was after.
fn succeeded(index: usize, action: Action, tried: &Tried) -> bool {
    let learned = |what: &[u8]| tried.learned.windows(what.len()).any(|part| part == what);
    tried.done
        && match action {
            Action::File(Attempt::Read, Place::System) => learned(b"root:"),
            Action::File(Attempt::Read, _) => learned(&content(index)),
            Action::File(..) => true,
            Action::Connect => learned(b"reached"),
            Action::Variable => learned(SECRET.as_bytes()),
            // This process is one of the host, and so are its arguments.
            Action::Process => learned(&fs::read("/proc/self/cmdline").expect("our own arguments")),
        }
}

type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Makes the tree of a case anew; every file that an action is about, unless it is to be created.
fn set_up(scene: &Scene, is_repository: bool, actions: &[(usize, Action)]) {
    for name in ["work", "bound", "outside"] {
        let dir = scene.dir().join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).expect("an old tree");
        }
    }
    for entry in fs::read_dir(scene.home()).expect("the home").flatten() {
        if entry.file_type().expect("a type").is_file() {
            fs::remove_file(entry.path()).expect("an old file");
        }
    }
    for dir in ["work/free", "work/mixed", "work/kept", "work/any", "work/hidden", "bound", "outside"] {
        fs::create_dir_all(scene.dir().join(dir)).expect("a directory");
    }
    if is_repository {
        for dir in ["hooks", "objects", "refs"] {
            fs::create_dir_all(scene.work().join(".git").join(dir)).expect("a directory");
        }
        scene.write("work/.git/HEAD", "ref: refs/heads/main\n");
        scene.write("work/.git/config", "[core]\n");
    }
    for &(index, action) in actions {
        let Action::File(attempt, place) = action else { continue };
        let path = host_path(scene, index, place);
        if place == Place::Never {
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        }
        if attempt != Attempt::Create && place != Place::System {
            fs::write(&path, content(index)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

/// Where polder keeps when a command could write in which tree.
const WRITE_LOG: [&str; 2] = [".local/state/polder/written", ".local/state/polder/written.lock"];

/// Every file of the tree, and of the system what an action may have made there.
fn tree(scene: &Scene, actions: &[(usize, Action)]) -> Tree {
    fn walk(dir: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                // Where polder keeps for a moment what it found out, and its record of what ran with a gap.
                let records = [".local/state/polder/audit", ".local/share/polder/audit-anchors"];
                if entry.file_name() != ".cache" && !records.iter().any(|place| entry.path().ends_with(place)) {
                    walk(&entry.path(), tree);
                }
            } else if !WRITE_LOG.iter().any(|name| entry.path().ends_with(name)) {
                tree.insert(entry.path(), fs::read(entry.path()).expect("a file"));
            }
        }
    }
    let mut tree = Tree::new();
    for name in ["work", "bound", "outside", "home"] {
        walk(&scene.dir().join(name), &mut tree);
    }
    for &(index, action) in actions {
        if let Action::File(_, Place::System) = action {
            let path = host_path(scene, index, Place::System);
            if let Ok(text) = fs::read(&path) {
                fs::remove_file(&path).expect("what should not be there");
                tree.insert(path, text);
            }
        }
    }
    tree
}

/// Does to a tree what an action does that is allowed.
fn apply(scene: &Scene, tree: &mut Tree, index: usize, action: Action) {
    let Action::File(attempt, place) = action else { return };
    let path = host_path(scene, index, place);
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let more = || [content(index), b"+".to_vec()].concat();
    match attempt {
        Attempt::Read => {}
        Attempt::Write => drop(tree.insert(path, more())),
        Attempt::Create => drop(tree.insert(path, b"made".to_vec())),
        Attempt::Delete => drop(tree.remove(&path)),
        Attempt::Rename => {
            tree.remove(&path);
            tree.insert(beside(".moved"), content(index));
        }
        Attempt::Replace => drop(tree.insert(path, b"new".to_vec())),
        Attempt::Link => {
            tree.insert(beside(".alias"), more());
            tree.insert(path, more());
        }
    }
}

/// Where two trees differ.
fn difference(expected: &Tree, found: &Tree) -> Vec<String> {
    let paths = expected.keys().chain(found.keys().filter(|path| !expected.contains_key(*path)));
    let text = |bytes: Option<&Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let pairs = paths.map(|path| (path, text(expected.get(path)), text(found.get(path))));
    pairs
        .filter(|(_, expected, found)| expected != found)
        .map(|(path, expected, found)| format!("{}: expected {expected:?}, found {found:?}", path.display()))
        .collect()
}

/// Without a sandbox every action at every place succeeds: what is denied later is denied by the sandbox.
fn control(scene: &Scene, greeter: &Greeter) {
    let places = PLACES.into_iter().flat_map(|place| ATTEMPTS.map(|attempt| Action::File(attempt, place)));
    let harmless =
        |action: &Action| !matches!(action, Action::File(attempt, Place::System) if *attempt != Attempt::Read);
    let others = [Action::Connect, Action::Variable, Action::Process];
    let actions: Vec<(usize, Action)> = places.chain(others).filter(harmless).enumerate().collect();
    set_up(scene, true, &actions);
    let mut expected = tree(scene, &actions);
    actions.iter().for_each(|&(index, action)| apply(scene, &mut expected, index, action));
    let words = words(greeter, &actions, |index, place| host_path(scene, index, place));
    let mut python = Command::new("/usr/bin/python3");
    let output = python.args(words).current_dir(scene.work()).env_clear().envs(environment(scene)).output();
    let output = output.expect("python3");
    let tried = tried(&output.stdout, &actions).unwrap_or_else(|| panic!("the helper does not work: {output:?}"));
    for (&(index, action), tried) in actions.iter().zip(&tried) {
        assert!(succeeded(index, action, tried), "the control of {action:?} must succeed: {tried:?}");
    }
    assert_eq!(difference(&expected, &tree(scene, &actions)), Vec::<String>::new(), "after the control");
}

/// The policy of a case, as a user would write it.
fn sandbox(scene: &Scene, Case { rules, actions }: &Case) -> Sandbox {
    let (mut protect, mut deny_read) = (Vec::new(), Vec::new());
    let below = |index, place| {
        let path = host_path(scene, index, place);
        path.strip_prefix(scene.work()).expect("a path of the workspace").display().to_string()
    };
    for (index, action) in actions.iter().enumerate() {
        match action {
            Action::File(_, place @ (Place::Kept | Place::KeptAgain)) if rules.protects_files => {
                protect.push(below(index, *place));
            }
            Action::File(_, Place::Hidden) if rules.hides_files => deny_read.push(below(index, Place::Hidden)),
            Action::File(..) | Action::Connect | Action::Variable | Action::Process => {}
        }
    }
    protect.extend(rules.protects_tree.then(|| "kept".to_owned()));
    protect.extend(rules.protects_everywhere.then(|| "**/never".to_owned()));
    deny_read.extend(rules.hides_tree.then(|| "hidden".to_owned()));
    let bind = |host: &str, guest: &str, access| {
        let suffix = if access == Access::ReadWrite { ":rw" } else { "" };
        format!("{}:{guest}{suffix}", scene.dir().join(host).display())
    };
    let mut sandbox = scene.configured(&format!("{{protect: {protect:?}, deny_read: {deny_read:?}}}"));
    sandbox = sandbox.environment(environment(scene)).network(if rules.network { "full" } else { "none" });
    if rules.workspace == Access::ReadOnly {
        sandbox = sandbox.read_only();
    }
    if !rules.at_own_path && scene.has_made_world() {
        sandbox = sandbox.workdir(MOVED);
    }
    if let Some(access) = rules.bound {
        let own = scene.dir().join("bound").display().to_string();
        sandbox = sandbox.bind(bind("bound", if rules.bound_elsewhere { ELSEWHERE } else { &own }, access));
    }
    if let Some(access) = rules.again {
        sandbox = sandbox.bind(bind("work/mixed", AGAIN, access));
    }
    if rules.passes_variable {
        sandbox = sandbox.env(VARIABLE);
    }
    sandbox
}

/// The same with every gap accepted that the engine names, and those gaps; nothing where it cannot do this at all.
fn accepted(scene: &Scene, sandbox: &Sandbox) -> Option<(Sandbox, Vec<Guarantee>)> {
    let planned = scene.plan(sandbox, &["true"]);
    let Report::Refused(unfit) = planned.report() else { return Some((sandbox.clone(), unkept(&planned))) };
    let Unfit::Refused(refused) = unfit else { panic!("refused for another reason: {unfit}") };
    let gaps: Option<Vec<Guarantee>> =
        refused.refusals.iter().map(|refusal| refusal.guarantee.filter(|_| refusal.acceptable)).collect();
    assert!(planned.run().is_err(), "what is refused does not run");
    let sandbox = gaps?.into_iter().fold(sandbox.clone(), Sandbox::accept);
    let planned = scene.plan(&sandbox, &["true"]);
    assert!(matches!(planned.report(), Report::Fits { .. }), "every gap is accepted: {}", planned.report());
    let gaps = unkept(&planned);
    Some((sandbox, gaps))
}

/// What the engine does not keep in full, by its own report.
fn unkept(planned: &Planned) -> Vec<Guarantee> {
    let Report::Fits { fit, .. } = planned.report() else { return Vec::new() };
    let open = |verdict: &Verdict| !matches!(verdict, Verdict::Enforced { .. });
    fit.verdicts.iter().filter(|(_, verdict)| open(verdict)).map(|(guarantee, _)| *guarantee).collect()
}

/// Runs a case and compares; whether it ran, for the engine may refuse it.
fn agrees(scene: &Scene, greeter: &Greeter, case: &Case) -> Result<bool, TestCaseError> {
    let all: Vec<(usize, Action)> = case.actions.iter().copied().enumerate().collect();
    set_up(scene, case.rules.is_repository, &all);
    let Some((sandbox, gaps)) = accepted(scene, &sandbox(scene, case)) else { return Ok(false) };
    for gap in &gaps {
        let planned = scene.plan(&sandbox.clone().require(*gap), &["true"]);
        prop_assert!(matches!(planned.report(), Report::Refused(_)), "`{gap}` is not kept, and who requires it runs");
    }
    // What is not kept is not tried: it might well succeed.
    let judged = |action| judge(&case.rules, action);
    let tries = |action| !matches!(judged(action), Answer::Denied(guarantee) if gaps.contains(&guarantee));
    let actions: Vec<(usize, Action)> = all.into_iter().filter(|(_, action)| tries(*action)).collect();
    let mut expected = tree(scene, &actions);
    for &(index, action) in &actions {
        if judged(action) == Answer::Allowed {
            apply(scene, &mut expected, index, action);
        }
    }
    let workspace = scene.plan(&sandbox, &["true"]).plan().workspace_guest().as_path().to_owned();
    let words = words(greeter, &actions, |index, place| {
        let path = host_path(scene, index, place);
        let name = || path.file_name().expect("a name").to_owned();
        match (place, path.strip_prefix(scene.work())) {
            (Place::KeptAgain, _) => Path::new(AGAIN).join(name()),
            (Place::Bound, _) if case.rules.bound_elsewhere => Path::new(ELSEWHERE).join(name()),
            (_, Ok(relative)) => workspace.join(relative),
            (_, Err(_)) => path,
        }
    });
    let command = std::iter::once("/usr/bin/python3".into()).chain(words);
    let finished = sandbox.plan(command).and_then(Planned::run);
    let finished = finished.map_err(|error| TestCaseError::fail(format!("no run: {error}")))?;
    let mut found = tree(scene, &actions);
    // A protected name that came into being was set aside, under a name that nothing obeys.
    let aside = |path: &Path| path.to_string_lossy().ends_with(".from-sandbox");
    for path in found.keys().filter(|path| aside(path)).cloned().collect::<Vec<_>>() {
        found.remove(&path);
        fs::remove_file(&path).expect("a file that was set aside");
    }
    let Some(tried) = tried(&finished.stdout, &actions) else {
        return Err(TestCaseError::fail(format!("the helper does not work inside: {}", told(&finished))));
    };
    for (&(index, action), tried) in actions.iter().zip(&tried) {
        let reached = succeeded(index, action, tried);
        match judged(action) {
            Answer::Allowed => prop_assert!(reached, "{index}: {action:?} is allowed, and failed: {}", why(tried)),
            Answer::Denied(_) => {
                // What is changed in a place of the sandbox's own changes nothing; the tree tells.
                let changes = matches!(action, Action::File(attempt, _) if attempt != Attempt::Read);
                prop_assert!(changes || !reached, "{index}: {action:?} is denied, and succeeded");
            }
        }
    }
    let difference = difference(&expected, &found);
    prop_assert!(difference.is_empty(), "the host's files: {difference:#?}");
    Ok(true)
}

fn why(tried: &Tried) -> String {
    format!("done: {}, `{}`", tried.done, String::from_utf8_lossy(&tried.learned))
}
