//! Faults of the saves before a crash.

/// Fault of a process's saves before its next crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveFault<P> {
    /// The process saves nothing. The crash restores the stable state of this earlier process
    /// state.
    Unsaved(P),
    /// The process is mute: its steps are saved, but their effects are not released.
    Mute(MuteState),
}

/// Progress of a process since it became mute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuteState {
    /// The process has received no input yet.
    Nothing,
    /// The process took a step that changed the saved state. All later effects wait for that save.
    Saved,
    /// The process received an input that would not change its saved state. It must crash before it
    /// handles this input.
    Spent,
}

impl MuteState {
    /// Returns the state after one more input. `changes` is true if the input changes the saved
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
