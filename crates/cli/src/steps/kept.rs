//! What is kept of a step's output while it waits to be shown: the beginning and the end, never more than a bound.

use polder::Output;
use std::collections::VecDeque;

/// What a step wrote, in order, without the middle where it is too much.
pub(super) struct Kept {
    bytes_max: usize,
    head: Vec<(Output, Vec<u8>)>,
    head_bytes: usize,
    tail: VecDeque<(Output, Vec<u8>)>,
    tail_bytes: usize,
    left_out: u64,
}

impl Kept {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, head: Vec::new(), head_bytes: 0, tail: VecDeque::new(), tail_bytes: 0, left_out: 0 }
    }

    pub(super) fn push(&mut self, stream: Output, bytes: &[u8]) {
        let half = self.bytes_max / 2;
        let room = half.saturating_sub(self.head_bytes).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head_bytes += first.len();
        match self.head.last_mut() {
            _ if first.is_empty() => {}
            Some((last, held)) if *last == stream => held.extend_from_slice(first),
            Some(_) | None => self.head.push((stream, first.to_vec())),
        }
        if rest.is_empty() {
            return;
        }
        self.tail_bytes += rest.len();
        self.tail.push_back((stream, rest.to_vec()));
        while self.tail_bytes > half {
            let over = self.tail_bytes - half;
            let Some((_, first)) = self.tail.front_mut() else { break };
            let cut = over.min(first.len());
            first.drain(..cut);
            self.tail_bytes -= cut;
            self.left_out += cut as u64;
            if first.is_empty() {
                self.tail.pop_front();
            }
        }
    }

    /// Everything that is kept, with a note where something was left out.
    pub(super) fn take(&mut self) -> Vec<(Output, Vec<u8>)> {
        let mut parts = std::mem::take(&mut self.head);
        if self.left_out > 0 {
            let note = format!("\n… polder left out {} bytes …\n", self.left_out);
            parts.push((Output::Stderr, note.into_bytes()));
        }
        parts.extend(std::mem::take(&mut self.tail));
        (self.head_bytes, self.tail_bytes, self.left_out) = (0, 0, 0);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out_and_said() {
        let mut kept = Kept::new(8);
        for piece in [&b"abc"[..], b"defg", b"hijklm", b"n"] {
            kept.push(Output::Stdout, piece);
        }
        let text: Vec<u8> = kept.take().into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(String::from_utf8_lossy(&text), "abcd\n… polder left out 6 bytes …\nklmn");
        assert!(kept.take().is_empty());
    }

    #[test]
    fn what_fits_is_whole_and_keeps_its_streams() {
        let mut kept = Kept::new(100);
        kept.push(Output::Stdout, b"a");
        kept.push(Output::Stderr, b"b");
        kept.push(Output::Stderr, b"c");
        assert_eq!(kept.take(), [(Output::Stdout, b"a".to_vec()), (Output::Stderr, b"bc".to_vec())]);
    }
}
