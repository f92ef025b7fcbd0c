//! Rows of integers, packed into bits.

/// A slot whose values differ between rows. Each row stores the difference between its value and
/// the smallest value of the slot.
#[derive(Clone, Copy, Debug)]
struct Column {
    slot: u16,
    /// Offset of the slot in a packed row, in bits.
    offset: u32,
    /// Width of the slot in a packed row, in bits.
    width: u8,
}

/// Rows of integers, packed into bits. A slot is one position of the rows. Instead of the value in
/// a slot, a row stores the difference from the smallest value that any row has in this slot. The
/// number of bits of a slot depends on the greatest difference in this slot. If all rows have the
/// same value in a slot, the slot takes no bits.
#[derive(Debug)]
pub(super) struct PackedRows {
    /// Smallest value of each slot.
    least: Box<[u32]>,
    columns: Box<[Column]>,
    /// Width of a packed row, in bits.
    width: usize,
    /// Bits of the rows, and one word of padding, because bits are read one word at a time.
    rows: Box<[u8]>,
}

const WORD: usize = size_of::<u64>();

impl PackedRows {
    /// Packs rows of `stride` integers each.
    pub(super) fn pack(values: &[u32], stride: usize) -> Self {
        let (least, columns, width) = column_layout(values, stride);
        let count = values.len() / stride;
        let mut rows = vec![0; (count * width).div_ceil(8) + WORD];
        let (mut at, mut bits, mut filled) = (0, 0, 0);
        for row in values.chunks_exact(stride) {
            for column in &columns {
                let slot = column.slot as usize;
                bits |= u64::from(row[slot] - least[slot]) << filled;
                filled += u32::from(column.width);
                if filled >= u32::BITS {
                    rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
                    at += WORD / 2;
                    bits >>= u32::BITS;
                    filled -= u32::BITS;
                }
            }
        }
        rows[at..][..WORD].copy_from_slice(&bits.to_le_bytes());
        PackedRows { least: least.into(), columns: columns.into(), width, rows: rows.into() }
    }

    /// Unpacks `count` rows, from row `begin` on, and appends them to `into`.
    pub(super) fn unpack(&self, begin: usize, count: usize, into: &mut Vec<u32>) {
        for index in begin..begin + count {
            let first = into.len();
            into.extend_from_slice(&self.least);
            self.add_distances(index, &mut into[first..]);
        }
    }

    pub(super) fn row<const STRIDE: usize>(&self, index: usize) -> [u32; STRIDE] {
        let mut row = [0; STRIDE];
        row.copy_from_slice(&self.least);
        self.add_distances(index, &mut row);
        row
    }

    /// Unpacks the row at `index` into `row`. Before the call, `row` contains the smallest value of
    /// each slot. The call adds to each slot the difference that is packed for it.
    fn add_distances(&self, index: usize, row: &mut [u32]) {
        for column in &self.columns {
            let bit = index * self.width + column.offset as usize;
            let word =
                self.rows[bit / 8..][..WORD].try_into().expect("rows end with a word of padding");
            let above = (u64::from_le_bytes(word) >> (bit % 8)) as u32;
            row[column.slot as usize] += above & u32::MAX >> (u32::BITS - u32::from(column.width));
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let fixed = size_of::<Self>() + size_of_val(&*self.least) + size_of_val(&*self.columns);
        fixed + self.rows.len()
    }
}

/// Returns the smallest value of each slot, the columns of slots whose values differ, and the width
/// of a row in bits.
fn column_layout(values: &[u32], stride: usize) -> (Vec<u32>, Vec<Column>, usize) {
    let (mut least, mut most) = (vec![u32::MAX; stride], vec![0; stride]);
    for row in values.chunks_exact(stride) {
        for ((least, most), value) in least.iter_mut().zip(&mut most).zip(row) {
            *least = (*least).min(*value);
            *most = (*most).max(*value);
        }
    }
    let (mut columns, mut bits) = (Vec::new(), 0);
    for (slot, (least, most)) in least.iter().zip(&most).enumerate() {
        let width = u32::BITS - (most - least).leading_zeros();
        if width > 0 {
            columns.push(Column { slot: slot as u16, offset: bits, width: width as u8 });
            bits += width;
        }
    }
    (least, columns, bits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacks_every_row() {
        let all = [
            [0, u32::MAX, 7, 1 << 31],
            [u32::MAX, 0, 7, 1 << 31],
            [1, u32::MAX - 1, 7, (1 << 31) + 1],
            [u32::MAX, u32::MAX, 7, (1 << 31) + 511],
        ];
        let packed = PackedRows::pack(&all.concat(), 4);
        let mut back = Vec::new();
        packed.unpack(0, 4, &mut back);
        assert_eq!(back, all.concat());
        assert_eq!([0, 1, 2, 3].map(|index| packed.row(index)), all);
    }

    #[test]
    fn unpacks_part_of_rows() {
        let packed = PackedRows::pack(&[9, 1, 0, 8, 2, 0, 7, 3, 1], 3);
        let mut back = Vec::new();
        packed.unpack(2, 1, &mut back);
        packed.unpack(0, 2, &mut back);
        assert_eq!(back, [7, 3, 1, 9, 1, 0, 8, 2, 0]);
    }

    #[test]
    fn constant_slots_take_no_space() {
        let mut all = vec![[u32::MAX, 5, 0, 1]; 100];
        assert_eq!(PackedRows::pack(&all.concat(), 4).rows.len(), WORD);
        all[50] = [u32::MAX - 7, 5, 0, 2];
        assert_eq!(PackedRows::pack(&all.concat(), 4).rows.len(), 50 + WORD);
    }
}
