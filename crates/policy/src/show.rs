//! The effective policy as a person and a program read it: every value with the place it comes from.

mod json;

pub use json::to_json;

use crate::fault::printable;
use crate::model::{
    Access, Cache, EngineChoice, EnvPattern, EnvRules, GitIdentityUse, Image, Limits, Network, Policy, Via, Workdir,
    Workspace,
};
use polder_facts::{Origin, Sourced};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// The policy in the words of the configuration, each line with its origin.
pub fn show(policy: &Policy) -> String {
    let mut lines = Lines(Vec::new());
    let Policy {
        name,
        engine,
        network,
        access,
        workdir,
        workspace,
        observe,
        scope,
        profiles,
        path,
        git_identity,
        env,
        binds,
        limits,
        protect,
        deny_read,
        unprotect,
        credentials,
        cache,
        untrusted,
        service,
        beside,
        image,
        visor_path,
        require,
        accept,
        allow_unsandboxed,
        engine_options,
    } = policy;
    if let Some(name) = name {
        lines.bare(format!("# sandbox {}", quoted(name)));
    }
    lines.value("engine", engine_word(&engine.value), &engine.origin);
    show_network(&mut lines, network);
    lines.value("read_only", access.value == Access::ReadOnly, &access.origin);
    lines.value("observe", observe.value.name(), &observe.origin);
    lines.value("scope", scope.value.name(), &scope.origin);
    lines.value("git_identity", git_identity.value == GitIdentityUse::Given, &git_identity.origin);
    lines.value("workdir", workdir_word(&workdir.value), &workdir.origin);
    let Workspace { mode, name, from, keep, untracked, projects, main_project_name } = &workspace.value;
    let said = |key, name: &Option<String>| name.as_ref().map(|name| format!(", {key}: {}", quoted(name)));
    let main = said("main_project_name", main_project_name).unwrap_or_default();
    let projects: Vec<String> =
        projects.iter().map(|project| format!("{}: {}", project.name, quoted(&project.host.to_string()))).collect();
    let projects = if projects.is_empty() { String::new() } else { format!(", projects: {{{}}}", projects.join(", ")) };
    let (name, from) = (said("name", name).unwrap_or_default(), said("from", from).unwrap_or_default());
    let keep = if *keep { "" } else { ", keep: false" };
    let untracked = if *untracked { ", untracked: true" } else { "" };
    let mode = mode.name();
    let text = format!("{{mode: {mode}{name}{from}{keep}{untracked}{projects}{main}}}");
    lines.value("workspace", text, &workspace.origin);
    lines.list("profiles", profiles, |name| quoted(name));
    lines.list("path", path, |path| quoted(&path.to_string_lossy()));
    let EnvRules { pass, set } = env;
    lines.list("env_passthrough", pass, env_word);
    // The last value of a variable is the one that holds.
    let last: BTreeMap<_, _> = set.iter().map(|pair| (&pair.value.0, pair.clone())).collect();
    let last: Vec<_> = last.into_values().collect();
    lines.map("env", &last, |(name, value)| format!("{name}: {}", quoted(value)));
    lines.list("bind_paths", binds, |bind| {
        let read_only = bind.access == Access::ReadOnly;
        let (host, guest) = (quoted(&bind.host.to_string()), quoted(&bind.guest.to_string()));
        let optional = if bind.optional { ", optional: true" } else { "" };
        format!("{{host: {host}, container: {guest}, read_only: {read_only}{optional}}}")
    });
    show_limits(&mut lines, limits);
    lines.list("protect", protect, |path| quoted(&path.0));
    lines.list("deny_read", deny_read, |path| quoted(&path.0));
    lines.list("unprotect", unprotect, |path| quoted(&path.0));
    lines.list("credentials", credentials, |credential| {
        let (name, source) = (quoted(&credential.name), quoted(&credential.source));
        let hosts: Vec<_> = credential.hosts.iter().map(|host| quoted(host)).collect();
        let via = match credential.via {
            Via::Broker => "",
            Via::Environment => ", via: environment",
        };
        format!("{{name: {name}, source: {source}, hosts: [{}]{via}}}", hosts.join(", "))
    });
    if let Some(cache) = cache {
        lines.value("cache", cache_word(&cache.value), &cache.origin);
    }
    if let Some(untrusted) = untrusted {
        lines.value("untrusted", true, &untrusted.origin);
    }
    if let Some(beside) = beside {
        lines.value("# beside", quoted(&beside.value.services.join(", ")), &beside.origin);
    }
    if let Some(service) = service {
        lines.value("# service", quoted(&service.value.name), &service.origin);
    }
    if let Some(image) = image {
        show_image(&mut lines, image);
    }
    if let Some(path) = visor_path {
        lines.value("visor_path", quoted(&path.value.to_string()), &path.origin);
    }
    lines.list("require", require, |guarantee| guarantee.to_string());
    lines.list("accept", accept, |guarantee| guarantee.to_string());
    if let Some(allowed) = allow_unsandboxed {
        lines.value("allow_unsandboxed", true, &allowed.origin);
    }
    for (engine, options) in engine_options {
        lines.value(&format!("options for {engine}"), &options.value, &options.origin);
    }
    lines.text()
}

/// Lines with an origin each, aligned when they are printed.
struct Lines(Vec<(String, Option<String>)>);

/// Beyond this width a value pushes its origin to the right instead of everybody's.
const ALIGN_MAX: usize = 60;

