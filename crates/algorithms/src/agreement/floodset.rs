//! FloodSet takes f + 1 synchronous rounds. In each round, every process sends all known values to
//! all other processes. After the last round, every process decides on the smallest known value.
//!
//! N. A. Lynch, *Distributed Algorithms*, Morgan Kaufmann, 1996, section 6.2.1.
//!
//! | | |
//! |---|---|
//! | assumes | synchronous rounds, reliable links, all processes propose before the first round |
//! | survives | f crashes, also in the middle of a broadcast |
//! | messages per decision | (f + 1)·N(N − 1) without crashes; 2N(N − 1) with `only-news` |
//! | delay | f + 1 rounds |
//!
//! **Why it is right.** One of f + 1 rounds has no crash, since at most f processes crash. In this
//! round all live processes receive the same messages. After this round all of them have seen the
//! same values, and no process sends anything new. So all decide on the smallest value of the same
//! set. With only f rounds, a process may crash in every round. Then a value may pass from one
//! crashing process to the next, and finally reach only one of two survivors. No algorithm decides
//! in fewer than f + 1 rounds if N ≥ f + 2 (section 6.7).
//!
//! By default f is N − 2. This value is enough for any number of crashes: after N − 1 crashes only
//! one process is left, and it agrees with itself.
//!
//! Beyond the book, a process that does not propose joins at the first message that it receives. So
//! it sends no messages in the first round. If its user proposes later, the process reports the
//! decision to the user.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use tenure_core::service::consensus::{Command, Event};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    AlgorithmClass, Card, CrashModel, Delay, Effects, Group, MessageCost, ProcessId, Property,
    Service, ToleratedFaults, labelled,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::rounds::{self, RoundAlgorithm, RoundSynchronizer};
use crate::variants::{Variants, variant_ids};

/// One process of the algorithm. The adapter [`RoundSynchronizer`] drives the process round by
/// round.
pub type FloodSet = RoundSynchronizer<FloodSetProcess>;

/// State of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FloodSetProcess {
    group: Group,
    /// Number of rounds: *f* + 1, or one less with the variant `one-round-less`.
    rounds: u32,
    variants: Variants<VariantId>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process has not proposed, and has received no value.
    Idle,
    Flooding {
        /// Number of the current round, from 1. In the book, the number is smaller by 1, because
        /// the book counts completed rounds.
        round: u32,
        /// *W*: all values that the process has seen.
        values: BTreeSet<u64>,
    },
    Decided {
        /// The decided value (*decision* in the book).
        value: u64,
    },
}

/// A message of one round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// *W*: all values that the sender has seen before this round.
    Values {
        /// Values in *W*.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        values: BTreeSet<u64>,
    },
}

labelled!(Message, Agreement, Values => "values");

/// Configuration of one process.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Number of crashes that the algorithm tolerates (*f* in the book). `None` for any number.
    pub max_crashes: Option<u32>,
    /// Duration of a round. It must be at least the longest latency of a message.
    pub round_duration: Delay,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration that tolerates `max_crashes` crashes. Each round lasts one unit.
    pub fn tolerating_crashes(max_crashes: Option<u32>) -> Self {
        Config { max_crashes, round_duration: Delay::time_units(1), variants: Variants::none() }
    }

    fn crashes(&self, size: u32) -> u32 {
        self.max_crashes.unwrap_or(size.saturating_sub(2))
    }

    fn rounds(&self, size: u32) -> u32 {
        let less = u32::from(self.variants.has(VariantId::OneRoundLess));
        (self.crashes(size) + 1 - less).max(1)
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (round, variants) = (rounds::round_duration(parameters)?, parameters.variants()?);
        Ok(Config { max_crashes: None, round_duration: round, variants })
    }
}

