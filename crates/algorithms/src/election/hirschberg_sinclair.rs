//! Hirschberg–Sinclair: candidates on a ring conquer neighbourhoods that double.
//!
//! D. S. Hirschberg, J. B. Sinclair, *Decentralized extrema-finding in circular configurations of
//! processors*, CACM 23(11), 1980; with an announcement.
//!
//! | | |
//! |---|---|
//! | assumes | a ring in both directions, any order, distinct ranks, no crash |
//! | messages | O(N log N): 3N in phase 0, 2N in the last phase, N to announce |
//! | phases | 0 … ⌈log₂ N⌉ |
//!
//! **Why it is right.** A probe is swallowed by the first larger process, so only the largest
//! rank comes back to its owner from the other side: nobody else wins. It does win, since its
//! probes are swallowed by nobody, and either come back or are replied to. Whoever swallows a
//! probe has started too, so once anybody has started, the largest does in the end. It is cheap
//! because a candidate of phase *k* is the largest within 2^(k − 1) on both sides: there are at
//! most N/(2^(k − 1) + 1) of them.
//!
//! A probe's own rank is recognised before its hops are counted: with N = 2^k both happen at
//! once. Two things go beyond the paper, which elects once: messages name the election that they
//! belong to, so that what is left of the last one does not start the next; and a probe says in
//! which direction it travels, which on a ring of two its sender does not tell.

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
pub struct HirschbergSinclair {
    ring: Ring,
    /// What decides.
    rank: Rank,
    /// The latest election that this process has heard of, 0 before the first.
    election: u32,
    /// The latest election whose leader it knows.
    settled: u32,
    /// Where it stands in `election`.
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has not started, and passes on the probes of others.
    Asleep,
    /// Has started: *candidate*, or beaten, which it does not notice.
    Candidate {
        /// *k*: how far its probes go is 2^k.
        phase: u8,
        /// In which direction the one reply that has come was travelling.
        replied: Option<Direction>,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Is anybody larger than this within 2^phase hops?"
    Probe {
        /// Which election this belongs to.
        election: u32,
        /// The candidate's rank.
        rank: Rank,
        /// The candidate's phase.
        phase: u8,
        /// *d*: how many hops this is from the candidate.
        hops: u32,
        /// Where it travels.
        direction: Direction,
    },
    /// "On this side of you, nobody is."
    Reply {
        /// Which election this belongs to.
        election: u32,
        /// The candidate's rank.
        rank: Rank,
        /// The candidate's phase.
        phase: u8,
        /// Where it travels.
        direction: Direction,
    },
    /// "This one has come all the way round: it leads."
    Elected {
        /// Which election this belongs to.
        election: u32,
        /// Who won.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Probe => "probe", Reply => "reply", Elected => "elected");

impl Protocol for HirschbergSinclair {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::rank(&config.ranks, group);
        let ring = Ring::without(&config.absent, group);
        HirschbergSinclair { ring, rank, election: 0, settled: 0, phase: Phase::Asleep }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.is_settled() => {
                self.election += 1;
                self.start(fx);
            }
            Command::Elect if self.phase == Phase::Asleep => self.start(fx),
            // The largest rank leads by definition: it cannot step down and stay.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Probe { election, rank, phase, hops, direction } => {
                self.notice(election);
                if rank == self.rank {
                    self.win(election, fx);
                } else if rank < self.rank {
                    if self.is_called_to(election) {
                        self.start(fx);
                    }
                } else if u64::from(hops) < reach(phase) {
                    let hops = hops.saturating_add(1);
                    let probe = Message::Probe { election, rank, phase, hops, direction };
                    fx.send(self.neighbour(direction), probe);
                } else {
                    let direction = direction.back();
                    let reply = Message::Reply { election, rank, phase, direction };
                    fx.send(self.neighbour(direction), reply);
                }
            }
            Message::Reply { rank, direction, .. } if rank != self.rank => {
                fx.send(self.neighbour(direction), message);
            }
            Message::Reply { election, phase, direction, .. } => {
                if self.receive_reply(election, phase, direction) {
                    self.probe(phase.saturating_add(1), fx);
                }
            }
            Message::Elected { leader, .. } if leader == self.ring.me() => {}
            Message::Elected { election, leader } => {
                self.notice(election);
                self.settle(election, leader, fx);
                fx.send(self.neighbour(Direction::Clockwise), message);
            }
        }
    }
}

