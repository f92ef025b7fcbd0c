//! The bare step of Ricart–Agrawala and of Raft with its log: how fast it is, and what it allocates
//! in steady state, which is nothing but the entries in messages and in logs.
//!
//! `cargo bench --bench step` prints both. Processes enter in turn, or one of them appends; their
//! messages are carried by hand through one reused batch. The rows below that are steps of a node
//! of Paxos that saves after each, without a disk, for one agreement and for a hundred by name.
#![allow(clippy::print_stdout, reason = "a benchmark is here to print")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use tenure_algorithms::agreement::{Paxos, RaftLog, paxos, raft_log};
use tenure_algorithms::compose::Keyed;
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::Of;
use tenure_core::service::log::{self, Payload};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Batch, Group, Input, Node, ProcessId, Protocol, Still, Term};

fn main() {
    println!("{:<16}{:>4}{:>16}{:>22}", "", "N", "million steps/s", "allocations/step");
    for size in [3, 5, 50] {
        let mut group = Processes::boot(size);
        let entries = 2_000_000 / u64::from(size);
        group.enter_in_turn(1_000);
        row("ricart-agrawala", size, || group.enter_in_turn(entries));
    }
    for size in [3, 5] {
        let mut group = Keepers::elect(size);
        group.append(1_000);
        row("raft-log", size, || group.append(200_000));
        row("raft-log, beats", size, || group.beat(200_000));
    }
    for names in [1, 100] {
        let mut saver = Saver::boot(names);
        saver.promise(1_000);
        row("paxos, saved", names, || saver.promise(100_000));
    }
}

/// Takes steps twice: once against the clock, and once to count.
fn row(name: &str, size: u32, mut steps: impl FnMut() -> u64) {
    let start = Instant::now();
    let taken = steps();
    let rate = taken as f64 / start.elapsed().as_secs_f64() / 1e6;
    let mut counted_steps = 0;
    let counted = allocation_counter::measure(|| counted_steps = black_box(steps()));
    let allocations = counted.count_total as f64 / counted_steps as f64;
    println!("{name:<16}{size:>4}{rate:>16.2}{allocations:>22.6}");
}

/// A group, and the messages under way between its processes.
struct Processes {
    processes: Vec<RicartAgrawala>,
    batch: Batch<RicartAgrawala, Still>,
    under_way: VecDeque<(ProcessId, ProcessId, ricart_agrawala::Message)>,
}

impl Processes {
    fn boot(size: u32) -> Self {
        let mut batch = Batch::default();
        let config = ricart_agrawala::Config::default();
        let boot =
            |me| RicartAgrawala::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        Processes { processes, batch, under_way: VecDeque::new() }
    }

    /// Lets each process in turn enter and leave; counts the steps.
    fn enter_in_turn(&mut self, entries: u64) -> u64 {
        let mut steps = 0;
        for entry in 0..entries {
            let at = ProcessId((entry % self.processes.len() as u64) as u32);
            steps += self.step(at, Input::Command(Command::Enter));
            while let Some((from, to, message)) = self.under_way.pop_front() {
                steps += self.step(to, Input::Message { from, message });
            }
        }
        steps
    }

    /// One step, and the exit if it was an entry.
    fn step(&mut self, at: ProcessId, input: Input<RicartAgrawala>) -> u64 {
        self.processes[at.index()].step(input, &mut self.batch);
        let entered = self.batch.events.iter().any(|event| matches!(event, Event::Entered { .. }));
        let under_way = &mut self.under_way;
        under_way.extend(self.batch.messages.drain(..).map(|(to, message)| (at, to, message)));
        black_box(&self.batch.events);
        self.batch.clear();
        if entered { 1 + self.step(at, Input::Command(Command::Exit)) } else { 1 }
    }
}

/// A group that keeps a log; the first of it leads.
struct Keepers {
    processes: Vec<RaftLog>,
    batch: Batch<RaftLog, Still>,
    under_way: VecDeque<(ProcessId, ProcessId, raft_log::Message)>,
    payload: Payload,
    ticket: u64,
}

impl Keepers {
    fn elect(size: u32) -> Self {
        let mut batch = Batch::default();
        let config = raft_log::Config::plain(size, 1);
        let boot = |me| RaftLog::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        batch.clear();
        let (under_way, payload) = (VecDeque::new(), Payload::new([7; 16]));
        let mut group = Keepers { processes, batch, under_way, payload, ticket: 0 };
        group.input(Input::Timer(raft_log::Timer::Election));
        group
    }

    /// Has the leader append so many entries, one after the other; counts the steps.
    fn append(&mut self, entries: u64) -> u64 {
        let append = |group: &mut Self| {
            group.ticket += 1;
            let (ticket, payload) = (group.ticket, group.payload.clone());
            group.input(Input::Command(log::Command::Append { ticket, payload }))
        };
        (0..entries).map(|_| append(self)).sum()
    }

    /// Has the leader say so often that it is there.
    fn beat(&mut self, times: u64) -> u64 {
        (0..times).map(|_| self.input(Input::Timer(raft_log::Timer::Heartbeat))).sum()
    }

    /// Gives the first process an input, and carries all messages that come of it.
    fn input(&mut self, input: Input<RaftLog>) -> u64 {
        let mut steps = 1;
        self.step(ProcessId(0), input);
        while let Some((from, to, message)) = self.under_way.pop_front() {
            self.step(to, Input::Message { from, message });
            steps += 1;
        }
        steps
    }

    fn step(&mut self, at: ProcessId, input: Input<RaftLog>) {
        self.processes[at.index()].step(input, &mut self.batch);
        let messages = self.batch.messages.drain(..);
        self.under_way.extend(messages.map(|(to, message)| (at, to, message)));
        black_box(&self.batch.events);
        self.batch.clear();
    }
}

/// A node that agrees on many things, and has promised more after each step.
struct Saver {
    node: Node<Keyed<u32, Paxos>>,
    names: u32,
    ballot: u64,
}

impl Saver {
    fn boot(names: u32) -> Self {
        let node = Node::boot(Group::new(ProcessId(0), 3), &Default::default(), None, Still);
        let mut saver = Saver { node, names, ballot: 0 };
        saver.node.pending().keep_back();
        saver.save();
        saver.promise(u64::from(names));
        saver
    }

    /// Promises so often, and saves each promise; counts the steps.
    fn promise(&mut self, times: u64) -> u64 {
        for _ in 0..times {
            self.ballot += 1;
            let key = (self.ballot % u64::from(self.names)) as u32;
            let ballot = Term { number: self.ballot, leader: ProcessId(1) };
            let message = Of { key, inner: paxos::Message::Prepare { ballot } };
            self.node.step(Input::Message { from: ProcessId(1), message }).keep_back();
            self.save();
        }
        times
    }

    /// Saves as a driver does, and lets go.
    fn save(&mut self) {
        let saving = self.node.save().expect("a promise");
        black_box(self.node.is_long());
        self.node.saved(saving);
        while let Some(released) = self.node.release() {
            black_box(&released);
        }
    }
}
