//! Copies of a message that differ from it in one place of its bytes and can still be read.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a number is replaced by, beside its neighbours.
const NUMBERS: [u64; 18] = [
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
    u64::MAX - 1,
    u64::MAX,
];

/// Every number replaced, among them lengths and variants, and lists made shorter and longer.
pub(crate) fn mutations<M: Serialize + DeserializeOwned>(message: &M) -> Vec<M> {
    let bytes = postcard::to_stdvec(message).expect("a message can be encoded");
    let mut copies = Vec::new();
    for place in 0..bytes.len() {
        let (before, rest) = bytes.split_at(place);
        let Ok((number, after)) = postcard::take_from_bytes::<u64>(rest) else { continue };
        let near = [number.wrapping_add(1), number.wrapping_sub(1)];
        for other in NUMBERS.into_iter().chain(near) {
            let other = postcard::to_stdvec(&other).expect("a number can be encoded");
            copies.push([before, &other, after].concat());
        }
        // As if it were the length of a list.
        for dropped in 1..=after.len().min(16) {
            copies.push([before, &[0], &after[dropped..]].concat());
        }
        if let Ok(length) = u8::try_from(number.wrapping_add(1)) {
            copies.push([before, &[length, 1], after].concat());
        }
        copies.push([before, &[232, 7], &[1; 1_000], after].concat());
    }
    let read = |copy: &Vec<u8>| match postcard::take_from_bytes(copy) {
        Ok((message, [])) => Some(message),
        Ok(_) | Err(_) => None,
    };
    copies.iter().filter_map(read).collect()
}
