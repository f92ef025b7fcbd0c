//! The token ring that mends itself: the suspected are skipped, and a lost token is made anew.
//!
//! Le Lann (*Distributed systems – towards a formal approach*, IFIP Congress 1977) asks for both
//! and leaves the way open. Here it is that of a leader who begins: it asks everybody before it
//! acts, and numbers what it makes.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | as on the token ring; up to 2N − 1 more for each suspicion |
//! | delay to enter, uncontended | 0 to N messages |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** A token has a generation. Whoever suspects a peer may have lost a token to
//! it, and says so to the smallest process that it trusts. That one begins a new generation: it
//! inquires of everybody that it trusts. A process that is asked accepts no token of an older
//! generation from then on, gives up the one that it keeps, and answers when it is not inside.
//! When all have answered, no token of an older generation is left that anybody accepts, nobody is
//! inside, and there is one who makes the next token. If that one crashes as well, the next
//! smallest begins again, with a higher number. Every crash is suspected in the end by everybody,
//! also by whoever passed the token to a process that was down; so no loss goes unnoticed, and as
//! there are finitely many suspicions, one generation lasts. All but one may crash.
//!
//! A peer that is suspected is not asked. If the suspicion was wrong, that peer may be inside with
//! a token of an older generation while the next one goes round, and no lock can prevent it. The
//! fence can: it is (generation, count), so that all later entries have higher ones.

use alloc::string::ToString;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Detection, Effects, Faults, Fence, Group, Order, Per,
    ProcessId, ProcessSet, Promise, Protocol, Service, Strategy, Term, Timing, Topology, Verdict,
    labelled,
};

pub use super::token_ring::{Config, Timer};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepairedRing {
    group: Group,
    pass_after: u64,
    /// The newest generation that we know of; a token of an older one is worth nothing.
    generation: Term,
    phase: Phase,
    suspected: ProcessSet,
    role: Role,
}

/// Where this process stands; a token is here in the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The timer `Pass` is armed.
    Holding {
        /// How many entries there have been in this generation.
        entries: u64,
    },
    Inside {
        /// The generation of the token that let us in.
        generation: Term,
        /// How many entries there have been in it, this one included.
        entries: u64,
    },
}

/// What this process has to do with the beginning of the newest generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// Nothing any more.
    None,
    /// We owe its maker an answer, when we leave.
    Owing,
    /// We make its token, when all of these have answered.
    Making {
        /// Who has not answered; perhaps ourselves, while we are inside.
        awaited: ProcessSet,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Now it is you who may enter."
    Token {
        /// The token's generation.
        generation: Term,
        /// How many entries there have been in it.
        entries: u64,
    },
    /// "The token of this generation may be lost."
    Doubt {
        /// The newest generation that the sender knows of.
        generation: Term,
    },
    /// "I make the token of this generation: have you left?"
    Inquire {
        /// The generation, with its maker.
        generation: Term,
    },
    /// "I am not inside, and accept no older token."
    Answer {
        /// The newest generation that the sender knows of.
        generation: Term,
    },
}

labelled!(Message, Mutex,
    Token => "token", Doubt => "doubt", Inquire => "inquire", Answer => "answer");

impl Protocol for RepairedRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    /// The token starts at the first process; one that recovers makes no second.
    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut ring = RepairedRing {
            group,
            pass_after: config.pass_after,
            generation: Term { number: 0, leader: ProcessId(0) },
            phase: Phase::Idle,
            suspected: ProcessSet::new(),
            role: Role::None,
        };
        if group.me() == ProcessId(0) && stable.is_none() {
            ring.receive(0, fx);
        }
        ring
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => self.phase = Phase::Waiting,
            (Command::Enter, Phase::Holding { entries }) => {
                fx.cancel_timer(Timer::Pass);
                self.enter(entries, fx);
            }
            (Command::Exit, Phase::Inside { generation, entries }) => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                if generation == self.generation {
                    self.pass(entries, fx);
                } else {
                    self.answer(fx);
                }
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Token { generation, entries } if generation >= self.generation => {
                self.follow(generation, Role::None, fx);
                self.receive(entries, fx);
            }
            Message::Token { .. } => {}
            Message::Doubt { generation } => self.doubt(generation, fx),
            Message::Inquire { generation } if generation > self.generation => {
                self.follow(generation, Role::Owing, fx);
                self.answer(fx);
            }
            Message::Inquire { generation } => {
                if generation < self.generation {
                    fx.send(from, Message::Answer { generation: self.generation });
                }
            }
            Message::Answer { generation } if generation == self.generation => {
                self.count(from, fx);
            }
            // Another has begun as well, and may be gone: what we make has to be newer.
            Message::Answer { generation } => {
                if self.is_making() {
                    self.doubt(generation, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, Timer::Pass: Timer, fx: &mut impl Effects<Self>) {
        if let Phase::Holding { entries } = self.phase {
            self.pass(entries, fx);
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                let (maker, generation) = (self.maker(), self.generation);
                if self.is_making() {
                    self.count(peer, fx);
                } else if maker == self.group.me() {
                    self.doubt(generation, fx);
                } else {
                    fx.send(maker, Message::Doubt { generation });
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                if let Phase::Holding { entries } = self.phase {
                    self.receive(entries, fx);
                }
            }
        }
    }
}

/// The ring.
impl RepairedRing {
    /// The token is here. Who is alone has nobody to pass it to.
    fn receive(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Waiting => self.enter(entries, fx),
            Phase::Idle | Phase::Holding { .. } => {
                self.phase = Phase::Holding { entries };
                if self.successor().is_some() {
                    fx.set_timer(Timer::Pass, Delay { min: 0, max: self.pass_after });
                }
            }
            // A token of this generation let us in, and this is its copy; or it is a newer one,
            // made by somebody who suspects us in vain, and goes past us.
            Phase::Inside { generation, .. } if generation == self.generation => {}
            Phase::Inside { .. } => self.send_on(entries, fx),
        }
    }

    fn enter(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        let (generation, entries) = (self.generation, entries + 1);
        self.phase = Phase::Inside { generation, entries };
        fx.emit(Event::Entered { fence: Fence(generation.packed(), entries) });
    }

    fn pass(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        if self.successor().is_some() {
            self.phase = Phase::Idle;
            self.send_on(entries, fx);
        } else {
            self.phase = Phase::Holding { entries };
        }
    }

    fn send_on(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        if let Some(next) = self.successor() {
            fx.send(next, Message::Token { generation: self.generation, entries });
        }
    }

    /// The next clockwise who is not suspected.
    fn successor(&self) -> Option<ProcessId> {
        let (me, size) = (self.group.me().0, self.group.size());
        (1..size).map(|step| ProcessId((me + step) % size)).find(|it| self.trusts(*it))
    }

    fn trusts(&self, peer: ProcessId) -> bool {
        !self.suspected.contains(peer)
    }
}

