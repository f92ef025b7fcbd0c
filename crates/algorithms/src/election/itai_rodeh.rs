//! Itai–Rodeh: anonymous processes elect by lot, repeatedly until one lot is unique.
//!
//! A. Itai, M. Rodeh, *Symmetry breaking in distributed networks*, Information and Computation
//! 88(1), 1990 (FOCS 1981). This file adds an announcement of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring of known size N, any order, no crash; no names, no ranks |
//! | messages | 2N if one starts; 3N − 1 or more if all do; no bound, O(N log N) on average |
//! | rounds | no bound; finitely many with probability 1 |
//!
//! **Why it is right.** An active process draws a random number of 1 … N, its *lot*, and sends a
//! token with the lot around the ring. Lots are compared by round first, and then by number. An
//! active process with a larger lot removes the token. An active process with a smaller lot becomes
//! passive. A token that has travelled N hops is back at its owner, which needs no id to recognise
//! it. On its way the token records whether another active process has the same lot. If there is
//! none, the owner is the only active process and leads. Otherwise all processes with that lot draw
//! again in the next round. The largest lot is never beaten, so some process always remains active.
//!
//! Only chance distinguishes identical processes. Only a process that knows N can recognise the end
//! of the algorithm. The leader has no id, so the announcement counts the hops from the leader.
//! Beyond the paper, tokens carry the number of their election, so that late tokens of one election
//! do not disturb the next.

use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge, Property,
    Protocol, Term, ToleratedFaults, Topology, labelled,
};

/// State of one process on the ring. Before the first draw, the states of all processes differ only
/// in their places on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItaiRodeh {
    group: Group,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No election is in progress.
    Settled,
    /// The process may still win.
    Active { lot: Lot },
    /// The process has joined the election without starting, or a larger lot has beaten it. The
    /// process only forwards messages.
    Passive,
}

/// Random number that a process has drawn, and the round in which it has drawn the number. Lots are
/// compared by round first, and then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lot {
    /// Number of the round in which the process drew the lot, from 1.
    pub round: u32,
    /// The random number, from 1 to the number of processes N.
    pub number: u32,
}

/// Messages on the ring. A process sends each message to its successor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries the lot of an active process around the ring.
    Token {
        /// Number of the election.
        election: u32,
        /// Lot that the owner of the token has drawn. The owner is the process that created the
        /// token.
        lot: Lot,
        /// Number of hops from the owner of the token to the receiver of this message.
        hops: u32,
        /// True if the token has not passed an active process with the same lot.
        unique: bool,
    },
    /// Announces the leader, identified by its distance on the ring.
    Elected {
        /// Number of the election.
        election: u32,
        /// Number of hops from the leader to the receiver.
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
            // Ignores a resignation: without ids, the processes cannot exclude the old leader from
            // the next election.
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
                    return self.on_own_token(lot, unique, fx);
                }
                let passed = |unique| Message::Token { election, lot, hops: hops + 1, unique };
                match self.phase {
                    Phase::Settled => {}
                    Phase::Passive => self.forward(passed(unique), fx),
                    Phase::Active { lot: own } => match lot.cmp(&own) {
                        Ordering::Greater => {
                            self.phase = Phase::Passive;
                            self.forward(passed(unique), fx);
                        }
                        Ordering::Equal => self.forward(passed(false), fx),
                        Ordering::Less => {}
                    },
                }
            }
            Message::Elected { election, distance } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, distance, fx);
                    self.forward(Message::Elected { election, distance: distance + 1 }, fx);
                }
            }
        }
    }
}

impl ItaiRodeh {
    /// Starts a round: draws a lot and sends it around the ring. A process that is alone on the
    /// ring becomes the leader at once.
    fn draw(&mut self, round: u32, fx: &mut impl Effects<Self>) {
        let size = self.group.size();
        if size == 1 {
            return self.settle(self.election, 0, fx);
        }
        let lot = Lot { round, number: 1 + fx.choose(size) };
        self.phase = Phase::Active { lot };
        let election = self.election;
        self.forward(Message::Token { election, lot, hops: 1, unique: true }, fx);
    }

    fn on_own_token(&mut self, lot: Lot, unique: bool, fx: &mut impl Effects<Self>) {
        if self.phase != (Phase::Active { lot }) {
            return;
        }
        if unique {
            self.settle(self.election, 0, fx);
            self.forward(Message::Elected { election: self.election, distance: 1 }, fx);
        } else {
            self.draw(lot.round + 1, fx);
        }
    }

    /// Accepts the process that is `distance` hops before this process on the ring as the leader.
    /// Computes the id of the leader from the id of this process, because no message contains the
    /// id of the leader. Reports the id to the user.
    fn settle(&mut self, election: u32, distance: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        let (me, size) = (self.group.me().0, self.group.size());
        let leader = ProcessId((me + size - distance % size) % size);
        fx.emit(Event::Elected { leader, term: Term { number: u64::from(election), leader } });
    }

    fn forward(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), message);
    }
}

impl Algorithm for ItaiRodeh {
    fn card((): &(), size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 processes with ids elect by repaired-chang-roberts",
            ),
            topology: Topology::UnidirectionalRing,
            knows: ProcessKnowledge::ANONYMOUS,
            messages: MessageCost::per_election(
                "2N … no bound; O(N log N) on average",
                2 * n,
                None,
            )
            .zero_if_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            ..Card::election(
                "itai-rodeh",
                "anonymous processes elect by lot",
                "Itai & Rodeh, Information and Computation 88(1), 1990",
            )
        }
    }

    /// Returns the number of the current round, or 0 if this process is not active. In this
    /// algorithm rounds take the role of terms. Round numbers have no upper bound.
    fn highest_term(&self) -> u64 {
        match self.phase {
            Phase::Active { lot } => u64::from(lot.round),
            Phase::Settled | Phase::Passive => 0,
        }
    }
}
