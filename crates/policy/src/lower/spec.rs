//! `SandboxSpec`: a sandbox as another program asks for it, one session per file.

use super::Lower;
use crate::check::{Check, Strict};
use crate::dialect::Dialect;
use crate::document::{Definition, Document, SpecRoot};
use crate::model::{Access, Bind, Network, NetworkMode, Workdir};
use crate::rules;
use crate::shape::SPEC;
use crate::tree::Node;
use polder_facts::Sourced;

/// The name of the one sandbox that a spec defines.
const SPEC_NAME: &str = "spec";

/// Whether a JSON file is a spec: no other file has these keys.
pub(super) fn is_spec(tree: &Node) -> bool {
    ["sessionId", "mounts", "networkEgress"].iter().any(|key| tree.get(key).is_some())
}

impl Lower<'_> {
    pub(super) fn spec(&mut self, tree: &Node) -> Document {
        let mut check = Check { path: &self.source.path, dialect: Dialect::Own, faults: Vec::new() };
        check.table(tree, &SPEC, Strict::Yes, "the spec");
        self.faults = check.faults;

        let mut document = self.empty();
        let mut definition = Definition::silent(self.origin(tree.line));
        let line = |key: &str| tree.get(key).map_or(tree.line, |node| node.line);

        let egress = tree.get("networkEgress").and_then(Node::bool).unwrap_or(false);
        let mode = if egress { NetworkMode::Full } else { NetworkMode::None };
        definition.network = Some(self.sourced(Network::of(mode), line("networkEgress")));

        // Every mode but `chat` looks and does not touch: whatever a mount says, it can only be read then.
        let writes = tree.get("mode").and_then(Node::text) == Some("chat");
        let mut binds: Vec<_> = tree
            .get("mounts")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|m| self.mount(m, writes))
            .collect();

        let workdir = tree.get("workdir").and_then(|node| self.keep(rules::guest_path(node.text()?), node.line));
        if let Some(workdir) = workdir {
            match binds.iter().position(|bind| workdir.value.is_within(&bind.value.guest)) {
                Some(at) => {
                    let Sourced { value: Bind { host, guest, access, optional: _ }, origin } = binds.remove(at);
                    let below = workdir.value.as_path().strip_prefix(guest.as_path()).unwrap_or("".as_ref());
                    let working_dir = host.join(below).unwrap_or_else(|_| host.clone());
                    document.root = Some(SpecRoot { root: host, working_dir });
                    definition.access = Some(Sourced::new(access, origin));
                    definition.workdir = Some(Sourced::new(Workdir::At(guest), workdir.origin));
                }
                None => self.fault(line("workdir"), format!("`workdir` `{}` is in no mount", workdir.value)),
            }
        }
        definition.binds = Some(self.sourced(binds, line("mounts")));
        document.sandboxes.push((SPEC_NAME.to_owned(), definition));
        document.default = Some(self.sourced(SPEC_NAME.to_owned(), tree.line));
        document
    }

    fn mount(&mut self, mount: &Node, writes: bool) -> Option<Sourced<Bind>> {
        let (host, guest) = (mount.get("hostPath")?, mount.get("guestPath")?);
        let host_path = rules::host_path(host.text()?, self.base_dir(), self.home);
        let host_path = self.keep(host_path, host.line);
        let guest_path = self.keep(rules::guest_path(guest.text()?), guest.line);
        let writable = writes && mount.get("writable").and_then(Node::bool).unwrap_or(false);
        let access = if writable { Access::ReadWrite } else { Access::ReadOnly };
        let bind = Bind { host: host_path?.value, guest: guest_path?.value, access, optional: false };
        Some(self.sourced(bind, mount.line))
    }
}
