//! Faulty saves before a crash.

/// Faulty save before a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveFault<P> {
    /// Unsaved: the crash restores the stable state of this process.
    Unsaved(P),
    /// Mute: steps are saved, but their effects are not released.
    Mute(MuteState),
}

/// Progress of a mute process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuteState {
    /// The process has done nothing yet.
    Nothing,
    /// The process took a step that changed the saved state. All later effects wait for that save.
    Saved,
    /// The process received an input that leaves the saved state unchanged, so it must crash before
    /// it handles the input.
    Spent,
}

impl MuteState {
    /// Returns the state after one more step. `changes` is true if the step changes the saved
    /// state.
    #[must_use]
    pub fn and(self, changes: bool) -> MuteState {
        match self {
            MuteState::Nothing if !changes => MuteState::Spent,
            MuteState::Nothing => MuteState::Saved,
            since => since,
        }
    }
}
