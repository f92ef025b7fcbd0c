//! The lock of L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM
//! 21(7), 1978. Each process has a copy of the request queue, which is ordered by clock and
//! process.
//!
//! When a process receives a message, it sets its clock to a value that is higher than both the
//! previous value and the time of the message. When a process sends a request, a reply or a
//! release, it advances its clock. An entry into the critical section does not advance the clock. A
//! request or a release has one timestamp for all receivers.
//!
//! The paper lets a process enter once it has a later message of any kind from every other process.
//! Here, the process waits for a reply from each of them, as in lectures.

use std::collections::BTreeSet;

use super::search::{Outbox, Process, Step};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    requests: u32,
    clock: u64,
    /// Unreleased requests of all processes, including this process. A request consists of its time
    /// and the index of its process.
    queue: BTreeSet<(u64, usize)>,
    /// Present request of this process: the time of the request, and the processes that have
    /// replied to the request.
    request: Option<(u64, BTreeSet<usize>)>,
    inside: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64),
    Reply(u64),
    Release(u64),
}

pub(crate) fn sites(requests: &[u32]) -> Vec<Site> {
    let site = |(me, count): (usize, &u32)| Site {
        me,
        size: requests.len(),
        requests: *count,
        clock: 0,
        queue: BTreeSet::new(),
        request: None,
        inside: false,
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        match self.request {
            None => (self.requests > 0).then_some(Step::Request),
            Some(_) => self.inside.then_some(Step::Exit),
        }
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        self.clock += 1;
        if step == Step::Request {
            self.requests -= 1;
            self.queue.insert((self.clock, self.me));
            self.request = Some((self.clock, BTreeSet::new()));
            return self.to_all(Message::Request(self.clock));
        }
        self.inside = false;
        self.request = None;
        self.queue.retain(|(_, of)| *of != self.me);
        self.to_all(Message::Release(self.clock))
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
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
    fn to_all(&self, message: Message) -> Outbox<Message> {
        let others = (0..self.size).filter(|it| *it != self.me);
        others.map(|it| (it, message.clone())).collect()
    }
}
