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

/// What a crash can come between where a step changes what is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Saving {
    /// Nothing: a step, its save and the release of its effects are one.
    ///
    /// This leaves out no crash *before* a save, however many steps share it: such a process has
    /// crashed before the first of them, and what it was given since is lost, as what arrives at a
    /// process that is down. Nor does a torn tail add to it, which is cut: nothing was saved then.
    #[default]
    AtOnce,
    /// The save and the release. Of steps that share a save, any number of them, all that they
    /// changed is saved, and nobody has heard of any.
    Apart,
    /// The release and the save, which is a mistake of the runner: whoever crashes may have saved
    /// all but its last step, of which others have heard.
    Late,
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
