//! What a command may do, in its own words and paths: what it can read about itself inside, and what `polder why` asks.
//!
//! A command that knows what is allowed can ask for more instead of trying again. It is told nothing that it could not
//! find out by trying: paths inside, never where they lead to on the host; no variable, no credential. Pure.

use crate::plan::{Asked, Configuration, MaskKind, Plan, Reserved};
use crate::standing::Wish;
use polder_facts::{Grant, Sourced};
use polder_policy::{Access, Limits};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Where it is inside.
pub const ALLOWANCE: &str = "/run/polder/policy.json";
/// Entries of one list; a policy can protect more than anybody reads.
const ENTRIES_MAX: usize = 500;

/// What a command may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Where it starts.
    pub workdir: String,
    /// What can be read.
    pub read: Vec<String>,
    /// What can be written, too.
    pub write: Vec<String>,
    /// Those of them that are the sandbox's own: empty at first, and gone at the end.
    pub private: Vec<String>,
    /// What cannot be changed although it lies in something that can.
    pub protected: Vec<Protected>,
    /// What can be neither read nor written although it lies in something that can.
    pub hidden: Vec<String>,
    /// The network.
    pub network: String,
    /// Who can be reached, with a restricted network.
    pub allow: Vec<String>,
    /// Who can never be.
    pub deny: Vec<String>,
    /// Upper bounds, by name.
    pub limits: Vec<(String, String)>,
}

/// Something protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// The path, or a name that is protected in every directory.
    pub what: String,
    /// What lifts it.
    pub grant: Option<String>,
}

/// What an allowance says about one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// Yes.
    Yes,
    /// Yes, in a directory of the sandbox's own, in which nothing of the host is.
    YesPrivate,
    /// The kernel's part of the sandbox: what is there is there.
    Kernel,
    /// A directory that the sandbox makes, for what is shown somewhere below it.
    Made,
    /// Nothing of the kind is shown.
    NotShown,
    /// It can be read and not written.
    ReadOnly,
    /// A protection is against it.
    Protected(Protected),
    /// It is hidden.
    Hidden,
}

impl Allowance {
    /// What a plan allows.
    pub fn of(plan: &Plan) -> Self {
        let files = &plan.files;
        let mut read: Vec<String> = files.system.iter().map(|entry| entry.path.to_string()).collect();
        read.extend(files.configuration.iter().map(|entry| match entry {
            Configuration::File(name) | Configuration::Directory(name) => format!("/etc/{name}"),
        }));
        read.extend(files.written.iter().map(|written| written.path.to_string()));
        if plan.image.is_some() {
            // An image shows all of itself.
            read.push("/".to_owned());
        }
        let (writable, readable): (Vec<_>, Vec<_>) =
            files.shown.iter().partition(|shown| shown.access == Access::ReadWrite);
        read.extend(readable.iter().map(|shown| shown.guest.to_string()));
        let home = &plan.identity.home;
        let mut private: Vec<String> = ["/tmp", "/var/tmp", "/dev/shm"].map(str::to_owned).to_vec();
        if !files.shown.iter().any(|shown| home.is_within(&shown.guest)) {
            private.push(home.to_string());
        }
        let mut write: Vec<String> = writable.iter().map(|shown| shown.guest.to_string()).collect();
        write.extend(private.iter().cloned());
        let hidden = files.masks.iter().filter(|mask| mask.kind == MaskKind::Hide);
        let peers = |peers: &[Sourced<String>]| peers.iter().map(|peer| peer.value.clone()).collect();
        Self {
            workdir: plan.workdir.to_string(),
            read,
            write,
            private,
            protected: protected(plan),
            hidden: hidden.map(|mask| mask.path.to_string()).collect(),
            network: plan.network.value.mode.name().to_owned(),
            allow: peers(&plan.network.value.allow),
            deny: peers(&plan.network.value.deny),
            limits: limits(&plan.limits),
        }
    }

