//! Sends random input, derived from seeds, to the decoders. Fuzzing runs the same code, guided by
//! coverage.

use fastrand::Rng;
use tenure_server::fuzzing;

/// Valid inputs. The test extends and modifies them.
const SAMPLES: &[&[u8]] = &[
    // In this order: a range of ten keys, a transaction, a watcher, two JSON requests, and the
    // beginning of a snapshot.
    b"\x0a\x01a\x12\x01b\x18\x0a",
    b"\x0a\x07\x10\x01\x1a\x01a\x20\x00\x12\x07\x12\x05\x0a\x01a\x12\x00",
    b"\x0a\x08\x0a\x01a\x12\x01b\x18\x03",
    b"\x00{\"key\":\"YQ==\",\"range_end\":\"Yg==\",\"limit\":\"3\"}",
    b"\x03{\"compare\":[{\"key\":\"YQ==\",\"create_revision\":\"0\"}],\"success\":[]}",
    b"\xa0\x8d\x06\x80\x80\x80\x20\xa0\x8d\x06\x02\x80\x01\x01\x01\x01\x00\x00\x00",
];

/// Returns random bytes, or a sample with random modifications.
fn bytes(random: &mut Rng) -> Vec<u8> {
    let length = random.usize(..200);
    let mut bytes: Vec<u8> = match random.usize(..=SAMPLES.len()) {
        0 => Vec::new(),
        sample => SAMPLES[sample - 1].to_vec(),
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
fn decoders_survive_random_bytes() {
    for seed in 0..3000 {
        let bytes = bytes(&mut Rng::with_seed(seed));
        fuzzing::check_client_messages(&bytes);
        fuzzing::check_json_request(&bytes);
        fuzzing::check_peer_messages(&bytes);
        fuzzing::check_snapshot(&bytes);
        fuzzing::check_token(&bytes);
        tenure_runtime::fuzzing::fuzz_store_files(&bytes);
    }
}
