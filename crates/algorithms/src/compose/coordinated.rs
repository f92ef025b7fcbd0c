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
//! A *suspected* peer is not waited for. After a wrong suspicion two may be inside, and only the
//! fence keeps a resource right.
//!
//! Unless entries end by themselves ([`Times`]), as they do under a leader that has a lease. Then
//! whoever waits or is inside asks again and again, and is inside for a time that runs from the
//! last question that was answered; a leader answers whom it trusts, and as long as it leads. What
//! may be a suspect's it gives away later than that, counted from the suspicion or from its own
//! election: all answered questions of the suspect are older. So an isolated process, alone or with
//! a leader that no majority hears, is out before another is in, while clocks keep time.
//!
//! The fence is (term, count) of the grant, so every later grant, under the same leader or the
//! next, has a higher one, and a resource that has seen it refuses the late-comer. It refuses as
//! well those who were down during a term and elect under a lower one while all who know are down.

mod card;
mod config;
mod leading;
mod message;
pub mod named;

use core::fmt;

use alloc::vec::Vec;

use tenure_core::service::{election, mutex, office};
use tenure_core::{
    Effects, Election, Fence, Fixed, Group, Input, ProcessId, ProcessSet, Protocol, Term,
    TimerRole, Verdict,
};

pub(crate) use self::config::configured;
pub use self::config::{Config, Switch};
pub use self::message::Message;
use super::coordinator::{Coordinator, Standing};
use crate::mutex::{Claim, Questions, Side, Ticket, Times};

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
    /// How long entries last, if they end by themselves.
    times: Fixed<Option<Times>>,
    questions: Questions,
    /// Open while we lead.
    coordinator: Option<Coordinator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside { fence: Fence },
}

/// The timers of this algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// Of the election.
    Election(T),
    /// A question was asked so long ago that an answer to it lets nobody be inside any more.
    Deadline(Side),
    /// The question is to be asked again.
    Renewal,
    /// At the leader: whoever is suspected and may have been inside is so no more.
    Expiry,
}

impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::Election(timer) => timer.fmt(f),
            Timer::Deadline(side) => write!(f, "Deadline({side:?})"),
            Timer::Renewal => f.write_str("Renewal"),
            Timer::Expiry => f.write_str("Expiry"),
        }
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
    type Config = Config<E::Config>;
    type Command = office::Command;
    type Event = office::Event;
    type Message = Message<E::Message>;
    type Timer = Timer<E::Timer>;
    type Stable = Stable<E::Stable>;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (boots, stable) =
            stable.map_or((0, None), |stable| (stable.boots, Some(stable.election)));
        let (election, news) = fx.lift(Message::Election, Timer::Election, |fx| {
            E::boot(group, &config.election, stable, fx)
        });
        let mut coordinated = Coordinated {
            group,
            election,
            term: None,
            led: false,
            suspected: ProcessSet::new(),
            ticket: Ticket { boot: boots + 1, number: 0 },
            phase: Phase::Idle,
            times: Fixed::new(config.times),
            questions: Questions::default(),
            coordinator: None,
        };
        coordinated.learn(news, fx);
        coordinated
    }

    fn stable(&self) -> Self::Stable {
        Stable { boots: self.ticket.boot, election: self.election.stable() }
    }

    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let boots = self.ticket.boot;
        match self.election.unsaved(&saved.election) {
            Some(election) => Some(Stable { boots, election }),
            None => (boots != saved.boots).then(|| self.stable()),
        }
    }

    fn amend(saved: &mut Self::Stable, change: Self::Stable) {
        saved.boots = change.boots;
        E::amend(&mut saved.election, change.election);
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
            Message::Request { term, ticket, round } if self.serves(from, term) => {
                self.renew(claim(ticket), round, fx);
                self.serve(|coordinator| coordinator.ask(claim(ticket), round), fx);
            }
            Message::Release { term, ticket } if self.serves(from, term) => {
                self.serve(|coordinator| coordinator.desk.release(claim(ticket)), fx);
            }
            Message::Report { term, standing, round } if self.serves(from, term) => {
                self.serve(|coordinator| coordinator.record(from, standing, round), fx);
            }
            Message::Grant { term, ticket, round, fence } if self.term == Some(term) => {
                self.on_grant(from, (ticket, round), fence, fx);
            }
            Message::Inquire { term } if self.term.is_none_or(|known| known <= term) => {
                self.follow(term);
                let (standing, round) = (self.standing(), self.question(fx));
                fx.send(from, Message::Report { term, standing, round });
            }
            // Of an older term, not for us, or of a suspect: a later inquiry covers it.
            Message::Request { .. }
            | Message::Release { .. }
            | Message::Report { .. }
            | Message::Grant { .. }
            | Message::Inquire { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election(timer) => self.tell_election(Input::Timer(timer), fx),
            Timer::Deadline(side) => {
                if self.questions.is_over(side) {
                    self.leave(fx);
                }
            }
            Timer::Renewal => match self.term {
                Some(term) if self.led => self.ask(term, fx),
                _ => self.renew_later(fx),
            },
            Timer::Expiry => self.serve(Coordinator::give_up_doubted, fx),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Election(timer) => E::timer_role(timer),
            Timer::Deadline(_) => TimerRole::EndsClaim,
            Timer::Renewal | Timer::Expiry => TimerRole::Plain,
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.mind(peer, verdict);
        self.tell_election(Input::Suspicion { peer, verdict }, fx);
        self.react(peer, verdict, fx);
    }
}

