//! Dolev–Klawe–Rodeh: in each phase at most every second candidate survives, in one direction.
//!
//! D. Dolev, M. Klawe, M. Rodeh, *An O(n log n) unidirectional distributed algorithm for extrema
//! finding in a circle*, Journal of Algorithms 3(3), 1982; found by G. L. Peterson (TOPLAS 4(4),
//! 1982) at the same time; with an announcement.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash |
//! | messages | N(2(p − 1) + 1) in p phases, and N to announce |
//! | phases | at most ⌊log₂ N⌋ + 1 |
//!
//! **Why it is right.** An active process speaks for a candidate. It learns those of the two
//! active processes before it, and goes on, for the nearer one's candidate, if that is the
//! largest of the three; otherwise it only passes messages on. So it judges its predecessor's
//! candidate as if it stood where its predecessor does: the local maxima survive, each in a new
//! place. The largest of all always does, and no two neighbours do, so their number halves. The
//! last of the active gets its own candidate back, which is the largest.
//!
//! Whoever finds the largest is not the one whose rank it is: the candidate moves on by one
//! active process in each phase. So the result is announced, and its owner learns that it leads.
//! Messages name their election and phase, beyond the paper, so that copies are recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Expected, Precision, Scene};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Knowledge, Never, Order, ProcessId, Protocol,
    Rank, Term, Topology, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Candidate, Ring};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DolevKlaweRodeh {
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
    /// *Active*: speaks for a candidate.
    Active {
        /// Counted from 1.
        phase: u32,
        /// `max`: for whom it speaks.
        candidate: Candidate,
        /// `left`: for whom the active process before it speaks, once it has said so.
        before: Option<Candidate>,
    },
    /// *Passive*: only passes on.
    Passive {
        /// The phase in which it was beaten.
        since: u32,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I speak for this one."
    First {
        /// Which election this belongs to.
        election: u32,
        /// The sender's phase.
        phase: u32,
        /// For whom it speaks.
        candidate: Candidate,
    },
    /// "The one before me speaks for this one."
    Second {
        /// Which election this belongs to.
        election: u32,
        /// The sender's phase.
        phase: u32,
        /// For whom the active process before the sender speaks.
        candidate: Candidate,
    },
    /// "This one leads."
    Elected {
        /// Which election this belongs to.
        election: u32,
        /// Who won.
        leader: ProcessId,
    },
}

labelled!(
    Message, Election,
    First => "first", Second => "second", Elected => "elected",
);

impl Protocol for DolevKlaweRodeh {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::rank(&config.ranks, group);
        let ring = Ring::without(&config.absent, group);
        DolevKlaweRodeh { ring, rank, election: 0, phase: Phase::Settled }
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
            Message::First { election, phase, candidate } => {
                if election > self.election {
                    self.start(election, fx);
                }
                match self.standing(election, phase) {
                    Some((own, None)) if candidate == own => self.announce(own.process, fx),
                    Some((own, None)) => {
                        let before = Some(candidate);
                        self.phase = Phase::Active { phase, candidate: own, before };
                        self.pass_on(Message::Second { election, phase, candidate }, fx);
                    }
                    Some((_, Some(_))) => {}
                    None => self.relay(election, phase, message, fx),
                }
            }
            Message::Second { election, phase, candidate } => {
                match self.standing(election, phase) {
                    Some((own, Some(before))) if before > own.max(candidate) => {
                        self.speak_for(before, phase + 1, fx);
                    }
                    Some((_, Some(_))) => self.phase = Phase::Passive { since: phase },
                    Some((_, None)) => {}
                    None => self.relay(election, phase, message, fx),
                }
            }
            Message::Elected { election, leader } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, leader, fx);
                    self.pass_on(message, fx);
                }
            }
        }
    }
}

impl DolevKlaweRodeh {
    /// Wakes up, in the first phase.
    fn start(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        let own = Candidate { rank: self.rank, process: self.ring.me() };
        if self.ring.is_alone() {
            return self.settle(election, own.process, fx);
        }
        self.speak_for(own, 1, fx);
    }

    /// Begins a phase.
    fn speak_for(&mut self, candidate: Candidate, phase: u32, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Active { phase, candidate, before: None };
        self.pass_on(Message::First { election: self.election, phase, candidate }, fx);
    }

    /// For whom we and the active process before us speak, if we are active in this phase.
    fn standing(&self, election: u32, of: u32) -> Option<(Candidate, Option<Candidate>)> {
        match self.phase {
            Phase::Active { phase, candidate, before } => {
                ((election, of) == (self.election, phase)).then_some((candidate, before))
            }
            Phase::Settled | Phase::Passive { .. } => None,
        }
    }

    /// Passes on what is not for us, unless it is a copy of something that we have had.
    fn relay(&self, election: u32, phase: u32, message: Message, fx: &mut impl Effects<Self>) {
        let passes = matches!(self.phase, Phase::Passive { since } if phase > since);
        if passes && election == self.election {
            self.pass_on(message, fx);
        }
    }

    /// Our candidate has come back: everybody else has given up.
    fn announce(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.settle(self.election, leader, fx);
        self.pass_on(Message::Elected { election: self.election, leader }, fx);
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    fn pass_on(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.send(self.ring.successor(), message);
    }
}

/// How many phases there are on this ring, in the direction of messages, whoever starts: whoever
/// hears of an election takes part. An active process goes on, for the candidate before it, when
/// that is larger than its own and than the one before that.
fn phases<R: Ord + Copy>(ring: &[R]) -> u64 {
    let mut active = ring.to_vec();
    let mut phases = 1;
    while active.len() > 1 {
        let n = active.len();
        let before = |place: usize, by: usize| active[(place + 2 * n - by) % n];
        let goes_on = |place: &usize| before(*place, 1) > active[*place].max(before(*place, 2));
        active = (0..n).filter(goes_on).map(|place| before(place, 1)).collect();
        phases += 1;
    }
    phases
}

impl Algorithm for DolevKlaweRodeh {
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
            messages: Cost::per_election(
                "4N … 2N⌊log₂N⌋ + 2N",
                4 * n,
                Some(2 * n * u64::from(size.ilog2()) + 2 * n),
            )
            .none_alone(size),
            ..Card::election(
                "dolev-klawe-rodeh",
                "in each phase at most every second candidate survives",
                "Dolev, Klawe & Rodeh, Journal of Algorithms 3(3), 1982",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let size = ring::length(&config.absent, size);
        let ring = ring::living(&config.ranks, &config.absent, ProcessId(0));
        let n = u64::from(size);
        // 2N a phase, but N in the last, of at most ⌊log₂ N⌋ + 1; and N to announce.
        Some(match scene {
            Scene::AllStartDrawn => {
                Expected::new(Precision::Most, 2 * n * u64::from(size.ilog2()) + 2 * n)
            }
            _ if size == 1 => Expected::new(Precision::Exact, 0),
            _ => Expected::new(Precision::Exact, 2 * n * phases(&ring)),
        })
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
