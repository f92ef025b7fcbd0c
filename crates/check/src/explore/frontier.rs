//! The worlds that wait to be expanded.

use std::collections::VecDeque;
use std::ops::Range;

use super::packed::Packed;
use crate::explore::successors::Seed;
use crate::explore::visited::StateId;

/// Worlds that one thread expands at a time, and that are packed together.
pub(super) const CHUNK: usize = 1 << 10;
/// Worlds expanded between two looks at limits; a multiple of [`CHUNK`]. Fewer are not packed.
pub(super) const BLOCK: usize = CHUNK * 64;

/// Worlds one after another, as they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) ids: Vec<StateId>,
    pub(super) fingerprints: Vec<u64>,
    pub(super) worlds: Vec<u32>,
}

impl Batch {
    pub(super) fn seed(&self, place: usize, stride: usize) -> Seed<'_> {
        let world = &self.worlds[place * stride..][..stride];
        Seed { world, fingerprint: self.fingerprints[place] }
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.fingerprints.clear();
        self.worlds.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        self.ids.capacity() * 4 + self.fingerprints.capacity() * 8 + self.worlds.capacity() * 4
    }
}

/// The worlds of one chunk, as narrow as they can be.
#[derive(Debug)]
pub(super) struct Chunk {
    ids: Box<[StateId]>,
    fingerprints: Box<[u64]>,
    worlds: Packed,
}

impl Chunk {
    fn bytes(&self) -> usize {
        self.ids.len() * 12 + size_of::<Self>() - size_of::<Packed>() + self.worlds.bytes()
    }
}

/// The worlds of one level, in the order in which they were found.
#[derive(Debug)]
pub(super) struct Frontier {
    stride: usize,
    /// How many of the first were expanded and let go, in chunks.
    gone: usize,
    /// Whole chunks.
    packed: VecDeque<Chunk>,
    packed_bytes: usize,
    /// The last ones.
    loose: Batch,
}

impl Frontier {
    pub(super) fn new(stride: usize) -> Self {
        let (packed, loose) = (VecDeque::new(), Batch::default());
        Frontier { stride, gone: 0, packed, packed_bytes: 0, loose }
    }

    /// How many worlds there are, with those that were let go.
    pub(super) fn len(&self) -> usize {
        self.first_loose() + self.loose.ids.len()
    }

    /// The place of the first world that is not packed.
    fn first_loose(&self) -> usize {
        (self.gone + self.packed.len()) * CHUNK
    }

    /// Copies worlds, which must not have been let go.
    pub(super) fn read(&self, places: Range<usize>, into: &mut Batch) {
        let loose = self.first_loose();
        let mut begin = places.start;
        while begin < places.end.min(loose) {
            let count = (CHUNK - begin % CHUNK).min(places.end - begin);
            let (chunk, first) = (&self.packed[begin / CHUNK - self.gone], begin % CHUNK);
            into.ids.extend_from_slice(&chunk.ids[first..][..count]);
            into.fingerprints.extend_from_slice(&chunk.fingerprints[first..][..count]);
            chunk.worlds.unpack(first, count, &mut into.worlds);
            begin += count;
        }
        if begin < places.end {
            let (first, last) = (begin - loose, places.end - loose);
            into.ids.extend_from_slice(&self.loose.ids[first..last]);
            into.fingerprints.extend_from_slice(&self.loose.fingerprints[first..last]);
            let worlds = first * self.stride..last * self.stride;
            into.worlds.extend_from_slice(&self.loose.worlds[worlds]);
        }
    }

    /// The worlds from a place on, by name.
    pub(super) fn ids_from(&self, begin: usize) -> impl Iterator<Item = StateId> {
        let packed = self.packed.iter().flat_map(|chunk| &chunk.ids).chain(&self.loose.ids);
        packed.copied().skip(begin - self.gone * CHUNK)
    }

    /// Lets worlds go that were expanded, as far as they are packed.
    pub(super) fn forget(&mut self, before: usize) {
        while (self.gone + 1) * CHUNK <= before {
            let Some(packed) = self.packed.pop_front() else { return };
            self.packed_bytes -= packed.bytes();
            self.gone += 1;
        }
    }

    /// Adds worlds behind the others; they stay loose until they are [packed](Frontier::pack).
    pub(super) fn add(
        &mut self,
        ids: impl Iterator<Item = StateId>,
        fingerprints: &[u64],
        worlds: &[u32],
    ) {
        self.loose.ids.extend(ids);
        self.loose.fingerprints.extend_from_slice(fingerprints);
        self.loose.worlds.extend_from_slice(worlds);
    }