    /// Whether something may be done at a path inside, which is absolute and without links.
    pub fn says(&self, path: &Path, wish: Wish) -> Says {
        if path.starts_with("/run/polder") {
            return if wish == Wish::Read { Says::Yes } else { Says::ReadOnly };
        }
        let deepest = |places: &[String]| {
            let holding = places.iter().filter(|place| path.starts_with(place));
            holding.map(|place| Path::new(place).components().count()).max()
        };
        let (read, write, private) = (deepest(&self.read), deepest(&self.write), deepest(&self.private));
        let kernel = ["/proc", "/sys", "/dev"].iter().any(|place| path.starts_with(place));
        if kernel && private.is_none() {
            return Says::Kernel;
        }
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Says::Hidden;
        }
        if read.max(write).is_none() {
            let mut places = self.read.iter().chain(&self.write).map(Path::new).chain([Path::new(ALLOWANCE)]);
            return if places.any(|place| place.starts_with(path)) { Says::Made } else { Says::NotShown };
        }
        if private.is_some() && private == read.max(write) {
            return Says::YesPrivate;
        }
        match self.protected.iter().find(|protected| protected.covers(path)) {
            Some(protected) if wish == Wish::Write => return Says::Protected(protected.clone()),
            Some(_) | None => {}
        }
        if wish == Wish::Write && read > write { Says::ReadOnly } else { Says::Yes }
    }

    /// As a command reads it.
    pub fn to_json(&self) -> Value {
        let Self { workdir, read, write, private, protected, hidden, network, allow, deny, limits } = self;
        let list = |list: &[String]| list.iter().take(ENTRIES_MAX).cloned().collect::<Vec<_>>();
        let protection = |Protected { what, grant }: &Protected| json!({"path": what, "grant": grant});
        let limits: Map<String, Value> =
            limits.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        json!({
            "version": 1,
            "workdir": workdir,
            "read": list(read),
            "write": list(write),
            "private": list(private),
            "protected": protected.iter().take(ENTRIES_MAX).map(protection).collect::<Vec<_>>(),
            "hidden": list(hidden),
            "network": {"mode": network, "allow": list(allow), "deny": list(deny)},
            "limits": limits,
            "ask": "trying again changes nothing; ask whoever started this run for a new one with `--allow GRANT`",
            "grants": Grant::FORMS,
        })
    }

    /// The same read back; what is not there allows nothing.
    pub fn from_json(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let protection =
            |value: &Value| Protected { what: text(&value["path"]), grant: value["grant"].as_str().map(str::to_owned) };
        let limits = value["limits"].as_object().into_iter().flatten();
        Self {
            workdir: text(&value["workdir"]),
            read: list(&value["read"]),
            write: list(&value["write"]),
            private: list(&value["private"]),
            protected: value["protected"].as_array().into_iter().flatten().map(protection).collect(),
            hidden: list(&value["hidden"]),
            network: text(&value["network"]["mode"]),
            allow: list(&value["network"]["allow"]),
            deny: list(&value["network"]["deny"]),
            limits: limits.map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    }
}

impl Protected {
    /// A name without a slash is protected in every directory.
    fn covers(&self, path: &Path) -> bool {
        if self.what.starts_with('/') {
            return path.starts_with(&self.what);
        }
        path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(self.what.as_str()))
    }
}

fn protected(plan: &Plan) -> Vec<Protected> {
    let files = &plan.files;
    let lifting = |rule: PathBuf| Some(Grant::FsWrite(rule).to_string());
    let masks = files.masks.iter().filter(|mask| mask.kind == MaskKind::Protect);
    let exist = masks.map(|mask| Protected {
        what: mask.path.to_string(),
        grant: mask.lifted_by.as_ref().and_then(|rule| lifting(rule.into())),
    });
    let reserved = files.reserved.iter().map(|Reserved { name, existing: _, origin: _, lifted_by }| Protected {
        what: name.clone(),
        grant: lifted_by.as_ref().and_then(|rule| lifting(rule.into())),
    });
    // A git dir may come into being, and what git obeys in it may not.
    let swept = files.swept.iter().filter(|swept| swept.only_with.is_empty());
    let swept = swept.map(|swept| Protected {
        what: swept.path.to_string(),
        grant: swept.lifted_by.as_ref().and_then(|rule| lifting(rule.into())),
    });
    let git = files.git.missing.iter().filter(|swept| swept.asked == Asked::ByRule);
    let hooks = git.filter(|swept| swept.relative.ends_with(".git")).map(|swept| Protected {
        what: swept.path.as_path().join("hooks").display().to_string(),
        grant: lifting(swept.relative.join("hooks")),
    });
    exist.chain(reserved).chain(swept).chain(hooks).collect()
}

fn limits(limits: &Limits) -> Vec<(String, String)> {
    let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
    fn said<T: Display>(name: &str, limit: &Option<Sourced<T>>) -> Option<(String, String)> {
        limit.as_ref().map(|limit| (name.to_owned(), limit.value.to_string()))
    }
    let all = [
        said("cpus", cpus),
        said("disk", disk),
        said("files", files),
        said("memory", memory),
        said("output", output),
        said("pids", pids),
        said("timeout", timeout),
    ];
    all.into_iter().flatten().collect()
}
