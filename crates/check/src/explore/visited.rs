//! The worlds that were seen: fingerprints in open-addressing tables, each with the step that
//! found it first.

use std::hint::black_box;

use super::origins::Origins;
use crate::world::action::Action;

/// How many tables there are; which one a world belongs to is decided by its fingerprint, so
/// that threads fill different tables.
pub(crate) const SHARDS: usize = 32;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();

/// The name of a visited world: its shard, and its place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    /// Stands for whatever lies beyond a declared bound.
    pub(crate) const OUTSIDE: StateId = StateId(u32::MAX);

    pub(crate) fn new(shard: usize, place: usize) -> Self {
        assert!(place < 1 << (32 - SHARD_BITS), "a search holds fewer than 2^32 worlds");
        StateId((place as u32) << SHARD_BITS | shard as u32)
    }

    pub(crate) fn shard(self) -> usize {
        self.0 as usize % SHARDS
    }

    pub(crate) fn place(self) -> usize {
        (self.0 >> SHARD_BITS) as usize
    }
}

/// Which shard a fingerprint belongs to.
pub(crate) fn shard_of(fingerprint: u64) -> usize {
    (fingerprint >> (u64::BITS - SHARD_BITS)) as usize
}

/// How a world was found first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) parent: StateId,
    pub(crate) action: Action,
}

/// One step between visited worlds, kept where liveness is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: StateId,
    pub(crate) to: StateId,
    pub(crate) label: u32,
}

/// Where a world belongs in a table of so many slots: in the order of their keys, so that a table
/// that grows is read and written from one end to the other.
#[inline]
fn slot_of(key: u64, slots: usize) -> usize {
    (((key & u64::from(u32::MAX)) * slots as u64) >> u32::BITS) as usize
}

#[inline]
fn after(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

/// One of the tables.
#[derive(Debug)]
pub(crate) struct Shard {
    number: usize,
    /// Fingerprints by slot; 0 means a free slot.
    keys: Vec<u64>,
    /// The places of the worlds that the keys stand for, if they are asked for.
    places: Option<Vec<u32>>,
    origins: Origins,
    /// In exact mode the worlds themselves.
    worlds: Option<Vec<u32>>,
    /// What liveness asks of each world, as bits.
    pub(crate) marks: Vec<u32>,
    pub(crate) edges: Vec<Edge>,
    /// Different worlds with one fingerprint, told apart because whole worlds are kept.
    pub(crate) collisions: u64,
}

/// What became of a world that was put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    New(StateId),
    /// It was there, at this slot: [`Shard::at`] tells its name, where places are kept.
    Known(usize),
}

const FIRST_SLOTS: usize = 64;
/// From so many slots on a table grows by a quarter instead of a half, as it is most of what a
/// search holds then.
const LARGE: usize = 1 << 20;

