//! Global states that have not been expanded yet.

use std::collections::VecDeque;
use std::ops::Range;

use super::packed::PackedRows;
use crate::explore::successor::WorldRef;
use crate::explore::visited::StateId;

/// Number of global states that one thread expands at a time. These states are packed together.
pub(super) const CHUNK_STATES: usize = 1 << 10;
/// Number of global states in a block. The search expands a block before it compares its states,
/// memory and time with the limits again. The number is a multiple of [`CHUNK_STATES`]. The states
/// of a frontier are packed when at least this many are unpacked.
pub(super) const BLOCK_STATES: usize = CHUNK_STATES * 64;

/// Global states in unpacked form, one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnpackedStates {
    pub(super) ids: Vec<StateId>,
    pub(super) fingerprints: Vec<u64>,
    pub(super) worlds: Vec<u32>,
}

impl UnpackedStates {
    pub(super) fn world(&self, index: usize, stride: usize) -> WorldRef<'_> {
        let world = &self.worlds[index * stride..][..stride];
        WorldRef { world, fingerprint: self.fingerprints[index] }
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

/// Global states of one chunk in packed form, which takes less memory.
#[derive(Debug)]
pub(super) struct PackedChunk {
    ids: Box<[StateId]>,
    fingerprints: Box<[u64]>,
    worlds: PackedRows,
}

impl PackedChunk {
    fn bytes(&self) -> usize {
        self.ids.len() * 12 + size_of::<Self>() - size_of::<PackedRows>() + self.worlds.bytes()
    }
}

/// Global states of one level, in the order in which the search found them.
#[derive(Debug)]
pub(super) struct Frontier {
    /// Number of integers that represent a global state.
    stride: usize,
    /// Number of chunks that were dropped from the front, because the search has expanded all their
    /// global states.
    dropped_chunks: usize,
    /// Chunks of global states in packed form. Dropped chunks are no longer in this list.
    packed: VecDeque<PackedChunk>,
    packed_bytes: usize,
    unpacked: UnpackedStates,
}

impl Frontier {
    pub(super) fn new(stride: usize) -> Self {
        let (packed, unpacked) = (VecDeque::new(), UnpackedStates::default());
        Frontier { stride, dropped_chunks: 0, packed, packed_bytes: 0, unpacked }
    }

    /// Returns the number of all global states that were added, including those that were dropped.
    pub(super) fn len(&self) -> usize {
        self.first_unpacked() + self.unpacked.ids.len()
    }

    fn first_unpacked(&self) -> usize {
        (self.dropped_chunks + self.packed.len()) * CHUNK_STATES
    }

    /// Appends copies of the global states at `indices` to `into`. None of these states may have
    /// been dropped.
    pub(super) fn read(&self, indices: Range<usize>, into: &mut UnpackedStates) {
        let unpacked = self.first_unpacked();
        let mut begin = indices.start;
        while begin < indices.end.min(unpacked) {
            let count = (CHUNK_STATES - begin % CHUNK_STATES).min(indices.end - begin);
            let (chunk, first) =
                (&self.packed[begin / CHUNK_STATES - self.dropped_chunks], begin % CHUNK_STATES);
            into.ids.extend_from_slice(&chunk.ids[first..][..count]);
            into.fingerprints.extend_from_slice(&chunk.fingerprints[first..][..count]);
            chunk.worlds.unpack(first, count, &mut into.worlds);
            begin += count;
        }
        if begin < indices.end {
            let (first, last) = (begin - unpacked, indices.end - unpacked);
            into.ids.extend_from_slice(&self.unpacked.ids[first..last]);
            into.fingerprints.extend_from_slice(&self.unpacked.fingerprints[first..last]);
            let worlds = first * self.stride..last * self.stride;
            into.worlds.extend_from_slice(&self.unpacked.worlds[worlds]);
        }
    }

    /// Returns the ids of the global states from index `begin` on. None of these states may have
    /// been dropped.
    pub(super) fn ids_from(&self, begin: usize) -> impl Iterator<Item = StateId> {
        let packed = self.packed.iter().flat_map(|chunk| &chunk.ids).chain(&self.unpacked.ids);
        packed.copied().skip(begin - self.dropped_chunks * CHUNK_STATES)
    }

    /// Drops each packed chunk in which all global states have an index below `before`. The search
    /// has expanded these states.
    pub(super) fn drop_expanded(&mut self, before: usize) {
        while (self.dropped_chunks + 1) * CHUNK_STATES <= before {
            let Some(packed) = self.packed.pop_front() else { return };
            self.packed_bytes -= packed.bytes();
            self.dropped_chunks += 1;
        }
    }

    /// Appends global states. They stay unpacked until [`Frontier::pack`] packs them.
    pub(super) fn add(
        &mut self,
        ids: impl Iterator<Item = StateId>,
        fingerprints: &[u64],
        worlds: &[u32],
    ) {
        self.unpacked.ids.extend(ids);
        self.unpacked.fingerprints.extend_from_slice(fingerprints);
        self.unpacked.worlds.extend_from_slice(worlds);
    }

