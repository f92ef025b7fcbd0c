//! Frame decoder with arbitrary bytes in arbitrary pieces: `cargo +nightly fuzz run frame`.
//!
//! The first byte chooses the size of the pieces. The decoder must not panic, must not buffer more
//! than its input, and must decode the same frames from the pieces as from the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_runtime::transport::frame::{Frame, FrameDecoder, offered_version};

const MAX_BODY_BYTES: usize = 4096;

/// Returns the decoded frames, and true if the input after them is malformed.
fn frames_of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut decoder = FrameDecoder::new(MAX_BODY_BYTES);
    let (mut frames, mut fed) = (Vec::new(), 0);
    for piece in pieces {
        decoder.feed(piece);
        fed += piece.len();
        assert!(decoder.buffered_bytes() <= fed, "the decoder buffers more than its input");
        loop {
            match decoder.next_frame() {
                Ok(None) => break,
                Err(_) => return (frames, true),
                Ok(Some(frame)) => {
                    let mut bytes = Vec::new();
                    frame.encode(&mut bytes);
                    let decoded = Frame::decode(&bytes[4..]).expect("an encoded frame");
                    assert_eq!(decoded, frame, "a frame survives the round trip");
                    frames.push(bytes);
                }
            }
        }
    }
    (frames, false)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let _ = offered_version(bytes);
    let in_pieces = frames_of(bytes.chunks(usize::from(cut) + 1));
    let at_once = frames_of(std::iter::once(bytes));
    assert_eq!(in_pieces, at_once);
});
