//! Faults with which a process fails to save its state. A fault lasts until the next crash of the
//! process.

/// Fault with which a process fails to save its state. The fault lasts until the next crash of the
/// process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveFault<P> {
    /// The process saves nothing. The value is the process at the start of the fault. After the
    /// crash, it recovers with the stable state of this value.
    Unsaved(P),
    /// The process is mute: it still saves its state, but it sends no messages, emits no events and
    /// sets no timers.
    Mute(MuteState),
}

/// Progress of a process since it became mute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuteState {
    /// The process has received no input since it became mute.
    Nothing,
    /// The first input after the process became mute changed the state to save. The process saves
    /// this state and all later ones, but withholds the effects of its steps.
    Saved,
    /// The first input after the process became mute did not change the state to save. The process
    /// takes no further step before it crashes: all inputs are lost.
    Spent,
}

impl MuteState {
    /// Returns the progress after one more input. `changes` is true if the input changes the saved
    /// state of the process.
    #[must_use]
    pub fn after_input(self, changes: bool) -> MuteState {
        match self {
            MuteState::Nothing if !changes => MuteState::Spent,
            MuteState::Nothing => MuteState::Saved,
            since => since,
        }
    }
}
