//! Franklin: a candidate that is larger than both its neighbours goes on to the next phase.
//!
//! W. R. Franklin, *On an improved algorithm for decentralized extrema finding in circular
//! configurations of processors*, CACM 25(5), 1982; with an announcement.
//!
//! | | |
//! |---|---|
//! | assumes | a ring in both directions, any order, distinct ranks, no crash |
//! | messages | 2N in each phase, and N to announce |
//! | phases | at most ⌊log₂ N⌋ + 1 |
//!
//! **Why it is right.** In each phase an active process tells the nearest active process on
//! either side its rank, and stays active only if it is larger than both. The largest of all
//! always stays, and no two neighbours do, so at most every second one is left. Whoever is alone
//! gets its own rank back, and is the largest. Every link carries one message in each direction
//! in each phase: those between two active processes are passed on by all in between.
//!
//! A neighbour may be one phase ahead, since it waits only for what we have sent already; its
//! message is kept until we are there, or passed on if we are beaten. Messages name their
//! election and phase, beyond the paper, so that copies are recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Expected, Precision, Scene};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Knowledge, Never, ProcessId, Protocol, Rank,
    Term, Topology, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Direction, Ring};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Franklin {
    ring: Ring,
    /// What decides.
    rank: Rank,
    /// The latest election that this process has heard of, 0 before the first.
    election: u32,
    /// Where it stands in `election`.
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No election is under way here.
    Settled,
    /// Larger than all it has heard of so far.
    Active {
        /// Counted from 1.
        phase: u32,
        /// The ranks of both neighbours in this phase.
        now: Sides,
        /// The same in the next phase, where they are ahead of us.
        next: Sides,
    },
    /// Beaten: only passes on.
    Passive {
        /// The phase in which it was beaten.
        since: u32,
    },
}

/// What has come in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sides {
    clockwise: Option<Rank>,
    counterclockwise: Option<Rank>,
}

impl Sides {
    fn of(&mut self, direction: Direction) -> &mut Option<Rank> {
        match direction {
            Direction::Clockwise => &mut self.clockwise,
            Direction::Counterclockwise => &mut self.counterclockwise,
        }
    }
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I am still in: are you larger?"
    Bid {
        /// Which election this belongs to.
        election: u32,
        /// The sender's phase.
        phase: u32,
        /// The sender's rank.
        rank: Rank,
        /// Where it travels.
        direction: Direction,
    },
    /// "This one is left: it leads."
    Elected {
        /// Which election this belongs to.
        election: u32,
        /// Who won.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Bid => "bid", Elected => "elected");

impl Protocol for Franklin {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::rank(&config.ranks, group);
        let ring = Ring::without(&config.absent, group);
        Franklin { ring, rank, election: 0, phase: Phase::Settled }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::Settled => self.start(self.election + 1, fx),
            // The largest rank leads by definition: it cannot step down and stay.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Bid { election, phase, rank, direction } => {
                if election > self.election {
                    self.start(election, fx);
                }
                if rank == self.rank {
                    return self.win(election, phase, fx);
                }
                match &mut self.phase {
                    Phase::Active { phase: mine, now, next } if election == self.election => {
                        if phase == *mine {
                            now.of(direction).get_or_insert(rank);
                            self.compare(fx);
                        } else if phase == *mine + 1 {
                            next.of(direction).get_or_insert(rank);
                        }
                    }
                    // A copy of one that we have had.
                    Phase::Passive { since } if election == self.election && phase <= *since => {}
                    _ => fx.send(direction.neighbour(self.ring), message),
                }
            }
            Message::Elected { election, leader } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, leader, fx);
                    fx.send(self.ring.successor(), message);
                }
            }
        }
    }
}

impl Franklin {
    /// Wakes up, in the first phase.
    fn start(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        if self.ring.is_alone() {
            return self.settle(election, self.ring.me(), fx);
        }
        self.bid(1, Sides::default(), fx);
    }

    /// Begins a phase, in which some may have spoken already.
    fn bid(&mut self, phase: u32, now: Sides, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Active { phase, now, next: Sides::default() };
        for direction in Direction::BOTH {
            self.send_bid(phase, self.rank, direction, fx);
        }
    }

    fn send_bid(&self, phase: u32, rank: Rank, direction: Direction, fx: &mut impl Effects<Self>) {
        let bid = Message::Bid { election: self.election, phase, rank, direction };
        fx.send(direction.neighbour(self.ring), bid);
    }

    /// Once both neighbours have spoken: goes on, or is beaten.
    fn compare(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Active { phase, now, mut next } = self.phase
            && let (Some(one), Some(other)) = (now.clockwise, now.counterclockwise)
        {
            if self.rank > one.max(other) {
                self.bid(phase + 1, next, fx);
                continue;
            }
            self.phase = Phase::Passive { since: phase };
            for direction in Direction::BOTH {
                if let Some(rank) = next.of(direction).take() {
                    self.send_bid(phase + 1, rank, direction, fx);
                }
            }
        }
    }

    /// Our own rank has come round; it will from the other side as well, and changes nothing.
    fn win(&mut self, election: u32, of: u32, fx: &mut impl Effects<Self>) {
        if let Phase::Active { phase, .. } = self.phase
            && (election, of) == (self.election, phase)
        {
            let leader = self.ring.me();
            self.settle(election, leader, fx);
            fx.send(self.ring.successor(), Message::Elected { election, leader });
        }
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }
}

/// How many phases there are on this ring, whoever starts: whoever hears of an election takes part.
/// Who is larger than both its neighbours goes on, until one is left, whose bids come round.
fn phases<R: Ord + Copy>(ring: &[R]) -> u64 {
    let mut active = ring.to_vec();
    let mut phases = 1;
    while active.len() > 1 {
        let n = active.len();
        let goes_on = |place: &usize| {
            active[*place] > active[(place + 1) % n].max(active[(place + n - 1) % n])
        };
        active = (0..n).filter(goes_on).map(|place| active[place]).collect();
        phases += 1;
    }
    phases
}

impl Algorithm for Franklin {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::length(&config.absent, size);
        let n = u64::from(size);
        let phases = u64::from(size.ilog2()) + 1;
        Card {
            faults: Faults::duplication(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .and_absence(),
            knows: Knowledge::UNIFORM,
            topology: Topology::BidirectionalRing,
            messages: Cost::per_election(
                "5N … 2N(⌊log₂N⌋ + 1) + N",
                5 * n,
                Some(2 * n * phases + n),
            )
            .none_alone(size),
            ..Card::election(
                "franklin",
                "whoever is larger than both its neighbours goes on",
                "Franklin, CACM 25(5), 1982",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let size = ring::length(&config.absent, size);
        let ring = ring::living(&config.ranks, &config.absent, ProcessId(0));
        let n = u64::from(size);
        Some(match scene {
            Scene::AllStartDrawn => {
                Expected::new(Precision::Most, 2 * n * (u64::from(size.ilog2()) + 1) + n)
            }
            _ if size == 1 => Expected::new(Precision::Exact, 0),
            _ => Expected::new(Precision::Exact, 2 * n * phases(&ring) + n),
        })
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
