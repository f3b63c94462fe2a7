//! A place for one case: a workspace, a home with something to hide, and the two ways to run a command in it.

use polder::{EngineClass, Error, Finished, Guarantee, Planned, Report, Sandbox, Unfit, Verdict, World};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of the system, and none of the user's own.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Not below `/tmp`, which is another one inside: what is missing there would prove nothing.
fn base() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir());
    home.unwrap_or_else(|| PathBuf::from("/var/tmp"))
}

/// A sandbox for an engine in a directory. One that enforces nothing needs the permission of the user's own file.
pub(crate) fn sandbox_in(engine: &str, directory: &Path) -> Sandbox {
    let sandbox = Sandbox::in_directory(directory).engine(engine);
    if is_unsandboxed(engine) { sandbox.with_configuration() } else { sandbox }
}

fn is_unsandboxed(engine: &str) -> bool {
    polder::engines().iter().any(|known| known.id() == engine && known.class() == EngineClass::None)
}

/// A directory that is removed with everything in it.
#[derive(Debug)]
pub struct Scene {
    engine: String,
    dir: PathBuf,
    accepted: Vec<Guarantee>,
}

impl Scene {
    /// An empty workspace and an empty home for an engine.
    pub fn new(engine: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = base().join(format!("polder-conformance.{}.{count}", std::process::id()));
        fs::create_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        let dir = fs::canonicalize(dir).expect("a path without links");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("others may look");
        let mut scene = Self { engine: engine.to_owned(), dir, accepted: Vec::new() };
        fs::create_dir(scene.work()).expect("a workspace");
        fs::create_dir(scene.home()).expect("a home");
        if is_unsandboxed(engine) {
            scene.write("home/.config/polder/polder.yaml", "allow_unsandboxed: true\n");
        }
        scene.accepted = missing(&scene.plan(&scene.sandbox(), &["true"]));
        scene
    }

    /// The engine's id.
    pub(crate) fn engine(&self) -> &str {
        &self.engine
    }

    /// What the engine does not keep even for the built-in policy.
    pub(crate) fn accepted(&self) -> &[Guarantee] {
        &self.accepted
    }

