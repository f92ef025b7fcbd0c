//! Search for blocking sets: sets of processes that intersect every quorum. If all processes of
//! such a set crash, no quorum is left.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Maximum number of steps of the search in [`tolerated_crashes`], which takes less than a second.
/// A step examines one set of crashed processes. The search for a grid of 7 × 7 processes takes
/// half as many steps.
const MAX_STEPS: u32 = 100_000;

/// Returns the largest number *k* such that after any *k* crashes at least one quorum has only live
/// members. If [`MAX_STEPS`] are not enough, returns the largest number for which the search has
/// proved this.
pub(super) fn tolerated_crashes(quorums: &[ProcessSet]) -> u32 {
    let quorums: Vec<&ProcessSet> = quorums.iter().collect();
    let mut search = BlockingSetSearch { excluded: ProcessSet::new(), steps_left: MAX_STEPS };
    (1..).take_while(|most| search.finds(&quorums, *most) == Some(false)).last().unwrap_or(0)
}

struct BlockingSetSearch {
    /// Processes that the search must not choose, because all blocking sets that contain one of
    /// these processes have been examined.
    excluded: ProcessSet,
    steps_left: u32,
}

impl BlockingSetSearch {
    /// Returns true if there is a set of at most `most` processes that intersects each of these
    /// quorums and contains no process of `excluded`. Returns `None` if no steps are left. Leaves
    /// `excluded` unchanged.
    ///
    /// The search branches over the members of one quorum, and begins with the members that are in
    /// the most quorums.
    fn finds(&mut self, quorums: &[&ProcessSet], most: u32) -> Option<bool> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        let candidates = |quorum: &ProcessSet| -> Vec<ProcessId> {
            quorum.iter().filter(|member| !self.excluded.contains(*member)).collect()
        };
        let members: Vec<Vec<ProcessId>> = quorums.iter().map(|it| candidates(it)).collect();
        let mut degrees: BTreeMap<ProcessId, usize> = BTreeMap::new();
        for member in members.iter().flatten() {
            *degrees.entry(*member).or_default() += 1;
        }
        let mut largest: Vec<usize> = degrees.values().copied().collect();
        largest.sort_unstable_by_key(|degree| Reverse(*degree));
        if largest.iter().take(most as usize).sum::<usize>() < quorums.len() {
            return Some(false);
        }
        let Some(mut branches) = members.into_iter().min_by_key(Vec::len) else {
            return Some(true);
        };
        branches.sort_by_key(|member| Reverse(degrees[member]));
        let mut result = Some(false);
        let mut failed = 0;
        for member in &branches {
            let left: Vec<&ProcessSet> =
                quorums.iter().copied().filter(|quorum| !quorum.contains(*member)).collect();
            result = self.finds(&left, most - 1);
            if result != Some(false) {
                break;
            }
            self.excluded.insert(*member);
            failed += 1;
        }
        for member in &branches[..failed] {
            self.excluded.remove(*member);
        }
        result
    }
}
