//! One process of a world, with its timers and its user.

use tenure_core::{ProcessId, Protocol};
use tenure_trace::MuteState;

use crate::reduce::shifts::Shifts;
use crate::users::user::{Checkable, Service};

/// User of a protocol's service.
pub(crate) type UserOf<P> = <<P as Protocol>::Command as Service>::User;

/// Part of a world that belongs to one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LocalState<P: Checkable> {
    pub(crate) at: ProcessId,
    pub(crate) lifecycle: Lifecycle<P>,
    /// Armed timers, sorted by name.
    pub(crate) timers: Vec<ArmedTimer<P::Timer>>,
    pub(crate) user: UserOf<P>,
    /// Number of requests of each process in the causal past; empty if causality is not tracked.
    pub(crate) past: Vec<u32>,
    /// Bits of the peers that the failure detector suspects.
    pub(crate) suspected: u32,
}

/// Status of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lifecycle<P: Protocol> {
    /// Up, in this state.
    Up(P),
    /// Up, but it will crash before any further effect is released.
    Mute {
        /// Its state, which is saved.
        process: P,
        /// Kind of the steps taken since.
        since: MuteState,
    },
    /// Up, with released effects of steps that are not saved yet.
    SaveBehind {
        /// State of the process.
        process: P,
        /// Its saved state.
        saved: P::Stable,
    },
    /// Down, with this saved state.
    Down(P::Stable),
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArmedTimer<T> {
    pub(crate) timer: T,
    /// Units of synchronous time until the timer may fire.
    pub(crate) min_delay: u32,
    /// Units of synchronous time until the timer must fire.
    pub(crate) max_delay: u32,
}

impl<P: Protocol> Lifecycle<P> {
    /// Returns the state of a process that is up.
    pub(crate) fn process(&self) -> Option<&P> {
        match self {
            Lifecycle::Up(process)
            | Lifecycle::Mute { process, .. }
            | Lifecycle::SaveBehind { process, .. } => Some(process),
            Lifecycle::Down(_) => None,
        }
    }

    /// Returns the state of a process that is up, for changes.
    pub(crate) fn process_mut(&mut self) -> Option<&mut P> {
        match self {
            Lifecycle::Up(process)
            | Lifecycle::Mute { process, .. }
            | Lifecycle::SaveBehind { process, .. } => Some(process),
            Lifecycle::Down(_) => None,
        }
    }

    /// Returns the saved state, if it does not follow from the state.
    pub(crate) fn saved_mut(&mut self) -> Option<&mut P::Stable> {
        match self {
            Lifecycle::Down(saved) | Lifecycle::SaveBehind { saved, .. } => Some(saved),
            Lifecycle::Up(_) | Lifecycle::Mute { .. } => None,
        }
    }
}

impl<P: Checkable> LocalState<P> {
    /// Arms a timer, replacing one of the same name.
    pub(crate) fn arm(&mut self, armed: ArmedTimer<P::Timer>) {
        match self.timers.binary_search_by(|other| other.timer.cmp(&armed.timer)) {
            Ok(index) => self.timers[index] = armed,
            Err(index) => self.timers.insert(index, armed),
        }
    }

    /// Disarms a timer, if it is armed.
    pub(crate) fn disarm(&mut self, timer: &P::Timer) {
        self.timers.retain(|other| other.timer != *timer);
    }

    /// Returns the smallest timestamp.
    pub(crate) fn smallest(&self, shifts: Shifts<P>, config: &P::Config) -> Option<u64> {
        let in_stable = |stable| (shifts.smallest_in_stable)(config, stable);
        match &self.lifecycle {
            Lifecycle::Up(process) | Lifecycle::Mute { process, .. } => (shifts.smallest)(process),
            Lifecycle::SaveBehind { process, saved } => {
                let both = [(shifts.smallest)(process), in_stable(saved)];
                both.into_iter().flatten().min()
            }
            Lifecycle::Down(stable) => in_stable(stable),
        }
    }

    /// Decreases all timestamps.
    pub(crate) fn shift(&mut self, shifts: Shifts<P>, config: &P::Config, by: u64) {
        if let Some(process) = self.lifecycle.process_mut() {
            (shifts.shift)(process, by);
        }
        if let Some(saved) = self.lifecycle.saved_mut() {
            (shifts.shift_stable)(config, saved, by);
        }
    }
}
