//! Tests of the decoder with arbitrary bytes, which arrive in pieces of any size.

use proptest::collection::vec;
use proptest::prelude::*;
use tenure_runtime::transport::frame::{
    BootId, Frame, FrameDecoder, FrameError, HELLO_MAGIC, Hello, HelloContent, Introduction,
    Refused, Welcome, offered_version,
};

#[derive(Clone, Debug)]
enum OwnedFrame {
    Hello {
        cluster: String,
        version: u16,
        ids: (u32, u32, u32),
        session: u64,
        is_replacement: bool,
    },
    Call {
        version: u16,
        key: Vec<u8>,
    },
    Welcome {
        session: u64,
        nonce: u64,
        is_replacement: bool,
    },
    Exchange {
        key: Vec<u8>,
    },
    Refused {
        code: u8,
        sentence: String,
    },
    Acknowledge {
        received: u64,
    },
    Data {
        number: u64,
        received: u64,
        payload: Vec<u8>,
    },
}

impl OwnedFrame {
    fn frame(&self) -> Frame<'_> {
        match self {
            OwnedFrame::Hello { cluster, version, ids, session, is_replacement } => {
                let boot = BootId { session: *session, nonce: 9 };
                let (group_size, sender, receiver) = *ids;
                let introduction = Introduction { cluster, group_size, sender, receiver, boot };
                let opening = match is_replacement {
                    true => HelloContent::Replacement(introduction),
                    false => HelloContent::Introduction(introduction),
                };
                Frame::Hello(Hello { magic: HELLO_MAGIC, version: *version, opening })
            }
            OwnedFrame::Call { version, key } => {
                let opening = HelloContent::Exchange(key);
                Frame::Hello(Hello { magic: HELLO_MAGIC, version: *version, opening })
            }
            OwnedFrame::Welcome { session, nonce, is_replacement } => {
                let boot = BootId { session: *session, nonce: *nonce };
                let welcome = Welcome { version: 2, boot };
                match is_replacement {
                    true => Frame::WelcomeToReplacement(welcome),
                    false => Frame::Welcome(welcome),
                }
            }
            OwnedFrame::Exchange { key } => Frame::Exchange(key),
            OwnedFrame::Refused { code, sentence } => {
                Frame::Refused(Refused { newest_version: 1, code: *code, sentence })
            }
            OwnedFrame::Acknowledge { received } => Frame::Acknowledge { received: *received },
            OwnedFrame::Data { number, received, payload } => {
                Frame::Data { number: *number, received: *received, payload }
            }
        }
    }
}

fn owned_frame() -> impl Strategy<Value = OwnedFrame> {
    let key = || vec(any::<u8>(), 0..100);
    prop_oneof![
        (".{0,20}", any::<u16>(), any::<(u32, u32, u32)>(), any::<u64>(), any::<bool>()).prop_map(
            |(cluster, version, ids, session, is_replacement)| OwnedFrame::Hello {
                cluster,
                version,
                ids,
                session,
                is_replacement
            }
        ),
        (any::<u16>(), key()).prop_map(|(version, key)| OwnedFrame::Call { version, key }),
        any::<(u64, u64, bool)>().prop_map(|(session, nonce, is_replacement)| {
            OwnedFrame::Welcome { session, nonce, is_replacement }
        }),
        key().prop_map(|key| OwnedFrame::Exchange { key }),
        (any::<u8>(), ".{0,40}")
            .prop_map(|(code, sentence)| OwnedFrame::Refused { code, sentence }),
        any::<u64>().prop_map(|received| OwnedFrame::Acknowledge { received }),
        (any::<u64>(), any::<u64>(), vec(any::<u8>(), 0..300))
            .prop_map(|(number, received, payload)| OwnedFrame::Data { number, received, payload }),
    ]
}

fn take_all(decoder: &mut FrameDecoder) -> Result<Vec<String>, FrameError> {
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next_frame()? {
        frames.push(format!("{frame:?}"));
    }
    Ok(frames)
}

