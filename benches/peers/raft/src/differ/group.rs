//! A group of processes of one of the two implementations. It executes the actions of a schedule,
//! and collects the events that the users receive.

use std::collections::VecDeque;

use tenure_core::service::log::{Command, Content, Event, Payload};
use tenure_core::{
    ConstantEnvironment, EffectBuffer, Group as Members, Input, ProcessId, Protocol,
};

use super::schedule::{Action, Network};

/// A protocol whose timers a schedule can fire at any moment.
pub trait Forced: Protocol<Command = Command, Event = Event> {
    const ELECTION: Self::Timer;
    const HEARTBEAT: Self::Timer;

    fn term(&self) -> u64;

    /// Makes the last contact with a leader so old that it does not suppress an election.
    fn age_leader_contact(&mut self) {}

    /// Returns a message that makes a candidate withdraw, for a protocol in which two candidates
    /// cannot both continue. Returns `None` for other protocols.
    fn withdrawal_message(&self) -> Option<Self::Message> {
        None
    }
}

/// State of one process, computed only from the events that its user has received.
#[derive(Clone, Debug, Default)]
pub struct UserView {
    pub is_leader: bool,
    pub is_following: bool,
    pub log: Vec<Content>,
    pub committed: usize,
}

pub struct Group<P: Forced> {
    config: P::Config,
    pre_vote: bool,
    processes: Vec<Option<P>>,
    saved: Vec<Option<P::Stable>>,
    pub views: Vec<UserView>,
    /// Committed entries. Each entry is recorded when the first process reports that it is
    /// committed.
    pub history: Vec<Content>,
    under_way: VecDeque<(usize, usize, P::Message)>,
    batch: EffectBuffer<P, ConstantEnvironment>,
    tickets: u64,
}

impl<P: Forced> Group<P> {
    pub fn new(size: usize, config: P::Config, pre_vote: bool) -> Self {
        let mut group = Group {
            config,
            pre_vote,
            processes: (0..size).map(|_| None).collect(),
            saved: vec![None; size],
            views: vec![UserView::default(); size],
            history: Vec::new(),
            under_way: VecDeque::new(),
            batch: EffectBuffer::default(),
            tickets: 0,
        };
        for at in 0..size {
            group.boot(at).expect("nothing is wrong at the beginning");
        }
        group
    }

    /// Performs one action, and then delivers messages until no message is in transit.
    ///
    /// # Errors
    ///
    /// A description of the violation: two processes commit different entries at one index, or a
    /// process stores an entry at an index that does not follow its log.
    pub fn act(&mut self, act: &Action, network: &Network) -> Result<(), String> {
        match *act {
            Action::Elect { at } => self.elect(at, network)?,
            Action::Propose { at } => {
                self.tickets += 1;
                let (ticket, payload) = (self.tickets, Payload::from(self.tickets));
                self.input(at, Input::Command(Command::Append { ticket, payload }))?;
                self.isolate_deposed_leader(at, network);
            }
            Action::Beat { at } => self.heartbeat(at, network)?,
            Action::CheckQuorum { at } => {
                // The first check may count processes that responded long ago. Only the second
                // check shows whether the leader has a quorum.
                for _ in 0..2 {
                    self.heartbeat(at, network)?;
                    self.deliver_all(network)?;
                    if self.views[at].is_leader {
                        self.input(at, Input::Timer(P::ELECTION))?;
                    }
                }
            }
            Action::Transfer { at, to } => {
                self.tickets += 1;
                let command =
                    Command::Transfer { ticket: self.tickets, to: ProcessId::from_index(to) };
                if self.views[at].is_leader {
                    self.input(at, Input::Command(command))?;
                }
            }
            Action::Crash { at } => {
                self.saved[at] = self.processes[at].take().map(|process| process.stable());
                self.views[at] = UserView::default();
            }
            Action::Recover { at } => self.boot(at)?,
        }
        self.deliver_all(network)
    }

    /// Fires the election timeout of a process until the process leads. Gives up when the term of
    /// the process is two above the highest term that the group had at the start.
    ///
    /// Without pre-votes, the first timeouts only raise the term of the process to this highest
    /// term, and their messages are lost. After each later timeout, messages are delivered to the
    /// processes on the same side of the network.
    fn elect(&mut self, at: usize, network: &Network) -> Result<(), String> {
        for one in (0..self.processes.len()).filter(|it| *it == at || network.joins(*it, at)) {
            if self.pre_vote && self.views[one].is_following {
                self.expire_without_delivery(one)?;
            }
            if self.pre_vote {
                self.withdraw_candidate(one, at)?;
            }
        }
        let highest = self.processes.iter().flatten().map(P::term).max().unwrap_or(0);
        for _ in self.term(at)..if self.pre_vote { 0 } else { highest } {
            if !self.views[at].is_leader {
                self.expire_without_delivery(at)?;
            }
        }
        for _ in self.term(at)..highest + 2 {
            if self.views[at].is_leader {
                return Ok(());
            }
            for (process, view) in self.processes.iter_mut().zip(&self.views) {
                if let Some(process) =
                    process.as_mut().filter(|_| !self.pre_vote || !view.is_leader)
                {
                    process.age_leader_contact();
                }
            }
            self.input(at, Input::Timer(P::ELECTION))?;
            self.deliver_all(network)?;
        }
        Ok(())
    }

