//! Rows of numbers, made narrow.

/// One slot of all rows: how far above the least each of them is.
#[derive(Clone, Copy, Debug)]
struct Column {
    slot: u16,
    /// Where it begins in a row, in bits.
    begin: u32,
    /// How many bits it has.
    wide: u8,
}

/// Rows of bits: of each slot as many as its values differ in.
#[derive(Debug)]
pub(super) struct Packed {
    /// The least value of each slot.
    least: Box<[u32]>,
    /// The slots that are not the same in all rows.
    columns: Box<[Column]>,
    /// The bits of a row.
    width: usize,
    /// The rows, and a word behind them: they are read by words.
    rows: Box<[u8]>,
}

const WORD: usize = size_of::<u64>();

impl Packed {
    /// Packs rows of `stride` slots.
    pub(super) fn of(values: &[u32], stride: usize) -> Self {
        let (least, columns, width) = narrowest(values, stride);
        let count = values.len() / stride;
        let mut rows = vec![0; (count * width).div_ceil(8) + WORD];
        let (mut at, mut bits, mut filled) = (0, 0, 0);
        for row in values.chunks_exact(stride) {
            for column in &columns {
                let slot = column.slot as usize;
                bits |= u64::from(row[slot] - least[slot]) << filled;
                filled += u32::from(column.wide);
                if filled >= u32::BITS {
                    rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
                    at += WORD / 2;
                    bits >>= u32::BITS;
                    filled -= u32::BITS;
                }
            }
        }
        rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
        Packed { least: least.into(), columns: columns.into(), width, rows: rows.into() }
    }

    /// Adds `count` of the rows, from `begin` on, to a list.
    pub(super) fn unpack(&self, begin: usize, count: usize, into: &mut Vec<u32>) {
        for place in begin..begin + count {
            let first = into.len();
            into.extend_from_slice(&self.least);
            self.raise(place, &mut into[first..]);
        }
    }

    /// One of the rows.
    pub(super) fn row<const STRIDE: usize>(&self, place: usize) -> [u32; STRIDE] {
        let mut row = [0; STRIDE];
        row.copy_from_slice(&self.least);
        self.raise(place, &mut row);
        row
    }

    /// Makes a row of the least values of all.
    fn raise(&self, place: usize, row: &mut [u32]) {
        for column in &self.columns {
            let bit = place * self.width + column.begin as usize;
            let word = self.rows[bit / 8..][..WORD].try_into().expect("it is a word");
            let above = (u64::from_le_bytes(word) >> (bit % 8)) as u32;
            row[column.slot as usize] += above & u32::MAX >> (u32::BITS - u32::from(column.wide));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let fixed = size_of::<Self>() + size_of_val(&*self.least) + size_of_val(&*self.columns);
        fixed + self.rows.len()
    }
}

/// The least value of each slot, the columns of those that differ, and the bits of a row.
fn narrowest(values: &[u32], stride: usize) -> (Vec<u32>, Vec<Column>, usize) {
    let (mut least, mut most) = (vec![u32::MAX; stride], vec![0; stride]);
    for row in values.chunks_exact(stride) {
        for ((least, most), value) in least.iter_mut().zip(&mut most).zip(row) {
            *least = (*least).min(*value);
            *most = (*most).max(*value);
        }
    }
    let (mut columns, mut bits) = (Vec::new(), 0);
    for (slot, (least, most)) in least.iter().zip(&most).enumerate() {
        let wide = u32::BITS - (most - least).leading_zeros();
        if wide > 0 {
            columns.push(Column { slot: slot as u16, begin: bits, wide: wide as u8 });
            bits += wide;
        }
    }
    (least, columns, bits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_back_as_it_was() {
        let all = [
            [0, u32::MAX, 7, 1 << 31],
            [u32::MAX, 0, 7, 1 << 31],
            [1, u32::MAX - 1, 7, (1 << 31) + 1],
            [u32::MAX, u32::MAX, 7, (1 << 31) + 511],
        ];
        let packed = Packed::of(&all.concat(), 4);
        let mut back = Vec::new();
        packed.unpack(0, 4, &mut back);
        assert_eq!(back, all.concat());
        assert_eq!([0, 1, 2, 3].map(|place| packed.row(place)), all);
    }

    #[test]
    fn a_part_comes_back_as_well() {
        let packed = Packed::of(&[9, 1, 0, 8, 2, 0, 7, 3, 1], 3);
        let mut back = Vec::new();
        packed.unpack(2, 1, &mut back);
        packed.unpack(0, 2, &mut back);
        assert_eq!(back, [7, 3, 1, 9, 1, 0, 8, 2, 0]);
    }

    #[test]
    fn what_is_the_same_in_all_rows_takes_no_room() {
        let mut all = vec![[u32::MAX, 5, 0, 1]; 100];
        assert_eq!(Packed::of(&all.concat(), 4).rows.len(), WORD);
        all[50] = [u32::MAX - 7, 5, 0, 2];
        assert_eq!(Packed::of(&all.concat(), 4).rows.len(), 50 + WORD);
    }
}
