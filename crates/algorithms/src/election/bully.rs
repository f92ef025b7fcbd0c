//! The bully election: whoever hears of nobody higher leads.
//!
//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE Transactions on
//! Computers C-31(1), 1982; in the form with *election*, *answer* and *coordinator* messages
//! that textbooks give. Its weakness against recovery and late messages is known (S. Stoller,
//! *Leader election in asynchronous distributed systems*, 2000); terms are the remedy here.
//!
//! | | |
//! |---|---|
//! | assumes | reliable channels, bounded delays for "the highest leads"; a failure detector |
//! | messages | N − 1 if the highest starts; N² − 1 if the lowest starts and the highest is up, |
//! | | N(N − 1) if the highest is down |
//! | time | the answer timeout T, then one message |
//!
//! **Why it is right.** Whoever starts asks all that are higher. If one of them lives, it
//! answers within T and starts in its turn; so in a synchronous system only the highest live
//! process gets no answer, and it tells everybody. When timeouts are wrong or processes
//! recover, two may announce themselves. Every announcement therefore carries a term (a number
//! that was never announced before, as far as its author knew, and the author's name), and a
//! process accepts only terms at least as high as the highest it has accepted. An announcement
//! that comes too late is answered with the receiver's term, so its author learns that it was
//! overtaken and, if it outranks the new leader, starts again with a higher number. Hence once
//! messages and suspicions settle, all believe in one leader, the highest that lives.
//!
//! A leader that resigns leaves the office to the highest below that it trusts, which announces
//! itself with the next number, and does as if it were down until it is asked to elect, or suspects
//! that one. This is not of the paper.
//!
//! The paper's *once* rule is kept: a process in an election answers further election messages
//! and does not start again, or the messages would grow exponentially.

mod card;
mod config;
mod message;
mod rules;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Effects, Fixed, Group, ProcessId, ProcessSet, Protocol, Term, TimerRole, Verdict,
};

pub use config::Config;
pub use message::Message;
use rules::Rules;
pub use rules::Switch;

/// One process of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    group: Group,
    config: Fixed<Config>,
    phase: Phase,
    /// `elected`: the leader that we believe in, `⊥` when `None`.
    leader: Option<Term>,
    /// The highest term that anybody announced to us, or that we announced.
    announced: Term,
    /// The highest number in any message or announcement of ours or to us.
    number: u64,
    /// Whom the failure detector suspects.
    suspected: ProcessSet,
}

/// Whether an election of ours is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// Asked all that are higher; nobody has answered yet.
    Asking,
    /// Somebody higher is alive, and it, or one above it, will announce itself.
    Waiting,
    /// The leader that announced itself is suspected: its message may be older than its crash.
    /// If it is not trusted in time, we start again.
    Doubting,
    /// Gave the office up: this one below is to have it, until we are asked to elect.
    Retired {
        heir: ProcessId,
    },
}

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// *T*: whoever is above us has had time to answer.
    Answer,
    /// *T1*: whoever answered has had time to be elected.
    Coordinator,
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

impl Protocol for Bully {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    /// The highest number known: a term is never announced twice, not even across a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        assert!(config.ranks.len() == group.size() as usize, "every process needs a rank");
        let number = stable.as_ref().map_or(0, |stable| stable.number);
        let mut bully = Bully {
            group,
            config: Fixed::new(config.clone()),
            phase: Phase::Settled,
            leader: None,
            announced: Term { number, leader: ProcessId(0) },
            number,
            suspected: ProcessSet::new(),
        };
        if stable.is_some() {
            bully.ask(0, fx);
        }
        bully
    }

    fn stable(&self) -> Stable {
        Stable { number: self.rules().saved(self.number) }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.is_settled() || self.is_retired() => self.start(fx),
            Command::Resign if self.believes_in(self.group.me()) => self.retire(fx),
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election { number } => self.on_election(from, number, fx),
            Message::Answer { number } => self.on_answer(number, fx),
            Message::Coordinator { number } => self.on_coordinator(from, number, fx),
            Message::Nominate { number } => self.on_nomination(from, number, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Answer => self.announce(fx),
            Timer::Coordinator => {
                // The last number may have been concluded without us.
                self.number = self.rules().after(self.number);
                self.start(fx);
            }
        }
    }

    fn timer_role(_: &Timer) -> TimerRole {
        TimerRole::MeasuresSilence
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                let is_heir = self.phase == Phase::Retired { heir: peer };
                if self.believes_in(peer) || is_heir {
                    self.depose(fx);
                    self.on_command(Command::Elect, fx);
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                if self.phase == Phase::Doubting && self.believes_in(peer) {
                    self.enter_phase(Phase::Settled, fx);
                }
                if self.rules().greets() && self.believes_in(self.group.me()) {
                    fx.send(peer, Message::Coordinator { number: self.announced.number });
                }
            }
        }
    }
}

