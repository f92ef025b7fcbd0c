//! FloodSet in synchronous rounds, as in N. A. Lynch, *Distributed Algorithms*, 1996, section
//! 6.2.1.
//!
//! The search covers all patterns of crashes. Each message arrives in the round in which it is
//! sent, or is lost, so a state contains no messages in transit. A set of values is represented by
//! bits: one for each process that proposed a value.

use std::collections::BTreeSet;

/// Results of the runs with all patterns of crashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// All distinct results of the runs. A result contains one decision for each process. The
    /// decision of a crashed process is `None`.
    pub(crate) decisions: BTreeSet<Vec<Option<usize>>>,
    /// Least number of messages that a run sends, including lost ones.
    pub(crate) least: u64,
    /// Greatest number of messages that a run sends, including lost ones.
    pub(crate) greatest: u64,
}

impl Outcomes {
    /// Returns true if no run has two processes with different decisions.
    pub(crate) fn agree(&self) -> bool {
        let values = |run: &Vec<Option<usize>>| run.iter().flatten().collect::<BTreeSet<_>>().len();
        self.decisions.iter().all(|run| values(run) <= 1)
    }
}

/// Returns the results of all runs of `rounds` rounds in which at most `crashes` processes crash. A
/// process may crash in any round. Of the messages that it sends in this round, any subset may
/// arrive.
pub(crate) fn outcomes(size: usize, rounds: usize, crashes: usize) -> Outcomes {
    let seen = (0..size).map(|at| Some(1 << at)).collect();
    let mut found = Outcomes { decisions: BTreeSet::new(), least: u64::MAX, greatest: 0 };
    run(seen, rounds, crashes, 0, &mut found);
    found
}

fn run(seen: Vec<Option<u32>>, rounds: usize, crashes: usize, messages: u64, found: &mut Outcomes) {
    if rounds == 0 {
        let smallest = |values: &Option<u32>| values.map(|values| values.trailing_zeros() as usize);
        found.decisions.insert(seen.iter().map(smallest).collect());
        found.least = found.least.min(messages);
        found.greatest = found.greatest.max(messages);
        return;
    }
    let size = seen.len();
    let up: Vec<usize> = (0..size).filter(|at| seen[*at].is_some()).collect();
    let sent = (up.len() * (size - 1)) as u64;
    for crashed in 0..1_u32 << size {
        let is_up = |at: &usize| crashed & 1 << at != 0 && up.contains(at);
        let crashing: Vec<usize> = (0..size).filter(is_up).collect();
        if crashing.len() != crashed.count_ones() as usize || crashing.len() > crashes {
            continue;
        }
        for reached in receivers(size, crashing.len()) {
            let mut after = seen.clone();
            for at in 0..size {
                after[at] = seen[at].filter(|_| crashed & 1 << at == 0).map(|own| {
                    let heard = |from: &usize| match crashing.iter().position(|it| it == from) {
                        Some(place) => reached[place] & 1 << at != 0,
                        None => true,
                    };
                    let theirs = up.iter().filter(|from| heard(from)).filter_map(|it| seen[*it]);
                    theirs.fold(own, |all, values| all | values)
                });
            }
            run(after, rounds - 1, crashes - crashing.len(), messages + sent, found);
        }
    }
}

/// Returns all lists of length `times` whose elements are sets of receivers. A set is represented
/// by the bits of a number.
fn receivers(size: usize, times: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for _ in 0..times {
        let longer = all.iter().flat_map(|list| {
            (0..1_u32 << size).map(|set| list.iter().copied().chain([set]).collect())
        });
        all = longer.collect();
    }
    all
}
