//! A token ring that repairs itself: suspected processes are skipped, and a lost token is replaced.
//!
//! Le Lann (*Distributed systems – towards a formal approach*, IFIP Congress 1977) demands both,
//! but does not say how. Here one process sends an inquiry to all processes that it trusts before
//! it makes a new token. Tokens are numbered.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | as on the token ring; up to 3N − 2 more for each suspicion |
//! | delay to enter, uncontended | 0 to N messages |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** A token has a generation. A process that suspects a peer assumes that the
//! peer may have had the token. It notifies the smallest process that it trusts. That process
//! becomes the *maker* of a new generation, and sends an inquiry to all processes that it trusts.
//! The receiver of an inquiry rejects older tokens from then on, and discards an older token that
//! it does not use. It answers once it is outside of the critical section. When all have answered,
//! no process accepts an older token, no process is inside, and only the maker creates the next
//! token. If the maker crashes as well, the next smallest process starts a generation with a higher
//! number. An inquiry of the crashed maker may arrive late and invalidate the token of the next
//! maker. The receiver of such an inquiry suspects the sender, and again notifies the smallest
//! process that it trusts. Every process eventually suspects a crashed process. So each loss is
//! detected, even if the token was on its way to the crashed process. Suspicions are finitely many,
//! so some generation is the last. All processes except one may crash.
//!
//! A suspected peer receives no inquiry. If the suspicion was wrong, that peer may be inside with a
//! token of an older generation while the next token circulates. No lock can prevent this, but the
//! resource can reject the old fence. The fence consists of the generation and a count, so all
//! later entries have higher fences.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Delay, DetectorClass, Effects, Fence, Group,
    MessageCost, PeerVerdict, ProcessId, Protocol, Term, ToleratedFaults, labelled,
};

use super::TokenGenerations;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};

pub use super::token_ring::Timer;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Maximum time for which an idle process keeps the token, in ticks. By default, it is the
    /// maximum delay of a message.
    pub pass_after: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config { pass_after: Delay::time_units(1).max }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        parameters.reject_variants()?;
        Ok(Config { pass_after: parameters.delay })
    }
}

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultTolerantTokenRing {
    group: Group,
    /// Maximum time for which an idle process keeps the token, in ticks.
    pass_after: u64,
    generations: TokenGenerations<()>,
    phase: Phase,
}

/// State of this process's own request for the critical section. The process has a token in the
/// states `Holding` and `Inside`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The process has the token of the newest generation that it knows, and its user has not
    /// requested entry. The process passes the token on when the timer `Pass` fires.
    Holding {
        /// Number of entries into the critical section with the token of this generation.
        entries: u64,
    },
    Inside {
        /// Generation of the token with which this process entered the critical section.
        generation: Term,
        /// Number of entries into the critical section with the token of this generation. It
        /// includes the current entry.
        entries: u64,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Passes the token. Its holder may enter the critical section.
    Token {
        /// Generation of the token.
        generation: Term,
        /// Number of entries into the critical section with the token of this generation.
        entries: u64,
    },
    /// Informs the receiver that the token of a generation may be lost. The receiver is the
    /// smallest process that the sender trusts. It makes new tokens.
    Doubt {
        /// Generation whose token may be lost.
        generation: Term,
    },
    /// Asks the receiver to respond as soon as it is outside the critical section. When all
    /// responses have arrived, the sender creates the token of this generation.
    Inquire {
        /// The new generation. Its `leader` is the sender.
        generation: Term,
    },
    /// Response to an inquiry. If `generation` is the generation of the inquiry, the sender is
    /// outside the critical section and accepts no older token. If `generation` is newer, the
    /// message only reports that the newer generation exists.
    Answer {
        /// Newest generation known to the sender.
        generation: Term,
    },
}

labelled!(Message, Mutex,
    Token => "token", Doubt => "doubt", Inquire => "inquire", Answer => "answer");

impl Protocol for FaultTolerantTokenRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    /// Boots the process. The token starts at the first process. A restarted process creates no
    /// second token.
    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut ring = FaultTolerantTokenRing {
            group,
            pass_after: config.pass_after,
            generations: TokenGenerations::new(group),
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
                    self.respond(fx);
                }
            }
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Token { generation, entries } if generation >= self.generations.newest() => {
                if self.generations.observe(generation) {
                    self.discard_token(fx);
                }
                self.receive(entries, fx);
            }
            Message::Token { .. } => {}
            Message::Doubt { generation } => self.doubt(generation, fx),
            Message::Inquire { generation } => {
                if self.generations.must_report_newer(generation) {
                    fx.send(from, Message::Answer { generation: self.generations.newest() });
                } else {
                    self.on_inquiry(generation, fx);
                    // From now on, this process rejects older tokens, although it suspects the
                    // sender of the inquiry. The maker that it trusts may have an older token, and
                    // must then make a new one.
                    if !self.generations.trusts(from) {
                        self.report_doubt(generation, fx);
                    }
                }
            }
            Message::Answer { generation } => {
                if generation == self.generations.newest() {
                    self.stop_waiting_for(from, fx);
                } else if self.generations.trusts(generation.leader) {
                    self.on_inquiry(generation, fx);
                } else if self.generations.is_regenerating() {
                    // This process suspects the maker of the newer generation, so it starts an even
                    // newer generation.
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.generations.suspect(peer);
                if self.generations.is_regenerating() {
                    self.stop_waiting_for(peer, fx);
                } else {
                    self.report_doubt(self.generations.newest(), fx);
                }
            }
            PeerVerdict::Trust => {
                self.generations.trust(peer);
                if let Phase::Holding { entries } = self.phase {
                    self.receive(entries, fx);
                }
            }
        }
    }
}

