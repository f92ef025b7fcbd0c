//! The part of a global state that belongs to one process: its state, its timers and its user.

use tenure_core::{ProcessId, Protocol};
use tenure_trace::MuteState;

use crate::reduce::shifts::ShiftFunctions;
use crate::reduce::symmetry::{Renaming, SymmetryFunctions};
use crate::users::user::{Checkable, CheckableCommand};
use crate::world::step_queue::StepQueue;

pub(crate) type UserOf<P> = <<P as Protocol>::Command as CheckableCommand>::User;

/// Local state: the part of a global state that belongs to one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LocalState<P: Checkable> {
    pub(crate) at: ProcessId,
    pub(crate) lifecycle: Lifecycle<P>,
    /// Armed timers, in the order of [`Ord`] for timers.
    pub(crate) timers: Vec<ArmedTimer<P::Timer>>,
    pub(crate) user: UserOf<P>,
    /// Causal past, as [`CausalityTracking`](crate::model::causality::CausalityTracking) defines
    /// it: the number of requests of each process, or the length of the longest causal chain. Empty
    /// if causality is not tracked.
    pub(crate) past: Vec<u32>,
    /// Bits of the peers that the failure detector of this process suspects.
    pub(crate) suspected: u32,
    /// Steps that have not ended. Empty if steps take no time.
    pub(crate) unfinished_steps: StepQueue<P>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lifecycle<P: Protocol> {
    Up(P),
    /// The process is up, but mute: it will crash before it releases any further effect.
    Mute {
        process: P,
        /// Progress of the process since it became mute.
        since: MuteState,
    },
    /// The process is up, and has released the effects of its last step, but has not saved this
    /// step yet. `saved` is the saved state before the step.
    SaveBehind {
        process: P,
        saved: P::Stable,
    },
    /// The process is down, with this saved state.
    Down(P::Stable),
    /// The process is up, and its user has not received some of its events yet. Only a search that
    /// uses commuting deliveries postpones events.
    Postponed {
        process: P,
        /// Events that the user has not received, in order.
        events: Vec<P::Event>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArmedTimer<T> {
    pub(crate) timer: T,
    /// Remaining units of synchronous time before the timer may fire. 0 in asynchronous time.
    pub(crate) min_delay: u32,
    /// Remaining units of synchronous time in which the timer must fire. 0 in asynchronous time, in
    /// which it has no effect.
    pub(crate) max_delay: u32,
}

/// Adds a timer to a list in the order of [`Ord`] for timers. If the list contains a timer of the
/// same name, replaces it.
pub(crate) fn arm_timer<T: Ord>(timers: &mut Vec<ArmedTimer<T>>, armed: ArmedTimer<T>) {
    match timers.binary_search_by(|other| other.timer.cmp(&armed.timer)) {
        Ok(index) => timers[index] = armed,
        Err(index) => timers.insert(index, armed),
    }
}

/// Removes a timer from a list in the order of [`Ord`] for timers.
pub(crate) fn disarm_timer<T: Ord>(timers: &mut Vec<ArmedTimer<T>>, timer: &T) {
    if let Ok(index) = timers.binary_search_by(|other| other.timer.cmp(timer)) {
        timers.remove(index);
    }
}

impl<P: Protocol> Lifecycle<P> {
    /// Returns the state of the process. `None` if the process is down.
    pub(crate) fn process(&self) -> Option<&P> {
        match self {
            Lifecycle::Up(process)
            | Lifecycle::Mute { process, .. }
            | Lifecycle::SaveBehind { process, .. }
            | Lifecycle::Postponed { process, .. } => Some(process),
            Lifecycle::Down(_) => None,
        }
    }

    pub(crate) fn process_mut(&mut self) -> Option<&mut P> {
        match self {
            Lifecycle::Up(process)
            | Lifecycle::Mute { process, .. }
            | Lifecycle::SaveBehind { process, .. }
            | Lifecycle::Postponed { process, .. } => Some(process),
            Lifecycle::Down(_) => None,
        }
    }

    /// Returns the saved state, for modification. `None` if the saved state is not stored, because
    /// it can be derived from the state of the process.
    pub(crate) fn saved_mut(&mut self) -> Option<&mut P::Stable> {
        match self {
            Lifecycle::Down(saved) | Lifecycle::SaveBehind { saved, .. } => Some(saved),
            Lifecycle::Up(_) | Lifecycle::Mute { .. } | Lifecycle::Postponed { .. } => None,
        }
    }
}

impl<P: Checkable> LocalState<P> {
    /// Arms a timer. If a timer of the same name is armed, replaces it.
    pub(crate) fn arm_timer(&mut self, armed: ArmedTimer<P::Timer>) {
        arm_timer(&mut self.timers, armed);
    }

    /// Disarms a timer. Also removes the timer from unfinished steps that would start it when they
    /// end.
    pub(crate) fn disarm_timer(&mut self, timer: &P::Timer) {
        disarm_timer(&mut self.timers, timer);
        self.unfinished_steps.disarm_timer(timer);
    }

    pub(crate) fn smallest_timestamp(
        &self,
        shifts: &ShiftFunctions<P>,
        config: &P::Config,
    ) -> Option<u64> {
        let in_process = self.lifecycle.process().and_then(shifts.smallest_timestamp);
        let in_stable = match &self.lifecycle {
            Lifecycle::Down(saved) | Lifecycle::SaveBehind { saved, .. } => {
                (shifts.smallest_saved_timestamp)(config, saved)
            }
            Lifecycle::Up(_) | Lifecycle::Mute { .. } | Lifecycle::Postponed { .. } => None,
        };
        let in_steps = self.unfinished_steps.smallest_timestamp(shifts, config);
        [in_process, in_stable, in_steps].into_iter().flatten().min()
    }

    pub(crate) fn lower_timestamps(
        &mut self,
        shifts: &ShiftFunctions<P>,
        config: &P::Config,
        by: u64,
    ) {
        if let Some(process) = self.lifecycle.process_mut() {
            (shifts.shift)(process, by);
        }
        if let Some(saved) = self.lifecycle.saved_mut() {
            (shifts.lower_saved_timestamps)(config, saved, by);
        }
        self.unfinished_steps.lower_timestamps(shifts, config, by);
    }

    pub(crate) fn renamed(&self, symmetry: &SymmetryFunctions<P>, names: &Renaming) -> Self {
        let mut lifecycle = self.lifecycle.clone();
        if let Some(process) = lifecycle.process_mut() {
            *process = (symmetry.renamed)(process, names);
        }
        if let Some(saved) = lifecycle.saved_mut() {
            *saved = (symmetry.renamed_stable)(saved, names);
        }
        LocalState {
            at: names.new_name(self.at),
            lifecycle,
            timers: symmetry.renamed_timers(&self.timers, names),
            user: self.user.clone(),
            past: names.permuted(&self.past),
            suspected: names.renamed_set(self.suspected),
            unfinished_steps: self.unfinished_steps.renamed(symmetry, names),
        }
    }
}
