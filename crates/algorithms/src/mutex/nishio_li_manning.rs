//! Suzuki–Kasami mutual exclusion that replaces a lost token.
//!
//! S. Nishio, K. F. Li, E. G. Manning, *A resilient mutual exclusion algorithm for computer
//! networks*, IEEE TPDS 1(3), 1990, on the algorithm of I. Suzuki, T. Kasami, ACM TOCS 3(4), 1985.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | 0 or N, as without crashes; up to 3(N − 1) more for each suspicion |
//! | delay to enter, uncontended | 0 or 2 messages; 2 more if a new token must be created |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** A token has a generation, and is invalid once a newer generation is known.
//! A process that suspects a peer assumes that the peer may have had the token. It notifies the
//! smallest process that it trusts. If that process does not have the token, it becomes the *maker*
//! of a new generation, and sends an inquiry to all processes that it trusts. The receiver of an
//! inquiry rejects older tokens from then on, and discards an older token that it does not use. It
//! answers once it is outside of the critical section. When all have answered, no process accepts
//! an older token, no process is inside, and only the maker creates the next token. Each answer
//! also contains how many requests of its sender have been served. These numbers become the `LN` of
//! the new token, so waiting processes need not request again. If the maker crashes, the next
//! smallest process starts a generation with a higher number, unless it has the token. Every
//! process eventually suspects a crashed process. So each loss is detected, even if the token was
//! on its way to the crashed process. Suspicions are finitely many, so some generation is the last.
//! All processes except one may crash.
//!
//! The paper detects a loss by timeouts, and searches for the token before making another. Here a
//! separate failure detector reports a crash, and the old token is invalidated without a search.
//! This method needs as many messages as a search, and also invalidates a token in flight.
//!
//! **With a detector that errs**, a suspected process receives no inquiry. It may be inside with a
//! token of an older generation while the next token circulates. No lock can prevent this, but the
//! resource can reject the old fence. The fence consists of the generation and a count, so all
//! later entries have higher fences. A process that trusts a peer again informs the peer of the
//! newest generation that it knows. If the peer does not have the token of that generation, the
//! peer starts another generation and discards its old token.

mod message;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, DetectorClass, Effects, Fence, Group, MessageCost,
    Never, PeerVerdict, ProcessId, Protocol, Term, ToleratedFaults,
};

use super::TokenGenerations;
pub use message::{Message, Token};

/// One process of the algorithm of Nishio, Li and Manning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NishioLiManning {
    group: Group,
    /// For each process, its highest known request number (`RN` in the paper).
    requests: Vec<u64>,
    phase: Phase,
    /// Generations of the token. When this process makes a new token, it collects the numbers of
    /// served requests (`LN` in the paper) from the responses.
    generations: TokenGenerations<Vec<u64>>,
}

/// State of this process's own request for the critical section. The process has a token in the
/// states `Holding` and `Inside`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The process has a token of the newest known generation, and is not inside the critical
    /// section.
    Holding {
        token: Box<Token>,
    },
    /// The process is inside the critical section. Its token may be of an older generation than the
    /// newest known one.
    Inside {
        token: Box<Token>,
    },
}