    /// Returns the number of chunks that the unpacked global states fill. Returns 0 if fewer than
    /// [`BLOCK_STATES`] states are unpacked, because they then stay unpacked.
    pub(super) fn chunks_to_pack(&self) -> usize {
        if self.unpacked.ids.len() < BLOCK_STATES {
            0
        } else {
            self.unpacked.ids.len() / CHUNK_STATES
        }
    }

    /// Packs one chunk of the unpacked global states, and returns the packed chunk. `chunk` is the
    /// number of the chunk. Chunk 0 begins with the first unpacked state.
    pub(super) fn pack(&self, chunk: usize) -> PackedChunk {
        let (unpacked, begin) = (&self.unpacked, chunk * CHUNK_STATES);
        let worlds = &unpacked.worlds[begin * self.stride..][..CHUNK_STATES * self.stride];
        PackedChunk {
            ids: unpacked.ids[begin..][..CHUNK_STATES].into(),
            fingerprints: unpacked.fingerprints[begin..][..CHUNK_STATES].into(),
            worlds: PackedRows::pack(worlds, self.stride),
        }
    }

    /// Replaces the first unpacked global states by these packed chunks, which contain the same
    /// states.
    pub(super) fn replace_by_packed(&mut self, packed: Vec<PackedChunk>) {
        let worlds = packed.len() * CHUNK_STATES;
        self.unpacked.ids.drain(..worlds);
        self.unpacked.fingerprints.drain(..worlds);
        self.unpacked.worlds.drain(..worlds * self.stride);
        self.packed_bytes += packed.iter().map(PackedChunk::bytes).sum::<usize>();
        self.packed.extend(packed);
    }

    pub(super) fn bytes(&self) -> usize {
        let list = self.packed.capacity() - self.packed.len();
        self.packed_bytes + list * size_of::<PackedChunk>() + self.unpacked.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIDE: usize = 2;

    fn world(index: usize) -> [u32; STRIDE] {
        [index as u32 * 7, u32::MAX - index as u32]
    }

    fn add(frontier: &mut Frontier, indices: Range<usize>) {
        let ids = indices.clone().map(|index| StateId(index as u32));
        let fingerprints: Vec<u64> = indices.clone().map(|index| index as u64).collect();
        let worlds: Vec<u32> = indices.flat_map(world).collect();
        frontier.add(ids, &fingerprints, &worlds);
        let packed = (0..frontier.chunks_to_pack()).map(|chunk| frontier.pack(chunk));
        let packed = packed.collect();
        frontier.replace_by_packed(packed);
    }

    fn assert_holds(frontier: &Frontier, indices: Range<usize>) {
        let mut batch = UnpackedStates::default();
        frontier.read(indices.clone(), &mut batch);
        assert!(batch.ids.iter().map(|id| id.0 as usize).eq(indices.clone()));
        assert!(batch.fingerprints.iter().map(|one| *one as usize).eq(indices.clone()));
        assert!(batch.worlds.into_iter().eq(indices.flat_map(world)));
    }

    #[test]
    fn small_frontier_stays_unpacked() {
        let mut frontier = Frontier::new(STRIDE);
        add(&mut frontier, 0..BLOCK_STATES - 1);
        assert!(frontier.packed.is_empty());
        assert_holds(&frontier, 0..BLOCK_STATES - 1);
    }

    #[test]
    fn returns_worlds_in_order() {
        let mut frontier = Frontier::new(STRIDE);
        for end in [3, BLOCK_STATES - 1, BLOCK_STATES + 5, 3 * BLOCK_STATES + 100] {
            let begin = frontier.len();
            add(&mut frontier, begin..end);
        }
        assert_eq!(frontier.len(), 3 * BLOCK_STATES + 100);
        assert_holds(&frontier, 0..frontier.len());
        assert_holds(&frontier, CHUNK_STATES - 1..2 * CHUNK_STATES + 1);
        assert_holds(&frontier, 3 * BLOCK_STATES - 1..3 * BLOCK_STATES + 100);
    }

    #[test]
    fn drops_expanded_worlds() {
        let mut frontier = Frontier::new(STRIDE);
        add(&mut frontier, 0..2 * BLOCK_STATES + 10);
        let before = frontier.bytes();
        frontier.drop_expanded(BLOCK_STATES);
        assert!(
            frontier.bytes() + BLOCK_STATES * 12 <= before,
            "{before}, then {}",
            frontier.bytes()
        );
        assert_eq!(frontier.len(), 2 * BLOCK_STATES + 10);
        assert_holds(&frontier, BLOCK_STATES..frontier.len());
        assert_eq!(
            frontier.ids_from(BLOCK_STATES + 3).next(),
            Some(StateId(BLOCK_STATES as u32 + 3))
        );
        assert_eq!(frontier.ids_from(BLOCK_STATES + 3).count(), BLOCK_STATES + 7);
        frontier.drop_expanded(frontier.len());
        assert_holds(&frontier, 2 * BLOCK_STATES..frontier.len());
        assert_eq!(frontier.ids_from(frontier.len()).count(), 0);
    }
}
