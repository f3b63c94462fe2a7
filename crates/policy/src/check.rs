//! A tree against the table of keys: unknown keys and wrong types, every one of them.

use crate::dialect::Dialect;
use crate::fault::{Fault, nearest};
use crate::foreign;
use crate::shape::{STEP, Shape, Table};
use crate::tree::{Entry, Node, Value};
use polder_facts::{ByteSize, Guarantee, Origin, Span};
use std::path::Path;
use std::str::FromStr;

/// The most entries of one list or map, and of a list after every layer has spoken. Every protected path
/// can be a mount of its own.
pub(crate) const LIST_ITEMS_MAX: usize = 4096;

/// Checks one tree and gathers what is wrong.
pub(crate) struct Check<'a> {
    pub(crate) path: &'a Path,
    pub(crate) dialect: Dialect,
    pub(crate) faults: Vec<Fault>,
}

/// Whether keys that the table does not know are faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strict {
    Yes,
    No,
}

impl Check<'_> {
    fn fault(&mut self, line: u32, message: String) -> &mut Fault {
        let origin = Origin::File { path: self.path.to_owned(), line };
        self.faults.push(Fault::new(origin, message));
        self.faults.last_mut().expect("invariant: one was pushed just now")
    }

    /// A map with known keys; `place` is how messages call it.
    pub(crate) fn table(&mut self, node: &Node, table: &'static Table, strict: Strict, place: &str) {
        let Value::Map(entries) = &node.value else {
            self.fault(node.line, format!("{place} must be a map, not {}", node.kind()));
            return;
        };
        for entry in entries {
            match table.key(&entry.key, self.dialect) {
                Some(key) => self.shape(&entry.node, &key.shape, &format!("`{}`", entry.key)),
                None if strict == Strict::Yes => self.unknown(entry, table),
                None => self.perhaps_meant(entry, table),
            }
        }
        for key in table.keys(self.dialect).filter(|key| key.required) {
            if node.get(key.name).is_none() {
                self.fault(node.line, format!("{place} has no `{}`", key.name));
            }
        }
    }

    fn unknown(&mut self, entry: &Entry, table: &'static Table) {
        let hint = match entry.key.as_str() {
            // Whoever looks for it has seen it elsewhere, and no name that is near would help.
            "services" => Some(
                "in a `polder.yaml` a step can have services, and in every file a sandbox can have a compose file"
                    .to_owned(),
            ),
            key => {
                let foreign = foreign::instead(key).filter(|_| std::ptr::eq(table, &raw const STEP));
                foreign.map(str::to_owned).or_else(|| nearest(key, table.keys(self.dialect).map(|key| key.name)))
            }
        };
        self.fault(entry.line, format!("unknown key `{}`", entry.key)).hint = hint;
    }

    /// A key of another tool stands beside ours and is left alone, unless it is most likely one of ours: one that is
    /// misspelt, or that only polder's own files may have, would be passed over in silence.
    fn perhaps_meant(&mut self, entry: &Entry, table: &'static Table) {
        let (key, dialect) = (entry.key.as_str(), self.dialect);
        if table.key(key, Dialect::Own).is_some() && foreign::guards(key) {
            let hint = "write it in a file of polder's own".to_owned();
            self.fault(entry.line, format!("`{key}` is not read in this file")).hint = Some(hint);
        } else if let Some(meant) = table.keys(dialect).find(|known| foreign::is_misspelt(key, known.name)) {
            let hint = format!("did you mean `{}`?", meant.name);
            self.fault(entry.line, format!("unknown key `{key}`")).hint = Some(hint);
        }
    }

    fn wrong(&mut self, node: &Node, place: &str, wanted: &str) {
        self.fault(node.line, format!("{place} must be {wanted}, not {}", node.kind()));
    }

    fn too_many(&mut self, node: &Node, count: usize, place: &str) {
        let message = format!("{place} has {count} entries, more than {LIST_ITEMS_MAX}");
        let hint = "name directories or patterns instead of single files".to_owned();
        self.fault(node.line, message).hint = Some(hint);
    }

    fn shape(&mut self, node: &Node, shape: &Shape, place: &str) {
        if !fits(node, shape) {
            self.wrong(node, place, &wanted(shape));
            return;
        }
        match shape {
            Shape::Bool | Shape::Text | Shape::Opaque | Shape::Unread | Shape::UnreadName | Shape::Scalar => {}
            Shape::Count => {
                if !matches!(node.value, Value::Int(1..)) {
                    self.fault(node.line, format!("{place} must be a whole number above zero"));
                }
            }
            Shape::Number => {
                if !number(node).is_some_and(|number| number.is_finite() && number > 0.0) {
                    self.fault(node.line, format!("{place} must be a number above zero"));
                }
            }
            Shape::Size => self.unit::<ByteSize>(node, place),
            Shape::Span => self.unit::<Span>(node, place),
            Shape::Word(words) => self.word(node, words, place),
            Shape::Guarantee => {
                if let Some(name) = node.text()
                    && let Err(error) = Guarantee::from_str(name)
                {
                    let hint = nearest(name, Guarantee::ALL.iter().map(|guarantee| guarantee.name()));
                    self.fault(node.line, error.to_string()).hint = hint;
                }
            }
            Shape::Map(table) => self.table(node, table, Strict::Yes, place),
            Shape::MapOf(_) if node.entries().len() > LIST_ITEMS_MAX => {
                self.too_many(node, node.entries().len(), place);
            }
            Shape::ListOf(_) if node.items().len() > LIST_ITEMS_MAX => {
                self.too_many(node, node.items().len(), place);
            }
            Shape::MapOf(shape) => {
                for entry in node.entries() {
                    self.shape(&entry.node, shape, &format!("`{}`", entry.key));
                }
            }
            Shape::ListOf(shape) => {
                for item in node.items() {
                    self.shape(item, shape, &format!("an item of {place}"));
                }
            }
            Shape::Either(shapes) => {
                if let Some(shape) = shapes.iter().find(|shape| fits(node, shape)) {
                    self.shape(node, shape, place);
                }
            }
            Shape::Step => {
                if !is_foreign_step(node, self.dialect) {
                    self.table(node, &STEP, Strict::Yes, place);
                }
            }
        }
    }

    fn unit<T: FromStr<Err: std::fmt::Display>>(&mut self, node: &Node, place: &str) {
        let text = unit_text(node);
        if let Err(error) = text.parse::<T>() {
            self.fault(node.line, format!("{place}: `{text}` {error}"));
        }
    }

    fn word(&mut self, node: &Node, words: &[&str], place: &str) {
        if let Some(word) = node.text()
            && !words.contains(&word)
        {
            let list = format!("known are {}", words.join(", "));
            let hint = nearest(word, words.iter().copied()).map_or(list.clone(), |near| format!("{near} {list}"));
            self.fault(node.line, format!("{place} cannot be `{word}`")).hint = Some(hint);
        }
    }
}