proptest! {
    #[test]
    fn survives_random_bytes_in_pieces(pieces in vec(vec(any::<u8>(), 0..80), 0..20)) {
        let mut decoder = FrameDecoder::new(60);
        let mut fed = 0;
        for piece in &pieces {
            decoder.feed(piece);
            fed += piece.len();
            prop_assert!(decoder.buffered_bytes() <= fed);
            if take_all(&mut decoder).is_err() {
                break;
            }
            prop_assert!(decoder.buffered_bytes() < 64, "a complete frame was not decoded");
        }
    }

    /// Decodes random bodies. If a body decodes to a frame, checks that encoding and decoding this
    /// frame yields the same frame. The tag is small because frames have small tags.
    #[test]
    fn survives_random_bodies(tag in 0_u8..8, mut body in vec(any::<u8>(), 0..200)) {
        body.insert(0, tag);
        let _ = offered_version(&body);
        if let Ok(frame) = Frame::decode(&body) {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            prop_assert_eq!(Frame::decode(&bytes[4..]), Ok(frame));
        }
    }

    #[test]
    fn survives_damaged_frames(
        frame in owned_frame(),
        place in any::<usize>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = Vec::new();
        frame.frame().encode(&mut bytes);
        let place = place % bytes.len();
        bytes[place] = byte;
        let mut decoder = FrameDecoder::new(1 << 20);
        decoder.feed(&bytes);
        let _ = take_all(&mut decoder);
    }

    #[test]
    fn pieces_do_not_affect_decoding(
        frames in vec(owned_frame(), 1..20),
        cuts in vec(1_usize..90, 1..40),
    ) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.frame().encode(&mut bytes));
        let mut decoder = FrameDecoder::new(1 << 20);
        let mut taken = Vec::new();
        let (mut rest, mut cuts) = (bytes.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let cut = rest.len().min(*cuts.next().expect("an endless cycle"));
            decoder.feed(&rest[..cut]);
            rest = &rest[cut..];
            taken.extend(take_all(&mut decoder).expect("valid frames"));
        }
        let expected: Vec<_> = frames.iter().map(|frame| format!("{:?}", frame.frame())).collect();
        prop_assert_eq!(taken, expected);
        prop_assert_eq!(decoder.buffered_bytes(), 0);
    }
}

#[test]
fn rejects_long_frame_before_its_body() {
    let mut decoder = FrameDecoder::new(100);
    decoder.feed(&101_u32.to_le_bytes());
    assert_eq!(decoder.next_frame(), Err(FrameError::TooLong { length: 101, limit: 100 }));
}

#[test]
fn rejects_body_with_trailing_bytes() {
    let mut bytes = Vec::new();
    Frame::Acknowledge { received: 1 }.encode(&mut bytes);
    bytes[0] += 1;
    bytes.push(0);
    let mut decoder = FrameDecoder::new(100);
    decoder.feed(&bytes);
    assert_eq!(decoder.next_frame(), Err(FrameError::Trailing { extra: 1 }));
}

/// Compares encoded frames with the bytes in `docs/wire.md`. Nodes of other builds depend on these
/// bytes.
#[test]
fn encoding_matches_specification() {
    let bytes = |frame: Frame<'_>| {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        bytes
    };
    let data = bytes(Frame::Data { number: 7, received: 300, payload: b"hi" });
    assert_eq!(data, *b"\x07\0\0\0\x05\x07\xac\x02\x02hi");
    let acknowledge = bytes(Frame::Acknowledge { received: 5 });
    assert_eq!(acknowledge, *b"\x02\0\0\0\x04\x05");
    let refused = bytes(Frame::Refused(Refused { newest_version: 1, code: 2, sentence: "no" }));
    assert_eq!(refused, *b"\x06\0\0\0\x03\x01\x02\x02no");
    let exchange = bytes(Frame::Exchange(b"key"));
    assert_eq!(exchange, *b"\x05\0\0\0\x02\x03key");
    for (is_replacement, hello) in [
        (false, b"\x0e\0\0\0\0TNUR\x02\0\x01c\x03\x02\x01\x04\x09"),
        (true, b"\x0e\0\0\0\0TNUR\x02\x02\x01c\x03\x02\x01\x04\x09"),
    ] {
        let (cluster, ids) = ("c".into(), (3, 2, 1));
        let frame = OwnedFrame::Hello { cluster, version: 2, ids, session: 4, is_replacement };
        assert_eq!(bytes(frame.frame()), hello);
    }
    let frame = OwnedFrame::Call { version: 2, key: b"key".to_vec() };
    assert_eq!(bytes(frame.frame()), b"\x0b\0\0\0\0TNUR\x02\x01\x03key");
    let frame = OwnedFrame::Welcome { session: 4, nonce: 300, is_replacement: false };
    assert_eq!(bytes(frame.frame()), b"\x05\0\0\0\x01\x02\x04\xac\x02");
    let frame = OwnedFrame::Welcome { session: 4, nonce: 300, is_replacement: true };
    assert_eq!(bytes(frame.frame()), b"\x05\0\0\0\x07\x02\x04\xac\x02");
}
