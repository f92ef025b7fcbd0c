//! Chang–Roberts on a ring that repairs itself: the largest live rank leads.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979, assume that no process fails. Here suspected
//! processes are skipped, and elections are numbered.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, distinct ranks, a detector that is |
//! | | wrong only finitely often |
//! | messages | without a crash those of Chang–Roberts: N(N + 1)/2 + N at worst |
//! | | 1 more for each crash that does not affect the result, else one more election |
//! | | one more election per restart, and up to 2(N − 1) queries and answers |
//! | time | as Chang–Roberts; after the last suspicion at most 3N − 1 hops |
//!
//! **Why it is right.** A process forwards a message only if the message has a newer term than all
//! earlier messages, or a larger candidate than all earlier messages of this term. So the last
//! message that a process has sent contains either the leader or the largest candidate of the
//! newest known term. Whenever the successor of a process changes, the process sends its last
//! message again. So the message is not lost if the previous successor received it and crashed.
//! Without further crashes, all processes learn the same term and the same candidate. If that
//! candidate is alive, its rank travels all the way around, and the candidate leads. If the
//! candidate has crashed, its rank is an *orphan*. Every process that forwards the orphan
//! eventually suspects its owner. Such a process removes the orphan and starts a new term: at the
//! suspicion, or if the orphan arrives again later. All processes can take part in the new term.
//! Messages of older terms are dropped. Suspicions are finitely many, so some term is the last.
//!
//! A restarted process has missed the messages that were sent to it while it was down. It starts a
//! new term, and asks all processes whether they know this term or a newer one. If one of them
//! does, the restarted process starts a still newer term. So the missed messages belong to an old
//! term, and no process leads twice in one term.
//!
//! A suspected leader is not accepted until it is trusted. While a suspicion is wrong, two
//! processes may lead: in different terms, or in one term if the ring skipped one of them. A
//! process that learns of both leaders starts a newer term.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Group, MessageCost, Never, PeerVerdict,
    ProcessId, ProcessSet, Protocol, Rank, Term, ToleratedFaults, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Candidate};

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultTolerantChangRoberts {
    group: Group,
    /// This process as a candidate, with its rank (*i* in the paper).
    own: Candidate,
    /// Number of the newest known term; 0 before the first term.
    number: u64,
    phase: Phase,
    /// Term of the leader that was last reported to the user (`elected_i` in the paper). During an
    /// election, the field contains the term of an earlier election. `None` if no leader was
    /// reported, or if the reported leader was suspected afterwards.
    elected: Option<Term>,
    suspected: ProcessSet,
}

/// State of a process in a term (`participant_i` in the paper). A participant stores the largest
/// candidate that it has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    NonParticipant,
    Participant {
        /// The largest candidate that this process has sent. The candidate may be this process
        /// itself.
        largest: Candidate,
    },
    Decided {
        leader: Candidate,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries the largest candidate that the sender has seen in this term.
    Election {
        /// Number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// The candidate: a rank and its process.
        candidate: Candidate,
    },
    /// Announces the leader. The rank of the leader has travelled around the whole ring.
    Elected {
        /// Number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// The elected leader.
        leader: Candidate,
    },
    /// Sent by a process that has restarted and started a new term. Asks whether the receiver knows
    /// this term or a newer one.
    Query {
        /// Number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// Answers a query, if the sender knows the term in the query or a newer one.
    Answer {
        /// Number of the newest term known to the sender.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
}

labelled!(Message, Election,
    Election => "election", Elected => "elected", Query => "query", Answer => "answer");

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

impl Protocol for FaultTolerantChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    /// Number of the newest known term. It is persisted so that no process takes part in a term
    /// twice, even across a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let me = group.me();
        let mut ring = FaultTolerantChangRoberts {
            group,
            own: Candidate { rank: ring::own_rank(&config.ranks, group), process: me },
            number: stable.as_ref().map_or(0, |stable| stable.number),
            phase: Phase::NonParticipant,
            elected: None,
            suspected: ProcessSet::new(),
        };
        if stable.is_some() {
            fx.broadcast(&group.peers(), Message::Query { number: ring.number + 1 });
            ring.start_term(fx);
        }
        ring
    }

    fn stable(&self) -> Stable {
        Stable { number: self.number }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if !matches!(self.phase, Phase::Participant { .. }) => {
                self.start_term(fx)
            }
            // The live process with the largest rank leads by definition, so it cannot resign.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election { number, .. } | Message::Elected { number, .. }
                if number < self.number => {}
            Message::Election { number, candidate } => {
                self.join(number);
                self.on_election(candidate, fx);
            }
            Message::Elected { number, leader } => {
                self.join(number);
                self.on_elected(leader, fx);
            }
            Message::Query { number } => {
                if number <= self.number {
                    fx.send(from, Message::Answer { number: self.number });
                }
            }
            Message::Answer { number } => {
                if number >= self.number {
                    self.number = number;
                    self.start_term(fx);
                }
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                let was_successor = self.successor() == Some(peer);
                self.suspected.insert(peer);
                self.depose(peer, fx);
                if self.relies_on(peer) {
                    self.start_term(fx);
                } else if was_successor {
                    self.send_on(fx);
                }
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                self.report_leader(fx);
                if self.successor() == Some(peer) {
                    self.send_on(fx);
                }
            }
        }
    }
}

