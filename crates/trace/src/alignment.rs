//! Alignment of two sequences by their longest common subsequence.

/// Item of an alignment of two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlignedItem {
    /// The item occurs in both sequences. The first number is its index in the first sequence. The
    /// second number is its index in the second sequence.
    Both(usize, usize),
    First(usize),
    Second(usize),
}

/// Maximum number of entries in the table for an alignment. The table has one entry for each pair
/// of items outside the common prefix and the common suffix. If the table would exceed this
/// maximum, these items are not aligned.
const MAX_COMPARISONS: usize = 25_000_000;

/// Aligns two sequences, and returns the items of both sequences in one order. Between two common
/// items, the items that only the first sequence contains come first. The items that only the
/// second sequence contains follow.
pub(crate) fn align<T: Eq>(first: &[T], second: &[T]) -> Vec<AlignedItem> {
    let begins = first.iter().zip(second).take_while(|(one, other)| one == other).count();
    let (one, other) = (&first[begins..], &second[begins..]);
    let ends = one.iter().rev().zip(other.iter().rev());
    let ends = ends.take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[..one.len() - ends], &other[..other.len() - ends]);
    let mut places: Vec<AlignedItem> = (0..begins).map(|at| AlignedItem::Both(at, at)).collect();
    places.extend(between(one, other).into_iter().map(|place| match place {
        AlignedItem::Both(i, j) => AlignedItem::Both(begins + i, begins + j),
        AlignedItem::First(i) => AlignedItem::First(begins + i),
        AlignedItem::Second(j) => AlignedItem::Second(begins + j),
    }));
    let (i, j) = (first.len() - ends, second.len() - ends);
    places.extend((0..ends).map(|at| AlignedItem::Both(i + at, j + at)));
    places
}

fn between<T: Eq>(first: &[T], second: &[T]) -> Vec<AlignedItem> {
    let apart = || {
        let (one, other) = (0..first.len(), 0..second.len());
        one.map(AlignedItem::First).chain(other.map(AlignedItem::Second)).collect()
    };
    if first.len().saturating_mul(second.len()) > MAX_COMPARISONS {
        return apart();
    }
    let common = longest_common(first, second);
    let (mut i, mut j) = (0, 0);
    let mut places = Vec::new();
    while i < first.len() || j < second.len() {
        if i < first.len() && j < second.len() && first[i] == second[j] {
            places.push(AlignedItem::Both(i, j));
            (i, j) = (i + 1, j + 1);
        } else if i < first.len() && (j == second.len() || common[i + 1][j] >= common[i][j + 1]) {
            places.push(AlignedItem::First(i));
            i += 1;
        } else {
            places.push(AlignedItem::Second(j));
            j += 1;
        }
    }
    places
}

/// Returns a table whose entry `[i][j]` is the length of the longest common subsequence of
/// `first[i..]` and `second[j..]`.
fn longest_common<T: Eq>(first: &[T], second: &[T]) -> Vec<Vec<u32>> {
    let mut common = vec![vec![0; second.len() + 1]; first.len() + 1];
    for i in (0..first.len()).rev() {
        for j in (0..second.len()).rev() {
            common[i][j] = if first[i] == second[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_common_items() {
        use AlignedItem::{Both, First, Second};
        let aligned = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|it| it.chars().collect::<Vec<char>>());
            align(&one, &other)
        };
        let all = [Both(0, 0), First(1), Second(1), Both(2, 2), Second(3)];
        assert_eq!(aligned("abc", "axcd"), all);
        assert_eq!(aligned("ab", "ab"), [Both(0, 0), Both(1, 1)]);
        assert_eq!(aligned("xab", "ab"), [First(0), Both(1, 0), Both(2, 1)]);
        assert_eq!(aligned("", "a"), [Second(0)]);
    }
}
