//! M. Naimi, M. Trehel, A. Arnold, *A log(N) distributed mutual exclusion algorithm based on path
//! reversal*, Journal of Parallel and Distributed Computing 34(1), 1996: *LAST*, *NEXT*, *TOKEN*
//! and *REQUESTING*.
//!
//! The first process has the token, and everybody points at it.

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    wishes: u32,
    /// *LAST*: nobody, at the root.
    last: Option<usize>,
    /// *NEXT*: who gets the token after us.
    next: Option<usize>,
    token: bool,
    /// *REQUESTING*: since the user asked, until it has left.
    requesting: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(usize),
    Token,
}

pub(crate) fn sites(wishes: &[u32]) -> Vec<Site> {
    let site = |(me, wishes): (usize, &u32)| Site {
        me,
        wishes: *wishes,
        last: (me > 0).then_some(0),
        next: None,
        token: me == 0,
        requesting: false,
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        if self.requesting {
            return self.token.then_some(Act::Leave);
        }
        (self.wishes > 0).then_some(Act::Ask)
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        if act == Act::Ask {
            self.wishes -= 1;
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

    fn hear(&mut self, _: usize, message: Message) -> Sent<Message> {
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
