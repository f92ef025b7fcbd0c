//! Naimi–Trehel mutual exclusion: the token's queue, and a tree that points to its end.
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
//! **Why it is right.** There is one token, and only who has it is inside. Who asks sends its
//! request to whom it believes to be *last*, and so does everybody who passes it on; and each
//! of them believes from then on that whoever made that request is the last. So a request goes
//! up a path to the root, and its maker becomes the root of all that it passed. The root is the
//! end of the queue of those who wait for the token: it either has the token idle, and sends
//! it, or notes who comes *next* after itself. Pointers and requests under way together form a
//! tree at all times, so each request finds the end of the queue, and each has one successor.
//!
//! Beyond the paper's text, the token counts the entries: that is the fence. A token that nobody
//! here waits for is a duplicate, and is ignored; one that arrives during a wait is believed.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, Knowledge, Never, ProcessId, Protocol,
    Strategy, labelled,
};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NaimiTrehel {
    group: Group,
    /// `LAST`: who seems to have asked last; `None` if it is we, at the root of the tree.
    last: Option<ProcessId>,
    /// `NEXT`: who gets the token after us.
    next: Option<ProcessId>,
    phase: Phase,
}

/// Where this process stands; the token is here in the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Holding {
        /// How many entries there have been.
        entries: u64,
    },
    Inside {
        /// How many entries there have been, this one included.
        entries: u64,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This one wants to enter: pass it on to the last who asked."
    Request {
        /// Who wants to.
        requester: ProcessId,
    },
    /// "Now it is you who may enter."
    Token {
        /// How many entries there have been.
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

    /// The token starts at the first process, at whom everybody points; the first itself, when it
    /// recovers, makes no second token and is the root of a tree without one.
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
                    self.hand_over(next, entries, fx);
                }
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            // Only a duplicate comes back to who made it.
            Message::Request { requester } if requester == self.group.me() => {}
            Message::Request { requester } => match (self.last.replace(requester), self.phase) {
                (Some(last), _) => fx.send(last, Message::Request { requester }),
                (None, Phase::Holding { entries }) => self.hand_over(requester, entries, fx),
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

    fn hand_over(&mut self, next: ProcessId, entries: u64, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        fx.send(next, Message::Token { entries });
    }
}

impl Algorithm for NaimiTrehel {
    fn card((): &(), size: u32) -> Card {
        Card {
            strategy: Strategy::Token,
            faults: Faults::none(
                "a lost request or token stops it, and a duplicated token lets two in",
            ),
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry("0 … N", 0, Some(size.into())).none_alone(size),
            theory: Some(Theory::lock(["0…N", "no bound", "no"], Hops::ONE)),
            ..Card::mutex(
                "naimi-trehel",
                "the token's queue, and a tree that points to its end",
                "Naimi, Trehel & Arnold, JPDC 34(1), 1996",
            )
        }
    }

    fn expected((): &(), size: u32, scene: Scene) -> Option<Expected> {
        (scene == Scene::OneAtATime).then(|| Expected::harmonic(1, size - 1, 0))
    }
}
