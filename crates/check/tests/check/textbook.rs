//! Ricart–Agrawala as in the textbook. The clock of a process is the highest number that the
//! process saw or sent in a request. Replies carry no content. A state has only the fields that
//! have a meaning in the phase of the process.

use serde::{Deserialize, Serialize};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Effects, Fence, Group, Never, ProcessId, ProcessSet, Protocol, labelled,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Textbook {
    group: Group,
    mistake: Mistake,
    clock: u64,
    phase: Phase,
    deferred: ProcessSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting { request: u64, awaited: ProcessSet },
    Inside { request: u64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    #[default]
    None,
    ReplyWhileInside,
    NoTieBreakReply,
    NoTieBreakDefer,
    IdsAsStamps,
    NoClockOnRequest,
    NeverReplies,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Request { clock: u64 },
    Reply,
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

impl Protocol for Textbook {
    type Config = Mistake;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, mistake: &Mistake, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let deferred = ProcessSet::new();
        Textbook { group, mistake: *mistake, clock: 0, phase: Phase::Idle, deferred }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                self.clock += 1;
                let clock = if self.mistake == Mistake::IdsAsStamps { 0 } else { self.clock };
                let awaited = self.group.peers();
                fx.broadcast(&awaited, Message::Request { clock });
                self.phase = Phase::Waiting { request: clock, awaited };
            }
            Command::Exit => {
                self.phase = Phase::Idle;
                let deferred = std::mem::take(&mut self.deferred);
                fx.broadcast(&deferred, Message::Reply);
                fx.emit(Event::Exited);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { clock } => {
                if self.mistake != Mistake::NoClockOnRequest {
                    self.clock = self.clock.max(clock);
                }
                if self.defers((clock, from)) {
                    self.deferred.insert(from);
                } else if self.mistake != Mistake::NeverReplies {
                    fx.send(from, Message::Reply);
                }
            }
            Message::Reply => {
                let Phase::Waiting { request, awaited } = &mut self.phase else { return };
                awaited.remove(from);
                if awaited.is_empty() {
                    let request = *request;
                    let fence = Fence(request, u64::from(self.group.me().display_number()));
                    self.phase = Phase::Inside { request };
                    fx.emit(Event::Entered { fence });
                }
            }
        }
    }
}

impl Textbook {
    fn defers(&self, theirs: (u64, ProcessId)) -> bool {
        match self.phase {
            Phase::Idle => false,
            Phase::Inside { .. } => self.mistake != Mistake::ReplyWhileInside,
            Phase::Waiting { request, .. } => match self.mistake {
                Mistake::NoTieBreakReply => request < theirs.0,
                Mistake::NoTieBreakDefer => request <= theirs.0,
                _ => (request, self.group.me()) < theirs,
            },
        }
    }
}

impl Algorithm for Textbook {
    fn card(_: &Mistake, _: u32) -> Card {
        Card::mutex("textbook", "Ricart and Agrawala's, as in textbooks", "none")
    }

    fn can_shift_timestamps(_: &Mistake) -> bool {
        true
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        if self.mistake == Mistake::IdsAsStamps {
            return None; // its requests carry no stamps
        }
        match self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => {
                Some(request.min(self.clock))
            }
            Phase::Idle => Some(self.clock),
        }
    }

    fn lower_timestamps(&mut self, by: u64) {
        self.clock -= by;
        match &mut self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => *request -= by,
            Phase::Idle => {}
        }
    }

    fn smallest_message_timestamp(mistake: &Mistake, message: &Message) -> Option<u64> {
        match message {
            Message::Request { clock } if *mistake != Mistake::IdsAsStamps => Some(*clock),
            Message::Request { .. } | Message::Reply => None,
        }
    }

    fn lower_message_timestamps(_: &Mistake, message: &mut Message, by: u64) {
        if let Message::Request { clock } = message {
            *clock -= by;
        }
    }
}
