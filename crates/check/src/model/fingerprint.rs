//! Fingerprints: 64 bits that stand for a state, computed from what it says and never from
//! where it lies or when it was found, so that every run of the checker computes the same.

use std::hash::{BuildHasherDefault, Hash, Hasher};

const FIRST: u64 = 0x9E37_79B9_7F4A_7C15;
const SECOND: u64 = 0xD1B5_4A32_D192_ED03;
const THIRD: u64 = 0x8CB9_2BA7_2F3D_8DD7;

/// A hasher by folded multiplication: two lanes of a 128-bit product, folded into one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixer(u64);

/// Builds [`Mixer`]s for maps.
pub(crate) type BuildMixer = BuildHasherDefault<Mixer>;

impl Default for Mixer {
    fn default() -> Self {
        Mixer(FIRST)
    }
}

fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher for Mixer {
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

/// What a hash belongs to, so that equal contents in different roles do not cancel out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Local,
    Message,
    Past,
    Parcel,
    Queue,
    Spent,
    Label,
    Monitor(usize),
    Session,
}

/// The fingerprint of one component of a world. That of a world is the wrapping sum of those
/// of its components, so that a step needs to hash only what it changed.
pub(crate) fn fingerprint(role: Role, content: &impl Hash) -> u64 {
    let mut mixer = Mixer::default();
    role.hash(&mut mixer);
    content.hash(&mut mixer);
    mixer.finish()
}

/// The probability that at least one of `states` different worlds was taken for another.
pub(crate) fn probability_of_a_missed_state(states: u64) -> f64 {
    let states = states as f64;
    let pairs = states * (states - 1.0) / 2.0;
    -(-pairs / 2f64.powi(64)).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_bits_and_roles_make_different_fingerprints() {
        let mut seen = std::collections::BTreeSet::new();
        for bit in 0..64 {
            seen.insert(fingerprint(Role::Local, &(1u64 << bit)));
            seen.insert(fingerprint(Role::Queue, &(1u64 << bit)));
            seen.insert(fingerprint(Role::Monitor(1), &(1u64 << bit)));
        }
        assert_eq!(seen.len(), 3 * 64);
    }

    #[test]
    fn the_probability_of_a_missed_state_grows_with_the_square_of_the_states() {
        let million = probability_of_a_missed_state(1_000_000);
        assert!((million - 2.7e-8).abs() < 1e-9, "{million}");
        assert!(probability_of_a_missed_state(1 << 33) > 0.8);
        assert_eq!(probability_of_a_missed_state(1), 0.0);
    }
}
