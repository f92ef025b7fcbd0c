//! The lock of G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer
//! networks*, CACM 24(1), 1981. The clock of a process is the highest number of any request that it
//! has sent or received. A reply has no content.

use super::search::{Outbox, Process, Step};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    /// Number of requests that the user has not made yet.
    requests: u32,
    highest: u64,
    /// Number of this process's present request, and the processes whose replies are missing. In
    /// the critical section, no reply is missing.
    claim: Option<(u64, Vec<usize>)>,
    deferred: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(u64),
    Reply,
}

pub(crate) fn sites(requests: &[u32]) -> Vec<Site> {
    let site = |(me, count): (usize, &u32)| Site {
        me,
        size: requests.len(),
        requests: *count,
        highest: 0,
        claim: None,
        deferred: Vec::new(),
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        match &self.claim {
            None => (self.requests > 0).then_some(Step::Request),
            Some((_, awaited)) => awaited.is_empty().then_some(Step::Exit),
        }
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Request {
            self.requests -= 1;
            self.highest += 1;
            let others: Vec<usize> = (0..self.size).filter(|it| *it != self.me).collect();
            self.claim = Some((self.highest, others.clone()));
            return others.into_iter().map(|it| (it, Message::Request(self.highest))).collect();
        }
        self.claim = None;
        self.deferred.drain(..).map(|it| (it, Message::Reply)).collect()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Request(number) => {
                self.highest = self.highest.max(number);
                let first = |(ours, awaited): &(u64, Vec<usize>)| {
                    awaited.is_empty() || (*ours, self.me) < (number, from)
                };
                if self.claim.as_ref().is_some_and(first) {
                    self.deferred.push(from);
                    self.deferred.sort_unstable();
                    return Vec::new();
                }
                vec![(from, Message::Reply)]
            }
            Message::Reply => {
                let (_, awaited) = self.claim.as_mut().expect("a reply answers a request");
                awaited.retain(|it| *it != from);
                Vec::new()
            }
        }
    }
}
