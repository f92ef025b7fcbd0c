//! A group of either kind, led through a schedule, and what its users are told.

use std::collections::VecDeque;

use tenure_core::service::log::{Command, Content, Event, Payload};
use tenure_core::{Batch, Group as Members, Input, ProcessId, Protocol, Still};

use super::schedule::{Act, Network};

/// A protocol whose timeouts can be forced.
pub trait Forced: Protocol<Command = Command, Event = Event> {
    /// The election timeout.
    const ELECTION: Self::Timer;
    /// The heartbeat of a leader.
    const HEARTBEAT: Self::Timer;

    /// Its term.
    fn term(&self) -> u64;

    /// So much time has passed that no leader is spared for having been heard of.
    fn let_time_pass(&mut self) {}

    /// What makes whoever asks for itself leave that, where two who ask do not both go on.
    fn better_asks(&self) -> Option<Self::Message> {
        None
    }
}

/// What the user of one process was told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Whether it leads.
    pub leads: bool,
    /// Whether it knows of a leader, and follows it.
    pub hears: bool,
    /// What is in its log.
    pub log: Vec<Content>,
    /// How much of it is committed.
    pub committed: usize,
}

/// The processes of one group.
pub struct Group<P: Forced> {
    config: P::Config,
    pre_vote: bool,
    processes: Vec<Option<P>>,
    saved: Vec<Option<P::Stable>>,
    pub told: Vec<Told>,
    /// What is committed, as anybody was told.
    pub history: Vec<Content>,
    under_way: VecDeque<(usize, usize, P::Message)>,
    batch: Batch<P, Still>,
    tickets: u64,
}

impl<P: Forced> Group<P> {
    pub fn new(size: usize, config: P::Config, pre_vote: bool) -> Self {
        let mut group = Group {
            config,
            pre_vote,
            processes: (0..size).map(|_| None).collect(),
            saved: vec![None; size],
            told: vec![Told::default(); size],
            history: Vec::new(),
            under_way: VecDeque::new(),
            batch: Batch::default(),
            tickets: 0,
        };
        for at in 0..size {
            group.boot(at).expect("nothing is wrong at the beginning");
        }
        group
    }

    /// Does one thing, and carries messages until there are none.
    ///
    /// # Errors
    ///
    /// A sentence, where the group contradicts itself.
    pub fn act(&mut self, act: &Act, network: &Network) -> Result<(), String> {
        match *act {
            Act::Elect { at } => self.elect(at, network)?,
            Act::Propose { at } => {
                self.tickets += 1;
                let (ticket, payload) = (self.tickets, Payload::from(self.tickets));
                self.input(at, Input::Command(Command::Append { ticket, payload }))?;
                self.let_later_hear(at, network);
            }
            Act::Beat { at } => self.beat(at, network)?,
            Act::CheckQuorum { at } => {
                // What was heard before the first check counts for none of the two kinds.
                for _ in 0..2 {
                    self.beat(at, network)?;
                    self.carry(network)?;
                    if self.told[at].leads {
                        self.input(at, Input::Timer(P::ELECTION))?;
                    }
                }
            }
            Act::Transfer { at, to } => {
                self.tickets += 1;
                let command = Command::Transfer { ticket: self.tickets, to: ProcessId::at(to) };
                if self.told[at].leads {
                    self.input(at, Input::Command(command))?;
                }
            }
            Act::Crash { at } => {
                self.saved[at] = self.processes[at].take().map(|process| process.stable());
                self.told[at] = Told::default();
            }
            Act::Recover { at } => self.boot(at)?,
        }
        self.carry(network)
    }

