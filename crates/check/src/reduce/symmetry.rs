//! Symmetry between processes.

use tenure_core::{ProcessId, Protocol};

use crate::world::local::{ArmedTimer, arm_timer};

/// A protocol whose rules never compare process names.
///
/// Implementing this trait is optional. It lets the search merge global states that differ only by
/// a renaming of processes. Such a search can check only safety: it cannot detect that one
/// particular process starves. The methods of the trait must rename every process name in states,
/// messages and timers.
pub trait Symmetric: Protocol {
    /// Returns the state with all process names in it renamed.
    #[must_use]
    fn renamed(&self, names: &Renaming) -> Self;

    /// Returns the message with all process names in it renamed.
    fn renamed_message(message: &Self::Message, names: &Renaming) -> Self::Message;

    /// Returns the timer with all process names in it renamed. The default returns the timer
    /// unchanged, for timers without process names.
    fn renamed_timer(timer: &Self::Timer, names: &Renaming) -> Self::Timer {
        let _ = names;
        timer.clone()
    }

    /// Returns the saved state with all process names in it renamed. The default returns the state
    /// unchanged, for states without process names.
    fn renamed_stable(stable: &Self::Stable, names: &Renaming) -> Self::Stable {
        let _ = names;
        stable.clone()
    }
}

/// A permutation of the names of the processes in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming(Vec<ProcessId>);

impl Renaming {
    /// Returns the new name of a process.
    pub fn new_name(&self, process: ProcessId) -> ProcessId {
        self.0[process.index()]
    }

    /// Renames all processes in a set. `bits` and the result have one bit per process.
    pub(crate) fn renamed_set(&self, bits: u32) -> u32 {
        let members = (0..self.0.len()).filter(|index| bits & 1 << index != 0);
        members.fold(0, |moved, index| moved | 1 << self.0[index].0)
    }

    /// Reorders a list that has one element per process. Each element moves to the index of its
    /// process's new name.
    pub(crate) fn permuted(&self, list: &[u32]) -> Vec<u32> {
        let mut moved = list.to_vec();
        for (value, name) in list.iter().zip(&self.0) {
            moved[name.index()] = *value;
        }
        moved
    }

    /// Returns all permutations of the names of the `exchanged` processes, the identity first. All
    /// other names stay the same.
    pub(crate) fn permutations_of(size: u32, exchanged: &[ProcessId]) -> Vec<Self> {
        let mut all = Vec::new();
        let names: Vec<ProcessId> = (0..size).map(ProcessId).collect();
        permute(&mut exchanged.to_vec(), 0, &mut |order| {
            let mut names = names.clone();
            for (from, to) in exchanged.iter().zip(order) {
                names[from.index()] = *to;
            }
            all.push(Renaming(names));
        });
        all
    }
}

/// Calls `show` with every order of the elements from index `fixed` on. The first order is the
/// given one.
fn permute(order: &mut [ProcessId], fixed: usize, show: &mut impl FnMut(&[ProcessId])) {
    if fixed == order.len() {
        show(order);
        return;
    }
    for index in fixed..order.len() {
        order.swap(fixed, index);
        permute(order, fixed + 1, show);
        order.swap(fixed, index);
    }
}

/// Functions of a [`Symmetric`] protocol, and the renamings under which the check merges states.
pub(crate) struct SymmetryFunctions<P: Protocol> {
    pub(crate) renamed: fn(&P, &Renaming) -> P,
    pub(crate) renamed_message: fn(&P::Message, &Renaming) -> P::Message,
    pub(crate) renamed_timer: fn(&P::Timer, &Renaming) -> P::Timer,
    pub(crate) renamed_stable: fn(&P::Stable, &Renaming) -> P::Stable,
    pub(crate) renamings: Vec<Renaming>,
}

impl<P: Symmetric> SymmetryFunctions<P> {
    pub(crate) fn new(size: u32, exchanged: &[ProcessId]) -> Self {
        SymmetryFunctions {
            renamed: P::renamed,
            renamed_message: P::renamed_message,
            renamed_timer: P::renamed_timer,
            renamed_stable: P::renamed_stable,
            renamings: Renaming::permutations_of(size, exchanged),
        }
    }
}

impl<P: Protocol> SymmetryFunctions<P> {
    /// Renames the timers in a list. The result is in the order of [`Ord`] for the renamed timers.
    pub(crate) fn renamed_timers(
        &self,
        timers: &[ArmedTimer<P::Timer>],
        names: &Renaming,
    ) -> Vec<ArmedTimer<P::Timer>> {
        let mut renamed = Vec::new();
        for armed in timers {
            let timer = (self.renamed_timer)(&armed.timer, names);
            arm_timer(&mut renamed, ArmedTimer { timer, ..*armed });
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::detector::AdaptiveTimeoutDetector;
    use tenure_algorithms::detector::heartbeat_detector::Timer;

    use super::*;

    #[test]
    fn permutes_three_processes_in_six_ways() {
        let exchanged = [ProcessId(1), ProcessId(2), ProcessId(4)];
        let all = Renaming::permutations_of(5, &exchanged);
        assert_eq!(all.len(), 6);
        assert_eq!(all[0].permuted(&[10, 11, 12, 13, 14]), [10, 11, 12, 13, 14]);
        for (index, renaming) in all.iter().enumerate() {
            assert_eq!(renaming.new_name(ProcessId(0)), ProcessId(0));
            assert_eq!(renaming.renamed_set(0b01001), 0b01001);
            assert_eq!(renaming.renamed_set(0b10110), 0b10110);
            assert!(all[..index].iter().all(|other| other != renaming));
        }
    }
    #[test]
    fn renamed_timers_are_in_the_order_of_their_new_names() {
        let symmetry = SymmetryFunctions::<AdaptiveTimeoutDetector> {
            renamed: |process, _| process.clone(),
            renamed_message: |message, _| message.clone(),
            renamed_timer: |timer, names| match timer {
                Timer::Beat => Timer::Beat,
                Timer::Silence(peer) => Timer::Silence(names.new_name(*peer)),
            },
            renamed_stable: |(), _| (),
            renamings: Renaming::permutations_of(3, &[ProcessId(1), ProcessId(2)]),
        };
        let silence = |peer, max_delay| ArmedTimer {
            timer: Timer::Silence(ProcessId(peer)),
            min_delay: 0,
            max_delay,
        };
        let exchange = &symmetry.renamings[1];
        assert_eq!(exchange.new_name(ProcessId(1)), ProcessId(2));
        let renamed = symmetry.renamed_timers(&[silence(1, 7), silence(2, 9)], exchange);
        assert_eq!(renamed, [silence(1, 9), silence(2, 7)]);
    }
}
