//! Chang–Roberts on a ring that mends itself: the largest rank of those who are left leads.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979, assume that nobody fails. Here the suspected
//! are skipped, and elections are numbered.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, distinct ranks, a detector that is |
//! | | wrong only finitely often |
//! | messages | without a crash those of Chang–Roberts: N(N + 1)/2 + N at worst |
//! | | 1 more for a crash that matters to nobody, else one more election |
//! | | one more election for whoever comes back, and up to 2(N − 1) questions and answers |
//! | time | as Chang–Roberts; after the last suspicion at most 3N − 1 hops |
//!
//! **Why it is right.** What a process has last sent is the largest candidate of the newest term
//! that it knows of, or the leader. It passes on what is larger or newer, and nothing else; and
//! whenever its successor changes, it sends that again, so nothing is lost with whoever died on
//! the way. So on a ring that stays as it is, all come to know the same term and the same
//! candidate. If that one is alive, its rank has come all the way round: nobody larger is left,
//! and it leads. If it has crashed, its rank is an *orphan*. Either somebody suspects it after
//! having passed it on, or it comes by for a second time at somebody who suspects it already:
//! that one removes it and begins a new term, in which all can take part again. Messages of
//! older terms are dropped. There are finitely many suspicions, so some term is the last.
//!
//! Whoever comes back has lost what it was sent meanwhile, also by whoever never noticed. It
//! begins a term, and asks everybody whether there have been newer ones; if so, it begins a newer
//! one still. So nobody leads twice in one term, and what was lost is void.
//!
//! A leader that is suspected is not believed in until it is trusted. While a suspicion is wrong,
//! two may lead: in different terms, or in one term in which one of them was skipped. A process
//! that learns of both begins a newer one.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Group, Never, ProcessId,
    ProcessSet, Protocol, Rank, Term, Verdict, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Candidate};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepairedChangRoberts {
    group: Group,
    /// *i*: what decides.
    own: Candidate,
    /// The number of the newest term that this process has heard of, 0 before the first.
    number: u64,
    /// Where it stands in that term.
    phase: Phase,
    /// `elected_i`, `⊥` when `None`; of an older term while the next is under way.
    elected: Option<Term>,
    /// Whom the failure detector suspects.
    suspected: ProcessSet,
}

/// `participant_i`, and what was sent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Has heard of nobody.
    NonParticipant,
    Participant {
        /// The largest that it has sent, itself included.
        largest: Candidate,
    },
    Decided {
        /// Whose rank has come all the way round.
        leader: Candidate,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This is the largest rank that I have seen."
    Election {
        /// The number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// Whose rank it is.
        candidate: Candidate,
    },
    /// "This one has come all the way round: it leads."
    Elected {
        /// The number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// Who leads.
        leader: Candidate,
    },
    /// "I have come back and begin this term: has there been one since, or this one?"
    Query {
        /// The number of the term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// "There has."
    Answer {
        /// The number of the newest term that the sender has heard of.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
}

labelled!(Message, Election,
    Election => "election", Elected => "elected", Query => "query", Answer => "answer");

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

impl Protocol for RepairedChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    /// The number of the newest term: nobody takes part in one twice, not even across a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let me = group.me();
        let mut ring = RepairedChangRoberts {
            group,
            own: Candidate { rank: ring::rank(&config.ranks, group), process: me },
            number: stable.as_ref().map_or(0, |stable| stable.number),
            phase: Phase::NonParticipant,
            elected: None,
            suspected: ProcessSet::new(),
        };
        if stable.is_some() {
            fx.broadcast(&group.peers(), Message::Query { number: ring.number + 1 });
            ring.begin(fx);
        }
        ring
    }

    fn stable(&self) -> Stable {
        Stable { number: self.number }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if !matches!(self.phase, Phase::Participant { .. }) => self.begin(fx),
            // The largest live rank leads by definition: it cannot step down and stay.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            // Of a term that is over, or will never be.
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
                    self.begin(fx);
                }
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                let was_successor = self.successor() == Some(peer);
                self.suspected.insert(peer);
                self.depose(peer, fx);
                if self.relies_on(peer) {
                    self.begin(fx);
                } else if was_successor {
                    self.pass_on(fx);
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                self.believe(fx);
                if self.successor() == Some(peer) {
                    self.pass_on(fx);
                }
            }
        }
    }
}

/// The election.
impl RepairedChangRoberts {
    /// Starts a term that is newer than all that we know of.
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
        self.number += 1;
        self.participate(self.own, fx);
    }

    /// Takes note of a newer term: whatever we said in older ones is void.
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
                    self.begin(fx);
                }
            }
            Phase::Decided { leader } if candidate > leader => self.begin(fx),
            Phase::Participant { .. } | Phase::Decided { .. } => {}
        }
    }

    fn on_elected(&mut self, leader: Candidate, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::NonParticipant if leader > self.own => self.decide(leader, fx),
            Phase::NonParticipant => self.begin(fx),
            Phase::Participant { largest } if leader >= largest => self.decide(leader, fx),
            Phase::Decided { leader: known } => {
                if leader > known || leader == known && self.suspects(leader) {
                    self.begin(fx);
                }
            }
            Phase::Participant { .. } => {}
        }
    }

    fn participate(&mut self, largest: Candidate, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant { largest };
        self.pass_on(fx);
    }

    fn decide(&mut self, leader: Candidate, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Decided { leader };
        self.believe(fx);
        self.pass_on(fx);
    }

    /// Tells the user of the leader of this term, unless it is known or suspected.
    fn believe(&mut self, fx: &mut impl Effects<Self>) {
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

    /// Whether this process is the largest that we have sent, or leads in this term.
    fn relies_on(&self, process: ProcessId) -> bool {
        match self.phase {
            Phase::Participant { largest: it } | Phase::Decided { leader: it } => {
                it.process == process
            }
            Phase::NonParticipant => false,
        }
    }
}

/// The ring.
impl RepairedChangRoberts {
    /// Sends what we know clockwise; who is alone on the ring is its own neighbour.
    fn pass_on(&mut self, fx: &mut impl Effects<Self>) {
        let Some(message) = self.last_sent() else { return };
        match self.successor() {
            Some(next) => fx.send(next, message),
            None => self.on_message(self.group.me(), message, fx),
        }
    }

    /// What this process has sent last, if it has sent anything in this term.
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

    /// The next clockwise who is not suspected.
    fn successor(&self) -> Option<ProcessId> {
        let (me, size) = (self.group.me().0, self.group.size());
        let clockwise = (1..size).map(|step| ProcessId((me + step) % size));
        clockwise.into_iter().find(|it| !self.suspected.contains(*it))
    }

    fn suspects(&self, candidate: Candidate) -> bool {
        self.suspected.contains(candidate.process)
    }
}

impl Algorithm for RepairedChangRoberts {
    fn card(_: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: Faults {
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "survives any number of crashes and recoveries, but no lost message",
                )
            },
            detection: Detection::EventuallyPerfect,
            messages: Cost::per_election("2N … N(N+1)/2 + N", 2 * n, Some(n * (n + 1) / 2 + n))
                .none_alone(size),
            ..Card::election(
                "repaired-chang-roberts",
                "on a ring that skips the suspected, only the largest live rank comes round",
                "after Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    /// The number of the newest term.
    fn highest_term(&self) -> u64 {
        self.number
    }
}
