//! Bytes that nobody meant to send: some by seeds, as `fuzz` has them by coverage.

use fastrand::Rng;
use tenure_server::exercise;

/// Something that a client sends, and then as many other bytes as are given.
const SENT: &[&[u8]] = &[
    // A range of ten keys; a transaction; a watcher; a snapshot's first bytes.
    b"\x0a\x01a\x12\x01b\x18\x0a",
    b"\x0a\x07\x10\x01\x1a\x01a\x20\x00\x12\x07\x12\x05\x0a\x01a\x12\x00",
    b"\x0a\x08\x0a\x01a\x12\x01b\x18\x03",
    b"\x00{\"key\":\"YQ==\",\"range_end\":\"Yg==\",\"limit\":\"3\"}",
    b"\x03{\"compare\":[{\"key\":\"YQ==\",\"create_revision\":\"0\"}],\"success\":[]}",
    b"\xa0\x8d\x06\x80\x80\x80\x20\xa0\x8d\x06\x02\x80\x01\x01\x01\x01\x00\x00\x00",
];

/// Bytes of a seed: any, or some that mean something with a few of them changed.
fn bytes(random: &mut Rng) -> Vec<u8> {
    let length = random.usize(..200);
    let mut bytes: Vec<u8> = match random.usize(..=SENT.len()) {
        0 => Vec::new(),
        sent => SENT[sent - 1].to_vec(),
    };
    if bytes.is_empty() || random.bool() {
        bytes.extend((0..length).map(|_| random.u8(..)));
    }
    for _ in 0..random.usize(..4) {
        let at = random.usize(..bytes.len().max(1));
        if let Some(byte) = bytes.get_mut(at) {
            *byte = random.u8(..);
        }
    }
    bytes
}

#[test]
fn whatever_is_sent_is_read_or_refused() {
    for seed in 0..3000 {
        let bytes = bytes(&mut Rng::with_seed(seed));
        exercise::messages(&bytes);
        exercise::json(&bytes);
        exercise::members(&bytes);
        exercise::snapshot(&bytes);
        exercise::token(&bytes);
        tenure_runtime::exercise::files(&bytes);
    }
}
