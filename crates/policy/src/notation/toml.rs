//! TOML: its parser keeps byte ranges, from which the lines follow.

use super::{DEPTH_MAX, NODES_MAX, Unreadable};
use crate::tree::{Entry, Node, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(super) fn tree(text: &str) -> Result<Node, Unreadable> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| lines.at(span.start));
        Unreadable::new(line, format!("not TOML: {}", error.message()))
    })?;
    let mut reader = Reader { lines, nodes: 0 };
    let entries = reader.table(table.get_ref(), 1)?;
    Ok(Node::new(Value::Map(entries), 1))
}

/// The byte at which each line begins.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    fn at(&self, byte: usize) -> u32 {
        1 + self.0.partition_point(|newline| *newline < byte) as u32
    }
}

struct Reader {
    lines: Lines,
    nodes: usize,
}

impl Reader {
    fn table(&mut self, table: &DeTable<'_>, depth: usize) -> Result<Vec<Entry>, Unreadable> {
        let mut pairs: Vec<_> = table.iter().collect();
        // The order of the file: faults are reported in it, and steps run in it.
        pairs.sort_by_key(|(key, _)| key.span().start);
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let line = self.lines.at(key.span().start);
            entries.push(Entry { key: key.get_ref().to_string(), line, node: self.node(value, depth)? });
        }
        Ok(entries)
    }

    fn node(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Unreadable> {
        let line = self.lines.at(value.span().start);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Unreadable::too_many(line));
        }
        if depth > DEPTH_MAX {
            return Err(Unreadable::too_deep(line));
        }
        let too_large = || Unreadable::new(line, "the number does not fit in 64 bits");
        let value = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                Value::Int(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| too_large())?)
            }
            DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| too_large())?),
            DeValue::Boolean(value) => Value::Bool(*value),
            // No key is a date; as a text it is refused where it stands.
            DeValue::Datetime(date) => Value::Text(date.to_string()),
            DeValue::Array(items) => {
                Value::List(items.iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Map(self.table(table, depth + 1)?),
        };
        Ok(Node::new(value, line))
    }
}
