//! Tree to document: the values of a file get their meaning, and what has none is a fault.
//!
//! The check against the table of keys runs first and reports wrong types, so everything here may skip a value that
//! has the wrong type: it has been reported.

mod expand;
mod image;
mod profile;
mod sandbox;
mod spec;
mod step;

use crate::check::{Check, Strict};
use crate::dialect::Dialect;
use crate::document::{Definition, Document, Level, Source};
use crate::fault::{Fault, Faults};
use crate::model::{AuditMode, EnvPattern};
use crate::notation::{Notation, read_tree};
use crate::rules;
use crate::shape::{Reach, SHIPPED_PROFILE, TOP};
use crate::tree::Node;
use crate::vocabulary::Vocabulary;
use polder_facts::{Origin, Sourced};
use std::path::Path;

/// Reads one file, without those it extends.
pub(crate) fn file(source: &Source, vocabulary: &Vocabulary, home: &Path) -> Result<Document, Faults> {
    match file_with_faults(source, vocabulary, home) {
        (Some(document), faults) => Faults::check(document, faults),
        (None, faults) => Err(Faults(faults)),
    }
}

/// The same with what could be understood beside the faults; nothing where the file is no tree.
pub(crate) fn file_with_faults(
    source: &Source,
    vocabulary: &Vocabulary,
    home: &Path,
) -> (Option<Document>, Vec<Fault>) {
    let tree = match read_tree(&source.path, &source.bytes) {
        Ok(tree) => tree,
        Err(fault) => return (None, vec![fault]),
    };
    let mut lower = Lower { source, vocabulary, home, faults: Vec::new() };
    let document = if Notation::of(&source.path) == Notation::Json && spec::is_spec(&tree) {
        lower.spec(&tree)
    } else {
        let mut check = Check { path: &source.path, dialect: source.dialect, faults: Vec::new() };
        let strict = if source.dialect == Dialect::Visor { Strict::No } else { Strict::Yes };
        check.table(&tree, &TOP, strict, "the file");
        lower.faults = check.faults;
        lower.document(&tree)
    };
    let mut faults = lower.faults;
    faults.sort_by(|a, b| a.origin.cmp(&b.origin));
    faults.dedup();
    (Some(document), faults)
}

/// Reads a profile that polder brings: what it says of itself, and its rules. Variables of the caller stand where it names
/// them.
pub(crate) fn shipped(
    source: &Source,
    vocabulary: &Vocabulary,
    home: &Path,
    variables: &[(String, String)],
) -> Result<(Node, Definition), Faults> {
    let mut tree = read_tree(&source.path, &source.bytes)?;
    let mut check = Check { path: &source.path, dialect: source.dialect, faults: Vec::new() };
    check.table(&tree, &SHIPPED_PROFILE, Strict::Yes, "the profile");
    let mut lower = Lower { source, vocabulary, home, faults: check.faults };
    lower.expand(&mut tree, variables);
    let definition = lower.sandbox(&tree, tree.line);
    Faults::check((tree, definition), lower.faults)
}

/// The files that a file extends, as it writes them. A file that cannot be read extends nothing; reading it reports why.
pub(crate) fn extends(source: &Source) -> Vec<Sourced<String>> {
    let Ok(tree) = read_tree(&source.path, &source.bytes) else {
        return Vec::new();
    };
    let texts = tree.get("extends").map(Node::texts).unwrap_or_default();
    let origin = |line| Origin::File { path: source.path.clone(), line };
    texts.into_iter().map(|(text, line)| Sourced::new(text.to_owned(), origin(line))).collect()
}

/// Gives values their meaning and gathers faults.
struct Lower<'a> {
    source: &'a Source,
    vocabulary: &'a Vocabulary,
    home: &'a Path,
    faults: Vec<Fault>,
}