/// Whether a step of a `.visor.yaml` belongs to the other tool: it says another type, or nothing that we could run.
pub(crate) fn is_foreign_step(step: &Node, dialect: Dialect) -> bool {
    let runs = step.get("exec").is_some() || step.get("command").is_some();
    match step.get("type") {
        _ if dialect == Dialect::Own || !matches!(step.value, Value::Map(_)) => false,
        Some(kind) => kind.text().is_some_and(|kind| kind != "command"),
        None => !runs,
    }
}

/// A number of either kind.
pub(crate) fn number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        _ => None,
    }
}

/// A size or a span as its parser takes it.
pub(crate) fn unit_text(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Whether the value is of the right kind at all; what is inside is judged afterwards.
fn fits(node: &Node, shape: &Shape) -> bool {
    match (&node.value, shape) {
        (_, Shape::Either(shapes)) => shapes.iter().any(|shape| fits(node, shape)),
        (_, Shape::Unread) => true,
        (Value::Bool(_), Shape::Bool | Shape::Scalar)
        | (
            Value::Text(_),
            Shape::Text
            | Shape::Size
            | Shape::Span
            | Shape::Word(_)
            | Shape::Guarantee
            | Shape::Scalar
            | Shape::UnreadName,
        )
        | (Value::Int(_), Shape::Count | Shape::Number | Shape::Size | Shape::Scalar)
        | (Value::Float(_), Shape::Number | Shape::Count | Shape::Scalar)
        | (Value::List(_), Shape::ListOf(_))
        | (Value::Map(_), Shape::Map(_) | Shape::MapOf(_) | Shape::Opaque | Shape::Step) => true,
        _ => false,
    }
}

fn wanted(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".into(),
        Shape::Text | Shape::Guarantee => "a text".into(),
        Shape::Word(words) => format!("one of {}", words.join(", ")),
        Shape::Count => "a whole number above zero".into(),
        Shape::Number => "a number above zero".into(),
        Shape::Size => "a size as in `512M`".into(),
        Shape::Span => "a time as in `10m`".into(),
        Shape::Scalar => "a text, a number, or true or false".into(),
        Shape::Unread => "anything".into(),
        Shape::UnreadName => {
            "a name (polder checks no output: ask at the end of `exec`, and return another code than 0)".into()
        }
        Shape::ListOf(_) => "a list".into(),
        Shape::Map(_) | Shape::MapOf(_) | Shape::Opaque | Shape::Step => "a map".into(),
        Shape::Either(shapes) => shapes.iter().map(wanted).collect::<Vec<_>>().join(" or "),
    }
}