/// The client.
impl<E: Election> Coordinated<E> {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        self.ticket.number += 1;
        self.phase = Phase::Waiting;
        self.renew_later(fx);
        match self.term {
            Some(term) if self.led => self.ask(term, fx),
            // Whoever is elected will inquire.
            _ => self.tell_election(Input::Command(election::Command::Elect), fx),
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Inside { .. } => self.leave(fx),
            // The entry ended by itself while the user made up their mind.
            _ => assert!(self.times.is_some(), "only who is inside can leave"),
        }
    }

    /// Leaves, asked or because our time is over.
    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        if self.times.is_some() {
            self.questions.end();
            let deadlines = [Side::Left, Side::Right].map(Timer::Deadline);
            deadlines.into_iter().chain([Timer::Renewal]).for_each(|timer| fx.cancel_timer(timer));
        }
        fx.emit(office::Event::Mutex(mutex::Event::Exited));
        if let Some(term) = self.term {
            self.tell(term.leader, Message::Release { term, ticket: self.ticket }, fx);
        }
    }

    /// Asks, for the first time or again.
    fn ask(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let round = self.question(fx);
        self.tell(term.leader, Message::Request { term, ticket: self.ticket, round }, fx);
    }

    /// The number of a question that is asked now: our time runs from here, if it is answered.
    fn question(&mut self, fx: &mut impl Effects<Self>) -> u64 {
        let Some(times) = self.times.filter(|_| self.phase != Phase::Idle) else { return 0 };
        let (side, round) = self.questions.ask(times.rounds);
        fx.set_timer(Timer::Deadline(side), times.lease);
        self.renew_later(fx);
        round
    }

    fn renew_later(&self, fx: &mut impl Effects<Self>) {
        if let Some(times) = *self.times {
            fx.set_timer(Timer::Renewal, times.renewal);
        }
    }

    fn on_grant(
        &mut self,
        from: ProcessId,
        (ticket, round): (Ticket, u64),
        fence: Fence,
        fx: &mut impl Effects<Self>,
    ) {
        let ours = ticket == self.ticket && self.phase != Phase::Idle;
        if ours && self.times.is_some() {
            match self.questions.answered(round) {
                Some((_, Some(before))) => fx.cancel_timer(Timer::Deadline(before)),
                Some((_, None)) => {}
                // Of an older question, or too late; the next answer lets us in.
                None => return,
            }
        }
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
            fx.lift(Message::Election, Timer::Election, |fx| self.election.step(input, fx));
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

    /// Tells a new leader, which may not know this lock, that we wait.
    fn introduce(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.term
            && term.leader != self.group.me()
            && self.phase == Phase::Waiting
        {
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