impl Lower<'_> {
    fn origin(&self, line: u32) -> Origin {
        let path = &self.source.path;
        match self.source.level {
            Level::Shipped => {
                let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                Origin::Profile { name, line }
            }
            Level::System | Level::User | Level::Project | Level::Explicit => Origin::File { path: path.clone(), line },
        }
    }

    fn sourced<T>(&self, value: T, line: u32) -> Sourced<T> {
        Sourced::new(value, self.origin(line))
    }

    fn fault(&mut self, line: u32, message: impl Into<String>) {
        let fault = Fault::new(self.origin(line), message);
        self.faults.push(fault);
    }

    /// The value, or nothing and a fault.
    fn keep<T>(&mut self, result: Result<T, String>, line: u32) -> Option<Sourced<T>> {
        match result {
            Ok(value) => Some(self.sourced(value, line)),
            Err(message) => {
                self.fault(line, message);
                None
            }
        }
    }

    /// Every text of a list that follows its rule.
    fn each<T>(&mut self, node: Option<&Node>, rule: impl Fn(&str) -> Result<T, String>) -> Vec<Sourced<T>> {
        let texts = node.map(Node::texts).unwrap_or_default();
        texts.into_iter().filter_map(|(text, line)| self.keep(rule(text), line)).collect()
    }

    fn base_dir(&self) -> &Path {
        self.source.path.parent().unwrap_or(Path::new(""))
    }

    fn document(&mut self, tree: &Node) -> Document {
        let mut document = self.empty();
        let profiles = tree.get("sandbox").map(|node| self.profiles(node)).unwrap_or_default();
        let named = tree.get("sandboxes").map(Node::entries).unwrap_or_default();
        if named.len() + profiles.len() > SANDBOXES_MAX {
            self.fault(tree.line, format!("the file has more than {SANDBOXES_MAX} sandboxes"));
            return document;
        }
        for entry in named.iter().chain(&profiles) {
            if document.sandboxes.iter().any(|(name, _)| *name == entry.key) {
                self.fault(entry.line, format!("the sandbox `{}` is defined twice", entry.key));
            }
            self.sandbox_name(&entry.key, entry.line);
            let definition = self.sandbox(&entry.node, entry.line);
            document.sandboxes.push((entry.key.clone(), definition));
        }
        document.default = tree.get("sandbox").and_then(|node| Some(self.sourced(node.text()?.to_owned(), node.line)));
        document.profiles = self.each(tree.get("profiles"), rules::name);
        document.env_defaults = tree.get("sandbox_defaults").and_then(|defaults| self.env_list(defaults));
        document.steps = self.steps(tree);
        document.services = self.services(tree);
        document.max_parallelism = tree.entry("max_parallelism").and_then(|entry| self.count(&entry.node));
        document.enforce = tree.entry("enforce").map(|entry| self.sandbox(&entry.node, entry.line));
        document.allow_unsandboxed =
            tree.get("allow_unsandboxed").and_then(|node| Some(self.sourced(node.bool()?, node.line)));
        document.allow_permissive =
            tree.get("allow_permissive").and_then(|node| Some(self.sourced(node.bool()?, node.line)));
        document.audit = tree.get("audit").and_then(|node| {
            let mode = AuditMode::ALL.into_iter().find(|mode| Some(mode.name()) == node.text())?;
            Some(self.sourced(mode, node.line))
        });
        document.unread = self.unread(&TOP, tree);
        self.levels(tree);
        document
    }

    fn empty(&self) -> Document {
        Document {
            path: self.source.path.clone(),
            level: self.source.level,
            fingerprint: String::new(),
            extends: Vec::new(),
            sandboxes: Vec::new(),
            profiles: Vec::new(),
            default: None,
            env_defaults: None,
            steps: Vec::new(),
            services: Vec::new(),
            max_parallelism: None,
            enforce: None,
            allow_unsandboxed: None,
            allow_permissive: None,
            audit: None,
            root: None,
            unread: Vec::new(),
        }
    }

    /// Keys that only some levels may have.
    fn levels(&mut self, tree: &Node) {
        if self.source.dialect == Dialect::Visor {
            return;
        }
        if let Some(entry) = tree.entry("enforce")
            && self.source.level != Level::System
        {
            self.fault(entry.line, "`enforce` counts in a system file only");
        }
        let own = TOP.keys(Dialect::Own).filter(|key| key.reach == Reach::Own && key.name != "enforce");
        for key in own {
            if let Some(entry) = tree.entry(key.name)
                && !matches!(self.source.level, Level::System | Level::User)
            {
                self.fault(entry.line, format!("`{}` counts in a system or user file only", key.name));
            }
        }
    }

    fn sandbox_name(&mut self, name: &str, line: u32) {
        if name == NO_SANDBOX {
            self.fault(line, "a sandbox cannot be called `none`: the word is a step's explicit opt-out");
        } else if let Err(message) = rules::name(name) {
            self.fault(line, message);
        }
    }

    fn env_list(&mut self, node: &Node) -> Option<Sourced<Vec<Sourced<EnvPattern>>>> {
        let entry = node.entry("env_passthrough")?;
        let patterns = self.each(Some(&entry.node), rules::env_pattern);
        Some(self.sourced(patterns, entry.line))
    }
}

/// The most sandboxes of one file.
const SANDBOXES_MAX: usize = 1000;

/// The reserved word for running without a sandbox.
pub(crate) const NO_SANDBOX: &str = "none";