impl Bully {
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(self.announced.number + 1);
        self.ask(self.rules().carried(self.number), fx);
    }

    fn ask(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        let higher = self.higher();
        if higher.is_empty() {
            return self.announce(fx);
        }
        let asked = self.rules().asked(higher, self.group);
        fx.broadcast(&asked, Message::Election { number });
        self.enter_phase(Phase::Asking, fx);
    }

    fn on_election(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        // Its announcement is on the way to the sender: starting again would breed elections.
        let concluded = number != 0 && number <= self.announced.number;
        let is_free = self.is_settled() && !concluded;
        if self.outranks_me(from) {
            if is_free {
                self.enter_phase(Phase::Waiting, fx);
            }
            return;
        }
        // As if it were down: whoever asks need not wait for it.
        if self.is_retired() {
            return;
        }
        fx.send(from, Message::Answer { number: self.rules().carried(self.number) });
        if self.rules().starts(is_free) {
            self.start(fx);
        }
    }

    fn on_answer(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        match self.phase {
            Phase::Asking if self.rules().waits_for_higher() => {
                self.enter_phase(Phase::Waiting, fx);
            }
            Phase::Settled if self.is_overtaken(number) => {
                self.number = self.number.max(number + 1);
                self.depose(fx);
                self.start(fx);
            }
            Phase::Settled | Phase::Asking | Phase::Waiting => {}
            Phase::Doubting | Phase::Retired { .. } => {}
        }
    }

    fn on_coordinator(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        let term = Term { number, leader: from };
        self.number = self.number.max(number);
        if self.rules().is_late(term, self.announced) {
            return fx.send(from, Message::Answer { number: self.announced.number });
        }
        let outranks_me = self.outranks_me(from) || self.is_retired();
        if self.rules().believes(outranks_me) {
            self.accept(term, fx);
        } else if self.rules().challenges_lower() {
            self.announced = term;
            if self.is_settled() {
                self.start(fx);
            }
        }
    }

    /// Leaves the office to the highest below that is trusted, if anybody is. The highest live
    /// process leads by definition: it stays as if it were down.
    fn retire(&mut self, fx: &mut impl Effects<Self>) {
        let below = self.group.peers();
        let below =
            below.iter().filter(|peer| !self.outranks_me(*peer) && !self.suspected.contains(*peer));
        let heir = below.max_by_key(|peer| self.config.ranks[peer.index()]);
        let Some(heir) = heir else { return };
        self.depose(fx);
        self.enter_phase(Phase::Retired { heir }, fx);
        fx.send(heir, Message::Nominate { number: self.announced.number });
    }

    /// Whoever leads leaves the office to us, unless there have been elections since. Its word may
    /// have overtaken the one that it leads.
    fn on_nomination(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        let left = Term { number, leader: from };
        if left >= self.announced {
            self.announced = left;
            self.announce(fx);
        }
    }

    /// Victory: tells everybody.
    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(self.announced.number + 1);
        let number = self.rules().carried(self.number);
        let told = self.rules().told(self.group, |peer| self.outranks_me(peer));
        fx.broadcast(&told, Message::Coordinator { number });
        self.accept(Term { number, leader: self.group.me() }, fx);
    }

    fn accept(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.announced = term;
        let doubtful = self.suspected.contains(term.leader);
        self.enter_phase(if doubtful { Phase::Doubting } else { Phase::Settled }, fx);
        if self.leader != Some(term) {
            self.leader = Some(term);
            fx.emit(Event::Elected { leader: term.leader, term });
        }
    }

    fn depose(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.leader.take() {
            fx.emit(Event::Deposed { term });
        }
    }

    /// Changes the phase and arms the one timer that belongs to it.
    fn enter_phase(&mut self, phase: Phase, fx: &mut impl Effects<Self>) {
        self.phase = phase;
        match phase {
            Phase::Settled | Phase::Retired { .. } => {
                fx.cancel_timer(Timer::Answer);
                fx.cancel_timer(Timer::Coordinator);
            }
            Phase::Asking => {
                fx.set_timer(Timer::Answer, self.config.answer);
                fx.cancel_timer(Timer::Coordinator);
            }
            Phase::Waiting | Phase::Doubting => {
                fx.cancel_timer(Timer::Answer);
                fx.set_timer(Timer::Coordinator, self.config.coordinator);
            }
        }
    }

    /// Whether what we announced was not believed. (A follower that hears of a later number
    /// waits for its announcement: were it to start as well, elections would breed elections.)
    fn is_overtaken(&self, number: u64) -> bool {
        let ours = self.announced.leader == self.group.me() && self.leader == Some(self.announced);
        ours && self.rules().overtakes(number, self.announced.number)
    }

    /// Whether no election of ours is under way.
    fn is_settled(&self) -> bool {
        matches!(self.phase, Phase::Settled | Phase::Doubting)
    }

    fn is_retired(&self) -> bool {
        matches!(self.phase, Phase::Retired { .. })
    }

    fn believes_in(&self, process: ProcessId) -> bool {
        self.leader.is_some_and(|term| term.leader == process)
    }

    fn outranks_me(&self, peer: ProcessId) -> bool {
        self.config.ranks[peer.index()] > self.config.ranks[self.group.me().index()]
    }

    fn higher(&self) -> ProcessSet {
        self.group.peers().iter().filter(|peer| self.outranks_me(*peer)).collect()
    }

    fn rules(&self) -> Rules {
        Rules(self.config.variants)
    }
}
