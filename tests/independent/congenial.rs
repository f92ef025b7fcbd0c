//! Y.-J. Joung, *The congenial talking philosophers problem in computer networks*, Distributed
//! Computing 15(3), 2002. RA1 is the algorithm of Ricart and Agrawala, except that requests for the
//! same forum are answered at once. Each process counts the replies that it lacks.
//!
//! As in Tenure's implementation, a reply names its request, and carries no clock.

use super::search::{Outbox, Process, Step};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    /// Forums that the user has not requested yet, in reverse order: the last element is requested
    /// next.
    forums: Vec<u64>,
    clock: u64,
    user: User,
    /// Number and forum of the present request of this process; (0, 0) if it has none.
    request: (u64, u64),
    lacking: Vec<bool>,
    /// For each other process, by index: the number of the request to which this process owes a
    /// reply. The number is 0 if this process owes no reply.
    deferred: Vec<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64, u64),
    Reply(u64),
}

/// Creates the processes. For each process, `sessions` is the number of times that its user attends
/// a forum. Each user attends the forums 1 and 2 in turn. The users of the first half of the
/// processes begin with forum 1, and the other users begin with forum 2.
pub(crate) fn sites(sessions: &[u32]) -> Vec<Site> {
    let size = sessions.len();
    let site = |(me, sessions): (usize, &u32)| Site {
        me,
        size,
        forums: (0..*sessions)
            .rev()
            .map(|it| 1 + (u64::from(2 * me >= size) + u64::from(it)) % 2)
            .collect(),
        clock: 0,
        user: User::Outside,
        request: (0, 0),
        lacking: vec![false; size],
        deferred: vec![0; size],
    };
    sessions.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.user.enabled(self.forums.len() as u32)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Exit {
            (self.user, self.request) = (User::Outside, (0, 0));
            let deferred = std::mem::replace(&mut self.deferred, vec![0; self.size]);
            let owed = deferred.into_iter().enumerate().filter(|(_, number)| *number > 0);
            return owed.map(|(to, number)| (to, Message::Reply(number))).collect();
        }
        self.clock += 1;
        let forum = self.forums.pop().expect("a session is left");
        (self.user, self.request) = (User::Waiting, (self.clock, forum));
        let others: Vec<usize> = (0..self.size).filter(|it| *it != self.me).collect();
        others.iter().for_each(|it| self.lacking[*it] = true);
        self.enter();
        others.into_iter().map(|it| (it, Message::Request(self.clock, forum))).collect()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Request(number, forum) => {
                self.clock = self.clock.max(number);
                let (own, ours) = self.request;
                let precedes = self.user == User::Inside || (own, self.me) < (number, from);
                if self.user != User::Outside && ours != forum && precedes {
                    self.deferred[from] = number;
                    return Vec::new();
                }
                vec![(from, Message::Reply(number))]
            }
            Message::Reply(number) => {
                if self.user == User::Waiting && number == self.request.0 {
                    self.lacking[from] = false;
                    self.enter();
                }
                Vec::new()
            }
        }
    }
}

impl Site {
    fn enter(&mut self) {
        if self.lacking.iter().all(|lacks| !lacks) {
            // The number is cleared: once a process is inside, the number of its request decides
            // nothing.
            (self.user, self.request.0) = (User::Inside, 0);
        }
    }
}