impl Lines {
    fn bare(&mut self, line: String) {
        self.0.push((line, None));
    }

    fn line(&mut self, line: String, origin: &Origin) {
        self.0.push((line, Some(origin.to_string())));
    }

    fn value(&mut self, key: &str, value: impl Display, origin: &Origin) {
        self.line(format!("{key}: {value}"), origin);
    }

    fn list<T>(&mut self, key: &str, items: &[Sourced<T>], word: impl Fn(&T) -> String) {
        self.map(key, items, |item| format!("- {}", word(item)));
    }

    fn map<T>(&mut self, key: &str, items: &[Sourced<T>], line: impl Fn(&T) -> String) {
        if !items.is_empty() {
            self.bare(format!("{key}:"));
        }
        for item in items {
            self.line(format!("  {}", line(&item.value)), &item.origin);
        }
    }

    fn text(self) -> String {
        let width = |line: &str| line.chars().count();
        let widest = self.0.iter().filter(|(_, origin)| origin.is_some()).map(|(line, _)| width(line));
        let column = widest.filter(|width| *width <= ALIGN_MAX).max().unwrap_or(0);
        let mut text = String::new();
        for (line, origin) in &self.0 {
            let _ = match origin {
                Some(origin) => {
                    let gap = column.saturating_sub(width(line));
                    writeln!(text, "{line}{:gap$}  # {}", "", printable(origin))
                }
                None => writeln!(text, "{line}"),
            };
        }
        text
    }
}

fn show_network(lines: &mut Lines, network: &Sourced<Network>) {
    let Network { mode, allow, deny } = &network.value;
    if allow.is_empty() && deny.is_empty() {
        return lines.value("network", mode.name(), &network.origin);
    }
    lines.bare("network:".to_owned());
    lines.value("  mode", mode.name(), &network.origin);
    for (key, peers) in [("allow", allow), ("deny", deny)] {
        if !peers.is_empty() {
            lines.bare(format!("  {key}:"));
        }
        for peer in peers {
            lines.line(format!("    - {}", quoted(&peer.value)), &peer.origin);
        }
    }
}

fn show_limits(lines: &mut Lines, limits: &Limits) {
    let rows = limit_rows(limits);
    if !rows.is_empty() {
        lines.bare("limits:".to_owned());
    }
    for (key, value, origin) in rows {
        lines.value(&format!("  {key}"), value, origin);
    }
}

fn limit_rows(limits: &Limits) -> Vec<(&'static str, String, &Origin)> {
    fn row<'a, T: Display>(
        key: &'static str,
        limit: &'a Option<Sourced<T>>,
    ) -> Option<(&'static str, String, &'a Origin)> {
        limit.as_ref().map(|limit| (key, limit.value.to_string(), &limit.origin))
    }
    let Limits { memory, cpus, pids, disk, files, output, timeout } = limits;
    let rows = [
        row("memory", memory),
        row("cpus", cpus),
        row("pids", pids),
        row("disk", disk),
        row("files", files),
        row("output", output),
        row("timeout", timeout),
    ];
    rows.into_iter().flatten().collect()
}

fn show_image(lines: &mut Lines, image: &Sourced<Image>) {
    match &image.value {
        Image::Named(name) => lines.value("image", quoted(name), &image.origin),
        Image::Recipe(file) => lines.value("dockerfile", quoted(file), &image.origin),
        Image::Inline(text) => lines.value("dockerfile_inline", quoted(text), &image.origin),
        Image::Compose { file, service } => {
            lines.value("compose", quoted(file), &image.origin);
            lines.value("service", quoted(service), &image.origin);
        }
    }
}

fn engine_word(engine: &EngineChoice) -> &str {
    match engine {
        EngineChoice::Auto => crate::vocabulary::AUTO,
        EngineChoice::Named(id) => id,
    }
}

fn workdir_word(workdir: &Workdir) -> String {
    match workdir {
        Workdir::Host => "host".to_owned(),
        Workdir::At(path) => quoted(&path.to_string()),
    }
}

fn env_word(pattern: &EnvPattern) -> String {
    let negation = if pattern.negated { "!" } else { "" };
    quoted(&format!("{negation}{}", pattern.glob))
}

fn cache_word(cache: &Cache) -> String {
    let Cache { paths, prefix, fallback_prefix, ttl, max_scopes } = cache;
    let paths: Vec<_> = paths.iter().map(|path| quoted(&path.to_string())).collect();
    let named = |key: &str, value: &Option<String>| {
        value.as_ref().map(|value| format!(", {key}: {}", quoted(value))).unwrap_or_default()
    };
    let (prefix, fallback) = (named("prefix", prefix), named("fallback_prefix", fallback_prefix));
    format!("{{paths: [{}]{prefix}{fallback}, ttl: {ttl}, max_scopes: {max_scopes}}}", paths.join(", "))
}

/// A text as YAML takes it, with nothing in it that a terminal would obey.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+');
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '.' | '_'));
    let reserved = ["true", "false", "null", "yes", "no", "on", "off"].contains(&text.to_lowercase().as_str());
    if word && !reserved && text.chars().all(plain) {
        text.to_owned()
    } else {
        {
            // The newlines of a recipe become escapes; everything else that is special goes.
            let lines: Vec<_> = text.split('\n').map(printable).collect();
            Value::from(lines.join("\n")).to_string()
        }
    }
}

#[cfg(test)]
mod tests;
