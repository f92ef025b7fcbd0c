//! The one-phase protocol of G. S. Ho, C. V. Ramamoorthy, *Protocols for deadlock detection in
//! distributed database systems*, IEEE TSE SE-8(6), 1982. The first process is the coordinator. It
//! collects the statuses of processes and of resources, and compares them. A manager of a resource
//! requests a collection when a process begins to wait.
//!
//! In each round, a user acquires its own resource. While it holds this resource, it acquires and
//! releases two other resources, one after the other. If the process of the user is aborted, the
//! round starts again. Messages of a process to itself are handled in the same step.

use std::collections::BTreeMap;

use super::search::{Outbox, Process, Step};

/// A request for a resource: the index of the process, and the number of the request.
type Claim = (usize, u64);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    user: User,
    requests: u64,
    completed: u64,
    status: Status,
    /// Resource status table. The list of a resource begins with the granted request. The waiting
    /// requests follow.
    queues: BTreeMap<usize, Vec<Claim>>,
    /// For each process, the highest request number that this manager has seen, in a request or in
    /// a release. If the release of a request arrives before the request, the request is ignored.
    last: BTreeMap<usize, u64>,
    coordinator: Coordinator,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct User {
    rounds: u32,
    /// Number of commands that the user has issued in the present round.
    step: usize,
}

/// Process status table: the resources that the process holds, and the resource for which it waits.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Status {
    /// For each resource that the process holds, the number of the request for it.
    held: BTreeMap<usize, u64>,
    awaited: Option<(usize, u64)>,
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Coordinator {
    collection: u64,
    /// Answers in the present collection of statuses, by process. Empty if no collection is in
    /// progress.
    answers: BTreeMap<usize, Answer>,
    again: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Answer {
    status: Status,
    completed: u64,
    queues: BTreeMap<usize, Vec<Claim>>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(usize, u64),
    Grant(usize, u64),
    Release(usize, u64),
    Blocked,
    Collect(u64),
    Answer(u64, Answer),
    Abort(u64),
}

/// Creates the processes. For each process, `rounds` is the number of rounds that its user
/// performs.
pub(crate) fn sites(rounds: &[u32]) -> Vec<Site> {
    let size = rounds.len();
    let site = |(me, rounds): (usize, &u32)| Site {
        me,
        size,
        user: User { rounds: *rounds, step: 0 },
        requests: 0,
        completed: 0,
        status: Status::default(),
        queues: BTreeMap::new(),
        last: BTreeMap::new(),
        coordinator: Coordinator::default(),
    };
    rounds.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        (self.user.rounds > 0 && self.status.awaited.is_none()).then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        let resource = |distance| (self.me + distance) % self.size.max(3);
        let (acquires, of) = match self.user.step {
            0 => (true, resource(0)),
            1 => (true, resource(1)),
            2 => (false, resource(1)),
            3 => (true, resource(2)),
            4 => (false, resource(2)),
            _ => (false, resource(0)),
        };
        self.user.step = (self.user.step + 1) % 6;
        if self.user.step == 0 {
            self.user.rounds -= 1;
        }
        let message = if acquires {
            self.requests += 1;
            self.status.awaited = Some((of, self.requests));
            Message::Request(of, self.requests)
        } else {
            let number = self.status.held.remove(&of).expect("it is held");
            if self.status.held.is_empty() {
                self.completed += 1;
            }
            Message::Release(of, number)
        };
        self.deliver(vec![(of % self.size, message)])
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let sent = self.react(from, message);
        self.deliver(sent)
    }
}

impl Site {
    /// Handles the messages in `sent` that are addressed to this process, in order. Returns all
    /// other messages.
    fn deliver(&mut self, sent: Outbox<Message>) -> Outbox<Message> {
        let mut outbox = Vec::new();
        for (to, message) in sent {
            if to == self.me {
                let more = self.react(to, message);
                outbox.extend(self.deliver(more));
            } else {
                outbox.push((to, message));
            }
        }
        outbox
    }