impl FaultTolerantChangRoberts {
    fn start_term(&mut self, fx: &mut impl Effects<Self>) {
        self.number += 1;
        self.participate(self.own, fx);
    }

    /// Joins the term `number` if it is newer than all known terms. From then on, this process
    /// resends no message of an older term.
    fn join(&mut self, number: u64) {
        if number > self.number {
            self.number = number;
            self.phase = Phase::NonParticipant;
        }
    }

    fn on_election(&mut self, candidate: Candidate, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::NonParticipant => self.participate(candidate.max(self.own), fx),
            Phase::Participant { largest } if candidate > largest => {
                self.participate(candidate, fx);
            }
            Phase::Participant { largest } if candidate == largest => {
                if candidate == self.own {
                    self.decide(candidate, fx);
                } else if self.suspects(candidate) {
                    self.start_term(fx);
                }
            }
            Phase::Decided { leader } if candidate > leader => self.start_term(fx),
            Phase::Participant { .. } | Phase::Decided { .. } => {}
        }
    }

    fn on_elected(&mut self, leader: Candidate, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::NonParticipant if leader > self.own => self.decide(leader, fx),
            Phase::NonParticipant => self.start_term(fx),
            Phase::Participant { largest } if leader >= largest => self.decide(leader, fx),
            Phase::Decided { leader: known } => {
                if leader > known || leader == known && self.suspects(leader) {
                    self.start_term(fx);
                }
            }
            Phase::Participant { .. } => {}
        }
    }

    fn participate(&mut self, largest: Candidate, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant { largest };
        self.send_on(fx);
    }

    fn decide(&mut self, leader: Candidate, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Decided { leader };
        self.report_leader(fx);
        self.send_on(fx);
    }

    /// Reports the leader of this term to the user. Does nothing if the leader is unknown or
    /// suspected, or was reported already.
    fn report_leader(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Decided { leader } = self.phase else { return };
        let term = Term { number: self.number, leader: leader.process };
        if self.elected != Some(term) && !self.suspects(leader) {
            self.elected = Some(term);
            fx.emit(Event::Elected { leader: term.leader, term });
        }
    }

    fn depose(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.elected.take_if(|term| term.leader == leader) {
            fx.emit(Event::Deposed { term });
        }
    }

    /// Returns true if `process` is the largest candidate that this process has sent, or if
    /// `process` is the known leader of this term.
    fn relies_on(&self, process: ProcessId) -> bool {
        match self.phase {
            Phase::Participant { largest: it } | Phase::Decided { leader: it } => {
                it.process == process
            }
            Phase::NonParticipant => false,
        }
    }
}

/// Sending of messages to the next live process on the ring.
impl FaultTolerantChangRoberts {
    /// Sends the message of the current phase to the next unsuspected process clockwise, for the
    /// first time or again. If all other processes are suspected, this process handles the message
    /// itself. A process that does not participate sends nothing.
    fn send_on(&mut self, fx: &mut impl Effects<Self>) {
        let Some(message) = self.last_sent() else { return };
        match self.successor() {
            Some(next) => fx.send(next, message),
            None => self.on_message(self.group.me(), message, fx),
        }
    }

    fn last_sent(&self) -> Option<Message> {
        let number = self.number;
        match self.phase {
            Phase::NonParticipant => None,
            Phase::Participant { largest: candidate } => {
                Some(Message::Election { number, candidate })
            }
            Phase::Decided { leader } => Some(Message::Elected { number, leader }),
        }
    }

    /// Returns the next unsuspected process clockwise, or `None` if all others are suspected.
    fn successor(&self) -> Option<ProcessId> {
        let (me, size) = (self.group.me().0, self.group.size());
        let clockwise = (1..size).map(|step| ProcessId((me + step) % size));
        clockwise.into_iter().find(|it| !self.suspected.contains(*it))
    }

    fn suspects(&self, candidate: Candidate) -> bool {
        self.suspected.contains(candidate.process)
    }
}

impl Algorithm for FaultTolerantChangRoberts {
    fn card(_: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults {
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "survives any number of crashes and recoveries, but no lost message",
                )
            },
            detection: DetectorClass::EventuallyPerfect,
            messages: MessageCost::per_election(
                "2N … N(N+1)/2 + N",
                2 * n,
                Some(n * (n + 1) / 2 + n),
            )
            .zero_if_alone(size),
            ..Card::election(
                "repaired-chang-roberts",
                "on a ring that skips suspected processes, only the largest live rank travels \
                 around",
                "after Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    fn highest_term(&self) -> u64 {
        self.number
    }
}
