//! The centralised mutex at whoever is elected: a lock that survives the death of its leader.
//!
//! The combination is the classical reason to elect (Garcia-Molina, *Elections in a
//! distributed computing system*, IEEE ToC 1982): what the coordinator knew dies with it, so
//! its successor asks everybody before it grants.
//!
//! | | |
//! |---|---|
//! | assumes | what the election assumes; first-in-first-out channels |
//! | messages per entry | 3; none for the leader's own; 2(N − 1) more at a change of leader |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** A new leader first inquires of every peer that it trusts: *idle,
//! waiting, or inside?* It rebuilds the queue from the reports and grants only when all have
//! come. A process that has reported in a term takes no grant of an older term, so what the
//! old coordinator still has under way is void, and a holder that reported itself is waited
//! for. A process that is trusted again is asked as well, so no waiter is forgotten.
//!
//! A peer that is *suspected* is not waited for. If the suspicion was wrong, the peer may
//! still be inside: two are inside, and nothing a lock can do prevents it. The fence does.
//! It is (term, count) of the grant, so every later grant, under the same leader or the next,
//! has a higher one, and a resource that has seen it refuses the late-comer. It refuses as well
//! those who were down during a term and elect under a lower one while all who know are down.

mod card;

use alloc::vec::Vec;

use tenure_core::service::{election, mutex, office};
use tenure_core::{
    Effects, Election, Fence, Group, Input, Label, Labelled, Layer, ProcessId, ProcessSet,
    Protocol, Term, Verdict,
};

use super::coordinator::{Coordinator, Standing};
use crate::mutex::{Claim, Ticket};

/// One process: a client, and while it leads the coordinator as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordinated<E: Election> {
    group: Group,
    election: E,
    /// The highest term that we were told of or asked in; nothing older is listened to.
    term: Option<Term>,
    /// Whether the leader of `term` may be relied on.
    led: bool,
    suspected: ProcessSet,
    /// The name of our last request.
    ticket: Ticket,
    phase: Phase,
    /// Open while we lead.
    coordinator: Option<Coordinator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside { fence: Fence },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// Of the election.
    Election(E),
    /// "I want to enter."
    Request {
        /// The term that the sender takes the receiver to lead in.
        term: Term,
        /// The request's name.
        ticket: Ticket,
    },
    /// "You may."
    Grant {
        /// The term of the grant.
        term: Term,
        /// Which request this answers.
        ticket: Ticket,
        /// The fence of the entry.
        fence: Fence,
    },
    /// "I have left."
    Release {
        /// The term that the sender takes the receiver to lead in.
        term: Term,
        /// Which request is over.
        ticket: Ticket,
    },
    /// "I am the leader now: are you idle, waiting, or inside?"
    Inquire {
        /// The term that begins.
        term: Term,
    },
    /// The answer.
    Report {
        /// The term in which it was asked.
        term: Term,
        /// Idle, waiting, or inside.
        standing: Standing,
    },
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Election(message) => return message.label(),
            Message::Request { .. } => "request",
            Message::Grant { .. } => "grant",
            Message::Release { .. } => "release",
            Message::Inquire { .. } => "inquire",
            Message::Report { .. } => "report",
        };
        Label { layer: Layer::Mutex, kind }
    }
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable<S> {
    /// How often this process has booted: what tells its requests from those of earlier lives.
    boots: u64,
    /// What survives of the election.
    election: S,
}

impl<E: Election> Protocol for Coordinated<E> {
    type Config = E::Config;
    type Command = office::Command;
    type Event = office::Event;
    type Message = Message<E::Message>;
    type Timer = E::Timer;
    type Stable = Stable<E::Stable>;

    fn boot(
        group: Group,
        config: &E::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (boots, stable) =
            stable.map_or((0, None), |stable| (stable.boots, Some(stable.election)));
        let (election, news) =
            fx.lift(Message::Election, |timer| timer, |fx| E::boot(group, config, stable, fx));
        let mut coordinated = Coordinated {
            group,
            election,
            term: None,
            led: false,
            suspected: ProcessSet::new(),
            ticket: Ticket { boot: boots + 1, number: 0 },
            phase: Phase::Idle,
            coordinator: None,
        };
        coordinated.learn(news, fx);
        coordinated
    }

    fn stable(&self) -> Self::Stable {
        Stable { boots: self.ticket.boot, election: self.election.stable() }
    }