    fn react(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Request(of, number) => self.request(of, (from, number)),
            Message::Release(of, number) => self.end(of, (from, number)),
            Message::Grant(of, number) => {
                if self.status.awaited == Some((of, number)) {
                    self.status.awaited = None;
                    self.status.held.insert(of, number);
                    return Vec::new();
                }
                // The request was withdrawn.
                vec![(of % self.size, Message::Release(of, number))]
            }
            Message::Blocked if self.coordinator.answers.is_empty() => self.collect(),
            Message::Blocked => {
                self.coordinator.again = true;
                Vec::new()
            }
            Message::Collect(number) => vec![(from, Message::Answer(number, self.answer()))],
            Message::Answer(_, answer) => {
                self.coordinator.answers.insert(from, answer);
                if self.coordinator.answers.len() < self.size {
                    return Vec::new();
                }
                self.conclude()
            }
            Message::Abort(number) => match self.status.awaited {
                Some(awaited) if awaited.1 == number => self.abort(awaited),
                _ => Vec::new(),
            },
        }
    }

    fn request(&mut self, of: usize, claim: Claim) -> Outbox<Message> {
        if self.last.get(&claim.0).is_some_and(|last| *last >= claim.1) {
            // The request was withdrawn before it arrived.
            return Vec::new();
        }
        self.last.insert(claim.0, claim.1);
        let queue = self.queues.entry(of).or_default();
        // The same process holds the resource by an older grant, whose release is late.
        let late = queue.first().filter(|holder| holder.0 == claim.0).copied();
        queue.push(claim);
        let mut sent = match late {
            Some(holder) => self.end(of, holder),
            None if queue.len() == 1 => vec![(claim.0, Message::Grant(of, claim.1))],
            None => Vec::new(),
        };
        if self.queues[&of][0] != claim {
            sent.push((0, Message::Blocked));
        }
        sent
    }

    fn end(&mut self, of: usize, claim: Claim) -> Outbox<Message> {
        let last = self.last.entry(claim.0).or_default();
        *last = claim.1.max(*last);
        let Some(queue) = self.queues.get_mut(&of) else { return Vec::new() };
        let was_granted = queue[0] == claim;
        queue.retain(|other| *other != claim);
        let next = queue.first().copied();
        if next.is_none() {
            self.queues.remove(&of);
        }
        let granted = next.filter(|_| was_granted);
        granted.map(|(to, number)| (to, Message::Grant(of, number))).into_iter().collect()
    }

    fn abort(&mut self, awaited: (usize, u64)) -> Outbox<Message> {
        let status = std::mem::take(&mut self.status);
        self.user.step = 0;
        let all = status.held.into_iter().chain([awaited]);
        all.map(|(of, number)| (of % self.size, Message::Release(of, number))).collect()
    }

    fn answer(&self) -> Answer {
        let (status, queues) = (self.status.clone(), self.queues.clone());
        Answer { status, completed: self.completed, queues }
    }

    fn collect(&mut self) -> Outbox<Message> {
        self.coordinator.collection += 1;
        self.coordinator.again = false;
        let (own, number) = (self.answer(), self.coordinator.collection);
        self.coordinator.answers.insert(self.me, own);
        (1..self.size).map(|peer| (peer, Message::Collect(number))).collect()
    }

    /// Aborts one process of each cycle of waiting processes: the process that has completed the
    /// most rounds.
    fn conclude(&mut self) -> Outbox<Message> {
        let answers = std::mem::take(&mut self.coordinator.answers);
        let mut sent = Vec::new();
        for start in 0..self.size {
            let mut cycle = vec![start];
            while let Some(next) = waits_for(&answers, cycle[cycle.len() - 1]) {
                if next == start {
                    let order = |it: &&usize| (answers[*it].completed, **it);
                    let victim = *cycle.iter().max_by_key(order).expect("a process");
                    let awaited = answers[&victim].status.awaited.expect("it waits");
                    let abort = (victim, Message::Abort(awaited.1));
                    if !sent.contains(&abort) {
                        sent.push(abort);
                    }
                    break;
                }
                if cycle.contains(&next) {
                    break;
                }
                cycle.push(next);
            }
        }
        if self.coordinator.again {
            // Handles the messages to this process itself, such as an abort, before the next
            // collection.
            let sent = self.deliver(sent);
            if !self.coordinator.answers.is_empty() {
                return sent;
            }
            return [sent, self.collect()].concat();
        }
        sent
    }
}

/// Returns the process for which `process` waits. The statuses of both processes and of the
/// resource must confirm the wait. Otherwise, returns `None`.
fn waits_for(answers: &BTreeMap<usize, Answer>, process: usize) -> Option<usize> {
    let (of, number) = answers[&process].status.awaited?;
    let queue = answers.values().find_map(|answer| answer.queues.get(&of))?;
    let (holder, granted) = queue[0];
    let agree = queue[1..].contains(&(process, number))
        && answers[&holder].status.held.get(&of) == Some(&granted);
    agree.then_some(holder)
}
