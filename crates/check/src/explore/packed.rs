//! Worlds that wait, made narrow.

use super::frontier::Batch;
use crate::explore::visited::StateId;

/// One slot of all worlds of a packed batch: how far above the least each of them is.
#[derive(Clone, Copy, Debug)]
struct Column {
    slot: u32,
    /// Where it begins in a row, in bits.
    begin: u32,
    /// How many bits it has.
    wide: u32,
}

/// Worlds in rows of bits: of each slot as many as its values in this batch differ in.
#[derive(Debug)]
pub(super) struct Packed {
    ids: Box<[StateId]>,
    fingerprints: Box<[u64]>,
    /// The least value of each slot.
    least: Box<[u32]>,
    /// The slots that are not the same in all worlds.
    columns: Box<[Column]>,
    /// The bytes of a row.
    width: usize,
    /// The rows, and a word behind them: they are read by words.
    rows: Box<[u8]>,
}

const WORD: usize = size_of::<u64>();

impl Packed {
    /// Packs some worlds of a batch: `count` of them from `begin` on.
    pub(super) fn of(batch: &Batch, begin: usize, count: usize, stride: usize) -> Self {
        let worlds = &batch.worlds[begin * stride..][..count * stride];
        let (least, columns, width) = narrowest(worlds, stride);
        let mut rows = vec![0; count * width + WORD];
        for (place, world) in worlds.chunks_exact(stride).enumerate() {
            let (mut at, mut bits, mut filled) = (place * width, 0, 0);
            for column in &columns {
                let slot = column.slot as usize;
                bits |= u64::from(world[slot] - least[slot]) << filled;
                filled += column.wide;
                if filled >= u32::BITS {
                    rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
                    at += WORD / 2;
                    bits >>= u32::BITS;
                    filled -= u32::BITS;
                }
            }
            rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
        }
        Packed {
            ids: batch.ids[begin..][..count].into(),
            fingerprints: batch.fingerprints[begin..][..count].into(),
            least: least.into(),
            columns: columns.into(),
            width,
            rows: rows.into(),
        }
    }

    /// Adds `count` of the worlds, from `begin` on, to a batch.
    pub(super) fn unpack(&self, begin: usize, count: usize, batch: &mut Batch) {
        batch.ids.extend_from_slice(&self.ids[begin..][..count]);
        batch.fingerprints.extend_from_slice(&self.fingerprints[begin..][..count]);
        for place in begin..begin + count {
            let first = batch.worlds.len();
            batch.worlds.extend_from_slice(&self.least);
            let world = &mut batch.worlds[first..];
            for column in &self.columns {
                let (at, shift) = column.place(place * self.width);
                let word = self.rows[at..][..WORD].try_into().expect("it is a word");
                let above = (u64::from_le_bytes(word) >> shift) as u32
                    & u32::MAX >> (u32::BITS - column.wide);
                world[column.slot as usize] += above;
            }
        }
    }

    pub(super) fn ids(&self) -> &[StateId] {
        &self.ids
    }

    pub(super) fn bytes(&self) -> usize {
        let fixed = size_of::<Self>() + self.least.len() * 4 + size_of_val(&*self.columns);
        fixed + self.ids.len() * 12 + self.rows.len()
    }
}

impl Column {
    /// The byte where its word begins, and the bits before it there.
    fn place(self, row: usize) -> (usize, u32) {
        (row + (self.begin / u8::BITS) as usize, self.begin % u8::BITS)
    }
}

/// The least value of each slot, the columns of those that differ, and the bytes of a row.
fn narrowest(worlds: &[u32], stride: usize) -> (Vec<u32>, Vec<Column>, usize) {
    let (mut least, mut most) = (vec![u32::MAX; stride], vec![0; stride]);
    for world in worlds.chunks_exact(stride) {
        for ((least, most), value) in least.iter_mut().zip(&mut most).zip(world) {
            *least = (*least).min(*value);
            *most = (*most).max(*value);
        }
    }
    let (mut columns, mut bits) = (Vec::new(), 0);
    for (slot, (least, most)) in least.iter().zip(&most).enumerate() {
        let wide = u32::BITS - (most - least).leading_zeros();
        if wide > 0 {
            columns.push(Column { slot: slot as u32, begin: bits, wide });
            bits += wide;
        }
    }
    (least, columns, bits.div_ceil(u8::BITS) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(worlds: &[[u32; 4]]) -> Batch {
        let count = worlds.len() as u64;
        Batch {
            ids: (0..count as u32).map(|id| StateId(u32::MAX - id)).collect(),
            fingerprints: (0..count).map(|place| u64::MAX / (place + 1)).collect(),
            worlds: worlds.concat(),
        }
    }

    #[test]
    fn every_world_comes_back_as_it_was() {
        let all = batch(&[
            [0, u32::MAX, 7, 1 << 31],
            [u32::MAX, 0, 7, 1 << 31],
            [1, u32::MAX - 1, 7, (1 << 31) + 1],
            [u32::MAX, u32::MAX, 7, (1 << 31) + 511],
        ]);
        let packed = Packed::of(&all, 0, 4, 4);
        let mut back = Batch::default();
        packed.unpack(0, 4, &mut back);
        assert_eq!(back, all);
        assert_eq!(packed.ids(), all.ids);
    }

    #[test]
    fn a_part_comes_back_as_well() {
        let all = batch(&[[9, 1, 0, 3], [8, 2, 0, 3], [7, 3, 1, 3], [0, 0, 0, 0]]);
        let packed = Packed::of(&all, 1, 2, 4);
        let mut back = Batch::default();
        packed.unpack(1, 1, &mut back);
        packed.unpack(0, 1, &mut back);
        assert_eq!(back.ids, [all.ids[2], all.ids[1]]);
        assert_eq!(back.fingerprints, [all.fingerprints[2], all.fingerprints[1]]);
        assert_eq!(back.worlds, [7, 3, 1, 3, 8, 2, 0, 3]);
    }

    #[test]
    fn what_is_the_same_in_all_worlds_takes_no_room() {
        let alike = batch(&[[u32::MAX, 5, 0, 1]; 100]);
        assert_eq!(Packed::of(&alike, 0, 100, 4).rows.len(), WORD);
        let mut differ = vec![[u32::MAX, 5, 0, 1]; 100];
        differ[50] = [u32::MAX - 127, 5, 0, 2];
        assert_eq!(Packed::of(&batch(&differ), 0, 100, 4).rows.len(), 100 + WORD);
    }
}
