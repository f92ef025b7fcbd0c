//! Chang–Roberts: on a ring, only the largest rank comes all the way round.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979; with the announcement that textbooks add.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash |
//! | messages | N(N + 1)/2 + N at worst, N·H(N) + N on average, if all start at once |
//! | | 2N to 3N − 1 if one starts |
//! | time | 2N hops if all start at once, at most 3N − 1 if one starts |
//!
//! **Why it is right.** A rank is passed on by smaller processes only, so the largest is stopped
//! by nobody and every other is stopped by the largest at the latest: exactly one comes back to
//! its owner. Whoever has sent anything is a participant, and a participant passes on nothing
//! smaller than itself, which it has sent already; the announcement makes everybody a
//! non-participant again. It overtakes nothing, so nobody starts afresh between the two.
//!
//! Whoever starts when the announcement has passed starts a second election, which the same
//! process wins.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Expected, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Knowledge, Never, Order, ProcessId, ProcessSet,
    Protocol, Rank, Term, Topology, Variant, labelled,
};

use super::ring::{self, Ring};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    ring: Ring,
    variants: Variants<Switch>,
    /// *i*: what decides.
    rank: Rank,
    phase: Phase,
    /// `elected_i`, `⊥` when `None`; of the last election while the next is under way.
    elected: Option<ProcessId>,
}

/// `participant_i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    NonParticipant,
    /// Has sent a rank at least as large as its own since the last announcement.
    Participant,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This is the largest rank that I have seen."
    Election {
        /// The rank.
        rank: Rank,
    },
    /// "This one has come all the way round: it leads."
    Elected {
        /// The rank.
        rank: Rank,
        /// Whose rank it is.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Election => "election", Elected => "elected");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By place on the ring, clockwise, the direction of messages. All different.
    pub ranks: Arc<[Rank]>,
    /// Who had failed before the ring was formed: it is a ring of the others.
    pub absent: ProcessSet,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Plain ids as ranks, in the order of the ring.
    pub fn plain(size: u32) -> Self {
        Config::of(ring::plain(size), Variants::none())
    }

    /// These ranks and variants, and nobody has failed.
    pub fn of(ranks: Arc<[Rank]>, variants: Variants<Switch>) -> Self {
        Config { ranks, absent: ProcessSet::new(), variants }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let (ranks, absent) = (parameters.ranks.clone(), parameters.absent.clone());
        Ok(Config { ranks, absent, variants: parameters.variants()? })
    }
}

switches! {
    UnmarkedForward = "unmarked-forward", sound,
        "passing on a larger rank does not make a participant: late starters start in vain";
    StartsAgain = "starts-again", unsound,
        "whoever takes part already starts again for every smaller rank: right, and dear"
        => "", "-n 3 --property cost";
}

impl Protocol for ChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        ChangRoberts {
            ring: Ring::without(&config.absent, group),
            variants: config.variants,
            rank: ring::rank(&config.ranks, group),
            phase: Phase::NonParticipant,
            elected: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::NonParticipant => self.participate(fx),
            // The largest rank leads by definition: it cannot step down and stay.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election { rank } => match rank.cmp(&self.rank) {
                Ordering::Greater => {
                    if !self.variants.has(Switch::UnmarkedForward) {
                        self.phase = Phase::Participant;
                    }
                    self.pass_on(message, fx);
                }
                Ordering::Less if self.is_called() => self.participate(fx),
                Ordering::Less => {}
                Ordering::Equal => {
                    let (rank, leader) = (self.rank, self.ring.me());
                    self.believe_in(leader, fx);
                    self.pass_on(Message::Elected { rank, leader }, fx);
                }
            },
            Message::Elected { rank, .. } if rank == self.rank => {
                self.phase = Phase::NonParticipant;
            }
            Message::Elected { leader, .. } => {
                self.believe_in(leader, fx);
                self.pass_on(message, fx);
            }
        }
    }
}

impl ChangRoberts {
    fn participate(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant;
        self.pass_on(Message::Election { rank: self.rank }, fx);
    }

    /// Whether a smaller rank makes this process start: once.
    fn is_called(&self) -> bool {
        self.phase == Phase::NonParticipant || self.variants.has(Switch::StartsAgain)
    }