    /// How many chunks are to be packed now.
    pub(super) fn chunks_to_pack(&self) -> usize {
        if self.loose.ids.len() < BLOCK { 0 } else { self.loose.ids.len() / CHUNK }
    }

    /// One of the chunks that are to be packed.
    pub(super) fn pack(&self, chunk: usize) -> Chunk {
        let (loose, begin) = (&self.loose, chunk * CHUNK);
        let worlds = &loose.worlds[begin * self.stride..][..CHUNK * self.stride];
        Chunk {
            ids: loose.ids[begin..][..CHUNK].into(),
            fingerprints: loose.fingerprints[begin..][..CHUNK].into(),
            worlds: Packed::of(worlds, self.stride),
        }
    }

    /// Keeps all chunks that were to be packed in place of their loose worlds.
    pub(super) fn keep(&mut self, packed: Vec<Chunk>) {
        let worlds = packed.len() * CHUNK;
        self.loose.ids.drain(..worlds);
        self.loose.fingerprints.drain(..worlds);
        self.loose.worlds.drain(..worlds * self.stride);
        self.packed_bytes += packed.iter().map(Chunk::bytes).sum::<usize>();
        self.packed.extend(packed);
    }

    pub(super) fn bytes(&self) -> usize {
        let list = self.packed.capacity() - self.packed.len();
        self.packed_bytes + list * size_of::<Chunk>() + self.loose.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIDE: usize = 2;

    fn world(place: usize) -> [u32; STRIDE] {
        [place as u32 * 7, u32::MAX - place as u32]
    }

    fn add(frontier: &mut Frontier, places: Range<usize>) {
        let ids = places.clone().map(|place| StateId(place as u32));
        let fingerprints: Vec<u64> = places.clone().map(|place| place as u64).collect();
        let worlds: Vec<u32> = places.flat_map(world).collect();
        frontier.add(ids, &fingerprints, &worlds);
        let packed = (0..frontier.chunks_to_pack()).map(|chunk| frontier.pack(chunk));
        let packed = packed.collect();
        frontier.keep(packed);
    }

    fn assert_holds(frontier: &Frontier, places: Range<usize>) {
        let mut batch = Batch::default();
        frontier.read(places.clone(), &mut batch);
        assert!(batch.ids.iter().map(|id| id.0 as usize).eq(places.clone()));
        assert!(batch.fingerprints.iter().map(|one| *one as usize).eq(places.clone()));
        assert!(batch.worlds.into_iter().eq(places.flat_map(world)));
    }

    #[test]
    fn few_worlds_stay_as_they_are() {
        let mut frontier = Frontier::new(STRIDE);
        add(&mut frontier, 0..BLOCK - 1);
        assert!(frontier.packed.is_empty());
        assert_holds(&frontier, 0..BLOCK - 1);
    }

    #[test]
    fn worlds_come_in_the_order_in_which_they_were_added() {
        let mut frontier = Frontier::new(STRIDE);
        for end in [3, BLOCK - 1, BLOCK + 5, 3 * BLOCK + 100] {
            let begin = frontier.len();
            add(&mut frontier, begin..end);
        }
        assert_eq!(frontier.len(), 3 * BLOCK + 100);
        assert_holds(&frontier, 0..frontier.len());
        assert_holds(&frontier, CHUNK - 1..2 * CHUNK + 1);
        assert_holds(&frontier, 3 * BLOCK - 1..3 * BLOCK + 100);
    }

    #[test]
    fn what_was_expanded_is_let_go() {
        let mut frontier = Frontier::new(STRIDE);
        add(&mut frontier, 0..2 * BLOCK + 10);
        let before = frontier.bytes();
        frontier.forget(BLOCK);
        assert!(frontier.bytes() + BLOCK * 12 <= before, "{before}, then {}", frontier.bytes());
        assert_eq!(frontier.len(), 2 * BLOCK + 10);
        assert_holds(&frontier, BLOCK..frontier.len());
        assert_eq!(frontier.ids_from(BLOCK + 3).next(), Some(StateId(BLOCK as u32 + 3)));
        assert_eq!(frontier.ids_from(BLOCK + 3).count(), BLOCK + 7);
        frontier.forget(frontier.len());
        assert_holds(&frontier, 2 * BLOCK..frontier.len());
        assert_eq!(frontier.ids_from(frontier.len()).count(), 0);
    }
}
