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

/// Whether the stream has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    MayCome,
    Ended,
}

impl Redactor {
    /// Looks for these, as they are and as HTTP carries them.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret<String>>) -> Self {
        let forms = |secret: &Secret<String>| {
            let plain = secret.reveal().clone();
            let basic = STANDARD.encode(format!("x-access-token:{plain}"));
            [plain.into_bytes(), basic.into_bytes()]
        };
        let mut needles: Vec<Vec<u8>> =
            secrets.into_iter().flat_map(forms).filter(|needle| !needle.is_empty()).collect();
        // Of two that begin alike the longer one is meant, and the same one is looked for once.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles: Arc::new(Secret::new(needles)), held: Vec::new() }
    }

    /// What can be told of this piece now, without secrets.
    pub fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        self.told(&all, More::MayCome)
    }

    fn told(&mut self, all: &[u8], more: More) -> Vec<u8> {
        let needles = self.needles.reveal();
        let mut told = Vec::with_capacity(all.len());
        let mut rest = all;
        while let Some(first) = rest.first() {
            let near = || needles.iter().filter(|needle| needle.first() == Some(first));
            // Also where a shorter one is whole: the longer one may be meant.
            if more == More::MayCome && near().any(|needle| needle.len() > rest.len() && needle.starts_with(rest)) {
                self.held = rest.to_vec();
                break;
            }
            let used = match near().find(|needle| rest.starts_with(needle)) {
                Some(needle) => {
                    told.extend_from_slice(MARK);
                    needle.len()
                }
                None => {
                    told.push(*first);
                    1
                }
            };
            rest = &rest[used..];
        }
        told
    }

    /// The same for another stream.
    pub fn fresh(&self) -> Self {
        Self { needles: Arc::clone(&self.needles), held: Vec::new() }
    }

    /// What was held back: the stream has ended, and it was not the beginning of a secret.
    pub fn end(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.told(&held, More::Ended)
    }
}

#[cfg(test)]
mod tests;
