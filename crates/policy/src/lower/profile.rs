//! `[[sandbox]]`: a sandbox that carries its name and says `type` for its engine. It becomes an ordinary one here.

use super::Lower;
use crate::tree::{Entry, Node, Value};

impl Lower<'_> {
    /// The profiles of a list as entries of `sandboxes`; none when `sandbox` is the name of the default.
    pub(super) fn profiles(&mut self, node: &Node) -> Vec<Entry> {
        node.items().iter().filter_map(|item| self.profile(item)).collect()
    }

    fn profile(&mut self, item: &Node) -> Option<Entry> {
        let name = item.entry("name")?;
        if let (Some(kind), Some(_)) = (item.entry("type"), item.entry("engine")) {
            self.fault(kind.line, "`type` and `engine` are the same thing; give one");
        }
        let entries = item.entries().iter().filter(|entry| entry.key != "name").cloned().map(|mut entry| {
            if entry.key == "type" {
                entry.key = "engine".to_owned();
            }
            entry
        });
        let node = Node::new(Value::Map(entries.collect()), item.line);
        Some(Entry { key: name.node.text()?.to_owned(), line: name.line, node })
    }
}
