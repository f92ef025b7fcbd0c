//! Itai–Rodeh: processes without names elect by lot, again and again until one lot is unique.
//!
//! A. Itai, M. Rodeh, *Symmetry breaking in distributed networks*, Information and Computation
//! 88(1), 1990 (FOCS 1981); with an announcement.
//!
//! | | |
//! |---|---|
//! | assumes | a ring of known size N, any order, no crash; no names, no ranks |
//! | messages | 2N if one starts; N + 2N − 1 or more if all do; no bound, O(N log N) on average |
//! | rounds | no bound; finitely many with probability 1 |
//!
//! **Why it is right.** An active process draws a lot of 1 … N and sends a token with it round
//! the ring. A token is taken off by an active process with a later round or, in the same round,
//! a higher lot; whoever is passed by a token that is ahead of it gives up. A token that has
//! gone N hops is back at its owner, which needs no name to know it. It has marked on its way
//! whether anybody active has the same lot. If not, its owner is the only one left and leads;
//! else all who have that lot draw again, in the next round. Nobody ahead of all others is ever
//! beaten, so somebody is always left.
//!
//! Nothing tells equal processes apart but chance, and no process can know when it is done
//! unless it knows N. There is no name either by which to announce the leader: others learn how
//! far behind them on the ring it is. Tokens name their election, beyond the paper, so that what
//! is left of the last one does not disturb the next.

use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Knowledge, Never, ProcessId, Property, Protocol,
    Term, Topology, labelled,
};

/// One process on the ring, which is like all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItaiRodeh {
    group: Group,
    /// The latest election that this process has heard of, 0 before the first.
    election: u32,
    /// Where it stands in `election`.
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No election is under way here.
    Settled,
    /// May still win.
    Active { lot: Lot },
    /// Did not start, or is beaten: only passes on.
    Passive,
}

/// What a process has drawn: compared by round, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lot {
    /// Counted from 1.
    pub round: u32,
    /// 1 … N.
    pub number: u32,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Somebody has drawn this."
    Token {
        /// Which election this belongs to.
        election: u32,
        /// What was drawn.
        lot: Lot,
        /// How many hops this is from its owner.
        hops: u32,
        /// Whether nobody on the way has drawn the same.
        unique: bool,
    },
    /// "Whoever is so many hops behind you leads."
    Elected {
        /// Which election this belongs to.
        election: u32,
        /// How many hops.
        distance: u32,
    },
}

labelled!(Message, Election, Token => "token", Elected => "elected");

impl Protocol for ItaiRodeh {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        ItaiRodeh { group, election: 0, phase: Phase::Settled }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::Settled => {
                self.election += 1;
                self.draw(1, fx);
            }
            // Whoever leads has no name that others could avoid the next time.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Token { election, lot, hops, unique } => {
                if election > self.election {
                    self.election = election;
                    self.phase = Phase::Passive;
                }
                if election < self.election {
                    return;
                }
                if hops >= self.group.size() {
                    return self.take_back(lot, unique, fx);
                }
                let passed = |unique| Message::Token { election, lot, hops: hops + 1, unique };
                match self.phase {
                    Phase::Settled => {}
                    Phase::Passive => self.pass_on(passed(unique), fx),
                    Phase::Active { lot: own } => match lot.cmp(&own) {
                        Ordering::Greater => {
                            self.phase = Phase::Passive;
                            self.pass_on(passed(unique), fx);
                        }
                        Ordering::Equal => self.pass_on(passed(false), fx),
                        Ordering::Less => {}
                    },
                }
            }
            Message::Elected { election, distance } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, distance, fx);
                    self.pass_on(Message::Elected { election, distance: distance + 1 }, fx);
                }
            }
        }
    }
}

impl ItaiRodeh {
    /// Begins a round.
    fn draw(&mut self, round: u32, fx: &mut impl Effects<Self>) {
        let size = self.group.size();
        if size == 1 {
            return self.settle(self.election, 0, fx);
        }
        let lot = Lot { round, number: 1 + fx.choose(size) };
        self.phase = Phase::Active { lot };
        let election = self.election;
        self.pass_on(Message::Token { election, lot, hops: 1, unique: true }, fx);
    }

    /// Our own token has come round.
    fn take_back(&mut self, lot: Lot, unique: bool, fx: &mut impl Effects<Self>) {
        if self.phase != (Phase::Active { lot }) {
            return;
        }
        if unique {
            self.settle(self.election, 0, fx);
            self.pass_on(Message::Elected { election: self.election, distance: 1 }, fx);
        } else {
            self.draw(lot.round + 1, fx);
        }
    }

    /// Takes the process so far behind us for the leader. The number by which the user knows it
    /// is counted from our own: it did not travel.
    fn settle(&mut self, election: u32, distance: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        let (me, size) = (self.group.me().0, self.group.size());
        let leader = ProcessId((me + size - distance % size) % size);
        fx.emit(Event::Elected { leader, term: Term { number: u64::from(election), leader } });
    }

    fn pass_on(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), message);
    }
}

impl Algorithm for ItaiRodeh {
    fn card((): &(), size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: Faults::duplication(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 processes with names elect by repaired-chang-roberts",
            ),
            topology: Topology::UnidirectionalRing,
            knows: Knowledge::ANONYMOUS,
            messages: Cost::per_election("2N … no bound; O(N log N) on average", 2 * n, None)
                .none_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            ..Card::election(
                "itai-rodeh",
                "processes without names elect by lot",
                "Itai & Rodeh, Information and Computation 88(1), 1990",
            )
        }
    }

    /// The rounds are what grows without end.
    fn highest_term(&self) -> u64 {
        match self.phase {
            Phase::Active { lot } => u64::from(lot.round),
            Phase::Settled | Phase::Passive => 0,
        }
    }
}
