//! The one tree that every notation is read into: plain values, each with its line. Engines read files of their own kind
//! with it, so that every file has the same limits and the same faults.

/// A value and the line on which it stands, counted from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What stands there.
    pub value: Value,
    /// Where it stands.
    pub line: u32,
}

/// What YAML, TOML and JSON have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, also by name.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Keys with their values.
    Map(Vec<Entry>),
}

/// One key of a map, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub line: u32,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// A value at a line.
    pub const fn new(value: Value, line: u32) -> Self {
        Self { value, line }
    }

    /// The entries, when this is a map; none otherwise.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, when this is a list; none otherwise.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The text, when this is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The answer, when this is yes or no.
    pub const fn bool(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A text, or a list of texts, as a list.
    pub fn texts(&self) -> Vec<(&str, u32)> {
        match &self.value {
            Value::Text(text) => vec![(text, self.line)],
            Value::List(items) => items.iter().filter_map(|item| Some((item.text()?, item.line))).collect(),
            _ => Vec::new(),
        }
    }

    /// What a person would call the value.
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The value without its lines.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect(),
        }
    }
}
