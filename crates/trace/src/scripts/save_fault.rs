//! Faulty saves of a process before its next crash.

/// Fault of the saves of a process until its next crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveFault<P> {
    /// The process saves nothing. The crash restores the stable state that it had in this state.
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
    /// handles another input.
    Spent,
}

impl MuteState {
    /// Returns the state after one more input. `changes` is true if the input changes the saved
    /// state.
    #[must_use]
    pub fn after_input(self, changes: bool) -> MuteState {
        match self {
            MuteState::Nothing if !changes => MuteState::Spent,
            MuteState::Nothing => MuteState::Saved,
            since => since,
        }
    }
}
