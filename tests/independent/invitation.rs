//! The invitation algorithm of H. Garcia-Molina, *Elections in a distributed computing system*,
//! IEEE Transactions on Computers C-31(1), 1982, for processes that are never suspected: members
//! have no timeout for their coordinator.
//!
//! All other timeouts have no fixed length, and may expire at any moment. If the paper leaves a
//! detail open, this implementation makes the same choice as Tenure. The number of a new group is
//! higher than all numbers that its coordinator knows. A process joins another group only if the
//! other group has a higher number than its present group. Only coordinators answer. A coordinator
//! does not look for other coordinators if its group contains all processes.

use std::collections::BTreeSet;

use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    asks: bool,
    reported: Reported,
    state: State,
    /// The group of this process: the number of the group, and the index of its coordinator.
    group: Group,
    known: u64,
    /// Highest permitted group number. The search excludes states with a higher group number.
    most: u64,
}

type Group = (u64, usize);

#[derive(Clone, PartialEq, Eq, Hash)]
enum State {
    /// The process has not yet been in a group.
    Outside,
    /// State Normal of a coordinator. `up` is the set of members of its group, and `others` is the
    /// set of coordinators to invite. `waits` is true while the coordinator waits before it sends
    /// the invitations.
    Coordinator { up: BTreeSet<usize>, others: BTreeSet<usize>, waits: bool },
    /// State Normal of a process in a group that another process coordinates.
    Member,
    /// State Election: the process has sent invitations, and waits for acceptances.
    Election { up: BTreeSet<usize> },
    /// State Reorganization: the process waits until its new group is ready.
    Reorganization,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    AreYouCoordinator(u64),
    Yes(u64),
    Invitation(Group),
    Accept(Group),
    Ready(Group),
    AreYouThere(Group),
    No(Group),
}

