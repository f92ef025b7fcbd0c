//! Copies of a message that differ from it in one place of its bytes and can still be read.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a number is replaced by, beside its neighbours.
const NUMBERS: [u64; 19] = [
    0,
    1,
    2,
    3,
    4,
    255,
    1 << 16,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    1 << 33,
    (1 << 39) - 1,
    (1 << 40) - 1,
    1 << 40,
    1 << 61,
    1 << 62,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Lie<M> {
    /// Which byte the difference begins with, and which of all differences there it is.
    pub(super) place: (usize, usize),
    pub(super) message: M,
}

/// Every number replaced, among them lengths and variants, and lists made shorter and longer. What
/// fields there are, the bytes say themselves.
pub(super) fn lies<M: Serialize + DeserializeOwned>(message: &M) -> Vec<Lie<M>> {
    let bytes = postcard::to_stdvec(message).expect("a message can be encoded");
    let mut lies = Vec::new();
    for place in 0..bytes.len() {
        let copies = copies(&bytes, place).into_iter().enumerate();
        lies.extend(copies.filter_map(|(which, copy)| match postcard::take_from_bytes(&copy) {
            Ok((message, [])) => Some(Lie { place: (place, which), message }),
            Ok(_) | Err(_) => None,
        }));
    }
    lies
}

/// Copies that differ from one byte on.
fn copies(bytes: &[u8], place: usize) -> Vec<Vec<u8>> {
    let (before, rest) = bytes.split_at(place);
    let Ok((number, after)) = postcard::take_from_bytes::<u64>(rest) else { return Vec::new() };
    let near = [number.wrapping_add(1), number.wrapping_sub(1)];
    let mut copies = Vec::new();
    for other in NUMBERS.into_iter().chain(near) {
        let other = postcard::to_stdvec(&other).expect("a number can be encoded");
        copies.push([before, &other, after].concat());
    }
    if let Ok(length) = u8::try_from(number.wrapping_add(1)) {
        copies.push([before, &[length, 1], after].concat());
    }
    copies.push([before, &[232, 7], &[1; 1_000], after].concat());
    // As if it were the length of a list.
    for dropped in 1..=after.len().min(16) {
        copies.push([before, &[0], &after[dropped..]].concat());
    }
    copies
}