    /// The scene's own directory, which holds the workspace and the home.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// Writes a file below the scene, with its directories.
    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("directories");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Reads a file below the scene.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.dir.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The caller's variables, the same for both ways to run.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), PATH.into()),
            ("HOME".into(), self.home().into()),
            ("USER".into(), "somebody".into()),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        environment.extend(daemons());
        environment
    }

    /// The built-in policy on a directory, with nothing accepted.
    pub(crate) fn sandbox_at(&self, directory: &Path) -> Sandbox {
        sandbox_in(&self.engine, directory).environment(self.environment())
    }

    /// Where the workspace appears inside.
    pub(crate) fn inside(&self) -> PathBuf {
        self.plan(&self.sandbox(), &["true"]).plan().workspace_guest().as_path().to_owned()
    }

    /// Whether the engine makes a file system, so that paths can appear where the policy says. If it does not, the
    /// refusal of this policy has been checked: it says why and what to do, and nothing runs.
    pub(crate) fn moves_paths(&self, sandbox: &Sandbox) -> bool {
        if self.has_made_world() {
            return true;
        }
        let planned = self.plan(sandbox, &["touch", "ran-elsewhere"]);
        match planned.report() {
            Report::Refused(Unfit::Refused(refused)) => {
                let refusal = refused.refusals.iter().find(|refusal| refusal.guarantee.is_none());
                let refusal = refusal.unwrap_or_else(|| panic!("refused for another reason: {refused}"));
                assert!(refusal.remedy.is_some() && !refusal.acceptable, "{refused}");
            }
            other => panic!("it cannot move paths, and would run: {other}"),
        }
        assert!(planned.run().is_err() && !self.work().join("ran-elsewhere").exists(), "nothing may run");
        false
    }

    /// Whether the engine makes a root of its own.
    pub(crate) fn has_made_world(&self) -> bool {
        let engines = polder::engines();
        let engine = engines.iter().find(|engine| engine.id() == self.engine).expect("the engine in question");
        engine.world() == World::Made
    }

    /// Whether the engine has a way to name a workspace. If it has none, its refusal has been checked: it names the
    /// path and says what to do, and nothing runs.
    pub(crate) fn can_name(&self, sandbox: &Sandbox, workspace: &Path) -> bool {
        let planned = self.plan(sandbox, &["touch", "ran-unnamed"]);
        let Report::Refused(Unfit::Refused(refused)) = planned.report() else { return true };
        let refusal = refused.refusals.iter().find(|refusal| refusal.guarantee.is_none());
        let refusal = refusal.unwrap_or_else(|| panic!("refused for another reason: {refused}"));
        assert!(refusal.reason.contains(&format!("{workspace:?}")), "which path? {refused}");
        assert!(refusal.remedy.is_some() && !refusal.acceptable, "{refused}");
        assert!(planned.run().is_err() && !workspace.join("ran-unnamed").exists(), "nothing may run");
        false
    }

    /// How strong the engine is.
    pub(crate) fn class(&self) -> EngineClass {
        let engines = polder::engines();
        engines.iter().find(|engine| engine.id() == self.engine).expect("the engine in question").class()
    }

    /// A policy with the gaps accepted that the engine has for the built-in one.
    pub(crate) fn accepting(&self, sandbox: Sandbox) -> Sandbox {
        self.accepted.iter().fold(sandbox, |sandbox, guarantee| sandbox.accept(*guarantee))
    }

    /// The built-in policy on the workspace, by the engine in question.
    pub(crate) fn sandbox(&self) -> Sandbox {
        self.accepting(self.sandbox_at(&self.work()))
    }

    /// The same, with the keys of a sandbox in a configuration file.
    pub(crate) fn configured(&self, keys: &str) -> Sandbox {
        let text = format!("sandboxes:\n  case: {keys}\nsandbox: case\n");
        let file = self.write("polder-case.yaml", text);
        self.sandbox().with_configuration_file(file)
    }

    /// Decides a run.
    pub(crate) fn plan(&self, sandbox: &Sandbox, command: &[&str]) -> Planned {
        sandbox.plan(command.iter().copied()).unwrap_or_else(|error| panic!("no plan for {command:?}: {error}"))
    }

    /// Runs a command inside.
    pub(crate) fn run(&self, sandbox: &Sandbox, command: &[&str]) -> Finished {
        let finished = self.plan(sandbox, command).run();
        finished.unwrap_or_else(|error| panic!("no run of {command:?}: {error}"))
    }

    /// Runs a shell text inside.
    pub(crate) fn sh(&self, sandbox: &Sandbox, script: &str) -> Finished {
        self.run(sandbox, &["sh", "-c", script])
    }

    /// Runs a shell text inside that must succeed; what it printed.
    pub(crate) fn says(&self, sandbox: &Sandbox, script: &str) -> String {
        let finished = self.sh(sandbox, script);
        assert_eq!(finished.outcome.exit_code(), 0, "`{script}` inside: {}", told(&finished));
        String::from_utf8(finished.stdout).expect("text")
    }

    /// Runs a shell text inside that must fail by itself; what it complained about.
    pub(crate) fn fails(&self, sandbox: &Sandbox, script: &str) -> String {
        let finished = self.sh(sandbox, script);
        let code = finished.outcome.exit_code();
        // A missing command or a broken sandbox proves nothing.
        assert!((1..=124).contains(&code), "`{script}` inside must fail by itself: {}", told(&finished));
        String::from_utf8_lossy(&finished.stderr).into_owned()
    }

    /// The same command without a sandbox, in a directory of the host.
    pub(crate) fn outside(&self, directory: &Path, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(directory).env_clear().envs(self.environment());
        command.output().expect("sh")
    }

    /// A shell text that must succeed without a sandbox: the control.
    pub(crate) fn control(&self, directory: &Path, script: &str) -> String {
        let output = self.outside(directory, script);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the control `{script}` must succeed outside: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Whether the engine keeps a guarantee for this policy. If it does not, the refusal has been checked: nothing
    /// runs without `accept`, and with it the run says what is weaker.
    pub(crate) fn keeps(&self, sandbox: &Sandbox, guarantee: Guarantee) -> bool {
        let mark = self.work().join("ran-unjudged");
        let planned = self.plan(sandbox, &["touch", "ran-unjudged"]);
        match planned.report() {
            Report::Fits { fit, .. } => match &fit.verdicts[&guarantee] {
                Verdict::Enforced { .. } => return true,
                // The permission accepts it; who requires it is refused all the same.
                Verdict::Cannot { .. } | Verdict::Weaker { .. } if is_unsandboxed(&self.engine) => {
                    let required = self.plan(&sandbox.clone().require(guarantee), &["touch", "ran-unjudged"]);
                    assert!(
                        matches!(required.report(), Report::Refused(Unfit::Refused(_))),
                        "`{guarantee}` is required"
                    );
                    assert!(required.run().is_err() && !mark.exists(), "nothing may run");
                    self.tells_the_gap(sandbox, guarantee);
                    return false;
                }
                weaker => panic!("`{guarantee}` is {weaker:?} and would run without accept"),
            },
            Report::Refused(Unfit::Refused(refused)) => {
                let refusal = refused.refusals.iter().find(|refusal| refusal.guarantee == Some(guarantee));
                let refusal = refusal.unwrap_or_else(|| panic!("refused for another reason: {refused}"));
                assert!(!refusal.reason.is_empty() && refusal.acceptable, "{refused}");
            }
            Report::Refused(other) => panic!("refused for another reason: {other}"),
        }
        assert!(matches!(planned.run(), Err(Error::Unfit(_))), "a gap that nobody accepted must not run");
        assert!(!mark.exists(), "nothing may run");
        self.tells_the_gap(&sandbox.clone().accept(guarantee), guarantee);
        false
    }

    /// A run that goes without a guarantee says so.
    fn tells_the_gap(&self, sandbox: &Sandbox, guarantee: Guarantee) {
        let finished = self.run(sandbox, &["true"]);
        let downgraded = finished.events.iter().any(|event| {
            matches!(&event.kind, polder::EventKind::Downgrade { guarantee: told, reason }
                if *told == guarantee && !reason.is_empty())
        });
        assert!(downgraded, "an accepted gap must be told: {:?}", finished.events);
    }

    /// Whether the engine keeps a part of a guarantee whose gap this policy accepts.
    pub(crate) fn keeps_in_part(&self, sandbox: &Sandbox, guarantee: Guarantee) -> bool {
        match self.plan(sandbox, &["true"]).report() {
            Report::Fits { fit, .. } => matches!(&fit.verdicts[&guarantee], Verdict::Weaker { .. }),
            Report::Refused(_) => false,
        }
    }

    /// Whether the engine says of a limit that it holds and that reaching it is not reported.
    pub(crate) fn is_silent_about(&self, sandbox: &Sandbox, guarantee: Guarantee) -> bool {
        match self.plan(sandbox, &["true"]).report() {
            Report::Fits { fit, .. } => {
                matches!(&fit.verdicts[&guarantee], Verdict::Enforced { by } if by.contains("not reported"))
            }
            Report::Refused(_) => false,
        }
    }
}

