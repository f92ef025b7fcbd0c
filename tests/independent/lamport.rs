//! L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 21(7),
//! 1978, the lock: request queues everywhere, in the order of clocks and then of names.
//!
//! A receipt sets the clock beyond what it says; asking, replying and leaving are events of their
//! own, and entering is none. A request, and a release, has one time for all who are told. Only
//! replies count as the "message with a later time", as in lectures.

use std::collections::BTreeSet;

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    wishes: u32,
    clock: u64,
    /// The request queue, our own request included: time and process.
    queue: BTreeSet<(u64, usize)>,
    /// When we asked, and who has replied since.
    request: Option<(u64, BTreeSet<usize>)>,
    inside: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64),
    Reply(u64),
    Release(u64),
}

pub(crate) fn sites(wishes: &[u32]) -> Vec<Site> {
    let site = |(me, wishes_of): (usize, &u32)| Site {
        me,
        size: wishes.len(),
        wishes: *wishes_of,
        clock: 0,
        queue: BTreeSet::new(),
        request: None,
        inside: false,
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        match self.request {
            None => (self.wishes > 0).then_some(Act::Ask),
            Some(_) => self.inside.then_some(Act::Leave),
        }
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        self.clock += 1;
        if act == Act::Ask {
            self.wishes -= 1;
            self.queue.insert((self.clock, self.me));
            self.request = Some((self.clock, BTreeSet::new()));
            return self.to_all(Message::Request(self.clock));
        }
        self.inside = false;
        self.request = None;
        self.queue.retain(|(_, of)| *of != self.me);
        self.to_all(Message::Release(self.clock))
    }

    fn hear(&mut self, from: usize, message: Message) -> Sent<Message> {
        let (Message::Request(time) | Message::Reply(time) | Message::Release(time)) = message;
        self.clock = self.clock.max(time) + 1;
        let mut sent = Vec::new();
        match message {
            Message::Request(_) => {
                self.queue.insert((time, from));
                self.clock += 1;
                sent.push((from, Message::Reply(self.clock)));
            }
            Message::Reply(_) => {
                if let Some((asked, replied)) = &mut self.request
                    && (time, from) > (*asked, self.me)
                {
                    replied.insert(from);
                }
            }
            Message::Release(_) => self.queue.retain(|(_, of)| *of != from),
        }
        if let Some((asked, replied)) = &self.request {
            let on_top = self.queue.first() == Some(&(*asked, self.me));
            self.inside = replied.len() == self.size - 1 && on_top;
        }
        sent
    }
}

impl Site {
    fn to_all(&self, message: Message) -> Sent<Message> {
        let others = (0..self.size).filter(|it| *it != self.me);
        others.map(|it| (it, message.clone())).collect()
    }
}
