//! The frame decoder against any bytes in any pieces: `cargo +nightly fuzz run frame`.
//!
//! The first byte chooses how the others are cut into pieces. Whatever they are, the decoder
//! must not panic, must keep no more than it was fed, and must take the same frames from the
//! pieces as from the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_runtime::transport::frame::{Decoder, Frame, offered_version};

const LONGEST_BODY: usize = 4096;

/// The frames in order, and whether the stream lost its meaning behind them.
fn frames_of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut decoder = Decoder::new(LONGEST_BODY);
    let (mut frames, mut fed) = (Vec::new(), 0);
    for piece in pieces {
        decoder.feed(piece);
        fed += piece.len();
        assert!(decoder.waiting() <= fed, "more than was fed");
        loop {
            match decoder.take() {
                Ok(None) => break,
                Err(_) => return (frames, true),
                Ok(Some(frame)) => {
                    let mut bytes = Vec::new();
                    frame.encode(&mut bytes);
                    let again = Frame::decode(&bytes[4..]).expect("what was encoded is a frame");
                    assert_eq!(again, frame, "a frame means the same when written again");
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
