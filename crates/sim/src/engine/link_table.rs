//! A table with one number per link. The router stores the time of the last arrival on each link in
//! such a table, to keep messages in order or to count messages that overtake others.

use tenure_core::ProcessId;

use crate::engine::random::splitmix64;

/// Table with a number for each link. A link is an ordered pair of processes: sender and receiver.
#[derive(Debug)]
pub(crate) enum LinkTable {
    /// Used in small groups: the numbers of all pairs of processes, ordered by sender and then by
    /// receiver.
    Dense { size: usize, values: Vec<u64> },
    /// Used in large groups: a hash table with open addressing. Each slot contains a link and its
    /// number. The first element is 0 if the slot is free. Otherwise it is `s * 2^32 + r + 1`,
    /// where `s` is the index of the sender and `r` is the index of the receiver. The second
    /// element is the number of the link. `used` is the number of slots that are not free.
    Sparse { places: Vec<(u64, u64)>, used: usize },
}

/// Largest group size for [`LinkTable::Dense`], whose numbers then take at most 8 MB.
const MAX_DENSE_SIZE: u32 = 1024;

impl LinkTable {
    pub(crate) fn new(size: u32) -> Self {
        if size <= MAX_DENSE_SIZE {
            let size = size as usize;
            return LinkTable::Dense { size, values: vec![0; size * size] };
        }
        LinkTable::Sparse { places: vec![(0, 0); 1024], used: 0 }
    }

    /// Returns a mutable reference to the number of a link. The number is 0 at first.
    #[inline]
    pub(crate) fn value_mut(&mut self, from: ProcessId, to: ProcessId) -> &mut u64 {
        match self {
            LinkTable::Dense { size, values } => &mut values[from.index() * *size + to.index()],
            LinkTable::Sparse { places, used } => sparse(places, used, from, to),
        }
    }
}

/// Returns the number of a link in the hash table. Inserts the link if it is missing.
fn sparse<'a>(
    places: &'a mut Vec<(u64, u64)>,
    used: &mut usize,
    from: ProcessId,
    to: ProcessId,
) -> &'a mut u64 {
    if *used * 4 > places.len() * 3 {
        grow(places);
    }
    let link = ((u64::from(from.0) << 32) | u64::from(to.0)) + 1;
    let place = find(places, link);
    if places[place].0 == 0 {
        places[place].0 = link;
        *used += 1;
    }
    &mut places[place].1
}

/// Returns the index of the slot of a link, or of the free slot in which the link can be inserted.
/// `link` is the first element of the slot. The links of a ring, in order, have adjacent slots, so
/// several of these slots share a cache line.
fn find(places: &[(u64, u64)], link: u64) -> usize {
    let mask = places.len() - 1;
    let (from, to) = ((link - 1) >> 32, link - 1);
    let distance = u64::from((to as u32).wrapping_sub(from as u32));
    let mut place = (from.wrapping_add(splitmix64(distance)) as usize) & mask;
    while places[place].0 != 0 && places[place].0 != link {
        place = (place + 1) & mask;
    }
    place
}

fn grow(places: &mut Vec<(u64, u64)>) {
    let old = std::mem::take(places);
    *places = vec![(0, 0); old.len() * 2];
    for (link, value) in old {
        if link != 0 {
            let place = find(places, link);
            places[place] = (link, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_has_own_value() {
        for size in [4, 5000] {
            let mut links = LinkTable::new(size);
            let step = size / 4;
            let all = || (0..size).step_by(step as usize);
            for (from, to) in all().flat_map(|from| all().map(move |to| (from, to))) {
                *links.value_mut(ProcessId(from), ProcessId(to)) = u64::from(from * size + to);
            }
            for place in 0..size {
                *links.value_mut(ProcessId(place), ProcessId((place + 1) % size)) += 1 << 40;
            }
            for (from, to) in all().flat_map(|from| all().map(move |to| (from, to))) {
                let next = if (from + 1) % size == to { 1 << 40 } else { 0 };
                let expected = u64::from(from * size + to) + next;
                assert_eq!(*links.value_mut(ProcessId(from), ProcessId(to)), expected);
            }
        }
    }
}
