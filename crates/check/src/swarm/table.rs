//! Bitstate hashing: a Bloom filter that stores only a few bits for each visited global state.

use std::hint::black_box;

use crate::error::CheckError;

/// A bit array with several hash functions, which map a global state to several bits. The table
/// treats a state as visited if all its bits are set. If other states have set all bits of a new
/// state, the search omits the new state.
#[derive(Clone, Debug, Default)]
pub(super) struct BitstateTable {
    words: Vec<u64>,
    hashes: u32,
    /// Seed of the hash functions, so that different members of a swarm omit different global
    /// states.
    seed: u64,
    bits_set: u64,
    /// Expected number of new global states that the table has mistaken for visited ones.
    omissions: f64,
}

impl BitstateTable {
    /// Creates an empty table. Its size is a whole number of 64-bit words, at most `bytes` bytes,
    /// but at least one word.
    ///
    /// # Errors
    ///
    /// Returns [`CheckError::TableMemory`] if the system does not provide the memory.
    pub(super) fn new(bytes: u64, hashes: u32, seed: u64) -> Result<Self, CheckError> {
        let words = usize::try_from(bytes / u64::from(u64::BITS / u8::BITS)).unwrap_or(usize::MAX);
        let words = words.max(1);
        // This reservation only tests whether the memory is available: it returns an error,
        // while a failed `vec!` aborts the program. The table itself is allocated by `vec!`,
        // because zeroed memory takes no physical memory until it is written.
        let mut reserved: Vec<u64> = Vec::new();
        reserved.try_reserve_exact(words).map_err(|_| CheckError::TableMemory { bytes })?;
        // `black_box` prevents the compiler from omitting the reservation.
        drop(black_box(reserved));
        Ok(BitstateTable { words: vec![0; words], hashes, seed, bits_set: 0, omissions: 0.0 })
    }

    pub(super) fn bit_count(&self) -> u64 {
        self.words.len() as u64 * u64::from(u64::BITS)
    }

    pub(super) fn bits_set(&self) -> u64 {
        self.bits_set
    }

    pub(super) fn expected_omissions(&self) -> f64 {
        self.omissions
    }

    /// Returns the probability that the table, as it is now, mistakes a new global state for a
    /// visited one.
    fn match_probability(&self) -> f64 {
        let fill = self.bits_set as f64 / self.bit_count() as f64;
        fill.powi(self.hashes as i32)
    }

    /// Inserts the global state with this key. Returns false if all bits of the state were set
    /// already.
    ///
    /// Also updates the expected number of omissions. Let p be the probability that the table
    /// mistakes a new state for a visited one. For each new state that the table accepts, it omits
    /// p / (1 − p) new states on average.
    pub(super) fn insert(&mut self, key: u64) -> bool {
        let matched = self.match_probability();
        let mut is_new = false;
        for (word, mask) in places(key, self.seed, self.hashes, self.bit_count()) {
            if self.words[word] & mask == 0 {
                self.words[word] |= mask;
                self.bits_set += 1;
                is_new = true;
            }
        }
        if is_new {
            self.omissions += matched / (1.0 - matched);
        }
        is_new
    }

    /// Returns true if all bits of the global state with this key are set.
    pub(super) fn contains(&self, key: u64) -> bool {
        let mut places = places(key, self.seed, self.hashes, self.bit_count());
        places.all(|(word, mask)| self.words[word] & mask != 0)
    }
}

/// Returns the bits that represent a key, one bit for each hash function. Each bit is a pair: the
/// index of a word, and the mask of the bit in this word. All hash functions are computed from two
/// hash functions (double hashing).
fn places(key: u64, seed: u64, hashes: u32, bits: u64) -> impl Iterator<Item = (usize, u64)> {
    let first = mix_bits(key ^ mix_bits(seed));
    let step = mix_bits(first ^ key) | 1;
    (0..u64::from(hashes)).map(move |number| {
        let hash = first.wrapping_add(number.wrapping_mul(step));
        let bit = ((u128::from(hash) * u128::from(bits)) >> u64::BITS) as u64;
        ((bit / u64::from(u64::BITS)) as usize, 1 << (bit % u64::from(u64::BITS)))
    })
}

/// Mixes the bits of a number: returns the output of SplitMix64 for the state `number`.
pub(super) fn mix_bits(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_table_omits_nothing() {
        let mut table = BitstateTable::new(1 << 20, 3, 7).expect("memory for the table");
        let new = (0..10_000).filter(|key| table.insert(mix_bits(*key))).count();
        assert_eq!(new, 10_000);
        assert!(
            (0..10_000).all(|key| table.contains(mix_bits(key)) && !table.insert(mix_bits(key)))
        );
        assert!(table.expected_omissions() < 1.0, "{}", table.expected_omissions());
        assert!(table.bits_set() > 29_000 && table.bits_set() <= 30_000, "{}", table.bits_set());
    }

    /// Compares the estimated number of omissions with the true number, in tables that are too
    /// small.
    #[test]
    fn estimate_agrees_with_true_omissions() {
        for (bytes, seed) in [(8 << 10, 1), (8 << 10, 2), (16 << 10, 3), (4 << 10, 4)] {
            let mut table = BitstateTable::new(bytes, 3, seed).expect("memory for the table");
            let omitted = (0..20_000).filter(|key| !table.insert(mix_bits(*key))).count() as f64;
            let ratio = table.expected_omissions() / omitted;
            assert!((0.9..1.1).contains(&ratio), "{bytes} bytes: {ratio} of {omitted}");
        }
    }

    #[test]
    fn seeds_omit_different_worlds() {
        let omitted = |seed| {
            let mut table = BitstateTable::new(8 << 10, 3, seed).expect("memory for the table");
            (0..20_000).filter(|key| !table.insert(mix_bits(*key))).collect::<Vec<u64>>()
        };
        let (one, other) = (omitted(1), omitted(2));
        let both = one.iter().filter(|key| other.binary_search(key).is_ok()).count();
        assert!(both * 2 < one.len(), "{both} of {} and {}", one.len(), other.len());
    }
}
