//! Suzuki–Kasami mutual exclusion that makes a lost token anew.
//!
//! S. Nishio, K. F. Li, E. G. Manning, *A resilient mutual exclusion algorithm for computer
//! networks*, IEEE TPDS 1(3), 1990, on the algorithm of I. Suzuki, T. Kasami, ACM TOCS 3(4), 1985.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | 0 or N, as without crashes; up to 3(N − 1) more for each suspicion |
//! | delay to enter, uncontended | 0 or 2 messages; 2 more when the token has to be made |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** A token has a generation, and is worth nothing where a newer one is known.
//! Whoever suspects a peer may have lost the token to it, and tells the smallest process that it
//! trusts. That one has the token, or begins a new generation: it inquires of everybody that it
//! trusts. Whoever is asked accepts no older token from then on, gives up the one that it keeps,
//! and answers "no" when it is not inside. When all have answered, there is no older token that
//! anybody accepts, nobody is inside, and exactly one process makes the next one. Each answer also
//! says how many requests of its sender have been served: that is the `LN` of the new token, so
//! nobody who waits has to ask again. If the maker crashes, the next smallest begins again, with a
//! higher number, unless it has the token; and also then when the dead one's question comes after
//! it was suspected, for whoever heeds that accepts the token no more. Every crash is suspected in
//! the end by everybody, also by whoever sent the token to a process that was down; so no loss goes
//! unnoticed, and as there are finitely many suspicions, one generation lasts. All but one may
//! crash.
//!
//! The paper detects a loss by timeouts, and looks for the token before it makes another. Here the
//! detector is a module of its own, and the token is given up rather than looked for: that takes
//! the same messages, and leaves no doubt about a token that is under way meanwhile.
//!
//! **With a detector that is wrong**, the suspected is not asked: it may be inside with a token of
//! an older generation while the next one goes round, and no lock can prevent it. The fence can: it
//! is (generation, count), so that all later entries have higher ones. Who is trusted again is told
//! of the newest generation; unless it has that one's token, it begins another, and so gives up
//! what it had.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Fence, Group, Never, ProcessId,
    Protocol, Strategy, Term, Verdict, labelled,
};

use super::Generations;

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NishioLiManning {
    group: Group,
    /// `RN`: by process, the highest number of a request heard of.
    requests: Vec<u64>,
    phase: Phase,
    /// Of the tokens; whoever makes one gathers its `LN`.
    generations: Generations<Vec<u64>>,
}

/// Where this process stands; a token is here in the last two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The token is of the newest generation that we know of.
    Holding {
        token: Box<Token>,
    },
    /// The token may be of an older one.
    Inside {
        token: Box<Token>,
    },
}

/// The permission that travels, and what it knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// Which of all the tokens that were made, and by whom.
    generation: Term,
    /// How many entries there have been in this generation.
    entries: u64,
    /// `LN`: by process, the number of its last request that was served.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
    served: Vec<u64>,
    /// `Q`: who gets the token next, and next.
    queue: VecDeque<ProcessId>,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter, for the n-th time."
    Request {
        /// Which time it is, from 1.
        number: u64,
    },
    /// "Now it is you who may enter."
    Token {
        /// The permission itself.
        token: Box<Token>,
    },
    /// "The token of this generation may be lost, or yours is older."
    Doubt {
        /// The newest generation that the sender knows of.
        generation: Term,
    },
    /// "I make the token of this generation: have you one that is older?"
    Inquire {
        /// The generation, with its maker.
        generation: Term,
    },
    /// "No, and I accept none."
    Answer {
        /// The newest generation that the sender knows of.
        generation: Term,
        /// How often the sender has asked to enter.
        requests: u64,
        /// How often it has been served.
        served: u64,
    },
}

labelled!(Message, Mutex,
    Request => "request", Token => "token",
    Doubt => "doubt", Inquire => "inquire", Answer => "answer");

impl Protocol for NishioLiManning {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// The token starts at the first process; one that recovers makes no second.
    fn boot(group: Group, (): &(), stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let none = vec![0; group.size() as usize];
        let generations = Generations::new(group);
        let phase = if group.me() == ProcessId(0) && stable.is_none() {
            Phase::Holding { token: Token::of(generations.newest(), none.clone()) }
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
                    self.hand_on(token, fx);
                }
                self.answer(fx);
                fx.emit(Event::Exited);
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number } => {
                let highest = &mut self.requests[from.index()];
                *highest = number.max(*highest);
                match self.take_phase() {
                    Phase::Holding { token } => self.hand_on(token, fx),
                    phase => self.phase = phase,
                }
            }
            Message::Token { token } if token.generation >= self.generations.newest() => {
                self.generations.follow(token.generation);
                self.receive(token, fx);
            }
            Message::Token { .. } => {}
            Message::Doubt { generation } => self.doubt(generation, fx),
            Message::Inquire { generation } => {
                if self.generations.has_overtaken(generation) {
                    self.send_answer(from, fx);
                } else {
                    self.heed(generation, fx);
                    // Its maker was suspected before: whoever makes tokens now may have an older
                    // one, which we no longer accept.
                    if !self.generations.trusts(from) {
                        self.pass_on_doubt(generation, fx);
                    }
                }
            }
            Message::Answer { generation, requests, served } => {
                if generation == self.generations.newest() {
                    self.requests[from.index()] = requests.max(self.requests[from.index()]);
                    self.note(from, served);
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        let generation = self.generations.newest();
        match verdict {
            Verdict::Suspect => {
                self.generations.suspect(peer);
                if self.generations.is_making() {
                    self.count(peer, fx);
                } else {
                    self.pass_on_doubt(generation, fx);
                }
            }
            Verdict::Trust => {
                self.generations.trust(peer);
                fx.send(peer, Message::Doubt { generation });
            }
        }
    }
}

/// The token.
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