impl Protocol for NishioLiManning {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// Boots the process. The token starts at the first process. A restarted process creates no
    /// second token.
    fn boot(group: Group, (): &(), stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let none = vec![0; group.size() as usize];
        let generations = TokenGenerations::new(group);
        let phase = if group.me() == ProcessId(0) && stable.is_none() {
            Phase::Holding { token: Token::new_boxed(generations.newest(), none.clone()) }
        } else {
            Phase::Idle
        };
        NishioLiManning { group, requests: none, phase, generations }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.take_phase()) {
            (Command::Enter, Phase::Idle) => self.request(fx),
            (Command::Enter, Phase::Holding { token }) => self.enter(token, fx),
            (Command::Exit, Phase::Inside { token }) => {
                if token.generation == self.generations.newest() {
                    self.pass_token(token, fx);
                }
                self.respond(fx);
                fx.emit(Event::Exited);
            }
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number } => {
                let highest = &mut self.requests[from.index()];
                *highest = number.max(*highest);
                match self.take_phase() {
                    Phase::Holding { token } => self.pass_token(token, fx),
                    phase => self.phase = phase,
                }
            }
            Message::Token { token } if token.generation >= self.generations.newest() => {
                self.generations.observe(token.generation);
                self.receive(token, fx);
            }
            Message::Token { .. } => {}
            Message::Doubt { generation } => self.doubt(generation, fx),
            Message::Inquire { generation } => {
                if self.generations.must_report_newer(generation) {
                    self.send_response(from, fx);
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
            Message::Answer { generation, requests, served } => {
                if generation == self.generations.newest() {
                    self.requests[from.index()] = requests.max(self.requests[from.index()]);
                    self.record_served(from, served);
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let generation = self.generations.newest();
        match verdict {
            PeerVerdict::Suspect => {
                self.generations.suspect(peer);
                if self.generations.is_regenerating() {
                    self.stop_waiting_for(peer, fx);
                } else {
                    self.report_doubt(generation, fx);
                }
            }
            PeerVerdict::Trust => {
                self.generations.trust(peer);
                fx.send(peer, Message::Doubt { generation });
            }
        }
    }
}

impl NishioLiManning {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        let number = &mut self.requests[self.group.me().index()];
        *number += 1;
        fx.broadcast(&self.group.peers(), Message::Request { number: *number });
        self.phase = Phase::Waiting;
    }

    fn enter(&mut self, mut token: Box<Token>, fx: &mut impl Effects<Self>) {
        token.entries += 1;
        fx.emit(Event::Entered { fence: Fence(token.generation.packed(), token.entries) });
        self.phase = Phase::Inside { token };
    }

    /// Handles a token of the newest known generation, which has arrived or was created by this
    /// process.
    fn receive(&mut self, token: Box<Token>, fx: &mut impl Effects<Self>) {
        match self.take_phase() {
            Phase::Waiting => self.enter(token, fx),
            Phase::Idle => self.pass_token(token, fx),
            // The maker of the arrived token wrongly suspected this process. The process keeps the
            // arrived token until it exits.
            Phase::Inside { token: ours } if ours.generation < token.generation => {
                self.phase = Phase::Inside { token };
            }
            phase => self.phase = phase,
        }
    }

    /// Records in the token that the request of this process is served. Adds the waiting processes
    /// to the queue of the token in cyclic order, starting after this process. Removes the
    /// suspected processes from the queue. Passes the token to the first process in the queue. If
    /// the queue is empty, keeps the token. Called only while this process is outside the critical
    /// section.
    fn pass_token(&mut self, mut token: Box<Token>, fx: &mut impl Effects<Self>) {
        let me = self.group.me().index();
        token.served[me] = self.requests[me];
        for peer in self.group.processes().cycle().skip(me + 1).take(self.requests.len() - 1) {
            let has_request = self.requests[peer.index()] > token.served[peer.index()];
            if has_request && !token.queue.contains(&peer) {
                token.queue.push_back(peer);
            }
        }
        token.queue.retain(|peer| self.generations.trusts(*peer));
        match token.queue.pop_front() {
            Some(next) => fx.send(next, Message::Token { token }),
            None => self.phase = Phase::Holding { token },
        }
    }

    fn take_phase(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Idle)
    }
}

/// Creation of a new token after a suspicion.
impl NishioLiManning {
    /// Starts a new generation of the token, because the token of the generation `doubted` may be
    /// lost. Does nothing if this process knows a newer generation, or has the token of `doubted`
    /// or is still making it.
    fn doubt(&mut self, doubted: Term, fx: &mut impl Effects<Self>) {
        if let Phase::Holding { token } | Phase::Inside { token } = &self.phase
            && token.generation >= doubted
        {
            return;
        }
        // If a process does not answer the inquiry, its requests are treated as served.
        let served = self.requests.clone();
        let Some(recipients) = self.generations.start_regeneration(doubted, served) else { return };
        let generation = self.generations.newest();
        fx.broadcast(&recipients, Message::Inquire { generation });
        self.discard_token();
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
            self.discard_token();
            self.respond(fx);
        }
    }

    /// Discards the token, if this process has it and is outside the critical section. The token is
    /// invalid because a newer generation exists.
    fn discard_token(&mut self) {
        if matches!(self.phase, Phase::Holding { .. }) {
            self.phase = Phase::Idle;
        }
    }

    /// Responds to the pending inquiry, if any. If this process makes a new token, records its own
    /// served requests and stops waiting for itself. Does nothing while this process is inside the
    /// critical section.
    fn respond(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Inside { .. }) {
            return;
        }
        if let Some(maker) = self.generations.finish_pending_inquiry() {
            self.send_response(maker, fx);
        }
        self.record_served(self.group.me(), self.served());
        self.stop_waiting_for(self.group.me(), fx);
    }

    fn send_response(&self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let requests = self.requests[self.group.me().index()];
        let (generation, served) = (self.generations.newest(), self.served());
        fx.send(to, Message::Answer { generation, requests, served });
    }

    /// Returns the number of this process's requests that have been served. These are all its
    /// requests, except the last request while the process waits.
    fn served(&self) -> u64 {
        self.requests[self.group.me().index()] - u64::from(self.phase == Phase::Waiting)
    }

    /// Records the number of requests of the process `from` that have been served. Does nothing
    /// unless this process is making a new token. The recorded numbers become the `LN` of this
    /// token.
    fn record_served(&mut self, from: ProcessId, served: u64) {
        if let Some(answers) = self.generations.responses() {
            answers[from.index()] = served;
        }
    }

    /// Stops waiting for the response of the process `from`. If `from` was the last awaited
    /// process, creates the new token.
    fn stop_waiting_for(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        if let Some(served) = self.generations.stop_awaiting(from) {
            self.receive(Token::new_boxed(self.generations.newest(), served), fx);
        }
    }
}

impl Algorithm for NishioLiManning {
    fn card((): &(), size: u32) -> Card {
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
            messages: MessageCost::per_entry("0 or N", 0, Some(size.into())).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(["0 or 2", "no bound", "no"], HopRange::ONE)),
            ..Card::mutex(
                "nishio-li-manning",
                "ask every process for the token, and replace it when it is lost",
                "Nishio, Li & Manning, IEEE TPDS 1(3), 1990",
            )
        }
    }

    /// Returns the number of the newest generation known to this process. Generations are the terms
    /// of this algorithm.
    fn highest_term(&self) -> u64 {
        self.generations.newest().number
    }
}
