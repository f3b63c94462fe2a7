//! Keeping secrets out of what a run writes, also where a secret comes in two pieces.

use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// What stands for a secret.
const MARK: &[u8] = b"***";

/// Looks for secrets in one stream.
#[derive(Debug)]
pub struct Redactor {
    needles: Arc<Secret<Vec<Vec<u8>>>>,
    /// The end of what came, when it is the beginning of a secret.
    held: Vec<u8>,
}

impl Redactor {
    /// Looks for these, as they are and as HTTP carries them.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret<String>>) -> Self {
        let forms = |secret: &Secret<String>| {
            let plain = secret.reveal().clone();
            let basic = STANDARD.encode(format!("x-access-token:{plain}"));
            [plain.into_bytes(), basic.into_bytes()]
        };
        let needles = secrets.into_iter().flat_map(forms).filter(|needle| !needle.is_empty()).collect();
        Self { needles: Arc::new(Secret::new(needles)), held: Vec::new() }
    }

    /// What can be told of this piece now, without secrets.
    pub fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        let mut told = Vec::with_capacity(all.len());
        let mut at = 0;
        while at < all.len() {
            let rest = &all[at..];
            if let Some(needle) = self.needles.reveal().iter().find(|needle| rest.starts_with(needle)) {
                told.extend_from_slice(MARK);
                at += needle.len();
            } else if self.needles.reveal().iter().any(|needle| needle.starts_with(rest)) {
                self.held = rest.to_vec();
                break;
            } else {
                told.push(all[at]);
                at += 1;
            }
        }
        told
    }

    /// The same for another stream.
    pub fn fresh(&self) -> Self {
        Self { needles: Arc::clone(&self.needles), held: Vec::new() }
    }

    /// What was held back: the stream has ended, and it was no secret.
    pub fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests;
