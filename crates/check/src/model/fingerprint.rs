//! Fingerprints: 64-bit hashes of states. A fingerprint depends only on the content of its state,
//! so every run of the checker computes the same fingerprints.

use std::hash::{BuildHasherDefault, Hash, Hasher};

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD1B5_4A32_D192_ED03;
const THIRD: u64 = 0x8CB9_2BA7_2F3D_8DD7;

/// Hasher that multiplies and folds: it combines the two halves of a 128-bit product by XOR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoldHasher(u64);

pub(crate) type BuildFoldHasher = BuildHasherDefault<FoldHasher>;

impl Default for FoldHasher {
    fn default() -> Self {
        FoldHasher(FIRST)
    }
}

fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        fold(self.0 ^ THIRD, SECOND)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = fold(self.0 ^ value, SECOND).wrapping_add(FIRST);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// Kind of a hashed part of a global state. The fingerprint of a part depends on its domain and its
/// content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HashDomain {
    Local,
    Message,
    Past,
    InFlightMessage,
    Queue,
    FaultCounts,
    Label,
    Monitor(usize),
    Pending(usize),
    Session,
    ForcedStep,
}

/// Returns the fingerprint of one part of a global state. The fingerprint of a global state is the
/// sum of the fingerprints of its parts, modulo 2⁶⁴. So a step needs to compute only the
/// fingerprints of the parts that it changes.
pub(crate) fn fingerprint(domain: HashDomain, content: &impl Hash) -> u64 {
    let mut hasher = FoldHasher::default();
    domain.hash(&mut hasher);
    content.hash(&mut hasher);
    hasher.finish()
}

/// Returns the approximate probability that at least two of `states` distinct global states have
/// equal fingerprints.
pub(crate) fn missed_state_probability(states: u64) -> f64 {
    let states = states as f64;
    let pairs = states * (states - 1.0) / 2.0;
    -(-pairs / 2f64.powi(64)).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_bits_and_domains_change_the_fingerprint() {
        let mut seen = std::collections::BTreeSet::new();
        for bit in 0..64 {
            seen.insert(fingerprint(HashDomain::Local, &(1u64 << bit)));
            seen.insert(fingerprint(HashDomain::Queue, &(1u64 << bit)));
            seen.insert(fingerprint(HashDomain::Monitor(1), &(1u64 << bit)));
        }
        assert_eq!(seen.len(), 3 * 64);
    }

    #[test]
    fn missed_state_probability_grows_quadratically() {
        let million = missed_state_probability(1_000_000);
        assert!((million - 2.7e-8).abs() < 1e-9, "{million}");
        assert!(missed_state_probability(1 << 33) > 0.8);
        assert_eq!(missed_state_probability(1), 0.0);
    }
}
