//! The first algorithm of G. L. Peterson, *An O(n log n) unidirectional algorithm for the circular
//! extrema problem*, ACM TOPLAS 4(4), 1982. A process executes a loop of alternating sends and
//! receipts. A process that receives its initial value announces itself around the ring.

use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    own: u32,
    asks: bool,
    reported: Reported,
    place: Place,
}

/// State of a process in the program: the receive statement at which the process waits, and the
/// values of the variables of the process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// The process has not started the program.
    Outside,
    /// The process waits at the statement `receive(ntid)` of the program in the paper.
    Neighbour { tid: u32 },
    /// The process waits at the statement `receive(nntid)` of the program in the paper.
    Second { tid: u32, ntid: u32 },
    /// The process is a relay, and waits at the statement `receive(tid)` of the program in the
    /// paper.
    Relay,
    /// The process knows the leader, and has ended the program.
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Tid(u32),
    Elected,
}

/// Creates processes with these initial values in ring order. The users of `initiators` request one
/// election each.
pub(crate) fn sites(values: &[u32], initiators: &[usize]) -> Vec<Site> {
    let site = |(me, own): (usize, &u32)| Site {
        next: (me + 1) % values.len(),
        own: *own,
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        place: Place::Outside,
    };
    values.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        (self.asks, self.reported) = (false, Reported::Asked);
        self.begin()
    }

    fn receive(&mut self, _: usize, message: Message) -> Outbox<Message> {
        let mut sent = self.begin();
        sent.extend(
            match (message, self.place) {
                (_, Place::Done) => None,
                (Message::Elected, _) => self.end(),
                (Message::Tid(value), _) if value == self.own => self.end(),
                (Message::Tid(ntid), Place::Neighbour { tid }) => {
                    self.place = Place::Second { tid, ntid };
                    Some(Message::Tid(if tid > ntid { tid } else { ntid }))
                }
                (Message::Tid(nntid), Place::Second { tid, ntid }) => {
                    if ntid >= tid && ntid >= nntid {
                        self.place = Place::Neighbour { tid: ntid };
                        Some(Message::Tid(ntid))
                    } else {
                        self.place = Place::Relay;
                        None
                    }
                }
                (Message::Tid(_), Place::Relay | Place::Outside) => Some(message),
            }
            .map(|message| (self.next, message)),
        );
        sent
    }
}

impl Site {
    fn begin(&mut self) -> Outbox<Message> {
        if self.place != Place::Outside {
            return Vec::new();
        }
        self.place = Place::Neighbour { tid: self.own };
        vec![(self.next, Message::Tid(self.own))]
    }

    fn end(&mut self) -> Option<Message> {
        (self.asks, self.reported, self.place) = (false, Reported::Leader, Place::Done);
        Some(Message::Elected)
    }
}
