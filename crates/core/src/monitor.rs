//! Specifications as automata over what happens.

use core::fmt;
use core::hash::Hash;

use alloc::string::String;

use crate::clock::VectorClock;
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{election, mutex};

/// A property of runs: an automaton that reads what users ask and are told, never the
/// private state of an algorithm.
///
/// The same monitor therefore judges a simulation, every state of the checker, and a trace
/// that real nodes wrote. `C` and `E` are the commands and events of a service.
pub trait Monitor<C, E>: Clone + Eq + Hash {
    /// What it judges.
    fn property(&self) -> Property;

    /// Reads one thing that happened at a process. After an error the monitor's state is
    /// unspecified.
    fn observe(&mut self, at: ProcessId, seen: Observed<'_, C, E>) -> Result<(), Violation>;

    /// Judges the run when it has ended. Most properties are decided before.
    fn at_end(&self) -> Result<(), Violation> {
        Ok(())
    }

    /// What it measures, to be maximised over all runs.
    fn measure(&self) -> u64 {
        0
    }

    /// The smallest stamp that it remembers: the first half of a [`Fence`](crate::Fence).
    fn smallest(&self) -> Option<u64> {
        None
    }

    /// Makes every stamp that it remembers smaller, as [`Algorithm`](crate::Algorithm) makes
    /// those of the protocol.
    fn shift(&mut self, by: u64) {
        let _ = by;
    }
}

/// Something that happened at a process.
#[derive(Debug, PartialEq, Eq)]
pub enum Observed<'a, C, E> {
    /// The local user asked.
    Command {
        /// For what.
        command: &'a C,
        /// The harness's vector clock of this moment, where it keeps one.
        clock: Option<&'a VectorClock>,
    },
    /// The local user was told.
    Event(&'a E),
    /// The process crashed.
    Crashed,
    /// The process booted again.
    Recovered,
    /// The process sent a message of the service's layer to another; shown where somebody
    /// [needs](Property::needs) it.
    Sent {
        /// To whom.
        to: ProcessId,
    },
}

// They only refer to what is asked and told, whether or not that can be copied.
impl<C, E> Copy for Observed<'_, C, E> {}

impl<C, E> Clone for Observed<'_, C, E> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Something that happened to the user of a lock.
pub type OfMutex<'a> = Observed<'a, mutex::Command, mutex::Event>;

/// Something that happened to the user of an election.
pub type OfElection<'a> = Observed<'a, election::Command, election::Event>;

/// A property was violated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Violation {
    /// Where the last straw fell.
    pub at: ProcessId,
    /// What happened, in a sentence.
    pub says: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

impl core::error::Error for Violation {}