impl FaultTolerantTokenRing {
    /// Handles the token of the newest known generation, which has arrived or was created by this
    /// process. If this process suspects all others, it keeps the token.
    fn receive(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Waiting => self.enter(entries, fx),
            Phase::Idle | Phase::Holding { .. } => {
                self.phase = Phase::Holding { entries };
                if self.successor().is_some() {
                    fx.set_timer(Timer::Pass, Delay { min: 0, max: self.pass_after });
                }
            }
            // Ignores a copy of the token with which this process entered. Passes on a newer token:
            // its maker has wrongly suspected this process.
            Phase::Inside { generation, .. } if generation == self.generations.newest() => {}
            Phase::Inside { .. } => self.forward_token(entries, fx),
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
            self.forward_token(entries, fx);
        } else {
            self.phase = Phase::Holding { entries };
        }
    }

    fn forward_token(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        if let Some(next) = self.successor() {
            let generation = self.generations.newest();
            fx.send(next, Message::Token { generation, entries });
        }
    }

    /// Returns the next unsuspected process on the ring; `None` if all others are suspected.
    fn successor(&self) -> Option<ProcessId> {
        let (me, size) = (self.group.me().0, self.group.size());
        (1..size).map(|step| ProcessId((me + step) % size)).find(|it| self.generations.trusts(*it))
    }
}

/// Creation of a new token after a suspicion.
impl FaultTolerantTokenRing {
    /// Starts a new generation of the token, because the token of the generation `doubted` may be
    /// lost. Does nothing if this process knows a newer generation, or is still making the token of
    /// `doubted`.
    fn doubt(&mut self, doubted: Term, fx: &mut impl Effects<Self>) {
        let Some(recipients) = self.generations.start_regeneration(doubted, ()) else { return };
        let generation = self.generations.newest();
        fx.broadcast(&recipients, Message::Inquire { generation });
        self.discard_token(fx);
        self.respond(fx);
    }

    /// Reports to the maker of new tokens that the token of this generation may be lost. If this
    /// process is the maker, it starts a new generation itself.
    fn report_doubt(&mut self, generation: Term, fx: &mut impl Effects<Self>) {
        let maker = self.generations.token_maker();
        if maker == self.group.me() {
            self.doubt(generation, fx);
        } else {
            fx.send(maker, Message::Doubt { generation });
        }
    }

    /// Handles an inquiry for the new generation `generation`. If this generation is newer than all
    /// that this process knows, the process discards its token and responds to the inquirer. A
    /// process inside the critical section responds when it exits.
    fn on_inquiry(&mut self, generation: Term, fx: &mut impl Effects<Self>) {
        if self.generations.observe_inquiry(generation) {
            self.discard_token(fx);
            self.respond(fx);
        }
    }

    /// Discards the token, if this process has it and is outside the critical section. The token is
    /// invalid because a newer generation exists.
    fn discard_token(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Holding { .. }) {
            fx.cancel_timer(Timer::Pass);
            self.phase = Phase::Idle;
        }
    }

    /// Responds to the pending inquiry, if any. If this process makes a new token, it stops waiting
    /// for itself. Does nothing while this process is inside the critical section.
    fn respond(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Inside { .. }) {
            return;
        }
        if let Some(maker) = self.generations.finish_pending_inquiry() {
            fx.send(maker, Message::Answer { generation: self.generations.newest() });
        }
        self.stop_waiting_for(self.group.me(), fx);
    }

    /// Stops waiting for the response of the process `from`. If `from` was the last awaited
    /// process, creates the new token.
    fn stop_waiting_for(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        if self.generations.stop_awaiting(from).is_some() {
            self.receive(0, fx);
        }
    }
}

impl Algorithm for FaultTolerantTokenRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::none(
                    "survives the crash of all but one; after a wrong suspicion two may be \
                     inside, with different fences",
                )
            },
            detection: DetectorClass::Perfect,
            messages: MessageCost::per_entry("1 … ∞", 1, None).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(["0…N", "1", "no"], HopRange::ring(size))),
            ..Card::mutex(
                "repaired-ring",
                "a token ring that skips suspected processes and replaces a lost token",
                "after Le Lann, IFIP Congress, 1977",
            )
        }
    }

    /// Returns the number of the newest generation known to this process. Generations are the terms
    /// of this algorithm.
    fn highest_term(&self) -> u64 {
        self.generations.newest().number
    }
}
