//! The bully election of H. Garcia-Molina, *Elections in a distributed computing system*, IEEE
//! Transactions on Computers C-31(1), 1982, with the three messages of textbooks: *Election*,
//! *Answer* and *Coordinator*. A process that receives no answer from a higher process becomes the
//! leader.
//!
//! Timeouts have no fixed length: each timeout may expire at any moment, so a live process may be
//! suspected. If the paper leaves a detail open, this implementation makes the same choice as
//! Tenure. The number of an announcement is higher than any number that its sender knows. A process
//! responds to an outdated announcement with a higher number.

use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// Index of the process. The rank of a process is its index.
    me: usize,
    size: usize,
    /// True if the user will request an election and has not requested it yet.
    asks: bool,
    reported: Reported,
    phase: Phase,
    leader: Option<Term>,
    announced: Term,
    /// Highest election number that the process knows.
    number: u64,
    /// Upper bound on the numbers of elections. The search excludes states with a higher number.
    most: u64,
}

/// Number of an election, and the index of the leader that it has elected.
type Term = (u64, usize);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// The process waits for answers to its election message.
    Asking,
    /// The process has received an answer, and waits for the announcement of a leader.
    Waiting,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Election(u64),
    Answer(u64),
    Coordinator(u64),
}

/// Creates `size` processes, whose ranks are their indices. Each user requests one election. The
/// search excludes states in which the number of an election is above `most`.
pub(crate) fn sites(size: usize, most: u64) -> Vec<Site> {
    let site = |me| Site {
        me,
        size,
        asks: true,
        reported: Reported::Nothing,
        phase: Phase::Settled,
        leader: None,
        announced: (0, 0),
        number: 0,
        most,
    };
    (0..size).map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn also_enabled(&self) -> Option<Step> {
        (self.phase != Phase::Settled).then_some(Step::Expire)
    }

    fn exceeds_bound(&self) -> bool {
        self.number > self.most
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        match (step, self.phase) {
            (Step::Request, phase) => {
                self.asks = false;
                self.reported = Reported::Asked;
                if phase == Phase::Settled { self.start() } else { Vec::new() }
            }
            (_, Phase::Asking) => self.announce(),
            (..) => {
                self.number += 1;
                self.start()
            }
        }
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let (Message::Election(number) | Message::Answer(number) | Message::Coordinator(number)) =
            message;
        self.number = self.number.max(number);
        match message {
            Message::Election(_) => {
                let mut sent = vec![(from, Message::Answer(self.number))];
                let is_over = number <= self.announced.0;
                if self.phase == Phase::Settled && !is_over {
                    sent.extend(self.start());
                }
                sent
            }
            Message::Answer(_) => self.on_answer(number),
            Message::Coordinator(_) if (number, from) < self.announced => {
                vec![(from, Message::Answer(self.announced.0))]
            }
            Message::Coordinator(_) if from > self.me => {
                self.accept((number, from));
                Vec::new()
            }
            Message::Coordinator(_) => {
                self.announced = (number, from);
                if self.phase == Phase::Settled { self.start() } else { Vec::new() }
            }
        }
    }
}

impl Site {
    /// Returns what the process waits for: 0 for answers, 1 for an announcement, and `None` for
    /// neither.
    pub(crate) fn awaits(&self) -> Option<usize> {
        match self.phase {
            Phase::Settled => None,
            Phase::Asking => Some(0),
            Phase::Waiting => Some(1),
        }
    }

    pub(crate) fn leads(&self) -> bool {
        self.leader.is_some_and(|(_, leader)| leader == self.me)
    }

    fn start(&mut self) -> Outbox<Message> {
        self.number = self.number.max(self.announced.0 + 1);
        if self.me + 1 == self.size {
            return self.announce();
        }
        self.phase = Phase::Asking;
        (self.me + 1..self.size).map(|higher| (higher, Message::Election(self.number))).collect()
    }

    fn announce(&mut self) -> Outbox<Message> {
        self.number = self.number.max(self.announced.0 + 1);
        self.accept((self.number, self.me));
        let others = (0..self.size).filter(|it| *it != self.me);
        others.map(|it| (it, Message::Coordinator(self.number))).collect()
    }

    fn on_answer(&mut self, number: u64) -> Outbox<Message> {
        let leads = self.announced.1 == self.me && self.leader == Some(self.announced);
        match self.phase {
            Phase::Asking => self.phase = Phase::Waiting,
            // A process has rejected the announcement of this leader.
            Phase::Settled if leads && number >= self.announced.0 => {
                self.number = self.number.max(number + 1);
                self.leader = None;
                self.reported = Reported::Asked;
                return self.start();
            }
            Phase::Settled | Phase::Waiting => {}
        }
        Vec::new()
    }

    fn accept(&mut self, term: Term) {
        self.announced = term;
        self.phase = Phase::Settled;
        if self.leader != Some(term) {
            self.leader = Some(term);
            self.reported = Reported::Leader;
        }
    }
}
