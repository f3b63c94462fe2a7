//! The binds and profiles that the user gave the command with flags. They are in the written file as they were given: the
//! user thought about them, and without them the file is not the policy that was learnt. Pure.

use polder::{Origin, Planned};
use polder_policy::{Access, Bind};
use polder_workspace::is_plain;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What flags gave, over all calls for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// By the path inside.
    pub(super) binds: BTreeMap<String, GivenBind>,
    pub(super) profiles: BTreeSet<String>,
}

/// A bind as a file says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenBind {
    pub(super) host: String,
    pub(super) access: Access,
    pub(super) optional: bool,
}

impl Given {
    pub(super) fn is_empty(&self) -> bool {
        let Self { binds, profiles } = self;
        binds.is_empty() && profiles.is_empty()
    }

    /// Adds what the flags of a call gave; answers with the paths that a file cannot say.
    pub(super) fn add(&mut self, planned: &Planned) -> Vec<String> {
        let is_flag = |origin: &Origin, flag: &str| matches!(origin, Origin::Flag(name) if name == flag);
        let policy = planned.policy();
        let profiles = policy.profiles.iter().filter(|name| is_flag(&name.origin, "--profile"));
        self.profiles.extend(profiles.map(|name| name.value.clone()));
        let mut unsaid = Vec::new();
        for bind in policy.binds.iter().filter(|bind| is_flag(&bind.origin, "--bind")) {
            let Bind { host, guest, access, optional } = &bind.value;
            let (host, guest) = (host.as_path().display().to_string(), guest.as_path().display().to_string());
            if host.chars().chain(guest.chars()).all(is_plain) {
                self.binds.insert(guest, GivenBind { host, access: *access, optional: *optional });
            } else {
                unsaid.push(host);
            }
        }
        unsaid
    }

    /// Every bind as the flag says it.
    pub(super) fn bind_flags(&self) -> impl Iterator<Item = String> {
        self.binds.iter().map(|(guest, GivenBind { host, access, optional })| {
            let access = if *access == Access::ReadWrite { ":rw" } else { "" };
            let optional = if *optional { ":optional" } else { "" };
            format!("{host}:{guest}{access}{optional}")
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { binds, profiles } = self;
        let bind = |(guest, GivenBind { host, access, optional }): (&String, &GivenBind)| {
            let read_only = *access == Access::ReadOnly;
            (guest.clone(), json!({"host": host, "readOnly": read_only, "optional": optional}))
        };
        json!({"binds": binds.iter().map(bind).collect::<Map<_, _>>(), "profiles": profiles})
    }

    /// The same read back.
    pub(super) fn from_json(value: &Value) -> Self {
        let bind = |(guest, bind): (&String, &Value)| {
            let access = if bind["readOnly"] == false { Access::ReadWrite } else { Access::ReadOnly };
            let host = bind["host"].as_str()?.to_owned();
            Some((guest.clone(), GivenBind { host, access, optional: bind["optional"] == true }))
        };
        let names = value["profiles"].as_array().into_iter().flatten();
        Self {
            binds: value["binds"].as_object().into_iter().flatten().filter_map(bind).collect(),
            profiles: names.filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        }
    }
}
