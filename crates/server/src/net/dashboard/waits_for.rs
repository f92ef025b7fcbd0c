//! Waits-for graph of leases, and its cycles. In a cycle, each lease waits for the next lease.

use std::collections::{BTreeMap, BTreeSet};

use tenure_store::LeaseId;

const MAX_CYCLES: usize = 5;

/// The waits-for graph over the listed locks: each lease, with the leases that it waits for.
pub(super) type WaitsFor = BTreeMap<LeaseId, BTreeSet<LeaseId>>;

/// Returns at most [`MAX_CYCLES`] cycles. In a cycle, each lease waits for the next lease, and the
/// last lease waits for the first. The leases of a cycle wait until one of them expires. A cycle
/// begins with its lowest lease. Each lease is in at most one of the returned cycles.
pub(super) fn find_cycles(waits_for: &WaitsFor) -> Vec<Vec<LeaseId>> {
    let (mut cycles, mut finished) = (Vec::new(), BTreeSet::new());
    for start in waits_for.keys() {
        // `path` is a path from `start`. `pending` contains, for each lease of the path, the leases
        // that it waits for and that were not visited yet.
        let mut path: Vec<LeaseId> = Vec::new();
        let mut pending: Vec<Vec<LeaseId>> = vec![vec![*start]];
        while let Some(next) = pending.last_mut() {
            let Some(lease) = next.pop() else {
                pending.pop();
                finished.extend(path.pop());
                continue;
            };
            if let Some(first) = path.iter().position(|it| *it == lease) {
                let mut cycle = path[first..].to_vec();
                let lowest = (0..cycle.len()).min_by_key(|place| cycle[*place]).unwrap_or(0);
                cycle.rotate_left(lowest);
                finished.extend(path.drain(..));
                cycles.push(cycle);
                if cycles.len() == MAX_CYCLES {
                    return cycles;
                }
                break;
            }
            if finished.contains(&lease) {
                continue;
            }
            path.push(lease);
            let after = waits_for.get(&lease).into_iter().flatten().copied();
            pending.push(after.collect());
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(LeaseId, LeaseId)]) -> Vec<Vec<LeaseId>> {
        let mut waits_for = WaitsFor::new();
        for (waiter, holder) in edges {
            waits_for.entry(*waiter).or_default().insert(*holder);
        }
        find_cycles(&waits_for)
    }

    #[test]
    fn cycle_is_found_behind_a_chain() {
        assert_eq!(found(&[(1, 5), (5, 3), (3, 9), (9, 5)]), [vec![3, 9, 5]]);
    }

    #[test]
    fn chains_and_joins_are_no_cycles() {
        assert!(found(&[(1, 2), (2, 3), (1, 3), (4, 3), (3, 5)]).is_empty());
    }

    #[test]
    fn disjoint_cycles_are_all_found() {
        assert_eq!(found(&[(1, 2), (2, 1), (3, 4), (4, 3)]), [vec![1, 2], vec![3, 4]]);
    }

    #[test]
    fn lease_that_waits_for_itself_is_a_cycle() {
        assert_eq!(found(&[(7, 7)]), [vec![7]]);
    }

    #[test]
    fn number_of_cycles_is_bounded() {
        let pairs = (0..100).flat_map(|it| [(2 * it, 2 * it + 1), (2 * it + 1, 2 * it)]);
        let many: Vec<_> = pairs.collect();
        assert_eq!(found(&many).len(), MAX_CYCLES);
    }
}
