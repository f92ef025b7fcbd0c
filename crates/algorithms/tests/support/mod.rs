//! Helpers shared by the tests of algorithms.
#![allow(dead_code, reason = "each test crate uses a part of it")]

pub(crate) mod consensus;
pub(crate) mod detector;
pub(crate) mod election;
pub(crate) mod graphs;
pub(crate) mod mutex;
pub(crate) mod rounds;
pub(crate) mod sessions;

use std::collections::BTreeSet;

use tenure_core::ProcessId;

/// Returns the process with this number, counted from 1.
pub(crate) fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// Calls `visit` for all permutations of `1..=n`, by Heap's method.
pub(crate) fn permutations(n: u32, mut visit: impl FnMut(&[u32])) {
    fn arrange(items: &mut [u32], last: usize, visit: &mut impl FnMut(&[u32])) {
        if last == 0 {
            return visit(items);
        }
        for place in 0..=last {
            arrange(items, last - 1, visit);
            let swapped = if last % 2 == 1 { place } else { 0 };
            items.swap(swapped, last);
        }
    }
    let mut items: Vec<u32> = (1..=n).collect();
    let last = items.len().saturating_sub(1);
    arrange(&mut items, last, &mut visit);
}

#[test]
fn visits_every_permutation_once() {
    let mut seen = BTreeSet::new();
    permutations(5, |ring| assert!(seen.insert(ring.to_vec())));
    assert_eq!(seen.len(), 120);
}