impl HirschbergSinclair {
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        if self.ring.is_alone() {
            return self.settle(self.election, self.ring.me(), fx);
        }
        self.probe(0, fx);
    }

    /// Begins a phase: probes both ways.
    fn probe(&mut self, phase: u8, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Candidate { phase, replied: None };
        for direction in Direction::BOTH {
            let (election, rank) = (self.election, self.rank);
            let probe = Message::Probe { election, rank, phase, hops: 1, direction };
            fx.send(self.neighbour(direction), probe);
        }
    }

    /// Our probe has come all the way round; the other one will as well, and changes nothing.
    fn win(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        if election == self.election && !self.is_settled() {
            let leader = self.ring.me();
            self.settle(election, leader, fx);
            fx.send(self.neighbour(Direction::Clockwise), Message::Elected { election, leader });
        }
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        if election > self.settled {
            self.settled = election;
            fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
        }
    }

    /// Takes note of a later election than we knew of.
    fn notice(&mut self, election: u32) {
        if election > self.election {
            self.election = election;
            self.phase = Phase::Asleep;
        }
    }

    /// Counts a reply; tells whether both sides have replied.
    fn receive_reply(&mut self, election: u32, of_phase: u8, direction: Direction) -> bool {
        let Phase::Candidate { phase, replied } = &mut self.phase else { return false };
        if election != self.election || of_phase != *phase {
            return false;
        }
        *replied.get_or_insert(direction) != direction
    }

    /// Whether this process must start, because somebody smaller has.
    fn is_called_to(&self, election: u32) -> bool {
        election == self.election && !self.is_settled() && self.phase == Phase::Asleep
    }

    fn is_settled(&self) -> bool {
        self.settled == self.election
    }

    fn neighbour(&self, direction: Direction) -> ProcessId {
        direction.neighbour(self.ring)
    }
}

/// How far the probes of a phase go.
fn reach(phase: u8) -> u64 {
    1 << phase.min(63)
}

/// ⌈log₂ N⌉: the last phase.
fn last_phase(size: u64) -> u32 {
    u64::BITS - (size - 1).leading_zeros()
}

/// The paper's bound, with whole candidates and the exact first and last phase.
fn most_messages(size: u64) -> u64 {
    3 * size + probes(size, last_phase(size)) + 2 * size + size
}

/// What the phases from 1 cost at most, this one not included.
fn probes(size: u64, end: u32) -> u64 {
    (1..end).map(|k| 4 * (1 << k) * (size / ((1 << (k - 1)) + 1))).sum()
}

/// The messages when everybody starts at once on this ring: in each phase a candidate's probe goes
/// on both sides to the next larger rank or, if that is further away, as far as the phase reaches,
/// and is replied to; in the last it goes all the way round, and so does the announcement.
pub fn messages<R: Ord>(ring: &[R]) -> u64 {
    let n = ring.len();
    if n == 1 {
        return 0;
    }
    let side = |place: usize, step: usize| {
        let larger = (1..n).find(|hops| ring[(place + hops * step) % n] > ring[place]);
        larger.unwrap_or(n) as u64
    };
    let mut messages = n as u64;
    for place in 0..n {
        let sides = [side(place, 1), side(place, n - 1)];
        for phase in 0.. {
            let far = reach(phase);
            let goes = |away: u64| if away > far { 2 * far } else { away };
            messages += sides.map(goes).iter().sum::<u64>();
            if sides.into_iter().any(|away| away <= far) {
                break;
            }
        }
    }
    messages
}

impl Algorithm for HirschbergSinclair {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::length(&config.absent, size);
        let n = u64::from(size);
        let least = 4 * ((1 << last_phase(n)) - 1) + 3 * n;
        Card {
            faults: Faults::duplication(
                "a crash breaks the ring, and a lost message may leave it undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .and_absence(),
            knows: Knowledge::UNIFORM,
            topology: Topology::BidirectionalRing,
            messages: Cost::per_election(
                "4·2^⌈log₂N⌉ + 3N − 4 … O(N log N)",
                least,
                Some(most_messages(n)),
            )
            .none_alone(size),
            ..Card::election(
                "hirschberg-sinclair",
                "candidates on a ring conquer neighbourhoods that double",
                "Hirschberg & Sinclair, CACM 23(11), 1980",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let size = ring::length(&config.absent, size);
        let ring = ring::living(&config.ranks, &config.absent, ProcessId(0));
        let n = u64::from(size);
        match scene {
            _ if size == 1 => Some(Expected::new(Precision::Exact, 0)),
            Scene::AllStart => Some(Expected::new(Precision::Exact, messages(&ring))),
            Scene::AllStartDrawn => {
                Some(Expected::new(Precision::Most, 5 * n + probes(n, last_phase(n) + 1)))
            }
            Scene::OneAtATime | Scene::Alike | Scene::OneStarts(_) | Scene::Other => None,
        }
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
