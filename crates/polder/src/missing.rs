//! A program that the sandbox does not have: where the host has it, and what to show so that it runs.
//!
//! Looked for is what the kernel and the loader follow from the program on: symlinks, also in the middle of a path, and
//! the interpreter of a script. A link needs the directory that it lies in, a program the tree that it belongs to.

use polder_facts::HostFacts;
use polder_plan::Plan;
use polder_policy::{ToolProfile, tool_profiles};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The most links and interpreters that are followed; the kernel's own limit for links is 40 (path_resolution(7)).
const STEPS_MAX: usize = 40;
/// The longest first line of a script (`BINPRM_BUF_SIZE`, execve(2)).
const SHEBANG_BYTES_MAX: u64 = 256;

/// What a run was decided on, for a look at the host when its program was not found.
#[derive(Clone, Debug)]
pub struct ProgramSearch {
    plan: Arc<Plan>,
    host: Arc<HostFacts>,
}

/// What the host knows about a program that is missing inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingProgram {
    /// The host has none of that name in the caller's `PATH`, or nothing at that path.
    NotOnHost,
    /// The command has an image, and programs of the host are none of it.
    OtherSystem,
    /// The host has it, and everything of it is shown: something else is wrong.
    Shown(PathBuf),
    /// The host has it.
    Hidden {
        /// Where the caller's `PATH` finds it, and where the links from there lead.
        found: Vec<PathBuf>,
        /// The profile that shows all of it, if there is one.
        profile: Option<String>,
        /// What has to be shown for it, in order.
        show: Vec<PathBuf>,
    },
}

impl ProgramSearch {
    pub(crate) const fn new(plan: Arc<Plan>, host: Arc<HostFacts>) -> Self {
        Self { plan, host }
    }

    /// Looks for the program of the command on the host.
    pub fn look(&self) -> MissingProgram {
        let Self { plan, host } = self;
        if plan.image.is_some() {
            return MissingProgram::OtherSystem;
        }
        let Some(name) = plan.command.first() else { return MissingProgram::NotOnHost };
        let Some(program) = self.on_host(name) else { return MissingProgram::NotOnHost };
        let mut trail = Trail { search: self, visited: Vec::new(), show: BTreeSet::new() };
        let found = trail.follow(&program);
        let Trail { visited, show, .. } = trail;
        let show = outermost(show);
        if show.is_empty() {
            return MissingProgram::Shown(program);
        }
        let variables = host.environment.iter();
        let variables: Vec<_> = variables
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
            .collect();
        // A profile whose own places are at fault is none that helps.
        let profiles = tool_profiles(&polder_engines::vocabulary(), &host.user.home, &variables).unwrap_or_default();
        let fitting = profiles.iter().find(|profile| self.fits(profile, name, &found, &visited));
        MissingProgram::Hidden { found, profile: fitting.map(|profile| profile.name.clone()), show }
    }

    /// Whether a profile is meant for a program and shows all that it needs.
    fn fits(&self, profile: &ToolProfile, name: &OsStr, found: &[PathBuf], visited: &[PathBuf]) -> bool {
        let covers = |path: &PathBuf| {
            let covered = profile.binds.iter().any(|bind| path.starts_with(bind.host.as_path()));
            covered || self.plan.shows(path)
        };
        // Programs of every kind lie in `~/.local/bin`: what lies there alone is of no family.
        let shared = self.host.user.home.join(".local/bin");
        let family = profile.programs.iter().any(|known| OsStr::new(known) == name)
            || found.last().is_some_and(|real| !real.starts_with(&shared) && !self.plan.shows(real));
        family && visited.iter().all(covers)
    }

    /// Where the caller would find a program.
    fn on_host(&self, name: &OsStr) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        if name.as_bytes().contains(&b'/') {
            return Some(self.host.tree.start.join(name)).filter(is_program);
        }
        let path = self.host.environment.get(&OsString::from("PATH"))?;
        let dirs = std::env::split_paths(path).map(|dir| self.host.tree.start.join(dir));
        dirs.map(|dir| dir.join(name)).find(is_program)
    }
}

struct Trail<'a> {
    search: &'a ProgramSearch,
    /// Every link, file and interpreter on the way.
    visited: Vec<PathBuf>,
    show: BTreeSet<PathBuf>,
}

