//! Minimal lock in which P1 grants all requests. Tests use it to perform all script actions.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, PeerVerdict, ProcessId, Protocol};

const KEEPER: ProcessId = ProcessId(0);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tiny {
    entries: u64,
    holder: Option<ProcessId>,
    queue: VecDeque<ProcessId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Request,
    Grant { fence: u64 },
    Release,
}

tenure_core::labelled!(
    Message, Mutex, Request => "request", Grant => "grant", Release => "release"
);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Timer {
    AskAgain,
    GiveUp,
}

impl Tiny {
    fn grant_next(&mut self, fx: &mut impl Effects<Self>) {
        self.holder = self.queue.pop_front();
        if let Some(next) = self.holder {
            self.entries += 1;
            fx.send(next, Message::Grant { fence: self.entries });
        }
    }
}

impl Protocol for Tiny {
    type Config = u64;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = u64;

    fn boot(_group: Group, first: &u64, stable: Option<u64>, _fx: &mut impl Effects<Self>) -> Self {
        Tiny { entries: stable.unwrap_or(*first), holder: None, queue: VecDeque::new() }
    }

    fn stable(&self) -> u64 {
        self.entries
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                fx.send(KEEPER, Message::Request);
                fx.set_timer(Timer::AskAgain, Delay::time_units(5));
                fx.set_timer(Timer::GiveUp, Delay::time_units(50));
            }
            Command::Exit => {
                fx.send(KEEPER, Message::Release);
                fx.emit(Event::Exited);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request => {
                self.queue.push_back(from);
                if self.holder.is_none() {
                    self.grant_next(fx);
                }
            }
            Message::Grant { fence } => {
                fx.cancel_timer(Timer::AskAgain);
                fx.cancel_timer(Timer::GiveUp);
                fx.emit(Event::Entered { fence: Fence(0, fence) });
            }
            Message::Release => self.grant_next(fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        if timer == Timer::AskAgain {
            fx.send(KEEPER, Message::Request);
            fx.set_timer(Timer::AskAgain, Delay::time_units(5));
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        if verdict == PeerVerdict::Suspect && self.holder == Some(peer) {
            self.grant_next(fx);
        }
    }
}
