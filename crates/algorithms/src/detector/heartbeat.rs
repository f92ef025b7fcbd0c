//! A heartbeat failure detector whose timeouts adapt: eventually perfect under partial
//! synchrony.
//!
//! T. D. Chandra, S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the detector of class ◇P for partial synchrony.
//!
//! | | |
//! |---|---|
//! | assumes | partial synchrony; messages may be lost, though not all of them |
//! | messages | N − 1 per process and period |
//! | detects a crash | within the timeout of that peer after its last heartbeat |
//!
//! **Why it is right.** *Complete*: a crashed process sends no more heartbeats, so its timer
//! fires and is never set again. *Eventually accurate*: each false suspicion of a peer makes
//! its timeout longer; once it exceeds period + delay + drift, which are bounded from some
//! moment on, it never fires again while the peer lives.
//!
//! A process that was itself stopped for longer than a timeout (a suspended machine, a
//! debugger) has heard of nobody, and would suspect all. Its own clock tells it so when it
//! next beats, and it gives everybody a fresh timeout instead.

use tenure_core::{Delay, LocalTime};

use super::beating::{Beating, Patience};

pub use super::beating::{Message, Timer};

/// One process of the detector.
pub type Heartbeat = Beating<Config>;

/// What is fixed for life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// How often to beat.
    pub period: Delay,
    /// The first timeout, in ticks; longer than a period.
    pub timeout: u64,
    /// How much a false suspicion adds to the timeout, in ticks.
    pub increment: u64,
    /// The timeout never grows beyond this, in ticks.
    pub longest: u64,
}

impl Default for Config {
    /// Every 50 ms; 300 ms at first, 100 ms more after each mistake, at most 5 s.
    fn default() -> Self {
        Config {
            period: Delay::units(50),
            timeout: Delay::units(300).max,
            increment: Delay::units(100).max,
            longest: Delay::units(5_000).max,
        }
    }
}

impl Patience for Config {
    /// Δ: how long the peer's silence may last, in ticks.
    type Record = u64;

    fn period(&self) -> Delay {
        self.period
    }

    fn unknown(&self) -> u64 {
        assert!(
            self.timeout > self.period.max,
            "a timeout shorter than the period accuses everybody"
        );
        self.timeout
    }

    fn timeout(&self, of: &u64) -> u64 {
        *of
    }

    fn hear(&self, of: &mut u64, _: LocalTime, suspected: bool) {
        if suspected {
            *of = (*of + self.increment).min(self.longest);
        }
    }

    fn forget_silence(&self, _: &mut u64) {}

    fn names(&self) -> [&'static str; 3] {
        [
            "heartbeat",
            "say that you are alive, suspect who is silent, and learn from mistakes",
            "Chandra & Toueg, JACM 43(2), 1996",
        ]
    }
}
