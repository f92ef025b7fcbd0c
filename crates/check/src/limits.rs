//! Limits on a search, and how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

/// Worlds have names of 32 bits, and are spread over tables that are never quite equally full.
const MOST_STATES: u64 = 7 << 29;

/// Whoever raises this wants a search, and the judging after it, to end soon.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    pub(crate) fn when(flag: Arc<AtomicBool>) -> Self {
        Stop(Some(flag))
    }

    /// Asked of each world: it costs no more than a look at memory.
    #[inline]
    pub(crate) fn is_raised(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// What may end a search before everything was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) states: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) time: Option<Duration>,
}

/// What ended a search before everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// As many states as allowed were seen.
    States,
    /// As much memory as allowed was taken.
    Memory,
    /// As much time as allowed has passed.
    Time,
    /// It was told to stop.
    Stopped,
}

impl Limit {
    /// The same in words.
    pub const fn says(self) -> &'static str {
        match self {
            Limit::States => "as many states as allowed were seen",
            Limit::Memory => "as much memory as allowed was taken",
            Limit::Time => "as much time as allowed has passed",
            Limit::Stopped => "it was told to",
        }
    }
}

impl Limits {
    pub(crate) fn reached(
        self,
        states: u64,
        bytes: usize,
        elapsed: Duration,
        stopped: bool,
    ) -> Option<Limit> {
        if stopped {
            Some(Limit::Stopped)
        } else if states >= self.states.map_or(MOST_STATES, |most| most.min(MOST_STATES)) {
            Some(Limit::States)
        } else if self.bytes.is_some_and(|most| bytes as u64 >= most) {
            Some(Limit::Memory)
        } else if self.time.is_some_and(|most| elapsed >= most) {
            Some(Limit::Time)
        } else {
            None
        }
    }
}

/// How far a search has come: for a line that a person watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Different worlds seen.
    pub states: u64,
    /// The length of the runs that are being extended now.
    pub depth: u32,
    /// How many worlds there are at this depth.
    pub waiting: u64,
    /// Memory taken by worlds, visited set and caches.
    pub bytes: usize,
    /// Since the start.
    pub elapsed: Duration,
}

impl Progress {
    /// Different worlds seen in a second, so far.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}