impl Trail<'_> {
    /// Follows a program to what it needs; its own path and the file that its links lead to.
    fn follow(&mut self, program: &Path) -> Vec<PathBuf> {
        let mut found = vec![program.to_owned()];
        let mut next = Some(program.to_owned());
        for _ in 0..STEPS_MAX {
            let Some(path) = next.take() else { break };
            let Some((links, real)) = links_of(&path) else { break };
            if path == program && real != *program {
                found.push(real.clone());
            }
            for link in links {
                let around = link.parent().unwrap_or(Path::new("/")).to_owned();
                let place = if self.is_wide(&around) { link.clone() } else { around };
                self.need(link, place);
            }
            let tree = self.tree_of(&real);
            self.need(real.clone(), tree);
            next = interpreter(&real).and_then(|word| match word {
                Interpreter::At(path) => Some(path),
                Interpreter::Named(name) => self.search.on_host(&name),
            });
        }
        found
    }

    fn need(&mut self, path: PathBuf, place: PathBuf) {
        if !self.search.plan.shows(&path) {
            self.show.insert(place);
        }
        self.visited.push(path);
    }

    /// The directory that holds what a program needs to run.
    fn tree_of(&self, real: &Path) -> PathBuf {
        // A package of Node's has its modules in its own directory; the outermost one counts.
        let parts: Vec<Component<'_>> = real.components().collect();
        if let Some(at) = parts.iter().position(|part| part.as_os_str() == "node_modules") {
            let scoped = parts.get(at + 1).is_some_and(|part| part.as_os_str().as_bytes().starts_with(b"@"));
            let end = at + if scoped { 3 } else { 2 };
            if end < parts.len() {
                return parts[..end].iter().collect();
            }
        }
        let Some(dir) = real.parent() else { return real.to_owned() };
        if self.is_wide(dir) {
            return real.to_owned();
        }
        let named = |name: &str| dir.file_name() == Some(OsStr::new(name));
        if let Some(prefix) = dir.parent().filter(|_| ["bin", "sbin", "shims", "libexec"].into_iter().any(named)) {
            // Interpreters and environments find their modules beside `bin`; a directory of plain programs has none, and
            // what lies beside it (`~/.cargo/credentials.toml`) is not theirs.
            let has_modules = ["lib", "lib64", "libexec"].iter().any(|name| prefix.join(name).is_dir());
            if has_modules && !self.is_wide(prefix) {
                return prefix.to_owned();
            }
        }
        dir.to_owned()
    }

    /// Whether a directory holds much more than a program.
    fn is_wide(&self, dir: &Path) -> bool {
        let home = &self.search.host.user.home;
        let of_home = [".local", ".local/share", ".config", ".cache"].iter().any(|name| dir == home.join(name));
        let shared = ["/opt", "/srv", "/var", "/mnt", "/media", "/tmp", "/var/tmp", "/var/lib", "/run", "/etc"];
        home.starts_with(dir) || of_home || shared.iter().any(|shared| dir == Path::new(shared))
    }
}

/// The links on the way to a file, each at its own place, and the file.
fn links_of(path: &Path) -> Option<(Vec<PathBuf>, PathBuf)> {
    let (mut links, mut walked) = (Vec::new(), PathBuf::from("/"));
    let parts =
        |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).rev().collect::<Vec<OsString>>();
    let mut left = parts(path);
    while let Some(part) = left.pop() {
        match part.as_bytes() {
            b"/" => walked = PathBuf::from("/"),
            b"." => {}
            b".." => drop(walked.pop()),
            _ => {
                let here = walked.join(&part);
                match fs::read_link(&here) {
                    Ok(target) => {
                        left.extend(parts(&target));
                        links.push(here);
                        if links.len() > STEPS_MAX {
                            return None;
                        }
                    }
                    Err(_) => walked = here,
                }
            }
        }
    }
    Some((links, walked))
}

/// What runs a script.
enum Interpreter {
    At(PathBuf),
    /// By way of `env`, which looks through `PATH`.
    Named(OsString),
}

fn interpreter(script: &Path) -> Option<Interpreter> {
    let mut line = Vec::new();
    File::open(script).ok()?.take(SHEBANG_BYTES_MAX).read_to_end(&mut line).ok()?;
    let line = line.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
    let first = Path::new(OsStr::from_bytes(words.next()?));
    if first.file_name() == Some(OsStr::new("env")) {
        let plain = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
        return words.find(plain).map(|word| Interpreter::Named(OsStr::from_bytes(word).to_owned()));
    }
    first.is_absolute().then(|| Interpreter::At(first.to_owned()))
}

/// Those that lie in none of the others.
fn outermost(places: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let inside = |place: &&PathBuf| !places.iter().any(|other| other != *place && place.starts_with(other));
    places.iter().filter(inside).cloned().collect()
}
