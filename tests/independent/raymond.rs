//! K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS 7(1), 1989:
//! *HOLDER*, *USING*, *REQUEST_Q* and *ASKED*; after every event `ASSIGN_PRIVILEGE`, then
//! `MAKE_REQUEST`.
//!
//! The first process has the privilege and is the root.

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    wishes: u32,
    /// *HOLDER*: ourselves, or the neighbour on whose side the privilege is.
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

/// `above` is the neighbour of each in the direction of the root.
pub(crate) fn sites(wishes: &[u32], above: impl Fn(usize) -> usize) -> Vec<Site> {
    let site = |(me, wishes): (usize, &u32)| Site {
        me,
        wishes: *wishes,
        holder: if me == 0 { 0 } else { above(me) },
        using: false,
        queue: Vec::new(),
        asked: false,
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        if self.using {
            return Some(Act::Leave);
        }
        let waits = self.queue.contains(&self.me);
        (self.wishes > 0 && !waits).then_some(Act::Ask)
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        if act == Act::Ask {
            self.wishes -= 1;
            self.queue.push(self.me);
        } else {
            self.using = false;
        }
        self.assign_and_ask()
    }

    fn hear(&mut self, from: usize, message: Message) -> Sent<Message> {
        match message {
            Message::Request => self.queue.push(from),
            Message::Privilege => self.holder = self.me,
        }
        self.assign_and_ask()
    }
}

impl Site {
    fn assign_and_ask(&mut self) -> Sent<Message> {
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
