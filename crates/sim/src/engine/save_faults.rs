//! Faults that disturb the last saves of a process before it crashes.

use tenure_core::{Input, ProcessId, Protocol, TimerChange};
use tenure_trace::{MuteState, RecordKind, RecordableProtocol, SaveFault};

use crate::engine::world::World;

impl<P: Protocol> World<'_, P>
where
    P: RecordableProtocol,
{
    /// Makes a process mute until it crashes: the process sends no messages, emits no events and
    /// sets no timers. If the first input after this call changes the saved state, the process
    /// saves the results of this input and of all later inputs. Otherwise, the process ignores all
    /// inputs until it crashes.
    pub(crate) fn mute_until_crash(&mut self, at: ProcessId) {
        self.run.trace_event(at, RecordKind::Mute);
        self.save_faults.insert(at, SaveFault::Mute(MuteState::NoInputYet));
    }

    /// Makes a process stop saving until it crashes. The crash loses all steps that the process
    /// takes after this call.
    pub(crate) fn stop_saving(&mut self, at: ProcessId) {
        self.save_faults.insert(at, SaveFault::Unsaved(self.processes[at.index()].clone()));
    }

    /// Removes the save fault of a process that is about to crash. If the fault had stopped the
    /// saves of the process, the process returns to the state in which it stopped saving, and the
    /// trace records this.
    pub(super) fn finish_save_fault(&mut self, at: ProcessId) {
        if let Some(SaveFault::Unsaved(before)) = self.save_faults.remove(at) {
            self.run.trace_event(at, RecordKind::Unsaved);
            self.processes[at.index()] = before;
        }
    }

    /// Tests whether a configured fault crashes the process while it saves the result of `input`.
    /// Counts the save if `input` changes the saved state. Returns the index of the due fault among
    /// all configured faults, and a flag that is true if the crash keeps the saved result. Returns
    /// `None` if no fault is due. The state of the process does not change.
    #[cold]
    pub(super) fn count_save_and_find_crash(
        &mut self,
        at: ProcessId,
        input: &Input<P>,
    ) -> Option<(u32, bool)> {
        self.run.faults.has_save_crash(at).then_some(())?;
        // Tries the input on a copy of the process, and restores the random choices afterwards.
        let sources = self.batch.environment.clone();
        let mut after = self.processes[at.index()].clone();
        after.step(input.clone(), &mut self.batch.sink());
        self.batch.clear();
        self.batch.environment = sources;
        let saves = after.stable() != self.processes[at.index()].stable();
        saves.then(|| self.run.faults.on_save(at)).flatten()
    }

    /// Crashes a process while it saves the result of an input. `fault` is the index of the
    /// configured fault. If `is_kept` is true, the process changes its state and then crashes. Its
    /// messages, events and timers are lost, and the function returns `None`. If `is_kept` is
    /// false, the process crashes without handling the input, and the function returns the input.
    #[cold]
    pub(super) fn crash_during_save(
        &mut self,
        at: ProcessId,
        input: Input<P>,
        fault: u32,
        is_kept: bool,
    ) -> Option<Input<P>> {
        let mut unprocessed = Some(input);
        if is_kept && let Some(input) = unprocessed.take() {
            self.processes[at.index()].step(input, &mut self.batch.sink());
            self.trace_choices(at);
            self.batch.clear();
        }
        self.crash(at, Some(fault));
        unprocessed
    }

    /// If the process `at` is mute, handles the input without sending messages, emitting events or
    /// setting timers, and returns true. In the state [`MuteState::IgnoresInputs`], the input does
    /// not change the process. If the process is not mute, does nothing and returns false.
    #[cold]
    pub(crate) fn handle_if_mute(&mut self, at: ProcessId, input: &Input<P>) -> bool {
        let Some(since) = self.save_faults.mute_state_mut(at) else { return false };
        let mut after = self.processes[at.index()].clone();
        after.step(input.clone(), &mut self.batch.sink());
        *since = since.after_input(after.stable() != self.processes[at.index()].stable());
        if *since == MuteState::Saved {
            self.processes[at.index()] = after;
            for change in &self.batch.timers {
                let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
                self.timers.cancel(at, timer);
            }
        } else {
            self.timers.cancel_all_of(at);
        }
        self.trace_choices(at);
        self.batch.clear();
        true
    }
}