/// Creates `size` processes. The users of `initiators` request one election each. The search
/// excludes states with a group number above `most`.
pub(crate) fn sites(size: usize, initiators: &[usize], most: u64) -> Vec<Site> {
    let site = |me| Site {
        me,
        size,
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        state: State::Outside,
        group: (0, me),
        known: 0,
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
        match &self.state {
            State::Outside | State::Member => None,
            State::Coordinator { .. } => self.checks().then_some(Step::Expire),
            State::Election { .. } | State::Reorganization => Some(Step::Expire),
        }
    }

    fn third_enabled(&self) -> Option<Step> {
        matches!(self.state, State::Coordinator { waits: true, .. }).then_some(Step::Exit)
    }

    fn exceeds_bound(&self) -> bool {
        self.known > self.most
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        match (step, self.state.clone()) {
            (Step::Request, State::Outside | State::Member) => {
                (self.asks, self.reported) = (false, Reported::Asked);
                self.recovery();
                self.check()
            }
            (Step::Request, State::Coordinator { .. }) => {
                (self.asks, self.reported) = (false, Reported::Asked);
                self.merge()
            }
            (Step::Request, _) => {
                (self.asks, self.reported) = (false, Reported::Asked);
                Vec::new()
            }
            (Step::Exit, State::Coordinator { others, .. }) => {
                // The coordinator has waited for as long as its rank demands.
                if others.is_empty() {
                    self.wait(false);
                    return Vec::new();
                }
                self.merge()
            }
            (_, State::Election { up }) => self.lead(up),
            (_, State::Reorganization) => {
                self.recovery();
                Vec::new()
            }
            _ => self.check(),
        }
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match (message, self.state.clone()) {
            (Message::AreYouCoordinator(number), _) => self.on_question(from, number),
            (Message::Yes(number), state) => {
                self.known = self.known.max(number);
                if let State::Coordinator { up, mut others, waits } = state
                    && !up.contains(&from)
                {
                    let waits = waits || others.is_empty();
                    others.insert(from);
                    self.state = State::Coordinator { up, others, waits };
                }
                Vec::new()
            }
            (Message::Invitation(group), state) => self.on_invitation(group, &state),
            (Message::Accept(group), State::Election { mut up }) if group == self.group => {
                up.insert(from);
                self.state = State::Election { up };
                Vec::new()
            }
            (Message::Accept(group), State::Coordinator { mut up, mut others, waits })
                if group == self.group =>
            {
                up.insert(from);
                others.remove(&from);
                self.state = State::Coordinator { up, others, waits };
                vec![(from, Message::Ready(group))]
            }
            (Message::Ready(group), State::Reorganization) if group == self.group => {
                self.state = State::Member;
                self.reported = Reported::Leader;
                Vec::new()
            }
            (Message::AreYouThere(group), State::Coordinator { mut up, others, waits })
                if group == self.group =>
            {
                up.insert(from);
                self.state = State::Coordinator { up, others, waits };
                Vec::new()
            }
            (Message::AreYouThere(group), _) => vec![(from, Message::No(group))],
            (Message::No(group), State::Member) if group == self.group => {
                self.recovery();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

impl Site {
    fn outside(&self) -> Vec<usize> {
        let State::Coordinator { up, .. } = &self.state else { return Vec::new() };
        (0..self.size).filter(|it| *it != self.me && !up.contains(it)).collect()
    }

    /// Returns true if this coordinator must look for other coordinators, because some process is
    /// not in its group.
    fn checks(&self) -> bool {
        !self.outside().is_empty()
    }

    fn check(&self) -> Outbox<Message> {
        let number = self.group.0;
        self.outside().into_iter().map(|it| (it, Message::AreYouCoordinator(number))).collect()
    }

    fn wait(&mut self, value: bool) {
        if let State::Coordinator { waits, .. } = &mut self.state {
            *waits = value;
        }
    }

    fn recovery(&mut self) {
        self.begin();
        self.lead(BTreeSet::new());
    }

    fn begin(&mut self) {
        if self.reported == Reported::Leader {
            self.reported = Reported::Asked;
        }
        self.known += 1;
        self.group = (self.known, self.me);
    }

    fn lead(&mut self, up: BTreeSet<usize>) -> Outbox<Message> {
        let ready = up.iter().map(|it| (*it, Message::Ready(self.group))).collect();
        self.state = State::Coordinator { up, others: BTreeSet::new(), waits: false };
        (self.asks, self.reported) = (false, Reported::Leader);
        ready
    }

    fn merge(&mut self) -> Outbox<Message> {
        let State::Coordinator { up, others, .. } = self.state.clone() else { return Vec::new() };
        let invited: BTreeSet<usize> = up.union(&others).copied().collect();
        self.begin();
        if invited.is_empty() {
            return self.lead(invited);
        }
        self.state = State::Election { up: BTreeSet::new() };
        invited.into_iter().map(|it| (it, Message::Invitation(self.group))).collect()
    }

    fn on_question(&mut self, from: usize, number: u64) -> Outbox<Message> {
        match self.state {
            State::Member if self.group.1 != from => {
                return vec![(self.group.1, Message::AreYouThere(self.group))];
            }
            State::Member if number == self.group.0 => {
                return vec![(from, Message::Accept(self.group))];
            }
            State::Member if number > self.group.0 => self.recovery(),
            State::Outside => self.recovery(),
            State::Coordinator { .. } => {}
            State::Member | State::Election { .. } | State::Reorganization => return Vec::new(),
        }
        vec![(from, Message::Yes(self.known))]
    }

    fn on_invitation(&mut self, group: Group, state: &State) -> Outbox<Message> {
        let forwarded = match state {
            State::Election { .. } | State::Reorganization => return Vec::new(),
            State::Coordinator { up, .. } => up.clone(),
            State::Outside | State::Member => BTreeSet::new(),
        };
        if group.0 <= self.group.0 {
            return Vec::new();
        }
        if self.reported == Reported::Leader {
            self.reported = Reported::Asked;
        }
        self.group = group;
        self.known = self.known.max(group.0);
        self.state = State::Reorganization;
        let mut sent: Outbox<Message> =
            forwarded.into_iter().map(|it| (it, Message::Invitation(group))).collect();
        sent.push((group.1, Message::Accept(group)));
        sent
    }
}