impl Shard {
    /// `named` says whether worlds that were seen are asked for their names.
    pub(crate) fn new(number: usize, exact: bool, named: bool) -> Self {
        Shard {
            number,
            keys: vec![0; FIRST_SLOTS],
            places: (named || exact).then(|| vec![0; FIRST_SLOTS]),
            origins: Origins::default(),
            worlds: exact.then(Vec::new),
            marks: Vec::new(),
            edges: Vec::new(),
            collisions: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    pub(crate) fn origin(&self, place: usize) -> Origin {
        self.origins.at(place)
    }

    /// Looks where each of some worlds would be: the slots lie far apart, and memory brings them at
    /// the same time rather than one after the other.
    #[inline]
    pub(crate) fn fetch(&self, fingerprints: impl Iterator<Item = u64>) {
        let slots = self.keys.len();
        let all = fingerprints.map(|fingerprint| slot_of(fingerprint.max(1), slots));
        black_box(all.fold(0, |all, slot| all | self.keys[slot]));
    }

    /// Puts a world in, found by `origin`. `world` is needed in exact mode only.
    #[inline(always)]
    pub(crate) fn put(&mut self, fingerprint: u64, origin: Origin, world: &[u32]) -> Put {
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
                    return Put::Known(slot);
                }
                self.collisions += 1;
            }
            slot = after(slot, slots);
        }
        let place = self.origins.len();
        self.keys[slot] = key;
        if let Some(places) = &mut self.places {
            places[slot] = place as u32;
        }
        self.origins.push(origin);
        if let Some(worlds) = &mut self.worlds {
            worlds.extend_from_slice(world);
        }
        if self.origins.len() * 8 > self.keys.len() * 7 {
            self.grow();
        }
        Put::New(StateId::new(self.number, place))
    }

    /// The name of the world at a slot.
    pub(crate) fn at(&self, slot: usize) -> StateId {
        StateId::new(self.number, self.place_at(slot))
    }

    fn place_at(&self, slot: usize) -> usize {
        self.places.as_ref().expect("whoever asks for names has said so")[slot] as usize
    }

    /// The name of a world that was put in.
    pub(crate) fn find(&self, fingerprint: u64, world: &[u32]) -> Option<StateId> {
        let key = fingerprint.max(1);
        let slots = self.keys.len();
        let mut slot = slot_of(key, slots);
        while self.keys[slot] != 0 {
            if self.keys[slot] == key && self.is_same(self.place_at(slot), world) {
                return Some(self.at(slot));
            }
            slot = after(slot, slots);
        }
        None
    }

    fn is_same(&self, place: usize, world: &[u32]) -> bool {
        let stride = world.len();
        self.worlds.as_ref().is_none_or(|worlds| worlds[place * stride..][..stride] == *world)
    }

    fn grow(&mut self) {
        let slots = self.keys.len();
        let slots = slots + slots / if slots < LARGE { 2 } else { 4 };
        let keys = std::mem::replace(&mut self.keys, vec![0; slots]);
        let places = self.places.take();
        self.places = places.as_ref().map(|_| vec![0; slots]);
        for (from, key) in keys.into_iter().enumerate().filter(|(_, key)| *key != 0) {
            let mut slot = slot_of(key, slots);
            while self.keys[slot] != 0 {
                slot = after(slot, slots);
            }
            self.keys[slot] = key;
            if let (Some(to), Some(places)) = (&mut self.places, &places) {
                to[slot] = places[from];
            }
        }
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
            + self.places.as_ref().map_or(0, |places| places.capacity() * size_of::<u32>())
            + self.origins.bytes()
            + self.worlds.as_ref().map_or(0, |worlds| worlds.capacity() * size_of::<u32>())
            + self.marks.capacity() * size_of::<u32>()
            + self.edges.capacity() * size_of::<Edge>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { parent: StateId::OUTSIDE, action: Action(0) };

    #[test]
    fn a_world_is_new_once() {
        let mut shard = Shard::new(5, false, true);
        for key in 0..1_000u64 {
            let key = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let Put::New(id) = shard.put(key, ORIGIN, &[]) else { panic!("{key} is new") };
            let Put::Known(slot) = shard.put(key, ORIGIN, &[]) else { panic!("{key} is known") };
            assert_eq!(shard.at(slot), id);
            assert_eq!(id.shard(), 5);
        }
        assert_eq!(shard.len(), 1_000);
    }

    #[test]
    fn names_are_kept_where_they_are_asked_for() {
        let (mut named, mut nameless) = (Shard::new(1, false, true), Shard::new(1, false, false));
        // Keys that lie close to the end of the table, and go on at its begin.
        for key in (1..=5_000u64).map(|key| u64::from(u32::MAX) - key * 1_000) {
            assert_eq!(named.put(key, ORIGIN, &[]), nameless.put(key, ORIGIN, &[]));
        }
        for (place, key) in (1..=5_000u64).enumerate() {
            let key = u64::from(u32::MAX) - key * 1_000;
            assert_eq!(named.find(key, &[]), Some(StateId::new(1, place)));
            assert!(matches!(nameless.put(key, ORIGIN, &[]), Put::Known(_)));
        }
        assert_eq!(named.find(77, &[]), None);
        assert_eq!(named.bytes() - nameless.bytes(), named.keys.len() * size_of::<u32>());
    }

    #[test]
    fn exact_mode_tells_worlds_of_one_fingerprint_apart() {
        let mut shard = Shard::new(0, true, false);
        let first = shard.put(9, ORIGIN, &[1, 2]);
        let second = shard.put(9, ORIGIN, &[2, 1]);
        assert!(matches!((first, second), (Put::New(_), Put::New(_))));
        assert!(matches!(shard.put(9, ORIGIN, &[2, 1]), Put::Known(_)));
        assert_eq!(shard.len(), 2);
        assert_eq!(shard.collisions, 2);
    }
}
