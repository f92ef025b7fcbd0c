//! Messages between users, outside of the algorithm.

use tenure_core::{ExposesLogicalClock, ProcessId};

use crate::engine::random::{Random, RandomStream};
use crate::settings::fault::Chance;

/// A message from one user to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserMessage {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    /// Tag that refers to the vector clock of the message and to its data in the trace; see
    /// [`Tracer`](crate::engine::tracer::Tracer).
    pub(crate) tag: u32,
    /// Logical clock of the sender's protocol. `None` if messages between users carry no clock.
    pub(crate) clock: Option<u64>,
}

/// Messages between users that are in flight, and the source of random choices about them. A
/// message is referred to by its index in `messages`, and `free` lists the unused indices.
#[derive(Debug)]
pub(crate) struct UserTraffic {
    pub(crate) random: Random,
    messages: Vec<UserMessage>,
    free: Vec<u32>,
}

impl UserTraffic {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::stream(seed, RandomStream::BackgroundTraffic);
        UserTraffic { random, messages: Vec::new(), free: Vec::new() }
    }

    /// Draws whether a random event occurs now, with the probability in `chance`.
    /// `earlier_occurrences` is the number of times that this event has occurred in this run.
    /// Returns false if `chance` does not permit a further occurrence.
    pub(crate) fn draw_occurrence(&mut self, chance: Chance, earlier_occurrences: u64) -> bool {
        let left = chance.max_occurrences.is_none_or(|most| earlier_occurrences < most);
        left && chance.probability > 0.0 && self.random.open_closed_01() <= chance.probability
    }

    /// Draws the receiver of a message among all processes of the group except the sender. `size`
    /// is the number of processes.
    pub(crate) fn draw_receiver(&mut self, size: u32, sender: ProcessId) -> ProcessId {
        let other = self.random.below(u64::from(size) - 1) as u32;
        ProcessId(other + u32::from(other >= sender.0))
    }

    /// Stores a message that was sent, and returns its index.
    pub(crate) fn send(&mut self, message: UserMessage) -> u32 {
        if let Some(place) = self.free.pop() {
            self.messages[place as usize] = message;
            return place;
        }
        self.messages.push(message);
        u32::try_from(self.messages.len() - 1).expect("fewer than 2^32 messages are in flight")
    }

    pub(crate) fn get(&self, index: u32) -> UserMessage {
        self.messages[index as usize]
    }

    /// Removes the message with this index, which has arrived, and returns it.
    pub(crate) fn receive(&mut self, index: u32) -> UserMessage {
        self.free.push(index);
        self.messages[index as usize]
    }
}

/// Functions of a protocol with a logical clock: `clock` reads the clock for a user message, and
/// `observe` merges the clock of a received user message.
#[derive(Debug)]
pub(crate) struct ClockHooks<P> {
    pub(crate) clock: fn(&P) -> u64,
    pub(crate) observe: fn(&mut P, u64),
}

impl<P: ExposesLogicalClock> ClockHooks<P> {
    pub(crate) const fn new() -> Self {
        ClockHooks { clock: P::clock, observe: P::observe }
    }
}

// Implemented by hand, because `derive` would require that `P` implements `Clone`.
impl<P> Clone for ClockHooks<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for ClockHooks<P> {}
