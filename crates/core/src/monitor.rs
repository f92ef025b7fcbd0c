//! Specifications as automata over commands and events.

use core::fmt;
use core::hash::Hash;

use alloc::string::String;

use crate::clock::VectorClock;
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{election, mutex};

/// Result of a monitor: an error if the property is violated.
pub type MonitorResult = Result<(), Violation>;

/// A property of runs, as an automaton over the commands and events of users. The automaton never
/// reads the private state of an algorithm.
///
/// Therefore the same monitor judges a simulation, every state of the checker, and a trace of real
/// nodes. `C` and `E` are the commands and events of a service.
pub trait Monitor<C, E>: Clone + Eq + Hash {
    /// Returns the property that the monitor judges.
    fn property(&self) -> Property;

    /// Processes the observation `seen` at the process `at`. Returns an error if the observation
    /// violates the property. After an error the state of the monitor is unspecified.
    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> MonitorResult;

    /// Returns an error if the final state of a run violates the property. The engine calls this
    /// method at the end of the run. For most properties, only a single observation can be a
    /// violation, which [`Monitor::observe`] reports. For these properties, this method returns
    /// `Ok`.
    fn check_final_state(&self) -> MonitorResult {
        Ok(())
    }

    /// Returns the quantity that the monitor measures, such as the bypass so far. Returns 0 if the
    /// monitor measures no quantity. A checker reports the maximum of the quantity over all runs.
    fn measure(&self) -> u64 {
        0
    }

    /// Returns the smallest timestamp that the monitor remembers, or `None` if it remembers none.
    /// The timestamp of a [`Fence`](crate::Fence) is the first half of the fence.
    fn smallest_timestamp(&self) -> Option<u64> {
        None
    }

    /// Subtracts `by` from every timestamp that the monitor remembers.
    /// [`Algorithm`](crate::Algorithm) does the same for the timestamps of the protocol.
    fn lower_timestamps(&mut self, by: u64) {
        let _ = by;
    }
}

/// A fact that a monitor learns about one process: a command, an event, a crash, a recovery or a
/// sent message.
#[derive(Debug, PartialEq, Eq)]
pub enum Observation<'a, C, E> {
    /// The local user issued a command.
    Command {
        /// Command of the user.
        command: &'a C,
        /// Vector clock of the process at this moment, if the engine keeps vector clocks.
        clock: Option<&'a VectorClock>,
    },
    /// The local user received an event.
    Event(&'a E),
    /// The process crashed.
    Crashed,
    /// The process booted again.
    Recovered,
    /// The process sent a message of the service to another process. Messages of other layers, such
    /// as acknowledgements, are not observed. An engine need pass this observation only to monitors
    /// whose property [requires](Property::required_input) messages.
    Sent {
        /// Receiver of the message.
        to: ProcessId,
    },
}

// The variants hold references, so they can be copied even if `C` and `E` cannot.
impl<C, E> Copy for Observation<'_, C, E> {}

impl<C, E> Clone for Observation<'_, C, E> {
    fn clone(&self) -> Self {
        *self
    }
}

/// An observation in a run of a lock.
pub type MutexObservation<'a> = Observation<'a, mutex::Command, mutex::Event>;

/// An observation in a run of an election.
pub type ElectionObservation<'a> = Observation<'a, election::Command, election::Event>;

/// Violation of a property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Violation {
    /// Process at which the violation became certain.
    pub at: ProcessId,
    /// Description of the violation, in one sentence.
    pub message: String,
}

pub(crate) fn violated(at: ProcessId, message: String) -> MonitorResult {
    Err(Violation { at, message })
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Violation {}
