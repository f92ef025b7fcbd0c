//! Algorithms in synchronous rounds, and the adapter that converts them to protocols.
//!
//! N. A. Lynch, *Distributed Algorithms*, Morgan Kaufmann, 1996, chapter 2: all processes step
//! together. In each round, a process sends messages (`msgs`), receives the messages that were sent
//! to it in this round, and changes its state (`trans`).

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use tenure_core::theory::{Prediction, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ConfigurableTimeout, Delay, Effects, Group, Labelled, ProcessId, Protocol,
    Timing, Wire,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::Parameters;

/// An algorithm in synchronous rounds, from the point of view of one process. The value is the
/// local state. [`RoundSynchronizer`] converts the algorithm to a [`Protocol`].
///
/// All processes boot, and receive the first commands of their users, before the first round
/// begins. A command must not change the result of a round that other processes have completed. An
/// algorithm ignores a command that comes too late, or answers the command at once.
pub trait RoundAlgorithm: Clone + Debug + Eq + Hash + Sized + Send + Sync + 'static {
    /// Immutable configuration, the same at all processes.
    type Config: Clone + Debug + Send + Sync + 'static;
    /// Commands of the local user.
    type Command: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Events reported to the local user.
    type Event: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Messages between processes.
    type Message: Clone + Debug + Eq + Hash + Labelled + Wire + Send + Sync + 'static;

    /// Returns the initial state.
    fn start(group: Group, config: &Self::Config) -> Self;

    /// Returns the duration of a round. It must be at least the longest latency of a message.
    fn round_duration(config: &Self::Config) -> Delay;

    /// Handles a command of the local user. If the command starts the algorithm, sends the messages
    /// of the first round.
    fn on_command(
        &mut self,
        command: Self::Command,
        fx: &mut impl Effects<RoundSynchronizer<Self>>,
    );

    /// Ends a round: changes the state according to the messages in `received`, and sends the
    /// messages of the next round. `received` contains the messages that arrived in this round,
    /// sorted by sender.
    fn end_round(
        &mut self,
        received: Vec<(ProcessId, Self::Message)>,
        fx: &mut impl Effects<RoundSynchronizer<Self>>,
    );

    /// Returns true if the process takes part in no further round.
    fn has_halted(&self) -> bool;

    /// Returns the [`Card`] of the algorithm: its assumptions, costs and promises. The adapter adds
    /// the timing assumption and the timeout of a round.
    fn card(config: &Self::Config, size: u32) -> Card;

    /// Returns the number of messages that theory predicts: see [`Algorithm::predicted_messages`].
    fn predicted_messages(
        config: &Self::Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let _ = (config, size, workload);
        None
    }

    /// Returns an upper bound on the number of rounds until a request is served. An algorithm
    /// overrides the default, `None`, only if this number depends on the values of identifiers: see
    /// [`Algorithm::max_waiting_time`].
    fn max_rounds(config: &Self::Config, size: u32) -> Option<u64> {
        let _ = (config, size);
        None
    }
}

/// A process of an algorithm in rounds. The process ends a round whenever its timer fires, until
/// the algorithm has halted. After that, it ignores messages.
///
/// The timers of all processes fire together if they boot together and their clocks do not drift. A
/// message belongs to the round in which it arrives. Therefore a round must last at least as long
/// as the longest latency of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RoundSynchronizer<A: RoundAlgorithm> {
    algorithm: A,
    length: Delay,
    /// Messages of the current round that have arrived, sorted by sender.
    received: Vec<(ProcessId, A::Message)>,
}

/// Timer of [`RoundSynchronizer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Fires at the end of each round.
    Round,
}

impl<A: RoundAlgorithm> Protocol for RoundSynchronizer<A> {
    type Config = A::Config;
    type Command = A::Command;
    type Event = A::Event;
    type Message = A::Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &A::Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let (algorithm, length) = (A::start(group, config), A::round_duration(config));
        fx.set_timer(Timer::Round, length);
        RoundSynchronizer { algorithm, length, received: Vec::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: A::Command, fx: &mut impl Effects<Self>) {
        self.algorithm.on_command(command, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: A::Message, _: &mut impl Effects<Self>) {
        if !self.algorithm.has_halted() {
            let place = self.received.partition_point(|(sender, _)| *sender <= from);
            self.received.insert(place, (from, message));
        }
    }

    fn on_timer(&mut self, _: Timer, fx: &mut impl Effects<Self>) {
        let received = core::mem::take(&mut self.received);
        self.algorithm.end_round(received, fx);
        if !self.algorithm.has_halted() {
            fx.set_timer(Timer::Round, self.length);
        }
    }
}

const ROUND_TIMEOUT_NAME: &str = "round";

/// Returns the duration of a round that the user has set. The default is the message delay.
///
/// # Errors
///
/// [`CatalogueError::TimeoutRange`] if the user has set a range. All processes must end a round
/// after the same time.
pub(crate) fn round_duration(parameters: &Parameters) -> Result<Delay, CatalogueError> {
    parameters.single_timeout_or(ROUND_TIMEOUT_NAME, parameters.delay).map(Delay::ticks)
}

impl<A: RoundAlgorithm> Algorithm for RoundSynchronizer<A> {
    fn card(config: &A::Config, size: u32) -> Card {
        let length = A::round_duration(config);
        Card {
            timing: Timing::Rounds,
            timeouts: [ConfigurableTimeout::new(
                ROUND_TIMEOUT_NAME,
                "a round, as long as a message may take",
                length,
            )]
            .into(),
            ..A::card(config, size)
        }
    }

    fn predicted_messages(
        config: &A::Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        A::predicted_messages(config, size, workload)
    }

    fn max_waiting_time(config: &A::Config, size: u32) -> Option<u64> {
        Some(A::max_rounds(config, size)?.saturating_mul(A::round_duration(config).max))
    }
}
