//! How the saves of a process go wrong before it crashes, where that is said.

use tenure_core::{Input, ProcessId, Protocol, TimerChange};
use tenure_trace::{Kind, Lapse, Recorded, Since};

use crate::engine::world::World;

impl<P: Protocol> World<'_, P>
where
    P: Recorded,
{
    /// From here on, what a process does is saved, and nobody hears of it.
    pub(crate) fn mute(&mut self, at: ProcessId) {
        self.core.trace_event(at, Kind::Mute);
        self.lapses.insert(at, Lapse::Mute(Since::Nothing));
    }

    /// From here on, what a process does is not saved when it crashes.
    pub(crate) fn not_save(&mut self, at: ProcessId) {
        self.lapses.insert(at, Lapse::Unsaved(self.processes[at.index()].clone()));
    }

    /// A process is about to crash: what its saves come to.
    pub(crate) fn end_lapse(&mut self, at: ProcessId) {
        if let Some(Lapse::Unsaved(before)) = self.lapses.remove(&at) {
            self.core.trace_event(at, Kind::Unsaved);
            self.processes[at.index()] = before;
        }
    }

    /// Whether a process crashes while it saves what comes of an input: by which fault, and whether
    /// that is saved.
    #[cold]
    pub(super) fn torn(&mut self, at: ProcessId, input: &Input<P>) -> Option<(u32, bool)> {
        self.core.torn.iter().find(|torn| torn.process == at)?;
        // Tried on a copy: choices are drawn once.
        let sources = self.batch.environment.clone();
        let mut after = self.processes[at.index()].clone();
        after.step(input.clone(), &mut self.batch.effects());
        self.batch.clear();
        self.batch.environment = sources;
        let saves = after.stable() != self.processes[at.index()].stable();
        saves.then(|| self.core.saves(at)).flatten()
    }

    /// A process crashes while it saves what comes of an input. What is saved has happened, and
    /// nobody hears of it; otherwise it is as if the input had not come, which is given back.
    #[cold]
    pub(super) fn tear(
        &mut self,
        at: ProcessId,
        input: Input<P>,
        (fault, is_kept): (u32, bool),
        note: impl FnOnce(&mut Self, &Input<P>),
    ) -> Option<Input<P>> {
        let mut untaken = Some(input);
        if is_kept && let Some(input) = untaken.take() {
            self.core.trace_event(at, Kind::Mute);
            note(self, &input);
            self.processes[at.index()].step(input, &mut self.batch.effects());
            self.trace_choices(at);
            self.batch.clear();
        }
        let crashed = self.core.crash(at, Some(fault));
        self.carry_out(crashed);
        untaken
    }

    /// Whether a process is mute, and takes an input as such.
    #[cold]
    pub(crate) fn is_mute(&mut self, at: ProcessId, input: &Input<P>) -> bool {
        let Some(Lapse::Mute(since)) = self.lapses.get_mut(&at) else { return false };
        let mut after = self.processes[at.index()].clone();
        after.step(input.clone(), &mut self.batch.effects());
        *since = since.and(after.stable() != self.processes[at.index()].stable());
        if *since == Since::Saved {
            self.processes[at.index()] = after;
            for change in &self.batch.timers {
                let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
                self.timers.cancel(at, timer);
            }
        } else {
            self.timers.clear(at);
        }
        self.trace_choices(at);
        self.batch.clear();
        true
    }
}
