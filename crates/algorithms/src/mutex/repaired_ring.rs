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

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Detection, Effects, Faults, Fence, Group, ProcessId,
    Protocol, Strategy, Term, Verdict, labelled,
};

use super::Generations;

pub use super::token_ring::{Config, Timer};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepairedRing {
    group: Group,
    pass_after: u64,
    generations: Generations<()>,
    phase: Phase,
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
            generations: Generations::new(group),
            phase: Phase::Idle,
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
                if generation == self.generations.newest() {
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
            Message::Token { generation, entries } if generation >= self.generations.newest() => {
                if self.generations.follow(generation) {
                    self.give_up(fx);
                }
                self.receive(entries, fx);
            }
            Message::Token { .. } => {}
            Message::Doubt { generation } => self.doubt(generation, fx),
            Message::Inquire { generation } => {
                if self.generations.has_overtaken(generation) {
                    fx.send(from, Message::Answer { generation: self.generations.newest() });
                } else {
                    self.heed(generation, fx);
                }
            }
            Message::Answer { generation } => {
                if generation == self.generations.newest() {
                    self.count(from, fx);
                } else if self.generations.trusts(generation.leader) {
                    self.heed(generation, fx);
                } else if self.generations.is_making() {
                    // Who overtook us is gone: what we make has to be newer.
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
                self.generations.suspect(peer);
                let (maker, generation) = (self.generations.maker(), self.generations.newest());
                if self.generations.is_making() {
                    self.count(peer, fx);
                } else if maker == self.group.me() {
                    self.doubt(generation, fx);
                } else {
                    fx.send(maker, Message::Doubt { generation });
                }
            }
            Verdict::Trust => {
                self.generations.trust(peer);
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
            Phase::Inside { generation, .. } if generation == self.generations.newest() => {}
            Phase::Inside { .. } => self.send_on(entries, fx),
        }
    }

    fn enter(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        let (generation, entries) = (self.generations.newest(), entries + 1);
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
            let generation = self.generations.newest();
            fx.send(next, Message::Token { generation, entries });
        }
    }

    /// The next clockwise who is not suspected.
    fn successor(&self) -> Option<ProcessId> {
        let (me, size) = (self.group.me().0, self.group.size());
        (1..size).map(|step| ProcessId((me + step) % size)).find(|it| self.generations.trusts(*it))
    }
}

/// The making of a token.
impl RepairedRing {
    /// Begins a new generation, unless one has begun since the doubt arose, or is beginning here.
    fn doubt(&mut self, doubted: Term, fx: &mut impl Effects<Self>) {
        let Some(asked) = self.generations.begin(doubted, ()) else { return };
        let generation = self.generations.newest();
        fx.broadcast(&asked, Message::Inquire { generation });
        self.give_up(fx);
        self.answer(fx);
    }

    /// Somebody makes the token of this generation, which is news unless we know of it.
    fn heed(&mut self, generation: Term, fx: &mut impl Effects<Self>) {
        if self.generations.owe(generation) {
            self.give_up(fx);
            self.answer(fx);
        }
    }

    /// There is a newer generation: whatever token we keep is worth nothing.
    fn give_up(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Holding { .. }) {
            fx.cancel_timer(Timer::Pass);
            self.phase = Phase::Idle;
        }
    }

    /// Answers to whoever asked, unless we are inside: then when we leave.
    fn answer(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Inside { .. }) {
            return;
        }
        if let Some(maker) = self.generations.settle() {
            fx.send(maker, Message::Answer { generation: self.generations.newest() });
        }
        self.count(self.group.me(), fx);
    }

    /// Nothing is awaited of this process any more; after the last one, there is a token.
    fn count(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        if self.generations.count(from).is_some() {
            self.receive(0, fx);
        }
    }
}

impl Algorithm for RepairedRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: Strategy::Token,
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::none(
                    "survives the crash of all but one; after a suspicion that was wrong two \
                       may be inside, with different fences",
                )
            },
            detection: Detection::Perfect,
            messages: Cost::per_entry("1 … ∞", 1, None).none_alone(size),
            theory: Some(Theory::lock(["0…N", "1", "no"], Hops::ring(size))),
            ..Card::mutex(
                "repaired-ring",
                "a token ring that skips the suspected and makes a lost token anew",
                "after Le Lann, IFIP Congress, 1977",
            )
        }
    }

    /// The number of the newest generation.
    fn highest_term(&self) -> u64 {
        self.generations.newest().number
    }
}
