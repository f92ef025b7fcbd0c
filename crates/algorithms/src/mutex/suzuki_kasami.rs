//! Suzuki–Kasami mutual exclusion: a process asks every other process for the token. The token
//! records which requests are served.
//!
//! I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4), 1985.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 0 with the token, else N: N − 1 requests and the token |
//! | delay to enter, uncontended | 0 or 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** There is one token, and only its holder may be inside. A process numbers
//! its requests. Every process remembers the highest request number of each process, and the token
//! records the number of the last served request of each. A process waits for the token if its
//! highest request number is one above the number that the token records for it. Each request
//! reaches every process. So it reaches the process that has the token or receives the token next.
//! If this process does not use the token, it sends the token to the requester. Otherwise it adds
//! the requester to the token's queue when it exits. From then on the part of the queue before the
//! requester only gets shorter. A late or duplicate request has a number that the token already
//! records as served, so it has no effect.
//!
//! Beyond the paper, the token counts the entries; the count is the fence. If a process that does
//! not wait receives a token, the token is a duplicate and is ignored. A waiting process accepts
//! any token, even a duplicate.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    Protocol, ToleratedFaults, labelled,
};

use crate::variants::fault_tolerant_variant;

/// One process of the algorithm of Suzuki and Kasami.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    group: Group,
    /// For each process, its highest known request number (`RN` in the paper).
    requests: Vec<u64>,
    phase: Phase,
}

/// State of this process's own request for the critical section. The process has the token in the
/// states `Holding` and `Inside`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Holding { token: Box<Token> },
    Inside { token: Box<Token> },
}

/// The token and the state that travels with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// Number of entries into the critical section so far, by all processes.
    entries: u64,
    /// For each process, the number of its last served request (`LN` in the paper).
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
    served: Vec<u64>,
    /// Processes that receive the token next, in order (`Q` in the paper).
    queue: VecDeque<ProcessId>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the token.
    Request {
        /// Sequence number of the request, from 1.
        number: u64,
    },
    /// Passes the token. Its holder may enter the critical section.
    Token {
        /// The token, with its state.
        token: Box<Token>,
    },
}

labelled!(Message, Mutex, Request => "request", Token => "token");

impl Protocol for SuzukiKasami {
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
        let phase = if group.me() == ProcessId(0) && stable.is_none() {
            let token = Token { entries: 0, served: none.clone(), queue: VecDeque::new() };
            Phase::Holding { token: Box::new(token) }
        } else {
            Phase::Idle
        };
        SuzukiKasami { group, requests: none, phase }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.take_phase()) {
            (Command::Enter, Phase::Idle) => self.request(fx),
            (Command::Enter, Phase::Holding { token }) => self.enter(token, fx),
            (Command::Exit, Phase::Inside { token }) => self.exit(token, fx),
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
                    Phase::Holding { token } if self.is_ahead_of(&token, from) => {
                        fx.send(from, Message::Token { token });
                    }
                    phase => self.phase = phase,
                }
            }
            Message::Token { token } if self.phase == Phase::Waiting => self.enter(token, fx),
            Message::Token { .. } => {}
        }
    }
}

impl SuzukiKasami {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        let number = &mut self.requests[self.group.me().index()];
        *number += 1;
        fx.broadcast(&self.group.peers(), Message::Request { number: *number });
        self.phase = Phase::Waiting;
    }

    fn enter(&mut self, mut token: Box<Token>, fx: &mut impl Effects<Self>) {
        token.entries += 1;
        fx.emit(Event::Entered { fence: Fence(0, token.entries) });
        self.phase = Phase::Inside { token };
    }

    /// Records in the token that the request of this process is served. Adds the waiting processes
    /// to the queue of the token in cyclic order, starting after this process. Passes the token to
    /// the first process in the queue, or keeps the token if the queue is empty.
    fn exit(&mut self, mut token: Box<Token>, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        token.served[me.index()] = self.requests[me.index()];
        let after = me.index() + 1;
        for peer in self.group.processes().cycle().skip(after).take(self.requests.len() - 1) {
            if !token.queue.contains(&peer) && self.is_ahead_of(&token, peer) {
                token.queue.push_back(peer);
            }
        }
        match token.queue.pop_front() {
            Some(next) => fx.send(next, Message::Token { token }),
            None => self.phase = Phase::Holding { token },
        }
        fx.emit(Event::Exited);
    }

    /// Returns true if `process` waits for the token, as far as this process knows: the number of
    /// the last known request of `process` is one higher than the number of its last served
    /// request.
    fn is_ahead_of(&self, token: &Token, process: ProcessId) -> bool {
        self.requests[process.index()] == token.served[process.index()] + 1
    }

    fn take_phase(&mut self) -> Phase {
        core::mem::replace(&mut self.phase, Phase::Idle)
    }
}

impl Algorithm for SuzukiKasami {
    fn card((): &(), size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "a lost request or token stops it, and a duplicated token lets two in",
            ),
            messages: MessageCost::per_entry("0 or N", 0, Some(size.into())).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(["0 or 2", "no bound", "no"], HopRange::ONE)),
            variants: vec![fault_tolerant_variant(
                "the nishio-li-manning: a lost token is made anew",
            )],
            ..Card::mutex(
                "suzuki-kasami",
                "ask every process for the token, which records the requests it has served",
                "Suzuki & Kasami, ACM TOCS 3(4), 1985",
            )
        }
    }

    fn predicted_messages((): &(), size: u32, workload: WorkloadKind) -> Option<Prediction> {
        // The holder needs no message, and every other process needs N.
        let mean = Prediction::new(PredictionKind::Mean, u64::from(size - 1));
        (workload == WorkloadKind::OneAtATime).then_some(mean)
    }
}
