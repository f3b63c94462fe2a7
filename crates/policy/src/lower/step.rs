//! Steps: what runs, in which sandbox, and what it changes there.

use super::Lower;
use crate::check::is_foreign_step;
use crate::dialect::Dialect;
use crate::document::{Definition, StepDefinition};
use crate::model::{Limits, Ready, ReadyBy};
use crate::rules;
use crate::shape::{STEP, Shape, Table};
use crate::tree::{Entry, Node, Value};
use polder_facts::{Sourced, Span};
use std::time::Duration;

/// The most steps of one file.
const STEPS_MAX: usize = 1000;
/// The most services of one file.
const SERVICES_MAX: usize = 100;
/// The first port for whom no privilege is needed; a new network begins with this, whatever the host has.
const PORT_MIN: u16 = 1024;
/// How long to wait for a service that says nothing about it.
const READY_WITHIN: Span = Span(Duration::from_secs(30));

impl Lower<'_> {
    pub(super) fn steps(&mut self, tree: &Node) -> Vec<StepDefinition> {
        if let (Some(_), Some(checks)) = (tree.entry("steps"), tree.entry("checks")) {
            self.fault(checks.line, "`steps` and `checks` are the same thing; give one");
        }
        let entries = tree.get("steps").or_else(|| tree.get("checks")).map(Node::entries).unwrap_or_default();
        if entries.len() > STEPS_MAX {
            self.fault(tree.line, format!("the file has more than {STEPS_MAX} steps"));
            return Vec::new();
        }
        entries.iter().map(|entry| self.step(entry)).collect()
    }

    /// Commands that run beside steps: read as steps are, with less to say.
    pub(super) fn services(&mut self, tree: &Node) -> Vec<StepDefinition> {
        if self.source.dialect == Dialect::Visor {
            return Vec::new();
        }
        let entries = tree.get("services").map(Node::entries).unwrap_or_default();
        if entries.len() > SERVICES_MAX {
            self.fault(tree.line, format!("the file has more than {SERVICES_MAX} services"));
            return Vec::new();
        }
        let service = |lower: &mut Self, entry: &Entry| {
            let ready = entry.node.get("ready").and_then(|node| lower.ready(node));
            StepDefinition { ready, ..lower.step(entry) }
        };
        entries.iter().map(|entry| service(self, entry)).collect()
    }

    fn ready(&mut self, node: &Node) -> Option<Sourced<Ready>> {
        let port = node.get("port").and_then(|port| match port.value {
            Value::Int(number) => Some((number, port.line)),
            _ => None,
        });
        let exec = node.get("exec").and_then(Node::text);
        let timeout = node.get("timeout").and_then(Node::text).and_then(|text| text.parse().ok());
        let by = match (port, exec) {
            (Some((port, line)), None) => match u16::try_from(port) {
                // Nobody inside has a privilege, so nobody would ever come.
                Ok(port) if port < PORT_MIN => {
                    self.fault(
                        line,
                        format!("nobody without privileges can listen on port {port}: take {PORT_MIN} or above"),
                    );
                    return None;
                }
                Ok(port) => ReadyBy::Port(port),
                Err(_) => {
                    self.fault(line, format!("`{port}` is not a port: the last one is 65535"));
                    return None;
                }
            },
            (None, Some(exec)) => ReadyBy::Exec(exec.to_owned()),
            (Some(_), Some(_)) | (None, None) => {
                self.fault(node.line, "`ready` needs one of `port` and `exec`");
                return None;
            }
        };
        Some(self.sourced(Ready { by, timeout: timeout.unwrap_or(READY_WITHIN) }, node.line))
    }

    fn step(&mut self, entry: &Entry) -> StepDefinition {
        let node = &entry.node;
        let foreign = is_foreign_step(node, self.source.dialect);
        if let Err(message) = rules::name(&entry.key)
            && !foreign
        {
            self.fault(entry.line, message);
        }
        let text = |key: &str| node.get(key).and_then(|value| Some((value.text()?.to_owned(), value.line)));
        let mut step = StepDefinition {
            name: entry.key.clone(),
            origin: self.origin(entry.line),
            kind: text("type").map(|(kind, line)| self.sourced(kind, line)),
            exec: None,
            command: None,
            sandbox: None,
            depends_on: None,
            continue_on_failure: None,
            condition: None,
            stdin: None,
            services: None,
            ready: None,
            unread: Vec::new(),
            changes: Definition::silent(self.origin(entry.line)),
        };
        if foreign {
            // Another tool's step: its keys are not ours to read.
            let kind = step.kind.take().unwrap_or_else(|| self.sourced("unknown".to_owned(), entry.line));
            return StepDefinition { kind: Some(kind), ..step };
        }
        step.exec = text("exec").map(|(exec, line)| self.sourced(exec, line));
        step.command = node.get("command").and_then(|command| self.command(command));
        if let (Some(exec), Some(_)) = (node.entry("exec"), node.entry("command")) {
            self.fault(exec.line, "`exec` and `command` exclude each other; give one");
        }
        step.sandbox = text("sandbox").map(|(sandbox, line)| self.sourced(sandbox, line));
        step.depends_on = node.get("depends_on").map(|node| self.each(Some(node), |name| Ok(name.to_owned())));
        step.continue_on_failure = node.get("continue_on_failure").and_then(Node::bool);
        step.condition = text("if").map(|(condition, line)| self.sourced(condition, line));
        step.stdin = text("stdin").map(|(stdin, line)| self.sourced(stdin, line));
        step.services = node.get("services").map(|node| self.each(Some(node), |name| Ok(name.to_owned())));
        step.changes.network = node.get("network").and_then(|network| self.network(network));
        step.changes.access = self.access(node);
        step.changes.env_set = self.env_values(node);
        step.changes.limits = self.step_limits(node);
        step.unread = self.unread(&STEP, node);
        step
    }

    /// The keys of a step, or of a file, that only another tool reads.
    pub(super) fn unread(&self, table: &Table, node: &Node) -> Vec<Sourced<String>> {
        let keys = node.entries().iter().filter(|entry| {
            let known = table.key(&entry.key, self.source.dialect);
            known.is_some_and(|key| matches!(key.shape, Shape::Unread | Shape::UnreadName | Shape::Opaque))
        });
        keys.map(|entry| self.sourced(entry.key.clone(), entry.line)).collect()
    }

    fn command(&mut self, node: &Node) -> Option<Sourced<Vec<String>>> {
        let words: Vec<_> = node.texts().into_iter().map(|(word, _)| word.to_owned()).collect();
        if words.first().is_none_or(String::is_empty) {
            self.fault(node.line, "`command` needs a program");
        }
        Some(self.sourced(words, node.line))
    }

    /// `limits`, and `timeout`, which is one of them.
    fn step_limits(&mut self, node: &Node) -> Limits {
        let limits = self.limits(node);
        let Some(timeout) = node.get("timeout") else { return limits };
        if limits.timeout.is_some() {
            self.fault(timeout.line, "`timeout` and `limits.timeout` are the same thing; give one");
        }
        let span = match (&timeout.value, self.source.dialect) {
            (Value::Int(millis), Dialect::Visor) => {
                u64::try_from(*millis).ok().map(|millis| Span(Duration::from_millis(millis)))
            }
            _ => timeout.text().and_then(|text| text.parse().ok()),
        };
        Limits { timeout: span.map(|span| self.sourced(span, timeout.line)), ..limits }
    }
}