variant_ids! {
    OneRoundLess = "one-round-less", unsound,
        "processes decide after f rounds, each of which may have its crash"
        => "", "-n 3 --crash 1";
    NothingNew = "nothing-new", unsound,
        "a process decides as soon as a round brings no new value"
        => "", "-n 4 --crash 2";
    OnlyNews = "only-news", sound,
        "a process sends its values only in the first round and after a round with new ones";
}

impl RoundAlgorithm for FloodSetProcess {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;

    fn start(group: Group, config: &Config) -> Self {
        let rounds = config.rounds(group.size());
        FloodSetProcess { group, rounds, variants: config.variants, phase: Phase::Idle }
    }

    fn round_duration(config: &Config) -> Delay {
        config.round_duration
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<FloodSet>) {
        let Command::Propose { value } = command;
        match self.phase {
            Phase::Idle => {
                let values = BTreeSet::from([value]);
                self.send(&values, fx);
                self.phase = Phase::Flooding { round: 1, values };
            }
            // Ignores the proposal: the first round has begun, so a value that is added now might
            // reach only some processes.
            Phase::Flooding { .. } => {}
            Phase::Decided { value } => fx.emit(Event::Decided { value }),
        }
    }

    fn end_round(&mut self, received: Vec<(ProcessId, Message)>, fx: &mut impl Effects<FloodSet>) {
        let (round, before) = match &self.phase {
            Phase::Idle if received.is_empty() => return,
            Phase::Idle => (1, BTreeSet::new()),
            Phase::Flooding { round, values } => (*round, values.clone()),
            Phase::Decided { .. } => return,
        };
        let theirs = received.into_iter().flat_map(|(_, Message::Values { values })| values);
        let values: BTreeSet<u64> = before.iter().copied().chain(theirs).collect();
        let has_news = values != before;
        if round >= self.rounds || self.variants.has(VariantId::NothingNew) && !has_news {
            return self.decide(&values, fx);
        }
        if has_news || !self.variants.has(VariantId::OnlyNews) {
            self.send(&values, fx);
        }
        self.phase = Phase::Flooding { round: round + 1, values };
    }

    fn has_halted(&self) -> bool {
        matches!(self.phase, Phase::Decided { .. })
    }

    fn card(config: &Config, size: u32) -> Card {
        let (n, rounds) = (u64::from(size), config.rounds(size));
        let peers = n.saturating_sub(1);
        // The minimum: only one process proposes, and all others send nothing in the first round.
        // With `only-news`, the proposer then receives no news, and sends nothing more.
        let (formula, broadcasts, joining) = match config.variants.has(VariantId::OnlyNews) {
            true => ("2N(N−1)", rounds.min(2), peers),
            false => ("(f+1)N(N−1)", rounds, n),
        };
        let most = u64::from(broadcasts) * n * peers;
        let least = (1 + u64::from(broadcasts - 1) * joining) * peers;
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                max_crashed: config.max_crashes,
                ..ToleratedFaults::duplication_only(
                    "survives f crashes in f + 1 rounds; a lost message may cost agreement",
                )
            },
            messages: MessageCost::per_agreement(formula, least, Some(most)),
            theory: Some(ExpectedCosts::agreement("f+1", rounds)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Consensus,
                "floodset",
                "in f + 1 rounds every process floods all values, and decides on the smallest",
                "Lynch, 1996 (FloodSet)",
            )
            .with_promises([
                Property::Agreement,
                Property::Validity,
                Property::Integrity,
            ])
        }
    }
}

impl FloodSetProcess {
    fn send(&self, values: &BTreeSet<u64>, fx: &mut impl Effects<FloodSet>) {
        fx.broadcast(&self.group.peers(), Message::Values { values: values.clone() });
    }

    /// Decides on the smallest of `values`. The set is never empty, because a process needs a value
    /// to take part.
    fn decide(&mut self, values: &BTreeSet<u64>, fx: &mut impl Effects<FloodSet>) {
        if let Some(value) = values.first().copied() {
            self.phase = Phase::Decided { value };
            fx.emit(Event::Decided { value });
        }
    }
}
