//! Maekawa's lock with the correction of Sanders. A message of a process to itself is handled in
//! the same step. In a group of three, each quorum has two processes. In a group of four, the
//! processes form a square, and a quorum is a row and a column of it.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Effects, Fence, Group, Never, ProcessId, ProcessSet, Protocol, labelled,
};

/// A request: its clock and its process.
type Request = (u64, u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Maekawa {
    group: Group,
    clock: u64,
    phase: Phase,
    holder: Option<Request>,
    waiting: BTreeSet<Request>,
    /// True if this process has asked the holder of its vote to return the vote.
    has_inquired: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        request: u64,
        votes: ProcessSet,
        /// Voters that will vote for another request first: they sent `Failed`, or this process has
        /// returned their votes.
        failed: ProcessSet,
        /// Voters that asked for their votes back. This process has not returned these votes yet.
        inquired: ProcessSet,
    },
    Inside,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Request { clock: u64 },
    Locked,
    Failed,
    Inquire { clock: u64 },
    Relinquish,
    Release,
}

labelled!(
    Message, Mutex,
    Request => "request", Locked => "locked", Failed => "failed",
    Inquire => "inquire", Relinquish => "relinquish", Release => "release",
);

/// Messages of this process to itself.
type Local = VecDeque<Message>;

impl Protocol for Maekawa {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Maekawa {
            group,
            clock: 0,
            phase: Phase::Idle,
            holder: None,
            waiting: BTreeSet::new(),
            has_inquired: false,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let mut local = Local::new();
        let message = match command {
            Command::Enter => {
                self.clock += 1;
                let [votes, failed, inquired] = [(); 3].map(|()| ProcessSet::new());
                self.phase = Phase::Waiting { request: self.clock, votes, failed, inquired };
                Message::Request { clock: self.clock }
            }
            Command::Exit => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                Message::Release
            }
        };
        for voter in &self.quorum() {
            self.send(voter, message.clone(), &mut local, fx);
        }
        self.handle_local(local, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let mut local = Local::new();
        self.handle(from, &message, &mut local, fx);
        self.handle_local(local, fx);
    }
}

impl Maekawa {
    fn quorum(&self) -> ProcessSet {
        let (me, size) = (self.group.me().0, self.group.size());
        match size {
            4 => [me, me ^ 1, me ^ 2].map(ProcessId).into_iter().collect(),
            _ => [me, (me + 1) % size].map(ProcessId).into_iter().collect(),
        }
    }

    fn send(
        &self,
        to: ProcessId,
        message: Message,
        local: &mut Local,
        fx: &mut impl Effects<Self>,
    ) {
        if to == self.group.me() { local.push_back(message) } else { fx.send(to, message) }
    }

    fn handle_local(&mut self, mut local: Local, fx: &mut impl Effects<Self>) {
        while let Some(message) = local.pop_front() {
            self.handle(self.group.me(), &message, &mut local, fx);
        }
    }

    fn handle(
        &mut self,
        from: ProcessId,
        message: &Message,
        local: &mut Local,
        fx: &mut impl Effects<Self>,
    ) {
        match message {
            Message::Request { clock } => self.on_request((*clock, from.0), local, fx),
            Message::Relinquish => {
                self.waiting.extend(self.holder);
                self.vote(local, fx);
            }
            Message::Release => self.vote(local, fx),
            Message::Locked => self.on_locked(from, fx),
            Message::Failed => {
                if let Phase::Waiting { failed, .. } = &mut self.phase {
                    failed.insert(from);
                    self.relinquish(local, fx);
                }
            }
            Message::Inquire { clock } => {
                if let Phase::Waiting { request, inquired, .. } = &mut self.phase
                    && request == clock
                {
                    inquired.insert(from);
                    self.relinquish(local, fx);
                }
            }
        }
    }

    fn on_request(&mut self, new: Request, local: &mut Local, fx: &mut impl Effects<Self>) {
        self.clock = self.clock.max(new.0);
        let Some(holder) = self.holder else {
            self.waiting.insert(new);
            return self.vote(local, fx);
        };
        let first = self.waiting.first().copied();
        self.waiting.insert(new);
        if new > holder || first.is_some_and(|first| first < new) {
            return self.send(ProcessId(new.1), Message::Failed, local, fx);
        }
        // The correction of Sanders: if the new request overtakes a waiting request that was first,
        // the overtaken request also receives `Failed`.
        if let Some(displaced) = first.filter(|first| *first < holder) {
            self.send(ProcessId(displaced.1), Message::Failed, local, fx);
        }
        if !self.has_inquired {
            self.has_inquired = true;
            self.send(ProcessId(holder.1), Message::Inquire { clock: holder.0 }, local, fx);
        }
    }

    /// Gives the vote to the first waiting request, after the previous holder has returned the
    /// vote.
    fn vote(&mut self, local: &mut Local, fx: &mut impl Effects<Self>) {
        self.has_inquired = false;
        self.holder = self.waiting.pop_first();
        if let Some((_, process)) = self.holder {
            self.send(ProcessId(process), Message::Locked, local, fx);
        }
    }

    fn on_locked(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        let quorum = self.quorum();
        let Phase::Waiting { request, votes, failed, .. } = &mut self.phase else { return };
        votes.insert(from);
        failed.remove(from);
        if votes.len() == quorum.len() {
            let fence = Fence(*request, u64::from(self.group.me().display_number()));
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence });
        }
    }

    /// If some voter will vote for another request first, returns the votes of all voters that have
    /// asked for their votes back.
    fn relinquish(&mut self, local: &mut Local, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { votes, failed, inquired, .. } = &mut self.phase else { return };
        if failed.is_empty() {
            return;
        }
        let voters = std::mem::take(inquired);
        for voter in &voters {
            votes.remove(voter);
            failed.insert(voter);
        }
        for voter in &voters {
            self.send(voter, Message::Relinquish, local, fx);
        }
    }
}

impl Algorithm for Maekawa {
    fn card(_: &(), _: u32) -> Card {
        Card::mutex("maekawa", "Maekawa's, as in textbooks", "none")
    }
}
