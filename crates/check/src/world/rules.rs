//! Rules of a search. They contain the layout of global states, the maximum numbers of faults, and
//! facts about the checked protocol.

use std::sync::Arc;

use tenure_core::ChannelOrder;

use crate::custom::CustomProperties;
use crate::model::SearchModel;
use crate::reduce::deliveries::LocalDelivery;
use crate::reduce::id_hash::IdSet;
use crate::world::action::Action;
use crate::world::network::QueueInterner;
use crate::world::{FaultCounts, LimitedFault, StateLayout};

/// A step that the configuration prescribes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForcedStep {
    pub(crate) action: Action,
    /// Content of [`StateLayout::forced_step_slot`] after the step.
    pub(crate) next: u32,
}

/// Rules of a search: the layout of the global states, and the steps that are possible.
#[derive(Clone)]
pub(crate) struct SearchRules {
    pub(crate) layout: StateLayout,
    pub(crate) order: ChannelOrder,
    /// True if time is synchronous.
    pub(crate) is_timed: bool,
    /// True if all processes step together in rounds of one unit of time.
    pub(crate) has_rounds: bool,
    /// Maximum number of each fault per run.
    pub(crate) budget: FaultCounts,
    /// True if the check explores crashes that happen in the middle of a step: the process has
    /// saved its state, but has not released the effects of the step.
    pub(crate) has_mute_crashes: bool,
    pub(crate) has_detectors: bool,
    /// Bits of the processes on one side of the partition. 0 if no partition can occur.
    pub(crate) partition_side: u32,
    pub(crate) can_processes_be_down: bool,
    /// True if the worker rebases each global state that it reaches: it shifts all timestamps, so
    /// that the smallest one becomes 0. States that differ only by a shift are thereby merged.
    pub(crate) shifts_timestamps: bool,
    pub(crate) uses_ample_sets: bool,
    /// Deliveries that the reduction by commuting deliveries must not choose, because they do not
    /// commute with all later steps. `None` if the search does not use the reduction.
    pub(crate) excluded_deliveries: Option<Arc<IdSet<LocalDelivery>>>,
    /// Number of renamings of processes, including the identity, under which the search merges
    /// global states. 1 without symmetry reduction.
    pub(crate) renaming_count: usize,
    /// True if the check uses symmetry reduction, even if the identity is the only renaming.
    pub(crate) is_symmetric: bool,
    pub(crate) has_term_bound: bool,
    /// True if a process can be down, or if there is a bound on terms. In this case, the search
    /// does additional work after each step: it updates links and sessions for crashes and
    /// recoveries, and compares the term of the process with the bound.
    pub(crate) has_crashes_or_term_bound: bool,
    /// True if the check contains functions that shift the timestamps of the protocol. The cache
    /// then computes the smallest timestamp of each queue. A replay needs this timestamp even if
    /// the worker shifts no timestamps, because the replay compares its states with shifted states.
    pub(crate) has_shift_functions: bool,
    /// True if a full link drops messages. Otherwise, the search prunes each state that lacks a
    /// message because a link was full.
    pub(crate) drops_when_link_full: bool,
    /// Steps that the configuration prescribes at the beginning of a run. The list contains the
    /// steps from the first initial state, then the steps from the second one, and so on. Each
    /// global state contains the index of its next prescribed step. Without this index, the search
    /// would merge the state with an equal state later in the run.
    pub(crate) forced_steps: Vec<ForcedStep>,
    /// True if the graph stores weights of a measure instead of fairness labels.
    pub(crate) stores_weights: bool,
    /// Properties written as expressions. `None` if the search judges none.
    pub(crate) custom_properties: Option<Arc<CustomProperties>>,
    pub(crate) model: Arc<dyn SearchModel>,
    pub(crate) network: Arc<QueueInterner>,
}

impl SearchRules {
    /// Returns how often this fault may still occur in a run from this global state.
    pub(crate) fn remaining_faults(&self, world: &[u32], fault: LimitedFault) -> u32 {
        let spent = FaultCounts(world[self.layout.fault_counts_slot()]);
        self.budget.count(fault).saturating_sub(spent.count(fault))
    }

    /// Returns the step that the configuration prescribes in this global state, if there is one.
    #[inline]
    pub(crate) fn forced_step(&self, world: &[u32]) -> Option<ForcedStep> {
        if !self.layout.has_forced_steps {
            return None;
        }
        let index = (world[self.layout.forced_step_slot()] as usize).checked_sub(1)?;
        Some(self.forced_steps[index])
    }

    /// Returns the fairness label of the steps that the configuration prescribes.
    pub(crate) fn forced_label(&self) -> u32 {
        self.network.intern_label(6 << 40, 0)
    }

    /// Returns true if a partition has occurred, and these two processes are on different sides of
    /// it.
    pub(crate) fn is_cut_by_partition(&self, world: &[u32], from: usize, to: usize) -> bool {
        let sides = (self.partition_side >> from ^ self.partition_side >> to) & 1;
        sides != 0
            && FaultCounts(world[self.layout.fault_counts_slot()]).count(LimitedFault::Partition)
                > 0
    }

    /// Returns true if the process must trust a peer before the process receives any other input.
    /// This is the case after the process has suspected the peer because of a new session.
    #[inline]
    pub(crate) fn has_pending_trust(&self, world: &[u32], process: usize) -> bool {
        self.layout.detects_restarts && world[self.layout.pending_trust_slot(process)] != 0
    }

    /// Returns true if the link at `slot` can deliver no message now, because its receiver must
    /// first trust a peer.
    #[inline]
    pub(crate) fn is_link_blocked(&self, world: &[u32], slot: usize) -> bool {
        self.layout.detects_restarts && self.has_pending_trust(world, self.layout.receiver(slot))
    }
}