    fn on_command(&mut self, command: office::Command, fx: &mut impl Effects<Self>) {
        match command {
            office::Command::Mutex(mutex::Command::Enter) => self.request(fx),
            office::Command::Mutex(mutex::Command::Exit) => self.exit(fx),
            office::Command::Election(command) => self.tell_election(Input::Command(command), fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let claim = |ticket| Claim { process: from, ticket };
        match message {
            Message::Election(message) => self.tell_election(Input::Message { from, message }, fx),
            Message::Request { term, ticket } if self.serves(from, term) => {
                self.serve(|coordinator| coordinator.desk.ask(claim(ticket)), fx);
            }
            Message::Release { term, ticket } if self.serves(from, term) => {
                self.serve(|coordinator| coordinator.desk.release(claim(ticket)), fx);
            }
            Message::Report { term, standing } if self.serves(from, term) => {
                self.serve(|coordinator| coordinator.record(from, standing), fx);
            }
            Message::Grant { term, ticket, fence }
                if self.term == Some(term) && fence.0 == term.packed() =>
            {
                self.on_grant(from, ticket, fence, fx);
            }
            Message::Inquire { term } if self.term.is_none_or(|known| known <= term) => {
                self.follow(term);
                fx.send(from, Message::Report { term, standing: self.standing() });
            }
            // Of an older term, not for us, or of a suspect: a later inquiry covers it.
            Message::Request { .. }
            | Message::Release { .. }
            | Message::Report { .. }
            | Message::Grant { .. }
            | Message::Inquire { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: E::Timer, fx: &mut impl Effects<Self>) {
        self.tell_election(Input::Timer(timer), fx);
    }

    fn fires_first(timer: &E::Timer) -> bool {
        E::fires_first(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => self.suspected.insert(peer),
            Verdict::Trust => self.suspected.remove(peer),
        };
        self.tell_election(Input::Suspicion { peer, verdict }, fx);
        if self.coordinator.is_none() {
            return;
        }
        match verdict {
            Verdict::Trust => self.inquire(peer, fx),
            Verdict::Suspect => self.serve(|coordinator| coordinator.give_up(peer), fx),
        }
    }
}

/// The client.
impl<E: Election> Coordinated<E> {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        self.ticket.number += 1;
        self.phase = Phase::Waiting;
        match self.term {
            Some(term) if self.led => self.ask(term, fx),
            // Whoever is elected will inquire.
            _ => self.tell_election(Input::Command(election::Command::Elect), fx),
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        assert!(matches!(self.phase, Phase::Inside { .. }), "only who is inside can leave");
        self.phase = Phase::Idle;
        fx.emit(office::Event::Mutex(mutex::Event::Exited));
        if let Some(term) = self.term {
            self.tell(term.leader, Message::Release { term, ticket: self.ticket }, fx);
        }
    }

    fn ask(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.tell(term.leader, Message::Request { term, ticket: self.ticket }, fx);
    }

    fn on_grant(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        fence: Fence,
        fx: &mut impl Effects<Self>,
    ) {
        let ours = ticket == self.ticket;
        match self.phase {
            Phase::Waiting if ours => {
                self.phase = Phase::Inside { fence };
                fx.emit(office::Event::Mutex(mutex::Event::Entered { fence }));
            }
            Phase::Inside { .. } if ours => {}
            // A grant for a request that is over: give it back, or everybody waits for us.
            _ => {
                if let Some(term) = self.term {
                    self.tell(from, Message::Release { term, ticket }, fx);
                }
            }
        }
    }

    fn standing(&self) -> Standing {
        match self.phase {
            Phase::Idle => Standing::Idle,
            Phase::Waiting => Standing::Waiting { ticket: self.ticket },
            Phase::Inside { fence } => Standing::Inside { ticket: self.ticket, fence },
        }
    }

    /// Sends a message; by a local call where it is to ourselves.
    fn tell(&mut self, to: ProcessId, message: Message<E::Message>, fx: &mut impl Effects<Self>) {
        if to == self.group.me() {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

/// The election's news.
impl<E: Election> Coordinated<E> {
    fn tell_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let (_, news) =
            fx.lift(Message::Election, |timer| timer, |fx| self.election.step(input, fx));
        self.learn(news, fx);
    }

    fn learn(&mut self, news: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        for event in news {
            fx.emit(office::Event::Election(event));
            match event {
                election::Event::Elected { term, .. } => self.on_elected(term, fx),
                election::Event::Deposed { term } if self.term == Some(term) => {
                    self.led = false;
                    self.coordinator = None;
                }
                election::Event::Deposed { .. } => {}
            }
        }
    }

    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.term.is_some_and(|known| known > term) {
            return;
        }
        let back = self.term == Some(term) && !self.led;
        self.follow(term);
        self.led = true;
        if term.leader == self.group.me() {
            self.open(term, fx);
        } else if back && self.phase == Phase::Waiting {
            // The leader of old was suspected in vain; it will not inquire again.
            self.ask(term, fx);
        }
    }

    /// Takes note of a term: from now on, nothing older counts.
    fn follow(&mut self, term: Term) {
        if self.term != Some(term) {
            self.term = Some(term);
            self.led = true;
            self.coordinator = None;
        }
    }
}

/// The leader.
impl<E: Election> Coordinated<E> {
    /// Begins to lead: asks everybody, before anything is granted.
    fn open(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.coordinator.is_some() {
            return;
        }
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.coordinator = Some(Coordinator::awaiting(awaited));
        let (me, standing) = (self.group.me(), self.standing());
        self.serve(|coordinator| coordinator.record(me, standing), fx);
    }

    /// Asks a peer that is trusted again: it may have been given up while it waited or was
    /// inside.
    fn inquire(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        if let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) {
            coordinator.awaited.insert(peer);
            fx.send(peer, Message::Inquire { term });
        }
    }

    /// Changes what the coordinator keeps, then grants whatever may be granted.
    fn serve(&mut self, change: impl FnOnce(&mut Coordinator), fx: &mut impl Effects<Self>) {
        let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) else { return };
        change(coordinator);
        if let Some((claim, fence)) = coordinator.grant(term) {
            let grant = Message::Grant { term, ticket: claim.ticket, fence };
            self.tell(claim.process, grant, fx);
        }
    }

    /// Whether we lead in this term and listen to this process. What a suspected one left under
    /// way does not count: the dead never release. If it is trusted again, it is asked again.
    fn serves(&self, from: ProcessId, term: Term) -> bool {
        self.coordinator.is_some() && self.term == Some(term) && !self.suspected.contains(from)
    }
}