/// Where daemons listen, as the test command has said it: engines that are daemons look there.
pub(crate) fn daemons() -> Vec<(OsString, OsString)> {
    let names = ["DOCKER_HOST", "CONTAINER_HOST"];
    names.into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// The guarantees that an engine does not keep for a policy.
pub(crate) fn missing(planned: &Planned) -> Vec<Guarantee> {
    match planned.report() {
        Report::Fits { fit, .. } => {
            let kept = |verdict: &Verdict| matches!(verdict, Verdict::Enforced { .. });
            fit.verdicts.iter().filter(|(_, verdict)| !kept(verdict)).map(|(guarantee, _)| *guarantee).collect()
        }
        Report::Refused(Unfit::Refused(refused)) => {
            let acceptable = refused.refusals.iter().all(|refusal| refusal.acceptable);
            assert!(acceptable, "the built-in policy is impossible here: {refused}");
            refused.refusals.iter().filter_map(|refusal| refusal.guarantee).collect()
        }
        Report::Refused(other) => panic!("the engine does not work here: {other}"),
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A case may have taken rights away.
        let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(&self.dir).output();
        let removed = fs::remove_dir_all(&self.dir);
        if !std::thread::panicking() {
            removed.unwrap_or_else(|error| panic!("cannot remove {}: {error}", self.dir.display()));
        }
    }
}

/// Everything that is known about a run, for messages.
pub(crate) fn told(finished: &Finished) -> String {
    format!(
        "{:?}\nstdout: {}\nstderr: {}",
        finished.outcome,
        String::from_utf8_lossy(&finished.stdout),
        String::from_utf8_lossy(&finished.stderr)
    )
}
