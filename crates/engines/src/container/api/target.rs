//! The path and the query of a request.
//!
//! Every piece is escaped but for the characters that RFC 3986 calls unreserved, so that no value can end a path, begin a
//! query or a header, or climb. What an escape cannot defuse, a piece that is `.` or `..` or empty, is no name of anything
//! here: the types in `names` cannot hold one.

use super::names::{ImageName, ObjectName};
use super::system::ApiVersion;
use std::fmt::Write as _;

/// A path and a query, ready for the request line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    path: String,
    query: String,
}

impl Target {
    /// A fixed path.
    pub(super) fn fixed(path: &'static str) -> Self {
        Self { path: path.to_owned(), query: String::new() }
    }

    /// `/containers/NAME/start` and the like.
    pub(super) fn object(kind: &'static str, name: &ObjectName, verb: &'static str) -> Self {
        let mut target = Self::fixed(kind);
        target.path.push('/');
        escape(name.as_str(), &mut target.path);
        target.path.push_str(verb);
        target
    }

    /// `/images/NAME/json` and the like. Slashes stay: daemons take the whole middle of the path for the name.
    pub(super) fn image(name: &ImageName, verb: &'static str) -> Self {
        Self::image_in("/images", name, verb)
    }

    /// The same in Podman's own interface, which reads a name as Podman's own command does.
    pub(super) fn own_image(name: &ImageName, verb: &'static str) -> Self {
        Self::image_in("/libpod/images", name, verb)
    }

    fn image_in(kind: &'static str, name: &ImageName, verb: &'static str) -> Self {
        let mut target = Self::fixed(kind);
        for part in name.to_string().split('/') {
            target.path.push('/');
            escape(part, &mut target.path);
        }
        target.path.push_str(verb);
        target
    }

    /// The same with one more pair in the query.
    #[must_use]
    pub(super) fn with(mut self, key: &'static str, value: &str) -> Self {
        self.query.push(if self.query.is_empty() { '?' } else { '&' });
        escape(key, &mut self.query);
        self.query.push('=');
        escape(value, &mut self.query);
        self
    }

    /// The text of the request line's middle.
    pub(super) fn line(&self, version: Option<ApiVersion>) -> String {
        let prefix = version.map_or_else(String::new, |version| format!("/v{version}"));
        format!("{prefix}{}{}", self.path, self.query)
    }

    /// The path alone, for errors: a query may hold what nobody wants to read.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

fn escape(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests;