    /// First so that nobody hears, until it is not behind in terms; then so that those can hear
    /// who are on its side, as often as it takes.
    fn elect(&mut self, at: usize, network: &Network) -> Result<(), String> {
        for one in (0..self.processes.len()).filter(|it| *it == at || network.joins(*it, at)) {
            if self.pre_vote && self.told[one].hears {
                self.time_out_unheard(one)?;
            }
            if self.pre_vote {
                self.leave_asking(one, at)?;
            }
        }
        let highest = self.processes.iter().flatten().map(P::term).max().unwrap_or(0);
        for _ in self.term(at)..if self.pre_vote { 0 } else { highest } {
            if !self.told[at].leads {
                self.time_out_unheard(at)?;
            }
        }
        for _ in self.term(at)..highest + 2 {
            if self.told[at].leads {
                return Ok(());
            }
            for (process, told) in self.processes.iter_mut().zip(&self.told) {
                if let Some(process) = process.as_mut().filter(|_| !self.pre_vote || !told.leads) {
                    process.let_time_pass();
                }
            }
            self.input(at, Input::Timer(P::ELECTION))?;
            self.carry(network)?;
        }
        Ok(())
    }

    fn term(&self, at: usize) -> u64 {
        self.processes[at].as_ref().map_or(u64::MAX, P::term)
    }

    /// One that asks for itself does not any more; nobody hears what it says.
    fn leave_asking(&mut self, one: usize, at: usize) -> Result<(), String> {
        let asks = self.processes[one].as_ref().filter(|_| one != at).and_then(P::better_asks);
        if let Some(message) = asks {
            self.input(one, Input::Message { from: ProcessId::at(at), message })?;
            self.under_way.clear();
        }
        Ok(())
    }

    fn time_out_unheard(&mut self, at: usize) -> Result<(), String> {
        self.input(at, Input::Timer(P::ELECTION))?;
        self.under_way.clear();
        Ok(())
    }

    fn beat(&mut self, at: usize, network: &Network) -> Result<(), String> {
        if self.told[at].leads {
            self.input(at, Input::Timer(P::HEARTBEAT))?;
            self.let_later_hear(at, network);
        }
        Ok(())
    }

    /// Where somebody knows of a later term, nobody else hears what a leader says now.
    fn let_later_hear(&mut self, at: usize, network: &Network) {
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

    fn carry(&mut self, network: &Network) -> Result<(), String> {
        while let Some((from, to, message)) = self.under_way.pop_front() {
            let times = if network.twice { 2 } else { 1 };
            for _ in 0..times {
                if network.carries(from, to) {
                    let (from, message) = (ProcessId::at(from), message.clone());
                    self.input(to, Input::Message { from, message })?;
                }
            }
        }
        Ok(())
    }

    fn boot(&mut self, at: usize) -> Result<(), String> {
        let members = Members::new(ProcessId::at(at), self.processes.len() as u32);
        let saved = self.saved[at].take();
        self.processes[at] = Some(P::boot(members, &self.config, saved, &mut self.batch));
        self.let_out(at)
    }

    fn input(&mut self, at: usize, input: Input<P>) -> Result<(), String> {
        let Some(process) = &mut self.processes[at] else { return Ok(()) };
        process.step(input, &mut self.batch);
        self.let_out(at)
    }

    fn let_out(&mut self, at: usize) -> Result<(), String> {
        let messages = self.batch.messages.drain(..);
        self.under_way.extend(messages.map(|(to, message)| (at, to.index(), message)));
        self.batch.timers.clear();
        for event in std::mem::take(&mut self.batch.events) {
            self.tell(at, event)?;
        }
        Ok(())
    }

    fn tell(&mut self, at: usize, event: Event) -> Result<(), String> {
        let told = &mut self.told[at];
        match event {
            Event::Leading { .. } => (told.leads, told.hears) = (true, false),
            Event::Following { leader, .. } => {
                (told.leads, told.hears) = (false, leader.is_some());
            }
            Event::Dropped { from } => told.log.truncate(from as usize - 1),
            Event::Stored { index, entry } => {
                if told.log.len() as u64 + 1 != index {
                    return Err(format!("p{} stores {index} behind {}", at + 1, told.log.len()));
                }
                told.log.push(entry.content);
            }
            Event::Committed { index, entry } => {
                told.committed = index as usize;
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