    /// A token of the newest generation is here.
    fn receive(&mut self, token: Box<Token>, fx: &mut impl Effects<Self>) {
        match self.take_phase() {
            Phase::Waiting => self.enter(token, fx),
            Phase::Idle => self.hand_on(token, fx),
            // Made by somebody who suspected us in vain: the others wait until we leave, again.
            Phase::Inside { token: ours } if ours.generation < token.generation => {
                self.phase = Phase::Inside { token };
            }
            phase => self.phase = phase,
        }
    }

    /// We are outside. Notes what was served and who waits, from the next process on; the first
    /// of them has it.
    fn hand_on(&mut self, mut token: Box<Token>, fx: &mut impl Effects<Self>) {
        let me = self.group.me().index();
        token.served[me] = self.requests[me];
        for peer in self.group.processes().cycle().skip(me + 1).take(self.requests.len() - 1) {
            let asks = self.requests[peer.index()] > token.served[peer.index()];
            if asks && !token.queue.contains(&peer) {
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

/// The making of a token.
impl NishioLiManning {
    /// Begins a new generation, unless one has begun since the doubt arose, or the token is here.
    fn doubt(&mut self, doubted: Term, fx: &mut impl Effects<Self>) {
        if let Phase::Holding { token } | Phase::Inside { token } = &self.phase
            && token.generation >= doubted
        {
            return;
        }
        // Who does not answer is served, as far as anybody can know.
        let served = self.requests.clone();
        let Some(asked) = self.generations.begin(doubted, served) else { return };
        let generation = self.generations.newest();
        fx.broadcast(&asked, Message::Inquire { generation });
        self.give_up();
        self.answer(fx);
    }

    /// Tells whoever makes tokens that the one of this generation may be lost.
    fn pass_on_doubt(&mut self, generation: Term, fx: &mut impl Effects<Self>) {
        let maker = self.generations.maker();
        if maker == self.group.me() {
            self.doubt(generation, fx);
        } else {
            fx.send(maker, Message::Doubt { generation });
        }
    }

    /// Somebody makes the token of this generation, which is news unless we know of it.
    fn heed(&mut self, generation: Term, fx: &mut impl Effects<Self>) {
        if self.generations.owe(generation) {
            self.give_up();
            self.answer(fx);
        }
    }

    /// There is a newer generation: the token that we keep, if any, is worth nothing.
    fn give_up(&mut self) {
        if matches!(self.phase, Phase::Holding { .. }) {
            self.phase = Phase::Idle;
        }
    }

    /// Answers to whoever asked, unless we are inside: then when we leave.
    fn answer(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Inside { .. }) {
            return;
        }
        if let Some(maker) = self.generations.settle() {
            self.send_answer(maker, fx);
        }
        self.note(self.group.me(), self.served());
        self.count(self.group.me(), fx);
    }

    fn send_answer(&self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let requests = self.requests[self.group.me().index()];
        let (generation, served) = (self.generations.newest(), self.served());
        fx.send(to, Message::Answer { generation, requests, served });
    }

    /// How many of our requests have been served; the last one has unless we wait.
    fn served(&self) -> u64 {
        self.requests[self.group.me().index()] - u64::from(self.phase == Phase::Waiting)
    }

    /// How many requests of this process the token that we make takes for served.
    fn note(&mut self, from: ProcessId, served: u64) {
        if let Some(answers) = self.generations.answers() {
            answers[from.index()] = served;
        }
    }

    /// Nothing is awaited of this process any more; after the last one, there is a token.
    fn count(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        if let Some(served) = self.generations.count(from) {
            self.receive(Token::of(self.generations.newest(), served), fx);
        }
    }
}

impl Token {
    /// A new one, which has let nobody in yet.
    fn of(generation: Term, served: Vec<u64>) -> Box<Self> {
        Box::new(Token { generation, entries: 0, served, queue: VecDeque::new() })
    }
}

impl Algorithm for NishioLiManning {
    fn card((): &(), size: u32) -> Card {
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
            messages: Cost::per_entry("0 or N", 0, Some(size.into())).none_alone(size),
            theory: Some(Theory::lock(["0 or 2", "no bound", "no"], Hops::ONE)),
            ..Card::mutex(
                "nishio-li-manning",
                "ask everyone for the token, and make it anew when it is lost",
                "Nishio, Li & Manning, IEEE TPDS 1(3), 1990",
            )
        }
    }

    /// The number of the newest generation.
    fn highest_term(&self) -> u64 {
        self.generations.newest().number
    }
}
