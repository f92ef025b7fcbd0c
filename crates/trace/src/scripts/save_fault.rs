//! Faults with which a process fails to save its state. A fault lasts until the next crash of the
//! process.

use tenure_core::ProcessId;

/// Fault with which a process fails to save its state. The fault lasts until the next crash of the
/// process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaveFault<P> {
    /// The process saves nothing. The variant contains a copy of the process, taken when the
    /// process stopped saving. After the next crash, the process recovers with the stable state of
    /// this copy.
    Unsaved(P),
    /// The process is mute: it sends no messages, emits no events and sets no timers. The
    /// [`MuteState`] shows whether it saves its state.
    Mute(MuteState),
}

/// State of a mute process, which sends no messages, emits no events and sets no timers. The state
/// shows whether the process saves its state. It depends on the first input that the process has
/// received since it became mute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuteState {
    /// The process has received no input since it became mute.
    NoInputYet,
    /// The first input after the process became mute changed the state that the process saves. The
    /// process saves this state and all later states, but its steps have no other effects.
    Saved,
    /// The first input of the mute process did not change the state that the process saves. All
    /// further inputs are lost until the process crashes.
    IgnoresInputs,
}

impl MuteState {
    /// Returns the state of a mute process after one more input. `changes_state` is true if the
    /// input changes the state that the process saves.
    #[must_use]
    pub fn after_input(self, changes_state: bool) -> MuteState {
        match self {
            MuteState::NoInputYet if !changes_state => MuteState::IgnoresInputs,
            MuteState::NoInputYet => MuteState::Saved,
            since => since,
        }
    }
}

/// Save faults of all processes, at most one for each.
///
/// The faults are few, so a list is enough. A map would increase the compile time, because it would
/// be compiled for each protocol.
#[derive(Clone, Debug)]
pub struct SaveFaults<P> {
    faults: Vec<(ProcessId, SaveFault<P>)>,
}

impl<P> Default for SaveFaults<P> {
    fn default() -> Self {
        SaveFaults { faults: Vec::new() }
    }
}

impl<P> SaveFaults<P> {
    /// Returns true if no process has a save fault.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Sets the save fault of a process. Replaces an earlier fault of the process.
    pub fn insert(&mut self, at: ProcessId, fault: SaveFault<P>) {
        self.remove(at);
        self.faults.push((at, fault));
    }

    /// Removes the save fault of a process and returns it. Returns `None` if there is none.
    pub fn remove(&mut self, at: ProcessId) -> Option<SaveFault<P>> {
        let index = self.faults.iter().position(|(process, _)| *process == at)?;
        Some(self.faults.swap_remove(index).1)
    }

    /// Returns a mutable reference to the [`MuteState`] of a process. Returns `None` if the process
    /// is not mute.
    pub fn mute_state_mut(&mut self, at: ProcessId) -> Option<&mut MuteState> {
        self.faults.iter_mut().find_map(|(process, fault)| match fault {
            SaveFault::Mute(since) if *process == at => Some(since),
            _ => None,
        })
    }
}
