//! The lock of K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS
//! 7(1), 1989, with the variables *HOLDER*, *USING*, *REQUEST_Q* and *ASKED*. After every event, a
//! process executes `ASSIGN_PRIVILEGE` and then `MAKE_REQUEST`.
//!
//! The first process has the privilege and is the root.

use super::search::{Outbox, Process, Step};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    requests: u32,
    /// *HOLDER*: the process itself, or the neighbour in the direction of the privilege.
    holder: usize,
    using: bool,
    queue: Vec<usize>,
    asked: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request,
    Privilege,
}

/// Creates the processes of a tree. For each process except the root, `above` returns the neighbour
/// in the direction of the root.
pub(crate) fn sites(requests: &[u32], above: impl Fn(usize) -> usize) -> Vec<Site> {
    let site = |(me, requests): (usize, &u32)| Site {
        me,
        requests: *requests,
        holder: if me == 0 { 0 } else { above(me) },
        using: false,
        queue: Vec::new(),
        asked: false,
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        if self.using {
            return Some(Step::Exit);
        }
        let waits = self.queue.contains(&self.me);
        (self.requests > 0 && !waits).then_some(Step::Request)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Request {
            self.requests -= 1;
            self.queue.push(self.me);
        } else {
            self.using = false;
        }
        self.assign_and_ask()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Request => self.queue.push(from),
            Message::Privilege => self.holder = self.me,
        }
        self.assign_and_ask()
    }
}

impl Site {
    fn assign_and_ask(&mut self) -> Outbox<Message> {
        let mut sent = Vec::new();
        if self.holder == self.me && !self.using && !self.queue.is_empty() {
            self.holder = self.queue.remove(0);
            self.asked = false;
            if self.holder == self.me {
                self.using = true;
            } else {
                sent.push((self.holder, Message::Privilege));
            }
        }
        if self.holder != self.me && !self.queue.is_empty() && !self.asked {
            self.asked = true;
            sent.push((self.holder, Message::Request));
        }
        sent
    }
}
