//! Set of visited global states: tables of fingerprints with open addressing. For each state, the
//! set stores the step that first found it.

use std::hint::black_box;

use super::origins::Origins;
use crate::world::action::Action;

/// Number of tables. The fingerprint of a global state selects its table. Threads can fill
/// different tables at the same time.
pub(crate) const SHARD_COUNT: usize = 32;
const SHARD_BITS: u32 = SHARD_COUNT.trailing_zeros();

/// Id of a visited global state: its shard and its index in the shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    /// Id that represents all global states beyond a declared bound. As the parent in an
    /// [`Origin`], it means that the state is an initial state.
    pub(crate) const OUT_OF_BOUNDS: StateId = StateId(u32::MAX);

    pub(crate) fn new(shard: usize, index: usize) -> Self {
        assert!(index < 1 << (32 - SHARD_BITS), "a search holds fewer than 2^32 worlds");
        StateId((index as u32) << SHARD_BITS | shard as u32)
    }

    pub(crate) fn shard(self) -> usize {
        self.0 as usize % SHARD_COUNT
    }

    pub(crate) fn index(self) -> usize {
        (self.0 >> SHARD_BITS) as usize
    }
}

pub(crate) fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> (u64::BITS - SHARD_BITS)) as usize
}

/// Step by which the search first found a global state: its action, and the parent state in which
/// it starts. For an initial state, the parent is [`StateId::OUT_OF_BOUNDS`], and the action has no
/// meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) parent: StateId,
    pub(crate) action: Action,
}

/// A step from a visited global state, stored for an analysis of the graph. `to` is a visited
/// state, or [`StateId::OUT_OF_BOUNDS`] if the step leads beyond a declared bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphEdge {
    pub(crate) from: StateId,
    pub(crate) to: StateId,
    pub(crate) label: u32,
}

/// Returns the slot at which the lookup of a key begins. The slot grows with the lower 32 bits of
/// the key. So all keys have the same order in a table and in its larger copy, and copying accesses
/// both tables almost sequentially.
#[inline]
fn slot_of(key: u64, slots: usize) -> usize {
    (((key & u64::from(u32::MAX)) * slots as u64) >> u32::BITS) as usize
}

