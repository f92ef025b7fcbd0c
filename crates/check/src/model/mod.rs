//! What the search asks of a protocol: everything by number, so that the search itself is
//! compiled once and not once for every protocol.

pub(crate) mod bypass;
pub(crate) mod fingerprint;
pub(crate) mod intern;
pub(crate) mod judge;
pub(crate) mod memo;
pub(crate) mod memory;
pub(crate) mod processes;

use crate::model::intern::Interned;
use crate::reduce::symmetry::Renaming;
use crate::world::action::Cause;

/// A protocol, its users and its monitors, as the search sees them.
pub(crate) trait Model: Send + Sync {
    /// What the search asks of a process in a local state.
    fn local(&self, local: u32) -> LocalFacts;

    /// What may come of a cause, one outcome for each combination of choices.
    fn outcomes(&self, local: u32, cause: Cause) -> Vec<Outcome>;

    /// The process one unit of time later.
    fn aged(&self, local: u32) -> Interned;

    /// The process with all stamps smaller by `by`.
    fn shifted(&self, local: u32, by: u64) -> Interned;

    /// The smallest stamp in a message.
    fn smallest_in_message(&self, message: u32) -> Option<u64>;

    /// The message with all stamps smaller by `by`.
    fn shifted_message(&self, message: u32, by: u64) -> Interned;

    /// The fingerprint of a process under the names of a renaming, by its number.
    fn renamed(&self, local: u32, renaming: usize) -> u64;

    /// The fingerprint of a message under the names of a renaming.
    fn renamed_message(&self, message: u32, renaming: usize) -> u64;

    /// The renaming of this number.
    fn renaming(&self, renaming: usize) -> &Renaming;

    /// The monitor at `place` after an observation; `None` when it is violated.
    fn judge(&self, place: usize, monitor: u32, observation: u32) -> Option<Interned>;

    /// What the search asks of a monitor's state.
    fn monitor(&self, place: usize, monitor: u32) -> MonitorFacts;

    /// The monitor with all stamps smaller by `by`.
    fn shifted_monitor(&self, place: usize, monitor: u32, by: u64) -> Interned;

    /// How much was interned, to account for memory.
    fn bytes(&self) -> usize;
}

/// What may come of a cause.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) local: Interned,
    /// The parcels sent, in order.
    pub(crate) parcels: Vec<u32>,
    /// What monitors see of it; 0 for nothing.
    pub(crate) observation: u32,
}

/// What the search asks of a process in a local state.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalFacts {
    pub(crate) fingerprint: u64,
    pub(crate) down: bool,
    /// Whether it is up, and nobody hears of it any more.
    pub(crate) mute: bool,
    /// Whether it is up, and crashes are explored here.
    pub(crate) may_crash: bool,
    pub(crate) standing: Stand,
    /// The peers that the detector suspects, as bits.
    pub(crate) suspected: u32,
    /// What the process may do by itself, and what fairness calls it.
    pub(crate) menu: Vec<(Cause, u32)>,
    /// Whether time must not pass before a timer fires.
    pub(crate) urgent: bool,
    pub(crate) smallest: Option<u64>,
    /// Whether its term lies beyond the declared bound.
    pub(crate) beyond: bool,
}

/// How a live user stands; a crashed one is content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stand {
    #[default]
    Content,
    Waiting,
    Informed,
    Uninformed,
}

/// What the search asks of a monitor's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MonitorFacts {
    pub(crate) fingerprint: u64,
    /// Whether the run must not end (or go on for ever) like this.
    pub(crate) fails_at_end: bool,
    /// What it measures.
    pub(crate) measure: u64,
    pub(crate) smallest: Option<u64>,
}
