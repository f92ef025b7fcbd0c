//! One process of a world, with its timers and its user.

use tenure_core::{ProcessId, Protocol};
use tenure_trace::Since;

use crate::reduce::shifts::Shifts;
use crate::users::user::{Checkable, Service};

/// The user of a protocol's service.
pub(crate) type UserOf<P> = <<P as Protocol>::Command as Service>::User;

/// Everything of a world that belongs to one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Local<P: Checkable> {
    pub(crate) at: ProcessId,
    pub(crate) life: Life<P>,
    /// The armed timers, by name.
    pub(crate) timers: Vec<Armed<P::Timer>>,
    pub(crate) user: UserOf<P>,
    /// How many requests of each process lie in its past; empty where that is not kept.
    pub(crate) past: Vec<u32>,
    /// Whom its detector suspects, as bits.
    pub(crate) suspected: u32,
}

/// Whether a process is up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life<P: Protocol> {
    /// Up, in this state.
    Up(P),
    /// Up for the last time: it will crash before anything that it does from here on is heard of.
    Mute {
        /// Its state, which is saved.
        process: P,
        /// What it has done since.
        since: Since,
    },
    /// Up, and what is saved lags behind what was let out.
    Hasty {
        /// Its state.
        process: P,
        /// What is saved.
        saved: P::Stable,
    },
    /// Down, with this saved.
    Down(P::Stable),
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Armed<T> {
    pub(crate) timer: T,
    /// In synchronous time: how many units until it can fire.
    pub(crate) least: u32,
    /// In synchronous time: how many units until it must fire.
    pub(crate) most: u32,
}

impl<P: Protocol> Life<P> {
    /// The state of a process that is up.
    pub(crate) fn process(&self) -> Option<&P> {
        match self {
            Life::Up(process) | Life::Mute { process, .. } | Life::Hasty { process, .. } => {
                Some(process)
            }
            Life::Down(_) => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn process_mut(&mut self) -> Option<&mut P> {
        match self {
            Life::Up(process) | Life::Mute { process, .. } | Life::Hasty { process, .. } => {
                Some(process)
            }
            Life::Down(_) => None,
        }
    }

    /// The saved state, where it does not follow from the state of a process.
    pub(crate) fn saved_mut(&mut self) -> Option<&mut P::Stable> {
        match self {
            Life::Down(saved) | Life::Hasty { saved, .. } => Some(saved),
            Life::Up(_) | Life::Mute { .. } => None,
        }
    }
}

impl<P: Checkable> Local<P> {
    /// Arms a timer, in place of one of the same name.
    pub(crate) fn arm(&mut self, armed: Armed<P::Timer>) {
        match self.timers.binary_search_by(|other| other.timer.cmp(&armed.timer)) {
            Ok(place) => self.timers[place] = armed,
            Err(place) => self.timers.insert(place, armed),
        }
    }

    /// Disarms a timer, if it is armed.
    pub(crate) fn disarm(&mut self, timer: &P::Timer) {
        self.timers.retain(|other| other.timer != *timer);
    }

    /// The smallest stamp.
    pub(crate) fn smallest(&self, shifts: Shifts<P>, config: &P::Config) -> Option<u64> {
        let in_stable = |stable| (shifts.smallest_in_stable)(config, stable);
        match &self.life {
            Life::Up(process) | Life::Mute { process, .. } => (shifts.smallest)(process),
            Life::Hasty { process, saved } => {
                let both = [(shifts.smallest)(process), in_stable(saved)];
                both.into_iter().flatten().min()
            }
            Life::Down(stable) => in_stable(stable),
        }
    }

    /// Makes all stamps smaller.
    pub(crate) fn shift(&mut self, shifts: Shifts<P>, config: &P::Config, by: u64) {
        if let Some(process) = self.life.process_mut() {
            (shifts.shift)(process, by);
        }
        if let Some(saved) = self.life.saved_mut() {
            (shifts.shift_stable)(config, saved, by);
        }
    }
}
