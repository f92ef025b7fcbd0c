//! The lock of M. Naimi, M. Trehel, A. Arnold, *A log(N) distributed mutual exclusion algorithm
//! based on path reversal*, Journal of Parallel and Distributed Computing 34(1), 1996, with the
//! variables *LAST*, *NEXT*, *TOKEN* and *REQUESTING*.
//!
//! At the start, the first process has the token. *LAST* of every other process names the first
//! process.

use super::search::{Outbox, Process, Step};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    requests: u32,
    /// *LAST*: process to which this process sends requests; `None` at the root.
    last: Option<usize>,
    /// *NEXT*: process that receives the token after this process; `None` if there is none.
    next: Option<usize>,
    token: bool,
    /// *REQUESTING*: true from the request of the user to the exit.
    requesting: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(usize),
    Token,
}

pub(crate) fn sites(requests: &[u32]) -> Vec<Site> {
    let site = |(me, requests): (usize, &u32)| Site {
        me,
        requests: *requests,
        last: (me > 0).then_some(0),
        next: None,
        token: me == 0,
        requesting: false,
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        if self.requesting {
            return self.token.then_some(Step::Exit);
        }
        (self.requests > 0).then_some(Step::Request)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Request {
            self.requests -= 1;
            self.requesting = true;
            if self.token {
                return Vec::new();
            }
            let last = self.last.take();
            return last.map(|last| (last, Message::Request(self.me))).into_iter().collect();
        }
        self.requesting = false;
        let next = self.next.take();
        self.token = next.is_none();
        next.map(|next| (next, Message::Token)).into_iter().collect()
    }

    fn receive(&mut self, _: usize, message: Message) -> Outbox<Message> {
        let Message::Request(requester) = message else {
            self.token = true;
            return Vec::new();
        };
        match self.last.replace(requester) {
            Some(last) => vec![(last, Message::Request(requester))],
            None if self.requesting => {
                self.next = Some(requester);
                Vec::new()
            }
            None => {
                self.token = false;
                vec![(requester, Message::Token)]
            }
        }
    }
}
