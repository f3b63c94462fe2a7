//! YAML: the parser's events become the tree, under limits. Aliases count every time they are used, so that a small
//! file cannot become a large tree.

use super::{DEPTH_MAX, NODES_MAX, Unreadable};
use crate::tree::{Entry, Node, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn tree(text: &str) -> Result<Node, Unreadable> {
    let mut builder =
        Builder { frames: Vec::new(), anchors: BTreeMap::new(), root: None, nodes: 0, documents: 0, line: 1 };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = u32::try_from(error.marker().line()).unwrap_or(u32::MAX).max(1);
            Unreadable::new(line, format!("not YAML: {}", error.info()))
        })?;
        builder.line = u32::try_from(span.start.line()).unwrap_or(u32::MAX).max(1);
        builder.take(event)?;
    }
    // An empty file says nothing, which is what an empty map says.
    Ok(builder.root.unwrap_or(Node::new(Value::Map(Vec::new()), 1)))
}

/// A collection that is still open.
struct Frame {
    line: u32,
    anchor: usize,
    open: Open,
    /// Values below it so far, and the deepest nesting among them.
    size: Size,
}

enum Open {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, keys: BTreeSet<String>, key: Option<(String, u32)>, merges: Vec<Node> },
}

#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    depth: usize,
}

struct Builder {
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, Size)>,
    root: Option<Node>,
    nodes: usize,
    documents: usize,
    line: u32,
}

const LEAF: Size = Size { nodes: 1, depth: 1 };

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), Unreadable> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 { Err(self.fault("a second document begins; only one is read")) } else { Ok(()) }
            }
            Event::Scalar(text, style, anchor, tag) => {
                if self.wants_key() {
                    return self.key(text.into_owned());
                }
                let value = self.scalar(text, style, tag)?;
                self.add(Node::new(value, self.line), LEAF, anchor)
            }
            Event::SequenceStart(anchor, tag) => self.open(anchor, tag, "seq", Open::List(Vec::new())),
            Event::MappingStart(anchor, tag) => {
                let (entries, keys, merges) = (Vec::new(), BTreeSet::new(), Vec::new());
                self.open(anchor, tag, "map", Open::Map { entries, keys, key: None, merges })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
                    return Err(self.fault("the alias stands inside its own anchor"));
                };
                if self.wants_key() {
                    return match node.value {
                        Value::Text(text) => self.key(text),
                        _ => Err(self.fault("a key must be a text")),
                    };
                }
                self.add(node, size, 0)
            }
        }
    }

    fn fault(&self, message: impl Into<String>) -> Unreadable {
        Unreadable::new(self.line, message)
    }

    fn wants_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { open: Open::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, text: String) -> Result<(), Unreadable> {
        let line = self.line;
        let Some(Frame { open: Open::Map { keys, key, .. }, .. }) = self.frames.last_mut() else {
            return Ok(());
        };
        if !keys.insert(text.clone()) {
            return Err(Unreadable::new(line, format!("the key `{text}` stands here twice")));
        }
        *key = Some((text, line));
        Ok(())
    }

    fn open(&mut self, anchor: usize, tag: Option<Cow<'_, Tag>>, core: &str, open: Open) -> Result<(), Unreadable> {
        if self.wants_key() {
            return Err(self.fault("a key must be a text"));
        }
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() && tag.suffix == core)
        {
            return Err(self.fault(format!("the tag `{tag}` has no meaning here")));
        }
        if self.frames.len() >= DEPTH_MAX {
            return Err(Unreadable::too_deep(self.line));
        }
        self.frames.push(Frame { line: self.line, anchor, open, size: LEAF });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Unreadable> {
        let Some(Frame { line, anchor, open, size }) = self.frames.pop() else {
            return Ok(());
        };
        let value = match open {
            Open::List(items) => Value::List(items),
            Open::Map { mut entries, mut keys, merges, .. } => {
                for merge in merges {
                    merge_into(&mut entries, &mut keys, merge)?;
                }
                Value::Map(entries)
            }
        };
        // The values inside were counted as they came; the collection itself counts as one.
        self.nodes = self.nodes.saturating_sub(size.nodes - 1);
        self.add(Node::new(value, line), size, anchor)
    }

    fn add(&mut self, node: Node, size: Size, anchor: usize) -> Result<(), Unreadable> {
        self.nodes = self.nodes.saturating_add(size.nodes);
        if self.nodes > NODES_MAX {
            return Err(Unreadable::too_many(self.line));
        }
        if self.frames.len() + size.depth > DEPTH_MAX + 1 {
            return Err(Unreadable::too_deep(self.line));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.size.nodes += size.nodes;
        frame.size.depth = frame.size.depth.max(size.depth + 1);
        match &mut frame.open {
            Open::List(items) => items.push(node),
            Open::Map { entries, key, merges, .. } => match key.take() {
                Some((key, _)) if key == "<<" => merges.push(node),
                Some((key, line)) => entries.push(Entry { key, line, node }),
                None => {}
            },
        }
        Ok(())
    }

    fn scalar(&self, text: Cow<'_, str>, style: ScalarStyle, tag: Option<Cow<'_, Tag>>) -> Result<Value, Unreadable> {
        match tag {
            None if style == ScalarStyle::Plain => self.plain(&text),
            None => Ok(Value::Text(text.into_owned())),
            Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Ok(Value::Text(text.into_owned())),
            Some(tag) => Err(self.fault(format!("the tag `{tag}` has no meaning here"))),
        }
    }

    /// The core schema of YAML 1.2: `yes` and `no` are texts.
    fn plain(&self, text: &str) -> Result<Value, Unreadable> {
        let radix = |digits: &str, radix| i64::from_str_radix(digits, radix).map(Value::Int);
        let too_large = |_| self.fault(format!("the number `{text}` does not fit in 64 bits"));
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
            "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
            "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
            ".nan" | ".NaN" | ".NAN" => return Ok(Value::Float(f64::NAN)),
            _ => {}
        }
        if let ".inf" | ".Inf" | ".INF" = digits {
            return Ok(Value::Float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }));
        }
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return radix(text, 10).map_err(too_large);
        }
        for (prefix, base) in [("0x", 16), ("0o", 8)] {
            if let Some(rest) = text.strip_prefix(prefix)
                && !rest.is_empty()
                && rest.chars().all(|c| c.is_digit(base))
            {
                return radix(rest, base).map_err(too_large);
            }
        }
        // Rust's own parser also takes `inf` and `nan`, which are texts here.
        let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && digits.bytes().any(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if numeric => Ok(Value::Float(number)),
            _ => Ok(Value::Text(text.to_owned())),
        }
    }
}

/// `<<`: keys of the merged maps that the map does not have itself; the first map of a list wins.
fn merge_into(entries: &mut Vec<Entry>, keys: &mut BTreeSet<String>, merge: Node) -> Result<(), Unreadable> {
    let line = merge.line;
    match merge.value {
        Value::Map(merged) => {
            for entry in merged {
                if keys.insert(entry.key.clone()) {
                    entries.push(entry);
                }
            }
            Ok(())
        }
        Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Map(_))) => {
            items.into_iter().try_for_each(|item| merge_into(entries, keys, item))
        }
        _ => Err(Unreadable::new(line, "`<<` takes a map or a list of maps")),
    }
}