    fn term(&self, at: usize) -> u64 {
        self.processes[at].as_ref().map_or(u64::MAX, P::term)
    }

    /// Makes a candidate withdraw. The messages that it then sends are lost.
    fn withdraw_candidate(&mut self, one: usize, at: usize) -> Result<(), String> {
        let vote_request =
            self.processes[one].as_ref().filter(|_| one != at).and_then(P::withdrawal_message);
        if let Some(message) = vote_request {
            self.input(one, Input::Message { from: ProcessId::from_index(at), message })?;
            self.under_way.clear();
        }
        Ok(())
    }

    fn expire_without_delivery(&mut self, at: usize) -> Result<(), String> {
        self.input(at, Input::Timer(P::ELECTION))?;
        self.under_way.clear();
        Ok(())
    }

    fn heartbeat(&mut self, at: usize, network: &Network) -> Result<(), String> {
        if self.views[at].is_leader {
            self.input(at, Input::Timer(P::HEARTBEAT))?;
            self.isolate_deposed_leader(at, network);
        }
        Ok(())
    }

    /// If the leader can reach a process with a later term, drops the messages in transit to all
    /// processes without a later term. The leader is then deposed before other processes receive
    /// its messages.
    fn isolate_deposed_leader(&mut self, at: usize, network: &Network) {
        let own = self.term(at);
        let is_later = |to: &usize| {
            let process = self.processes[*to].as_ref().filter(|_| network.joins(at, *to));
            process.is_some_and(|process| process.term() > own)
        };
        let later: Vec<usize> = (0..self.processes.len()).filter(is_later).collect();
        if !later.is_empty() {
            self.under_way.retain(|(_, to, _)| later.contains(to));
        }
    }

    fn deliver_all(&mut self, network: &Network) -> Result<(), String> {
        while let Some((from, to, message)) = self.under_way.pop_front() {
            let times = if network.twice { 2 } else { 1 };
            for _ in 0..times {
                if network.carries(from, to) {
                    let (from, message) = (ProcessId::from_index(from), message.clone());
                    self.input(to, Input::Message { from, message })?;
                }
            }
        }
        Ok(())
    }

    fn boot(&mut self, at: usize) -> Result<(), String> {
        let members = Members::new(ProcessId::from_index(at), self.processes.len() as u32);
        let saved = self.saved[at].take();
        self.processes[at] = Some(P::boot(members, &self.config, saved, &mut self.batch));
        self.release_effects(at)
    }

    fn input(&mut self, at: usize, input: Input<P>) -> Result<(), String> {
        let Some(process) = &mut self.processes[at] else { return Ok(()) };
        process.step(input, &mut self.batch);
        self.release_effects(at)
    }

    fn release_effects(&mut self, at: usize) -> Result<(), String> {
        let messages = self.batch.messages.drain(..);
        self.under_way.extend(messages.map(|(to, message)| (at, to.index(), message)));
        self.batch.timers.clear();
        for event in std::mem::take(&mut self.batch.events) {
            self.on_event(at, event)?;
        }
        Ok(())
    }

    fn on_event(&mut self, at: usize, event: Event) -> Result<(), String> {
        let view = &mut self.views[at];
        match event {
            Event::Leading { .. } => (view.is_leader, view.is_following) = (true, false),
            Event::Following { leader, .. } => {
                (view.is_leader, view.is_following) = (false, leader.is_some());
            }
            Event::Dropped { from } => view.log.truncate(from as usize - 1),
            Event::Stored { index, entry } => {
                if view.log.len() as u64 + 1 != index {
                    return Err(format!("p{} stores {index} behind {}", at + 1, view.log.len()));
                }
                view.log.push(entry.content);
            }
            Event::Committed { index, entry } => {
                view.committed = index as usize;
                match self.history.get(index as usize - 1) {
                    None => self.history.push(entry.content),
                    Some(known) if *known == entry.content => {}
                    Some(known) => {
                        let (place, content) = (at + 1, entry.content);
                        return Err(format!(
                            "p{place} commits {content:?} at {index}, where {known:?} is"
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
