//! One service of a compose file.

use super::super::keys;
use super::super::model::{Check, Mount, Need, Service};
use super::super::value::{is_name, place, size, time, user, words};
use super::{Judge, shortened};
use crate::container::api::ImageName;
use polder_policy::tree::{Entry, Node, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The least memory that a daemon gives.
const MEMORY_BYTES_MIN: u64 = 6 << 20;
/// The longest time that a file may ask for.
const TIME_MAX: Duration = Duration::from_secs(300);
const TIME_MIN: Duration = Duration::from_millis(1);
const RETRIES_MAX: i64 = 100;

impl Judge<'_> {
    pub(super) fn service(&mut self, entry: &Entry, own: bool) -> Service {
        let mut service = Service {
            name: entry.key.clone(),
            line: entry.line,
            image: String::new(),
            command: None,
            entrypoint: None,
            env: BTreeMap::new(),
            user: None,
            workdir: None,
            needs: Vec::new(),
            check: None,
            mounts: Vec::new(),
            scratch: Vec::new(),
            read_only: false,
            memory_bytes: None,
            cpus: None,
            pids: None,
        };
        for Entry { key, line, node } in self.map(&entry.node, "a service") {
            if own && let Some((_, instead)) = keys::NOT_FOR_THE_COMMAND.iter().find(|(name, _)| name == key) {
                self.fault(*line, format!("`{key}` of the service that the command takes the place of: {instead}"));
                continue;
            }
            self.key(&mut service, key, *line, node);
        }
        if service.image.is_empty() && entry.node.get("image").is_none() && entry.node.get("build").is_none() {
            self.fault(entry.line, format!("service `{}` has no `image`", entry.key));
        }
        service
    }

    fn key(&mut self, service: &mut Service, key: &str, line: u32, node: &Node) {
        match key {
            "image" => service.image = self.image(node),
            "command" => service.command = self.words(node, key),
            "entrypoint" => service.entrypoint = self.words(node, key),
            "environment" => service.env = self.environment(node),
            "user" => service.user = self.text(node, key).and_then(|text| self.keep(line, key, user(&text))),
            "working_dir" => service.workdir = self.text(node, key).and_then(|text| self.keep(line, key, place(&text))),
            "depends_on" => service.needs = self.depends_on(node),
            "healthcheck" => service.check = self.healthcheck(node),
            // It says what is so anyway: everybody reaches every port on the loopback.
            "expose" => {}
            "tmpfs" => {
                let texts =
                    if let Value::Text(_) = node.value { std::slice::from_ref(node) } else { self.list(node, key) };
                for item in texts {
                    let text = self.text(item, key);
                    service.scratch.extend(text.and_then(|text| self.keep(item.line, key, place(&text))));
                }
            }
            "read_only" => service.read_only = self.yes_or_no(node, key),
            "mem_limit" => {
                let bytes = match &node.value {
                    Value::Int(bytes) => u64::try_from(*bytes).map_err(|_| "it is below zero"),
                    _ => size(&self.text(node, key).unwrap_or_default()),
                };
                // Zero means no limit to a daemon.
                let bytes =
                    bytes.and_then(|bytes| if bytes < MEMORY_BYTES_MIN { Err("it is below `6m`") } else { Ok(bytes) });
                service.memory_bytes = self.keep(line, key, bytes);
            }
            "cpus" => {
                let cpus = match &node.value {
                    Value::Int(cpus) => Some(*cpus as f64),
                    Value::Float(cpus) => Some(*cpus),
                    Value::Text(text) => text.parse().ok(),
                    _ => None,
                };
                let cpus = cpus.filter(|cpus: &f64| cpus.is_finite() && (0.01..=4096.0).contains(cpus));
                service.cpus = self.keep(line, key, cpus.ok_or("it is not a number from 0.01 to 4096"));
            }
            "pids_limit" => {
                let pids = self.number(node, key, 1, 4_194_304);
                service.pids = pids.and_then(|pids| u64::try_from(pids).ok());
            }
            // Everything that a service has goes with the run, so nothing waits for it to put anything away.
            "stop_grace_period" => {
                let _ = self.time(node, key);
            }
            "networks" => self.default_only(node),
            "volumes" => {
                for item in self.list(node, key) {
                    service.mounts.extend(self.mount(item));
                }
            }
            "restart" => {
                if node.text() != Some("no") {
                    self.fault(line, "`restart`: a service that ends is not started again; write `\"no\"`");
                }
            }
            "init" => {
                if self.yes_or_no(node, key) {
                    self.fault(line, "`init`: the first process of a service is its own");
                }
            }
            key if key.starts_with("x-") => {}
            key => self.unknown(key, line, &keys::SERVICE),
        }
    }

    fn image(&mut self, node: &Node) -> String {
        let text = self.text(node, "image").unwrap_or_default();
        if let Err(error) = text.parse::<ImageName>() {
            self.fault(node.line, format!("`image`: {error}"));
        }
        text
    }

    /// A command: a list of words, or a text that is split into them.
    fn words(&mut self, node: &Node, key: &str) -> Option<Vec<String>> {
        match &node.value {
            Value::Null => None,
            Value::Text(text) => self.keep(node.line, key, words(text)),
            _ => Some(self.list(node, key).iter().filter_map(|item| self.text(item, key)).collect()),
        }
    }

    fn environment(&mut self, node: &Node) -> BTreeMap<String, String> {
        let mut env = BTreeMap::new();
        let mut said = Vec::new();
        match &node.value {
            Value::List(items) => {
                for item in items {
                    let text = self.text(item, "environment").unwrap_or_default();
                    match text.split_once('=') {
                        Some((name, value)) => said.push((item.line, name.to_owned(), Some(value.to_owned()))),
                        None => said.push((item.line, text, None)),
                    }
                }
            }
            _ => {
                for entry in self.map(node, "`environment`") {
                    let value = match &entry.node.value {
                        Value::Null => None,
                        Value::Int(number) => Some(number.to_string()),
                        _ => Some(self.text(&entry.node, &entry.key).unwrap_or_default()),
                    };
                    said.push((entry.line, entry.key.clone(), value));
                }
            }
        }
        for (line, name, value) in said {
            if name.is_empty() || name.contains(['=', '\0']) {
                self.fault(line, format!("`{}` is not the name of a variable", shortened(&name)));
                continue;
            }
            match value {
                Some(value) => drop(env.insert(name, value)),
                None => {
                    let why = "it has no value, and the caller's is not put in";
                    self.fault(line, format!("the variable `{}`: {why}", shortened(&name)));
                }
            }
        }
        env
    }

    fn depends_on(&mut self, node: &Node) -> Vec<Need> {
        if let Value::List(items) = &node.value {
            let names = items.iter().filter_map(|item| Some((self.text(item, "depends_on")?, item.line)));
            return names.map(|(name, line)| Need { name, line, healthy: false }).collect();
        }
        let mut needs = Vec::new();
        for entry in self.map(node, "`depends_on`") {
            let mut healthy = false;
            for option in self.map(&entry.node, "what is depended on") {
                match (option.key.as_str(), option.node.text(), option.node.bool()) {
                    ("condition", Some("service_started"), _) => {}
                    ("condition", Some("service_healthy"), _) => healthy = true,
                    ("condition", ..) => {
                        self.fault(option.line, "`condition` is `service_started` or `service_healthy`");
                    }
                    ("required", _, Some(true)) | ("restart", _, Some(false)) => {}
                    (key, ..) => self.unknown(key, option.line, &["condition"]),
                }
            }
            needs.push(Need { name: entry.key.clone(), line: entry.line, healthy });
        }
        needs
    }

    fn healthcheck(&mut self, node: &Node) -> Option<Check> {
        let mut check = Check {
            test: Vec::new(),
            interval: Duration::from_secs(30),
            timeout: Duration::from_secs(30),
            retries: 3,
            start_period: Duration::ZERO,
        };
        let mut off = false;
        for Entry { key, line, node } in self.map(node, "`healthcheck`") {
            match key.as_str() {
                "test" => match self.test(node) {
                    Some(test) => check.test = test,
                    None => off = true,
                },
                "interval" => check.interval = self.time(node, key).unwrap_or(check.interval),
                "timeout" => check.timeout = self.time(node, key).unwrap_or(check.timeout),
                "start_period" => check.start_period = self.time(node, key).unwrap_or_default(),
                "retries" => {
                    let retries = self.number(node, key, 1, RETRIES_MAX).and_then(|number| u32::try_from(number).ok());
                    check.retries = retries.unwrap_or(check.retries);
                }
                "disable" => off |= self.yes_or_no(node, key),
                key => self.unknown(key, *line, &["test", "interval", "timeout", "retries", "start_period", "disable"]),
            }
        }
        if !off && check.test.is_empty() {
            self.fault(node.line, "`healthcheck` has no `test`");
        }
        (!off).then_some(check)
    }

    /// What is run to ask a service; nothing where nobody asks.
    fn test(&mut self, node: &Node) -> Option<Vec<String>> {
        let shell = |text: String| vec!["/bin/sh".to_owned(), "-c".to_owned(), text];
        if let Value::Text(text) = &node.value {
            return Some(shell(text.clone()));
        }
        let mut words: Vec<String> =
            self.list(node, "test").iter().filter_map(|item| self.text(item, "test")).collect();
        let first = if words.is_empty() { String::new() } else { words.remove(0) };
        match (first.as_str(), words.as_slice()) {
            ("NONE", []) => None,
            ("CMD", [_, ..]) => Some(words),
            ("CMD-SHELL", [text]) => Some(shell(text.clone())),
            _ => {
                self.fault(node.line, "`test` is a text, or a list that begins with `CMD`, `CMD-SHELL` or `NONE`");
                None
            }
        }
    }

    fn mount(&mut self, node: &Node) -> Option<Mount> {
        let bind = "files of the host are not shown to services; put them into an image, or use a named volume";
        let (source, target, read_only) = match &node.value {
            Value::Text(text) => {
                let parts: Vec<&str> = text.split(':').collect();
                match parts.as_slice() {
                    [target] => (None, (*target).to_owned(), false),
                    [source, target] | [source, target, "rw"] => {
                        (Some((*source).to_owned()), (*target).to_owned(), false)
                    }
                    [source, target, "ro"] => (Some((*source).to_owned()), (*target).to_owned(), true),
                    _ => {
                        self.fault(node.line, format!("`{}` is not `NAME:PLACE` or `NAME:PLACE:ro`", shortened(text)));
                        return None;
                    }
                }
            }
            _ => {
                let (mut source, mut target, mut read_only) = (None, String::new(), false);
                for Entry { key, line, node } in self.map(node, "a volume") {
                    match key.as_str() {
                        "type" if node.text() == Some("volume") => {}
                        "type" => {
                            self.fault(*line, format!("`type`: {bind}"));
                            return None;
                        }
                        "source" => source = self.text(node, key),
                        "target" => target = self.text(node, key).unwrap_or_default(),
                        "read_only" => read_only = self.yes_or_no(node, key),
                        key => self.unknown(key, *line, &["type", "source", "target", "read_only"]),
                    }
                }
                (source, target, read_only)
            }
        };
        if let Some(name) = &source
            && !self.volumes.contains(name)
        {
            if is_name(name) {
                self.fault(node.line, format!("the volume `{name}` is not defined under `volumes`"));
            } else {
                self.fault(node.line, format!("`{}`: {bind}", shortened(name)));
            }
            return None;
        }
        let target = self.keep(node.line, &shortened(&target), place(&target))?;
        Some(Mount { volume: source, target, read_only })
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            let kind = node.kind();
            self.fault(
                node.line,
                format!("`{}` must be a text, not {kind}; put it in quotation marks", shortened(key)),
            );
        }
        text
    }

    fn list<'n>(&mut self, node: &'n Node, key: &str) -> &'n [Node] {
        if !matches!(node.value, Value::List(_) | Value::Null) {
            self.fault(node.line, format!("`{key}` must be a list, not {}", node.kind()));
        }
        node.items()
    }

    fn yes_or_no(&mut self, node: &Node, key: &str) -> bool {
        if node.bool().is_none() {
            self.fault(node.line, format!("`{key}` must be true or false, not {}", node.kind()));
        }
        node.bool().unwrap_or(false)
    }

    fn number(&mut self, node: &Node, key: &str, least: i64, most: i64) -> Option<i64> {
        match node.value {
            Value::Int(number) if (least..=most).contains(&number) => Some(number),
            _ => {
                self.fault(node.line, format!("`{key}` must be a number from {least} to {most}"));
                None
            }
        }
    }

    fn time(&mut self, node: &Node, key: &str) -> Option<Duration> {
        let text = self.text(node, key)?;
        let found = self.keep(node.line, key, time(&text))?;
        let least = if key == "start_period" || key == "stop_grace_period" { Duration::ZERO } else { TIME_MIN };
        if (least..=TIME_MAX).contains(&found) {
            return Some(found);
        }
        self.fault(node.line, format!("`{key}` must be a time up to `5m`, and not zero"));
        None
    }
}
