//! Chang and Roberts' election on a ring. The process with the highest number is elected, and its
//! announcement travels around the ring.

use serde::{Deserialize, Serialize};
use tenure_core::service::Term;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Algorithm, Card, Effects, Group, Never, ProcessId, Protocol, labelled};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChangRoberts {
    group: Group,
    is_participant: bool,
    elected: Option<ProcessId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Election { candidate: u32 },
    Elected { leader: u32 },
}

labelled!(Message, Election, Election => "election", Elected => "elected");

impl Protocol for ChangRoberts {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        ChangRoberts { group, is_participant: false, elected: None }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if command == Command::Elect && !self.is_participant {
            self.participate(fx);
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        match message {
            Message::Election { candidate } if candidate > me.0 => {
                self.is_participant = true;
                fx.send(self.next(), message);
            }
            Message::Election { candidate } if candidate == me.0 => {
                self.accept(me, fx);
                fx.send(self.next(), Message::Elected { leader: me.0 });
            }
            Message::Election { .. } if !self.is_participant => self.participate(fx),
            Message::Election { .. } => {}
            Message::Elected { leader } if leader == me.0 => self.is_participant = false,
            Message::Elected { leader } => {
                self.accept(ProcessId(leader), fx);
                fx.send(self.next(), message);
            }
        }
    }
}

impl ChangRoberts {
    fn participate(&mut self, fx: &mut impl Effects<Self>) {
        self.is_participant = true;
        fx.send(self.next(), Message::Election { candidate: self.group.me().0 });
    }

    fn accept(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.is_participant = false;
        self.elected = Some(leader);
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    fn next(&self) -> ProcessId {
        ProcessId((self.group.me().0 + 1) % self.group.size())
    }

    pub(crate) fn leads(&self) -> bool {
        self.elected == Some(self.group.me())
    }
}

impl Algorithm for ChangRoberts {
    fn card(_: &(), _: u32) -> Card {
        Card::election("chang-roberts", "Chang and Roberts', as in textbooks", "none")
    }
}