#[inline]
fn after(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// One of the tables of the visited set.
#[derive(Debug)]
pub(crate) struct Shard {
    number: usize,
    /// Key of the global state in each slot of the table; 0 marks a free slot.
    keys: Vec<u64>,
    /// Index of the global state in each slot of the table, among the states of this shard. `None`
    /// if the search never looks up the id of a state.
    indices: Option<Vec<u32>>,
    origins: Origins,
    /// Contents of the visited global states. `None` if the search stores only their fingerprints.
    worlds: Option<Vec<u32>>,
    /// Marks of each global state for an analysis of the graph, as bits. Indexed like `origins`.
    pub(crate) marks: Vec<u32>,
    pub(crate) edges: Vec<GraphEdge>,
    /// Number of times that [`Shard::insert`] compared a global state with a different state that
    /// has the same key. 0 if the search does not store whole states.
    pub(crate) collisions: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertionResult {
    New(StateId),
    /// The global state was already in the set, at this slot of the table. If indices are stored,
    /// [`Shard::id_at`] returns the id of the state.
    Known(usize),
}

/// Number of slots of an empty table.
const FIRST_SLOTS: usize = 64;
/// Number of slots from which a table is large. A small table grows by a half of its size. A large
/// table grows by a quarter, which wastes less memory.
const LARGE: usize = 1 << 20;

impl Shard {
    /// Creates an empty table for the shard with this number. If `stores_states`, the table stores
    /// whole global states. Ids can be looked up if `has_ids` or `stores_states`.
    pub(crate) fn new(number: usize, stores_states: bool, has_ids: bool) -> Self {
        Shard {
            number,
            keys: vec![0; FIRST_SLOTS],
            indices: (has_ids || stores_states).then(|| vec![0; FIRST_SLOTS]),
            origins: Origins::default(),
            worlds: stores_states.then(Vec::new),
            marks: Vec::new(),
            edges: Vec::new(),
            collisions: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    pub(crate) fn origin(&self, index: usize) -> Origin {
        self.origins.get(index)
    }

    /// Loads the slots of several keys into the cache of the processor. The slots are far apart.
    /// Loading them together is faster, because the memory serves several reads at the same time.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprints: impl Iterator<Item = u64>) {
        let slots = self.keys.len();
        let all = fingerprints.map(|fingerprint| slot_of(fingerprint.max(1), slots));
        black_box(all.fold(0, |all, slot| all | self.keys[slot]));
    }

    /// Inserts a global state, unless it was visited before. `origin` is the step that found it.
    /// `world` is read only if the search stores whole states.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        fingerprint: u64,
        origin: Origin,
        world: &[u32],
    ) -> InsertionResult {
        let key = fingerprint.max(1);
        let slots = self.keys.len();
        let mut slot = slot_of(key, slots);
        loop {
            let found = self.keys[slot];
            if found == 0 {
                break;
            }
            if found == key {
                if self.worlds.is_none() || self.is_same(self.place_at(slot), world) {
                    return InsertionResult::Known(slot);
                }
                self.collisions += 1;
            }
            slot = after(slot, slots);
        }
        let index = self.origins.len();
        self.keys[slot] = key;
        if let Some(indices) = &mut self.indices {
            indices[slot] = index as u32;
        }
        self.origins.push(origin);
        if let Some(worlds) = &mut self.worlds {
            worlds.extend_from_slice(world);
        }
        if self.origins.len() * 8 > self.keys.len() * 7 {
            self.grow();
        }
        InsertionResult::New(StateId::new(self.number, index))
    }

    /// Returns the id of the global state in a slot of the table. Panics if no indices are stored.
    pub(crate) fn id_at(&self, slot: usize) -> StateId {
        StateId::new(self.number, self.place_at(slot))
    }

    fn place_at(&self, slot: usize) -> usize {
        self.indices.as_ref().expect("lookup of ids is enabled")[slot] as usize
    }

    /// Returns the id of a global state, or `None` if it was not visited. `world` is read only if
    /// the search stores whole states. Panics if the state was visited and no indices are stored.
    pub(crate) fn find(&self, fingerprint: u64, world: &[u32]) -> Option<StateId> {
        let key = fingerprint.max(1);
        let slots = self.keys.len();
        let mut slot = slot_of(key, slots);
        while self.keys[slot] != 0 {
            if self.keys[slot] == key && self.is_same(self.place_at(slot), world) {
                return Some(self.id_at(slot));
            }
            slot = after(slot, slots);
        }
        None
    }

    fn is_same(&self, index: usize, world: &[u32]) -> bool {
        let stride = world.len();
        self.worlds.as_ref().is_none_or(|worlds| worlds[index * stride..][..stride] == *world)
    }

    fn grow(&mut self) {
        let slots = self.keys.len();
        let slots = slots + slots / if slots < LARGE { 2 } else { 4 };
        let keys = std::mem::replace(&mut self.keys, vec![0; slots]);
        let indices = self.indices.take();
        self.indices = indices.as_ref().map(|_| vec![0; slots]);
        for (from, key) in keys.into_iter().enumerate().filter(|(_, key)| *key != 0) {
            let mut slot = slot_of(key, slots);
            while self.keys[slot] != 0 {
                slot = after(slot, slots);
            }
            self.keys[slot] = key;
            if let (Some(to), Some(indices)) = (&mut self.indices, &indices) {
                to[slot] = indices[from];
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
            + self.indices.as_ref().map_or(0, |indices| indices.capacity() * size_of::<u32>())
            + self.origins.bytes()
            + self.worlds.as_ref().map_or(0, |worlds| worlds.capacity() * size_of::<u32>())
            + self.marks.capacity() * size_of::<u32>()
            + self.edges.capacity() * size_of::<GraphEdge>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { parent: StateId::OUT_OF_BOUNDS, action: Action(0) };

    #[test]
    fn inserts_each_world_once() {
        let mut shard = Shard::new(5, false, true);
        for key in 0..1_000u64 {
            let key = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let InsertionResult::New(id) = shard.insert(key, ORIGIN, &[]) else {
                panic!("{key} is new")
            };
            let InsertionResult::Known(slot) = shard.insert(key, ORIGIN, &[]) else {
                panic!("{key} is known")
            };
            assert_eq!(shard.id_at(slot), id);
            assert_eq!(id.shard(), 5);
        }
        assert_eq!(shard.len(), 1_000);
    }

    #[test]
    fn stores_ids_only_on_request() {
        let (mut named, mut nameless) = (Shard::new(1, false, true), Shard::new(1, false, false));
        // Keys close to the end of the table, which wrap around to its start.
        for key in (1..=5_000u64).map(|key| u64::from(u32::MAX) - key * 1_000) {
            assert_eq!(named.insert(key, ORIGIN, &[]), nameless.insert(key, ORIGIN, &[]));
        }
        for (index, key) in (1..=5_000u64).enumerate() {
            let key = u64::from(u32::MAX) - key * 1_000;
            assert_eq!(named.find(key, &[]), Some(StateId::new(1, index)));
            assert!(matches!(nameless.insert(key, ORIGIN, &[]), InsertionResult::Known(_)));
        }
        assert_eq!(named.find(77, &[]), None);
        assert_eq!(named.bytes() - nameless.bytes(), named.keys.len() * size_of::<u32>());
    }

    #[test]
    fn exact_mode_distinguishes_equal_fingerprints() {
        let mut shard = Shard::new(0, true, false);
        let first = shard.insert(9, ORIGIN, &[1, 2]);
        let second = shard.insert(9, ORIGIN, &[2, 1]);
        assert!(matches!((first, second), (InsertionResult::New(_), InsertionResult::New(_))));
        assert!(matches!(shard.insert(9, ORIGIN, &[2, 1]), InsertionResult::Known(_)));
        assert_eq!(shard.len(), 2);
        assert_eq!(shard.collisions, 2);
    }
}
