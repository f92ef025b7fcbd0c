//! Options that restrict the crashes that a check explores.

use tenure_core::ProcessId;

use crate::users::user::{CheckableCommand, User, UserState};

/// Activity of the user of a process: idle, waiting, or using a resource such as a lock. A check
/// can restrict crashes to one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UserPhase {
    /// The user neither waits nor must issue a command.
    Idle,
    /// The user waits to be served.
    Waiting,
    /// The user must eventually issue a command, for example because it holds a lock and must
    /// release it.
    Inside,
}

impl UserPhase {
    fn of<C: CheckableCommand>(user: &C::User) -> Self {
        if user.enabled_commands().iter().any(|enabled| enabled.is_obligatory) {
            UserPhase::Inside
        } else if user.state() == UserState::Waiting {
            UserPhase::Waiting
        } else {
            UserPhase::Idle
        }
    }
}

/// Moments, relative to the save of a process's state, at which a check explores a crash of this
/// process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaveTiming {
    /// A step, the save of its state and the release of its effects happen at the same moment, so
    /// no crash occurs between them.
    ///
    /// A crash before the save need not be explored. It is the same as a crash before the unsaved
    /// steps, because the inputs of these steps are lost. A crash during the save has the same
    /// effect, because recovery removes a half-written save.
    #[default]
    Atomic,
    /// A crash may occur after the save and before the release of the effects. If several steps
    /// share a save, such a crash preserves the state changes of all these steps, but loses all
    /// their effects.
    BeforeRelease,
    /// A process releases the effects of a step before it saves the step. After a crash, the saved
    /// state may therefore lack the last step, although its effects were released. This order is a
    /// known mistake of programs that run protocols.
    AfterRelease,
}

/// Crashes that a check explores. The default is all crashes.
#[derive(Clone, Debug, Default)]
pub struct CrashFilter {
    /// Processes that may crash. `None` means all.
    pub processes: Option<Vec<ProcessId>>,
    /// Phase of the user during which its process may crash. `None` permits a crash in every phase.
    pub phase: Option<UserPhase>,
}

impl CrashFilter {
    /// Returns true if the filter permits a crash of the live process `process` now. `user` is the
    /// user of this process.
    pub(crate) fn allows<C: CheckableCommand>(&self, process: ProcessId, user: &C::User) -> bool {
        self.processes.as_ref().is_none_or(|named| named.contains(&process))
            && self.phase.is_none_or(|phase| UserPhase::of::<C>(user) == phase)
    }
}
