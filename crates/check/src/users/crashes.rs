//! Options that restrict the crashes of a check.

use tenure_core::ProcessId;

use crate::users::user::{Service, User, UserState};

/// Phase of the user of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserPhase {
    /// Neither waits nor holds anything.
    Idle,
    /// Waits to be served.
    Waiting,
    /// Holds a resource that it must release, for instance a lock.
    Inside,
}

impl UserPhase {
    fn of<C: Service>(user: &C::User) -> Self {
        if user.enabled_commands().iter().any(|enabled| enabled.is_obligatory) {
            UserPhase::Inside
        } else if user.state() == UserState::Waiting {
            UserPhase::Waiting
        } else {
            UserPhase::Idle
        }
    }
}

/// Crashes explored around a save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Saving {
    /// Steps are atomic: a state change, its save and the release of its effects.
    ///
    /// This includes every crash *before* a save, however many steps share it. Such a process
    /// crashed before the first of these steps, and the inputs of the steps are lost, like messages
    /// to a process that is down. A torn tail adds nothing, because recovery truncates it, which
    /// leaves nothing saved.
    #[default]
    Atomic,
    /// A crash may occur after the save and before the release of the effects. If several steps
    /// share a save, all their changes are saved, and none of their effects is released.
    BeforeRelease,
    /// Effects are released before the save, which is a mistake of the runner. After a crash, the
    /// last step may be missing from the saved state although its effects were released.
    AfterRelease,
}

/// Crashes that a check explores. The default is all crashes.
#[derive(Clone, Debug, Default)]
pub struct CrashFilter {
    /// Processes that may crash; all if `None`.
    pub at: Option<Vec<ProcessId>>,
    /// Phase of the user in which a process may crash; any if `None`.
    pub during: Option<UserPhase>,
}

impl CrashFilter {
    /// Returns true if a live process with this user may crash now.
    pub(crate) fn allows<C: Service>(&self, process: ProcessId, user: &C::User) -> bool {
        self.at.as_ref().is_none_or(|named| named.contains(&process))
            && self.during.is_none_or(|phase| UserPhase::of::<C>(user) == phase)
    }
}
