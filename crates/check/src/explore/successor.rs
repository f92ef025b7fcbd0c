//! A successor of a global state, and the step that leads to it.

use crate::measure::weights::weighted_label;
use crate::world::action::Action;

/// Label of the steps that are faults. The analysis of liveness ignores these steps.
pub(crate) const FAULT_LABEL: u32 = u32::MAX;

/// Bit of a fairness label, set if the step dropped a message because a link was full.
pub(crate) const DROPPED_BIT: u32 = 1 << 31;

/// Fairness label of the step in which one unit of synchronous time passes.
pub(crate) const TIME_LABEL: u32 = DROPPED_BIT - 1;

/// A global state, which the code calls a *world*, and its fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorldRef<'a> {
    pub(crate) world: &'a [u32],
    pub(crate) fingerprint: u64,
}

/// Copy of the global state whose successors are computed. Each step changes the copy, and the
/// change is undone after the visit of the successor.
pub(crate) struct ScratchWorld<'w> {
    pub(crate) world: &'w mut [u32],
    pub(super) fingerprint: u64,
}

/// Function that receives the successors of a global state, one after the other.
pub(crate) trait SuccessorVisitor: FnMut(Successor<'_>) {}

impl<F: FnMut(Successor<'_>)> SuccessorVisitor for F {}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor<'a> {
    pub(crate) action: Action,
    /// Fairness label of the step, with [`DROPPED_BIT`] if the step dropped a message.
    pub(crate) label: u32,
    /// Global state after the step.
    pub(crate) world: &'a [u32],
    pub(crate) result: StepResult,
}

impl Successor<'_> {
    /// Returns the label that the graph stores for the step. If `is_weighted` is true, the label
    /// contains the weight of the step, except that [`TIME_LABEL`] stays the same. If `is_weighted`
    /// is false, returns the fairness label.
    #[inline]
    pub(crate) fn stored_label(&self, is_weighted: bool) -> u32 {
        if is_weighted && self.label != TIME_LABEL {
            weighted_label(self.label, self.result.weight)
        } else {
            self.label
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepResult {
    pub(crate) fingerprint: u64,
    /// Key under which the visited set stores the global state after the step. If a reduction
    /// merges two states, the two states have equal keys.
    pub(crate) key: u64,
    /// Bits of the monitors and properties that the step violated.
    pub(crate) violated: u32,
    /// Number that the step adds to the quantity that the check measures. 0 if the check measures
    /// nothing.
    pub(crate) weight: u16,
    /// Bound that the state after the step exceeds. The search then prunes this state.
    pub(crate) exceeded_bound: Option<ExceededBound>,
    /// True if the step dropped a message because a link was full.
    pub(crate) has_dropped_message: bool,
    /// True if the state lacks a message that the step sent, because the link is full. The search
    /// prunes such a state.
    pub(crate) lacks_message: bool,
}

impl StepResult {
    /// Creates the result of a step without effects on properties, measures and bounds.
    pub(crate) fn new(fingerprint: u64) -> Self {
        StepResult {
            fingerprint,
            key: fingerprint,
            violated: 0,
            weight: 0,
            exceeded_bound: None,
            has_dropped_message: false,
            lacks_message: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExceededBound {
    InFlight,
    Term,
}
