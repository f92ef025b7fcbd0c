//! A heartbeat failure detector with adaptive timeouts: eventually perfect under partial synchrony.
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
//! **Why it is right.** *Complete*: a crashed process sends no more heartbeats. So at each other
//! process, the timer for the crashed process fires and is never set again. *Eventually accurate*:
//! each false suspicion of a peer increases the timeout of that peer. From some moment on, period +
//! delay + drift is bounded. Once the timeout exceeds this bound, the peer is not suspected again
//! while it lives. This requires that `max_timeout` exceeds the bound.
//!
//! A process that was paused for longer than a timeout (a suspended machine, a debugger) has
//! received no heartbeats and would suspect all peers. To prevent this, the process detects the
//! pause by its own clock at its next heartbeat, and restarts the timers of all peers that it does
//! not suspect.

use tenure_core::{Delay, LocalTime};

use super::heartbeat_detector::{HeartbeatDetector, TimeoutPolicy};

pub use super::heartbeat_detector::{Message, Timer};

/// One process of the detector.
pub type AdaptiveTimeoutDetector = HeartbeatDetector<Config>;

/// Configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Interval between heartbeats.
    pub period: Delay,
    /// Initial timeout, in ticks; longer than a period.
    pub initial_timeout: u64,
    /// Increase of the timeout after a false suspicion, in ticks.
    pub increment: u64,
    /// Upper bound on the timeout after false suspicions, in ticks.
    pub max_timeout: u64,
}

impl Default for Config {
    /// Returns a configuration with a period of 50 ms and an initial timeout of 300 ms. Each false
    /// suspicion adds 100 ms to the timeout, up to 5 s.
    fn default() -> Self {
        Config {
            period: Delay::time_units(50),
            initial_timeout: Delay::time_units(300).max,
            increment: Delay::time_units(100).max,
            max_timeout: Delay::time_units(5_000).max,
        }
    }
}

impl TimeoutPolicy for Config {
    /// Δ: the current timeout of a peer, in ticks.
    type PeerState = u64;

    fn period(&self) -> Delay {
        self.period
    }

    fn initial_peer_state(&self) -> u64 {
        assert!(
            self.initial_timeout > self.period.max,
            "the timeout must be longer than the period"
        );
        self.initial_timeout
    }

    fn timeout(&self, of: &u64) -> u64 {
        *of
    }

    fn on_heartbeat(&self, of: &mut u64, _: LocalTime, suspected: bool) {
        if suspected {
            *of = (*of + self.increment).min(self.max_timeout);
        }
    }

    fn restart_silence_measurement(&self, _: &mut u64) {}

    fn name_title_and_paper(&self) -> [&'static str; 3] {
        [
            "heartbeat",
            "send heartbeats, suspect silent processes, and lengthen timeouts after false \
             suspicions",
            "Chandra & Toueg, JACM 43(2), 1996",
        ]
    }
}
