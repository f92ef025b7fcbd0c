//! The lock of I. Suzuki, T. Kasami, *A distributed mutual exclusion algorithm*, ACM TOCS 3(4),
//! 1985. A process sends its request to all other processes. The token records for each process the
//! last request that was served.
//!
//! The first process has the token. When a process exits, it adds the waiting processes to the
//! queue of the token, in ring order after itself.

use super::search::{Outbox, Process, Step};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    requests: u32,
    /// *RN*: for each process, the highest request number that this process knows.
    asked: Vec<u64>,
    token: Option<Token>,
    user: User,
}

/// The token, with the array *LN* of served requests and the queue *Q*.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Token {
    served: Vec<u64>,
    queue: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64),
    Token(Token),
}

pub(crate) fn sites(requests: &[u32]) -> Vec<Site> {
    let none = vec![0; requests.len()];
    let token = Token { served: none.clone(), queue: Vec::new() };
    let site = |(me, requests): (usize, &u32)| Site {
        me,
        requests: *requests,
        asked: none.clone(),
        token: (me == 0).then(|| token.clone()),
        user: User::Outside,
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.user.enabled(self.requests)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Exit {
            return self.leave();
        }
        self.requests -= 1;
        if self.token.is_some() {
            self.user = User::Inside;
            return Vec::new();
        }
        self.user = User::Waiting;
        self.asked[self.me] += 1;
        let others = (0..self.asked.len()).filter(|it| *it != self.me);
        others.map(|it| (it, Message::Request(self.asked[self.me]))).collect()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Request(number) => {
                self.asked[from] = self.asked[from].max(number);
                let idle = self.user == User::Outside;
                let asked = self.asked[from];
                match self.token.take_if(|it| idle && asked == it.served[from] + 1) {
                    Some(token) => vec![(from, Message::Token(token))],
                    None => Vec::new(),
                }
            }
            Message::Token(token) => {
                self.token = Some(token);
                self.user = User::Inside;
                Vec::new()
            }
        }
    }
}

impl Site {
    fn leave(&mut self) -> Outbox<Message> {
        self.user = User::Outside;
        let mut token = self.token.take().expect("an entry needs the token");
        let size = self.asked.len();
        token.served[self.me] = self.asked[self.me];
        for other in (1..size).map(|hops| (self.me + hops) % size) {
            let waits = self.asked[other] == token.served[other] + 1;
            if waits && !token.queue.contains(&other) {
                token.queue.push(other);
            }
        }
        if token.queue.is_empty() {
            self.token = Some(token);
            return Vec::new();
        }
        let next = token.queue.remove(0);
        vec![(next, Message::Token(token))]
    }
}
