//! Naimi–Trehel mutual exclusion: a distributed queue for the token, and a tree whose pointers lead
//! to the end of the queue.
//!
//! M. Naimi, M. Trehel, A. Arnold, *A log(N) distributed mutual exclusion algorithm based on
//! path reversal*, Journal of Parallel and Distributed Computing 34(1), 1996.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 0 to N; on average 1 + 1/2 + … + 1/(N − 1), one request at a time |
//! | delay to enter, uncontended | 0 to N messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** There is one token, and only its holder may be inside. A process sends its
//! request to the process that it believes to be *last*. A process that receives the request and is
//! not the last forwards it in the same way. All these processes then consider the requester to be
//! the last. So a request moves along a path to the root, and the requester becomes the root of all
//! processes that it passed. The root is the end of the queue for the token. If the root has the
//! idle token, it sends the token. Otherwise it records the requester as *next* after itself.
//! Pointers and requests in flight form a tree at all times. So each request finds the end of the
//! queue, and each process has at most one successor.
//!
//! Beyond the paper, the token counts the entries; the count is the fence. If a process that does
//! not wait receives a token, the token is a duplicate and is ignored. A waiting process accepts
//! any token, even a duplicate.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    ProcessKnowledge, Protocol, ToleratedFaults, labelled,
};

/// One process of the algorithm of Naimi and Trehel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NaimiTrehel {
    group: Group,
    /// Process that requested the token last, as far as this process knows (`LAST` in the paper).
    /// `None` if this process is the root of the tree: then this process requested the token last.
    last: Option<ProcessId>,
    /// Process to which this process passes the token when it exits the critical section (`NEXT` in
    /// the paper). `None` if no process waits directly behind this process.
    next: Option<ProcessId>,
    phase: Phase,
}

/// State of this process's own request for the critical section. The process has the token in the
/// states `Holding` and `Inside`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Holding {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
    Inside {
        /// Number of entries into the critical section so far, by all processes. It includes the
        /// current entry.
        entries: u64,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the token. A receiver forwards the request to the process that it believes to have
    /// requested last. A receiver that considers its own request the last one does not forward the
    /// request.
    Request {
        /// The requesting process.
        requester: ProcessId,
    },
    /// Passes the token. Its holder may enter the critical section.
    Token {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Token => "token");

impl Protocol for NaimiTrehel {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// Boots the process. At the first start, the first process holds the token and all others
    /// point to it. If the first process restarts, it creates no second token: it becomes the root
    /// of a tree without a token.
    fn boot(group: Group, (): &(), stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let first = ProcessId(0);
        let is_first = group.me() == first;
        let holds = is_first && stable.is_none();
        NaimiTrehel {
            group,
            last: (!is_first).then_some(first),
            next: None,
            phase: if holds { Phase::Holding { entries: 0 } } else { Phase::Idle },
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => {
                self.phase = Phase::Waiting;
                if let Some(last) = self.last.take() {
                    fx.send(last, Message::Request { requester: self.group.me() });
                }
            }
            (Command::Enter, Phase::Holding { entries }) => self.enter(entries, fx),
            (Command::Exit, Phase::Inside { entries }) => {
                fx.emit(Event::Exited);
                self.phase = Phase::Holding { entries };
                if let Some(next) = self.next.take() {
                    self.send_token(next, entries, fx);
                }
            }
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            // Ignores a duplicate. The original request never returns to its requester.
            Message::Request { requester } if requester == self.group.me() => {}
            Message::Request { requester } => match (self.last.replace(requester), self.phase) {
                (Some(last), _) => fx.send(last, Message::Request { requester }),
                (None, Phase::Holding { entries }) => self.send_token(requester, entries, fx),
                (None, _) => self.next = Some(requester),
            },
            Message::Token { entries } if self.phase == Phase::Waiting => self.enter(entries, fx),
            Message::Token { .. } => {}
        }
    }
}

impl NaimiTrehel {
    fn enter(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        let entries = entries + 1;
        self.phase = Phase::Inside { entries };
        fx.emit(Event::Entered { fence: Fence(0, entries) });
    }

    fn send_token(&mut self, next: ProcessId, entries: u64, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        fx.send(next, Message::Token { entries });
    }
}

impl Algorithm for NaimiTrehel {
    fn card((): &(), size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "a lost request or token stops it, and a duplicated token lets two in",
            ),
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_entry("0 … N", 0, Some(size.into())).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(["0…N", "no bound", "no"], HopRange::ONE)),
            ..Card::mutex(
                "naimi-trehel",
                "the token's queue, and a tree that points to its end",
                "Naimi, Trehel & Arnold, JPDC 34(1), 1996",
            )
        }
    }

    fn predicted_messages((): &(), size: u32, workload: WorkloadKind) -> Option<Prediction> {
        (workload == WorkloadKind::OneAtATime).then(|| Prediction::harmonic(1, size - 1, 0))
    }
}
