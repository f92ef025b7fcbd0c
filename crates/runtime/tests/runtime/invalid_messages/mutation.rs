//! Variants of a message. Each variant differs from the message in one place of its encoding, and
//! can still be decoded.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Values that replace a number in a variant. Two more variants contain the number plus 1 and the
/// number minus 1.
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

#[derive(Clone, Debug)]
pub(super) struct Variant<M> {
    /// Position of the changed number in the encoding, and the index of this variant among all
    /// variants with a change at this position.
    pub(super) place: (usize, usize),
    pub(super) message: M,
}

/// Returns variants of a message. In each variant, one number of the encoding is replaced, or one
/// list is shorter or longer. Lengths of lists and tags of enums are also replaced as numbers.
pub(super) fn variants<M: Serialize + DeserializeOwned>(message: &M) -> Vec<Variant<M>> {
    let bytes = postcard::to_stdvec(message).expect("a message is serializable");
    let mut variants = Vec::new();
    for place in 0..bytes.len() {
        let copies = copies(&bytes, place).into_iter().enumerate();
        variants.extend(copies.filter_map(|(which, copy)| {
            match postcard::take_from_bytes(&copy) {
                Ok((message, [])) => Some(Variant { place: (place, which), message }),
                Ok(_) | Err(_) => None,
            }
        }));
    }
    variants
}

/// Returns variants of `bytes` that differ in the number at position `place`. The first `place`
/// bytes stay the same. Returns an empty list if no number begins at this position.
fn copies(bytes: &[u8], place: usize) -> Vec<Vec<u8>> {
    let (before, rest) = bytes.split_at(place);
    let Ok((number, after)) = postcard::take_from_bytes::<u64>(rest) else { return Vec::new() };
    let near = [number.wrapping_add(1), number.wrapping_sub(1)];
    let mut copies = Vec::new();
    for other in NUMBERS.into_iter().chain(near) {
        let other = postcard::to_stdvec(&other).expect("a number is serializable");
        copies.push([before, &other, after].concat());
    }
    if let Ok(length) = u8::try_from(number.wrapping_add(1)) {
        copies.push([before, &[length, 1], after].concat());
    }
    copies.push([before, &[232, 7], &[1; 1_000], after].concat());
    // The byte may be the length of a list.
    for dropped in 1..=after.len().min(16) {
        copies.push([before, &[0], &after[dropped..]].concat());
    }
    copies
}
