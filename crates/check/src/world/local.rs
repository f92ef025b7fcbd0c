//! One process of a world, with its timers and its user.

use std::fmt;
use std::hash::{Hash, Hasher};

use tenure_core::{ProcessId, Protocol};

use crate::reduce::shifts::Shifts;
use crate::users::user::Service;

/// The user of a protocol's service.
pub(crate) type UserOf<P> = <<P as Protocol>::Command as Service>::User;

/// Everything of a world that belongs to one process.
pub(crate) struct Local<P: Protocol>
where
    P::Command: Service<Event = P::Event>,
{
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

impl<P: Protocol> Local<P>
where
    P::Command: Service<Event = P::Event>,
{
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
        match &self.life {
            Life::Up(process) => (shifts.smallest)(process),
            Life::Down(stable) => (shifts.smallest_in_stable)(config, stable),
        }
    }

    /// Makes all stamps smaller.
    pub(crate) fn shift(&mut self, shifts: Shifts<P>, config: &P::Config, by: u64) {
        match &mut self.life {
            Life::Up(process) => (shifts.shift)(process, by),
            Life::Down(stable) => (shifts.shift_stable)(config, stable, by),
        }
    }
}

// Derived implementations would ask the same of a command's whole service.
impl<P: Protocol> Clone for Local<P>
where
    P::Command: Service<Event = P::Event>,
{
    fn clone(&self) -> Self {
        Local {
            at: self.at,
            life: self.life.clone(),
            timers: self.timers.clone(),
            user: self.user.clone(),
            past: self.past.clone(),
            suspected: self.suspected,
        }
    }
}

impl<P: Protocol> PartialEq for Local<P>
where
    P::Command: Service<Event = P::Event>,
{
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
            && self.life == other.life
            && self.timers == other.timers
            && self.user == other.user
            && self.past == other.past
            && self.suspected == other.suspected
    }
}

impl<P: Protocol> Eq for Local<P> where P::Command: Service<Event = P::Event> {}

impl<P: Protocol> Hash for Local<P>
where
    P::Command: Service<Event = P::Event>,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
        self.life.hash(state);
        self.timers.hash(state);
        self.user.hash(state);
        self.past.hash(state);
        self.suspected.hash(state);
    }
}

impl<P: Protocol> fmt::Debug for Local<P>
where
    P::Command: Service<Event = P::Event>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("at", &self.at)
            .field("life", &self.life)
            .field("timers", &self.timers)
            .field("user", &self.user)
            .field("past", &self.past)
            .finish_non_exhaustive()
    }
}
