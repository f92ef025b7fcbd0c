//! Functions that only some protocols provide.

use tenure_core::Protocol;

use crate::reduce::shifts::ShiftFunctions;
use crate::reduce::symmetry::SymmetryFunctions;
use crate::users::stamping::StampingFunctions;

/// Functions that only some protocols provide, and that the check uses.
pub(crate) struct ProtocolHooks<P: Protocol> {
    /// Function that returns the highest term in the state of a process.
    pub(crate) term: Option<fn(&P) -> u64>,
    pub(crate) shifts: Option<ShiftFunctions<P>>,
    pub(crate) symmetry: Option<SymmetryFunctions<P>>,
    /// Functions that read and update the logical clock of a process for application messages.
    /// `None` if application messages carry no clock.
    pub(crate) stamping: Option<StampingFunctions<P>>,
    /// Function that erases the logical clock of a process. It may be called only if no later
    /// request reads the clock.
    pub(crate) forget_clock: Option<fn(&mut P)>,
}

/// Summary of the optional functions that a protocol provides. It does not depend on the type of
/// the protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProvidedHooks {
    pub(crate) has_term: bool,
    pub(crate) has_shifts: bool,
    pub(crate) has_stamping: bool,
    /// Number of renamings of processes, the identity included. `None` without symmetry reduction.
    pub(crate) renaming_count: Option<usize>,
}

impl<P: Protocol> ProtocolHooks<P> {
    pub(crate) fn provided_hooks(&self) -> ProvidedHooks {
        ProvidedHooks {
            has_term: self.term.is_some(),
            has_shifts: self.shifts.is_some(),
            has_stamping: self.stamping.is_some(),
            renaming_count: self.symmetry.as_ref().map(|symmetry| symmetry.renamings.len()),
        }
    }
}

impl<P: Protocol> Default for ProtocolHooks<P> {
    fn default() -> Self {
        ProtocolHooks {
            term: None,
            shifts: None,
            symmetry: None,
            stamping: None,
            forget_clock: None,
        }
    }
}
