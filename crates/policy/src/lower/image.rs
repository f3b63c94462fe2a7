//! What a sandbox's file system is made from: at most one source, and only for an engine that takes it.

use super::Lower;
use crate::dialect::Dialect;
use crate::document::Definition;
use crate::model::Image;
use crate::rules;
use crate::tree::Node;
use polder_facts::Sourced;

/// The keys that speak about an image.
const SOURCES: [&str; 4] = ["image", "dockerfile", "dockerfile_inline", "compose"];

impl Lower<'_> {
    /// Exactly one source, or none.
    pub(super) fn image(&mut self, node: &Node) -> Option<Sourced<Image>> {
        let given: Vec<_> = SOURCES.iter().filter_map(|key| node.entry(key)).collect();
        if let [first, second, ..] = given.as_slice() {
            let line = first.line.max(second.line);
            self.fault(line, format!("`{}` and `{}` exclude each other; give one", first.key, second.key));
        }
        let service = node.entry("service");
        if let Some(service) = service
            && node.get("compose").is_none()
        {
            self.fault(service.line, "`service` needs `compose`");
        }
        let source = given.first()?;
        let (text, line) = (source.node.text()?, source.node.line);
        if text.trim().is_empty() {
            self.fault(line, format!("`{}` is empty", source.key));
            return None;
        }
        let image = match source.key.as_str() {
            "image" => Image::Named(text.to_owned()),
            "dockerfile" => Image::Recipe(self.file(text, line)?),
            "dockerfile_inline" => Image::Inline(text.to_owned()),
            _ => {
                let Some(service) = service.and_then(|service| service.node.text()) else {
                    self.fault(source.line, "`compose` needs `service`");
                    return None;
                };
                let (file, service) = (self.file(text, line)?, service.to_owned());
                Image::Compose { file, service }
            }
        };
        Some(self.sourced(image, line))
    }

    /// A file beside the configuration file, with its whole path.
    fn file(&mut self, text: &str, line: u32) -> Option<String> {
        let path = rules::host_path(text, self.base_dir(), self.home);
        self.keep(path, line).map(|path| path.value.to_string())
    }

    /// Keys for images beside an engine that takes none.
    pub(super) fn image_keys(&mut self, node: &Node, definition: &Definition) {
        let Some(engine) = &definition.engine else { return };
        let Some(engine) = self.vocabulary.engine(&engine.value).filter(|engine| !engine.takes_image) else { return };
        let cache: &[&str] = if self.source.dialect == Dialect::Visor { &["cache"] } else { &[] };
        for key in SOURCES.iter().chain(&["service", "resources"]).chain(cache) {
            if let Some(entry) = node.entry(key) {
                self.fault(entry.line, format!("`{key}` does not work with engine `{}`", engine.id));
            }
        }
    }
}
