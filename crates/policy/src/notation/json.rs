//! JSON: a JSON parser says whether it is JSON, and then a small reader adds the lines that such parsers forget.
//!
//! The YAML reader would know the lines too, but it refuses tabs and pairs of surrogates, which are good JSON.

use super::{DEPTH_MAX, NODES_MAX, Unreadable};
use crate::tree::{Entry, Node, Value};
use serde::de::IgnoredAny;

pub(super) fn tree(text: &str) -> Result<Node, Unreadable> {
    let mut reader = Reader { rest: text, line: 1, nodes: 0 };
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(IgnoredAny) => reader.node(1),
        Err(error) => {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
            Err(Unreadable::new(line, format!("not JSON: {error}")))
        }
    }
}

/// Reads a text that is known to be JSON.
struct Reader<'a> {
    rest: &'a str,
    line: u32,
    nodes: usize,
}

impl<'a> Reader<'a> {
    /// The next letter after white space.
    fn peek(&mut self) -> Option<char> {
        let trimmed = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let skipped = self.rest.len() - trimmed.len();
        self.take(skipped);
        self.rest.chars().next()
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.rest = rest;
        taken
    }

    fn broken(&self) -> Unreadable {
        Unreadable::new(self.line, "not JSON")
    }

    fn node(&mut self, depth: usize) -> Result<Node, Unreadable> {
        let first = self.peek();
        let line = self.line;
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Unreadable::too_many(line));
        }
        let value = match first {
            Some('{' | '[') if depth > DEPTH_MAX => return Err(Unreadable::too_deep(line)),
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.text()?),
            Some(_) => self.word()?,
            None => return Err(self.broken()),
        };
        Ok(Node::new(value, line))
    }

    fn map(&mut self, depth: usize) -> Result<Value, Unreadable> {
        let mut entries = Vec::new();
        let mut keys = std::collections::BTreeSet::new();
        self.take(1);
        loop {
            match self.peek() {
                Some('"') => {
                    let line = self.line;
                    let key = self.text()?;
                    if !keys.insert(key.clone()) {
                        return Err(Unreadable::new(line, format!("the key `{key}` stands here twice")));
                    }
                    self.peek();
                    self.take(1);
                    entries.push(Entry { key, line, node: self.node(depth + 1)? });
                }
                Some(',') => drop(self.take(1)),
                Some('}') => {
                    self.take(1);
                    return Ok(Value::Map(entries));
                }
                Some(_) | None => return Err(self.broken()),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, Unreadable> {
        let mut items = Vec::new();
        self.take(1);
        loop {
            match self.peek() {
                Some(',') => drop(self.take(1)),
                Some(']') => {
                    self.take(1);
                    return Ok(Value::List(items));
                }
                Some(_) => items.push(self.node(depth + 1)?),
                None => return Err(self.broken()),
            }
        }
    }

    fn text(&mut self) -> Result<String, Unreadable> {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let quoted = self.take(end.ok_or_else(|| self.broken())? + 2);
        serde_json::from_str(quoted).map_err(|_| self.broken())
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Unreadable> {
        let end = self.rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
        match self.take(end) {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            number if number.contains(['.', 'e', 'E']) => number.parse().map(Value::Float).map_err(|_| self.broken()),
            number => {
                let too_large = |_| Unreadable::new(self.line, "the number does not fit in 64 bits");
                number.parse().map(Value::Int).map_err(too_large)
            }
        }
    }
}
