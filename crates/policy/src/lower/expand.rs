//! The caller's variables in the paths of a profile: `${NAME:-DEFAULT}` in front.

use super::Lower;
use crate::fault::Fault;
use crate::tree::{Node, Value};
use polder_facts::Origin;
use std::path::Path;

impl Lower<'_> {
    /// Puts the variables into every path of a profile.
    pub(super) fn expand(&mut self, tree: &mut Node, variables: &[(String, String)]) {
        let Value::Map(entries) = &mut tree.value else { return };
        for entry in entries {
            let Value::List(items) = &mut entry.node.value else { continue };
            match entry.key.as_str() {
                "path" => items.iter_mut().for_each(|item| self.expand_text(item, variables)),
                "bind_paths" => {
                    let maps = items.iter_mut().filter_map(|item| match &mut item.value {
                        Value::Map(entries) => Some(entries),
                        _ => None,
                    });
                    let hosts = maps.flatten().filter(|entry| entry.key == "host");
                    hosts.for_each(|entry| self.expand_text(&mut entry.node, variables));
                }
                _ => {}
            }
        }
    }

    fn expand_text(&mut self, node: &mut Node, variables: &[(String, String)]) {
        let Value::Text(text) = &mut node.value else { return };
        let parts = text.strip_prefix("${").and_then(|rest| rest.split_once('}'));
        let Some((name, default, below)) =
            parts.and_then(|(inner, below)| inner.split_once(":-").map(|(name, default)| (name, default, below)))
        else {
            return;
        };
        let said =
            variables.iter().find(|(known, _)| known == name).map(|(_, value)| match value.trim_end_matches('/') {
                "" if value.starts_with('/') => "/",
                trimmed => trimmed,
            });
        let Some(said) = said.filter(|said| Path::new(said).is_absolute()) else {
            *text = format!("{default}{below}");
            return;
        };
        let place = format!("{said}{below}");
        if self.home.starts_with(&place) {
            let message = format!("`{name}` is `{said}`, so that a profile would show the whole home directory");
            let hint = "set it to the tool's own directory, or leave it out for this call";
            self.faults.push(Fault::new(Origin::Environment(name.to_owned()), message).hint(hint));
        }
        *text = place;
    }
}
