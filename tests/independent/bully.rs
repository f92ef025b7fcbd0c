//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE Transactions on Computers
//! C-31(1), 1982, with the three messages of textbooks: whoever hears of nobody higher leads.
//!
//! Nothing is known of time here: each timeout runs out at any moment, so who is alive may be taken
//! for dead. What the paper leaves open is as in Tenure: announcements carry a number that no
//! earlier one had, as far as their author knows; one that comes too late is answered with a later
//! number, and so its author knows better.

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// Our rank as well.
    me: usize,
    size: usize,
    /// Whether the user will still ask for an election, and what it has been told.
    asks: bool,
    told: Told,
    phase: Phase,
    leader: Option<Term>,
    /// The latest announcement that we have heard of.
    announced: Term,
    /// The highest number that we know of, and that is looked at.
    number: u64,
    most: u64,
}

/// A number, and who leads under it.
type Term = (u64, usize);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Told {
    Nothing,
    Asked,
    Leader,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// Until the time for answers is over.
    Asking,
    /// Until the time for an announcement is over.
    Waiting,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Election(u64),
    Answer(u64),
    Coordinator(u64),
}

/// So many, whose ranks are their places; everybody's user asks for an election, once. Numbers
/// beyond `most` are not looked at.
pub(crate) fn sites(size: usize, most: u64) -> Vec<Site> {
    let site = |me| Site {
        me,
        size,
        asks: true,
        told: Told::Nothing,
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

    fn may(&self) -> Option<Act> {
        self.asks.then_some(Act::Ask)
    }

    fn may_as_well(&self) -> Option<Act> {
        (self.phase != Phase::Settled).then_some(Act::Fire)
    }

    fn is_beyond(&self) -> bool {
        self.number > self.most
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        match (act, self.phase) {
            (Act::Ask, phase) => {
                self.asks = false;
                self.told = Told::Asked;
                if phase == Phase::Settled { self.start() } else { Vec::new() }
            }
            (_, Phase::Asking) => self.announce(),
            (..) => {
                self.number += 1;
                self.start()
            }
        }
    }

    fn hear(&mut self, from: usize, message: Message) -> Sent<Message> {
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
                self.believe((number, from));
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
    fn start(&mut self) -> Sent<Message> {
        self.number = self.number.max(self.announced.0 + 1);
        if self.me + 1 == self.size {
            return self.announce();
        }
        self.phase = Phase::Asking;
        (self.me + 1..self.size).map(|higher| (higher, Message::Election(self.number))).collect()
    }

    fn announce(&mut self) -> Sent<Message> {
        self.number = self.number.max(self.announced.0 + 1);
        self.believe((self.number, self.me));
        let others = (0..self.size).filter(|it| *it != self.me);
        others.map(|it| (it, Message::Coordinator(self.number))).collect()
    }

    fn on_answer(&mut self, number: u64) -> Sent<Message> {
        let leads = self.announced.1 == self.me && self.leader == Some(self.announced);
        match self.phase {
            Phase::Asking => self.phase = Phase::Waiting,
            // What we announced was not believed.
            Phase::Settled if leads && number >= self.announced.0 => {
                self.number = self.number.max(number + 1);
                self.leader = None;
                self.told = Told::Asked;
                return self.start();
            }
            Phase::Settled | Phase::Waiting => {}
        }
        Vec::new()
    }

    fn believe(&mut self, term: Term) {
        self.announced = term;
        self.phase = Phase::Settled;
        if self.leader != Some(term) {
            self.leader = Some(term);
            self.told = Told::Leader;
        }
    }
}