/// The making of a token.
impl RepairedRing {
    /// Who makes tokens: the smallest that we trust, ourselves included.
    fn maker(&self) -> ProcessId {
        let trusted = self.group.processes().find(|it| self.trusts(*it));
        trusted.unwrap_or(self.group.me())
    }

    /// Begins a new generation, unless one has begun since the doubt arose, or is beginning here.
    fn doubt(&mut self, doubted: Term, fx: &mut impl Effects<Self>) {
        if doubted < self.generation || doubted == self.generation && self.is_making() {
            return;
        }
        let me = self.group.me();
        let generation =
            Term { number: self.generation.number.max(doubted.number) + 1, leader: me };
        let mut awaited = self.group.peers();
        for peer in &self.suspected {
            awaited.remove(peer);
        }
        fx.broadcast(&awaited, Message::Inquire { generation });
        awaited.insert(me);
        self.follow(generation, Role::Making { awaited }, fx);
        self.answer(fx);
    }

    /// Takes note of a newer generation: whatever token we keep is worth nothing.
    fn follow(&mut self, generation: Term, role: Role, fx: &mut impl Effects<Self>) {
        if generation == self.generation {
            return;
        }
        (self.generation, self.role) = (generation, role);
        if matches!(self.phase, Phase::Holding { .. }) {
            fx.cancel_timer(Timer::Pass);
            self.phase = Phase::Idle;
        }
    }

    /// Answers to whoever asked, unless we are inside: then when we leave.
    fn answer(&mut self, fx: &mut impl Effects<Self>) {
        let inside = matches!(self.phase, Phase::Inside { .. });
        match self.role {
            Role::Making { .. } if !inside => self.count(self.group.me(), fx),
            Role::Owing if !inside => {
                self.role = Role::None;
                let generation = self.generation;
                fx.send(generation.leader, Message::Answer { generation });
            }
            _ => {}
        }
    }

    /// Nothing is awaited of this process any more; after the last one, there is a token.
    fn count(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Making { awaited } = &mut self.role else { return };
        if awaited.remove(from) && awaited.is_empty() {
            self.role = Role::None;
            self.receive(0, fx);
        }
    }

    fn is_making(&self) -> bool {
        matches!(self.role, Role::Making { .. })
    }

    /// The number of the newest generation.
    pub(crate) fn number(&self) -> u64 {
        self.generation.number
    }
}

impl Algorithm for RepairedRing {
    fn card(_: &Config, size: u32) -> Card {
        let alone = size == 1;
        Card {
            name: "repaired-ring".to_string(),
            title: "a token ring that skips the suspected and makes a lost token anew".to_string(),
            service: Service::Mutex,
            paper: "after Le Lann, IFIP Congress, 1977",
            strategy: Strategy::Token,
            timing: Timing::Asynchronous,
            order: Order::Reordered,
            faults: Faults {
                loss: false,
                duplication: false,
                crashes: Crashes::Stop,
                says: "survives the crash of all but one; after a suspicion that was wrong two \
                       may be inside, with different fences",
            },
            topology: Topology::Complete,
            detection: Detection::Perfect,
            messages: Cost {
                per: Per::Entry,
                formula: "1 … ∞",
                least: u64::from(!alone),
                most: if alone { Some(0) } else { None },
            },
            promises: [Promise::MutualExclusion, Promise::Progress, Promise::Fencing].into(),
            variants: [].into(),
        }
    }
}
