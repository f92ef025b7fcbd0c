//! Changes that a step makes before its process receives the input.

use crate::model::intern::Replacement;
use crate::world::LimitedFault;

/// Changes of the global state before a process receives the input of a step, if any. `link`
/// contains the slot of a link and the replacement of its queue. `fault` is the fault that the step
/// counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChangesBeforeInput {
    pub(super) link: Option<(usize, Replacement)>,
    pub(super) fault: Option<LimitedFault>,
}

impl ChangesBeforeInput {
    pub(super) fn replacing_queue(slot: usize, change: Replacement) -> Self {
        ChangesBeforeInput { link: Some((slot, change)), fault: None }
    }

    pub(super) fn counting_fault(fault: LimitedFault) -> Self {
        ChangesBeforeInput { link: None, fault: Some(fault) }
    }
}