    fn believe_in(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::NonParticipant;
        self.elected = Some(leader);
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    /// Sends clockwise; who is alone on the ring is its own neighbour.
    fn pass_on(&mut self, message: Message, fx: &mut impl Effects<Self>) {
        let next = self.ring.successor();
        if next == self.ring.me() {
            self.on_message(next, message, fx);
        } else {
            fx.send(next, message);
        }
    }
}

/// The messages when everybody starts at once on this ring, in the direction of messages: each
/// rank travels to the next larger one, the largest all the way round, and so does the
/// announcement.
pub fn messages<R: Ord>(ring: &[R]) -> u64 {
    let n = ring.len();
    // A lone process sends only to itself, which is not counted.
    if n == 1 {
        return 0;
    }
    // Walking backwards twice round the ring, the next larger rank is on top of a stack of ranks
    // that grow downwards.
    let mut larger: Vec<usize> = Vec::new();
    let mut messages = 0;
    for place in (0..2 * n).rev() {
        while larger.last().is_some_and(|next| ring[*next % n] < ring[place % n]) {
            larger.pop();
        }
        if place < n {
            let distance = larger.last().map_or(n, |next| (next - place).min(n));
            messages += distance as u64;
        }
        larger.push(place);
    }
    messages + n as u64
}

/// The variant that is an algorithm of its own.
const FAULT_TOLERANT: Variant = Variant {
    name: "fault-tolerant",
    says: "repaired-chang-roberts: the suspected are skipped, and elections are numbered",
    sound: true,
    verdict: "",
    shown_by: "",
};

impl Algorithm for ChangRoberts {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::length(&config.absent, size);
        let n = u64::from(size);
        Card {
            order: Order::Fifo,
            faults: Faults::duplication(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .and_absence(),
            knows: Knowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: Cost::per_election("2N … N(N+1)/2 + N", 2 * n, Some(n * (n + 1) / 2 + n))
                .none_alone(size),
            theory: Some(Theory::election(2 * size - 1)),
            variants: Variants::<Switch>::declared().into_iter().chain([FAULT_TOLERANT]).collect(),
            ..Card::election(
                "chang-roberts",
                "on a ring, only the largest rank comes all the way round",
                "Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let Config { ranks, absent, .. } = config;
        let size = ring::length(absent, size);
        let n = u64::from(size);
        match scene {
            _ if size == 1 => Some(Expected::new(Precision::Exact, 0)),
            Scene::AllStart => {
                let ring = ring::living(ranks, absent, ProcessId(0));
                Some(Expected::new(Precision::Exact, messages(&ring)))
            }
            Scene::AllStartDrawn => Some(Expected::harmonic(n, size, n)),
            Scene::OneStarts(start) if absent.contains(start) => None,
            Scene::OneStarts(start) => {
                let ring = ring::living(ranks, absent, start);
                let hops = (0..ring.len() as u64).max_by_key(|place| ring[*place as usize])?;
                Some(Expected::new(Precision::Exact, hops + 2 * n))
            }
            Scene::OneAtATime | Scene::Alike | Scene::Other => None,
        }
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_walking(ring: &[u32]) -> u64 {
        let n = ring.len();
        let walk = |place: usize| {
            let next = (1..n).find(|hops| ring[(place + hops) % n] > ring[place]);
            next.unwrap_or(n) as u64
        };
        (0..n).map(walk).sum::<u64>() + n as u64
    }

    #[test]
    fn the_worst_and_the_best_ring_of_five() {
        assert_eq!(messages(&[5, 4, 3, 2, 1]), 20);
        assert_eq!(messages(&[1, 2, 3, 4, 5]), 9 + 5);
        assert_eq!(messages(&[7]), 0);
    }

    /// The mean of all is N·H(N) + N.
    #[test]
    fn on_every_ring_of_six_the_stack_counts_as_walking_does() {
        fn all(ring: &mut [u32; 6], from: usize, total: &mut u64) {
            if from == ring.len() {
                assert_eq!(messages(ring), by_walking(ring), "{ring:?}");
                *total += messages(ring);
            }
            for place in from..ring.len() {
                ring.swap(from, place);
                all(ring, from + 1, total);
                ring.swap(from, place);
            }
        }
        let mut total = 0;
        all(&mut [1, 2, 3, 4, 5, 6], 0, &mut total);
        let harmonic = 720 + 360 + 240 + 180 + 144 + 120;
        assert_eq!(total, 6 * harmonic + 6 * 720);
    }
}
