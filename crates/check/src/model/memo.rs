//! Hash map from 64-bit keys to small values.

/// An open-addressing map in which key 0 marks a free slot. Values are stored next to their keys,
/// so a lookup costs one cache miss instead of two.
#[derive(Clone, Debug)]
pub(crate) struct Memo<V> {
    slots: Vec<(u64, V)>,
    used: usize,
}

const FIRST_SLOTS: usize = 1 << 10;

impl<V: Copy + Default> Memo<V> {
    pub(crate) fn new() -> Self {
        Memo { slots: vec![(0, V::default()); FIRST_SLOTS], used: 0 }
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<V> {
        let mask = self.slots.len() - 1;
        let mut index = hash(key) & mask;
        loop {
            let slot = &self.slots[index];
            if slot.0 == key {
                return Some(slot.1);
            }
            if slot.0 == 0 {
                return None;
            }
            index = (index + 1) & mask;
        }
    }

    /// Inserts a key with its value. The map must not contain the key yet. Panics if the key is 0.
    pub(crate) fn insert(&mut self, key: u64, value: V) {
        assert_ne!(key, 0, "key 0 marks a free slot");
        if (self.used + 1) * 3 > self.slots.len() * 2 {
            let grown = vec![(0, V::default()); self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, grown);
            for (key, value) in old.into_iter().filter(|(key, _)| *key != 0) {
                self.fill_slot(key, value);
            }
        }
        self.used += 1;
        self.fill_slot(key, value);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u64, V)>()
    }

    fn fill_slot(&mut self, key: u64, value: V) {
        let mask = self.slots.len() - 1;
        let mut index = hash(key) & mask;
        while self.slots[index].0 != 0 {
            index = (index + 1) & mask;
        }
        self.slots[index] = (key, value);
    }
}

#[inline]
fn hash(key: u64) -> usize {
    let mixed = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_values_after_growing() {
        let mut memo = Memo::new();
        for key in 1..10_000u64 {
            assert_eq!(memo.get(key << 32), None);
            memo.insert(key << 32, key as u32);
        }
        assert!((1..10_000u64).all(|key| memo.get(key << 32) == Some(key as u32)));
    }
}
