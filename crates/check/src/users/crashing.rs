//! Who may crash, and when.

use tenure_core::ProcessId;

use crate::users::user::{Service, Standing, User};

/// What the user of a process is doing when the process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Neither waits nor owes anything.
    Idle,
    /// Asked, and was not yet served.
    Waiting,
    /// Was served and is bound to give it back: of a lock, inside.
    Inside,
}

impl Moment {
    fn of<C: Service>(user: &C::User) -> Self {
        if user.offers().iter().any(|offer| offer.obliged) {
            Moment::Inside
        } else if user.standing() == Standing::Waiting {
            Moment::Waiting
        } else {
            Moment::Idle
        }
    }
}

/// The crashes that a check explores: all of them, unless told otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crashing {
    /// Who; anybody where nobody is named.
    pub(crate) at: Option<Vec<ProcessId>>,
    /// When; at any moment where none is named.
    pub(crate) during: Option<Moment>,
}

impl Crashing {
    /// Whether a live process with this user may crash now.
    pub(crate) fn allows<C: Service>(&self, process: ProcessId, user: &C::User) -> bool {
        self.at.as_ref().is_none_or(|named| named.contains(&process))
            && self.during.is_none_or(|moment| Moment::of::<C>(user) == moment)
    }
}
