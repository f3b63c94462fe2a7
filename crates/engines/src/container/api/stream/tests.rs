use super::*;
use proptest::prelude::*;

fn frame(stream: u8, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![stream, 0, 0, 0];
    bytes.extend_from_slice(&(text.len() as u32).to_be_bytes());
    bytes.extend_from_slice(text);
    bytes
}

fn split<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<(Vec<u8>, Vec<u8>, bool), &'static str> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut demux = Demux::new();
    for piece in pieces {
        demux.feed(piece, &mut |channel, bytes| match channel {
            Channel::Stdout => out.extend_from_slice(bytes),
            Channel::Stderr => err.extend_from_slice(bytes),
        })?;
    }
    Ok((out, err, demux.is_between()))
}

proptest! {
    /// However the bytes come, the same streams come out.
    #[test]
    fn frames_are_put_together_again(
        frames in prop::collection::vec((1u8..=2, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        cut in 1usize..20,
    ) {
        let bytes: Vec<u8> = frames.iter().flat_map(|(stream, text)| frame(*stream, text)).collect();
        let of = |wanted: u8| -> Vec<u8> {
            frames.iter().filter(|(stream, _)| *stream == wanted).flat_map(|(_, text)| text.clone()).collect()
        };
        prop_assert_eq!(split(bytes.chunks(cut)), Ok((of(1), of(2), true)));
    }

    /// Nothing that a daemon sends makes it panic.
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 1usize..20) {
        let _ = split(bytes.chunks(cut));
    }
}

#[test]
fn a_stream_that_is_cut_off_is_seen() {
    let whole = frame(1, b"text");
    assert_eq!(split([&whole[..6]].into_iter()), Ok((vec![], vec![], false)));
    assert_eq!(split([&whole[..10]].into_iter()), Ok((b"te".to_vec(), vec![], false)));
}

#[test]
fn frames_of_no_stream_are_refused() {
    for head in [[0, 0, 0, 0], [3, 0, 0, 0], [9, 0, 0, 0], [1, 0, 0, 1]] {
        let mut bytes = head.to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 1, b'x']);
        assert!(split([bytes.as_slice()].into_iter()).is_err(), "{head:?}");
    }
}
