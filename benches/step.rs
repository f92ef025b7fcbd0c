//! Speed and memory allocations of a single step of Ricart–Agrawala and of Raft with its log. After
//! the start, only entries in messages and logs need memory allocations.
//!
//! `cargo bench --bench step` prints both figures. In Ricart–Agrawala, the processes enter in turn.
//! In Raft, the leader appends entries or sends heartbeats. All steps put their effects into one
//! reused buffer. The last rows are steps of a Paxos node that saves after each step, without a
//! disk. In these rows, N is the number of agreements in which the node takes part.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use tenure_algorithms::agreement::{Paxos, RaftReplica, paxos, raft_log};
use tenure_algorithms::compose::Keyed;
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::Tagged;
use tenure_core::service::log::{self, Payload};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    ConstantEnvironment, EffectBuffer, Group, Input, Node, ProcessId, Protocol, Term,
};

fn main() {
    println!("{:<16}{:>4}{:>16}{:>22}", "", "N", "million steps/s", "allocations/step");
    for size in [3, 5, 50] {
        let mut group = Processes::boot(size);
        let entries = 2_000_000 / u64::from(size);
        group.enter_in_turn(1_000);
        row("ricart-agrawala", size, || group.enter_in_turn(entries));
    }
    for size in [3, 5] {
        let mut group = LogGroup::elect(size);
        group.append(1_000);
        row("raft-log", size, || group.append(200_000));
        row("raft-log, beats", size, || group.heartbeats(200_000));
    }
    for names in [1, 100] {
        let mut node = SavingNode::boot(names);
        node.promise(1_000);
        row("paxos, saved", names, || node.promise(100_000));
    }
}

/// Runs the steps twice: once to measure the time, and once to count the allocations. `steps`
/// returns the number of steps.
fn row(name: &str, size: u32, mut steps: impl FnMut() -> u64) {
    let start = Instant::now();
    let taken = steps();
    let rate = taken as f64 / start.elapsed().as_secs_f64() / 1e6;
    let mut counted_steps = 0;
    let counted = allocation_counter::measure(|| counted_steps = black_box(steps()));
    let allocations = counted.count_total as f64 / counted_steps as f64;
    println!("{name:<16}{size:>4}{rate:>16.2}{allocations:>22.6}");
}

struct Processes {
    processes: Vec<RicartAgrawala>,
    batch: EffectBuffer<RicartAgrawala, ConstantEnvironment>,
    in_flight: VecDeque<(ProcessId, ProcessId, ricart_agrawala::Message)>,
}

impl Processes {
    fn boot(size: u32) -> Self {
        let mut batch = EffectBuffer::default();
        let config = ricart_agrawala::Config::default();
        let boot =
            |me| RicartAgrawala::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        Processes { processes, batch, in_flight: VecDeque::new() }
    }

    /// Lets the processes enter and exit in turn. Returns the number of steps.
    fn enter_in_turn(&mut self, entries: u64) -> u64 {
        let mut steps = 0;
        for entry in 0..entries {
            let at = ProcessId((entry % self.processes.len() as u64) as u32);
            steps += self.step(at, Input::Command(Command::Enter));
            while let Some((from, to, message)) = self.in_flight.pop_front() {
                steps += self.step(to, Input::Message { from, message });
            }
        }
        steps
    }

    /// Performs one step of a process. If the process enters in this step, also performs its exit.
    /// Returns the number of steps.
    fn step(&mut self, at: ProcessId, input: Input<RicartAgrawala>) -> u64 {
        self.processes[at.index()].step(input, &mut self.batch);
        let entered = self.batch.events.iter().any(|event| matches!(event, Event::Entered { .. }));
        let in_flight = &mut self.in_flight;
        in_flight.extend(self.batch.messages.drain(..).map(|(to, message)| (at, to, message)));
        black_box(&self.batch.events);
        self.batch.clear();
        if entered { 1 + self.step(at, Input::Command(Command::Exit)) } else { 1 }
    }
}

/// A group with a replicated log, led by the first process.
struct LogGroup {
    processes: Vec<RaftReplica>,
    batch: EffectBuffer<RaftReplica, ConstantEnvironment>,
    in_flight: VecDeque<(ProcessId, ProcessId, raft_log::Message)>,
    payload: Payload,
    ticket: u64,
}

impl LogGroup {
    fn elect(size: u32) -> Self {
        let mut batch = EffectBuffer::default();
        let config = raft_log::Config::with_defaults(size, 1);
        let boot =
            |me| RaftReplica::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        batch.clear();
        let (in_flight, payload) = (VecDeque::new(), Payload::new([7; 16]));
        let mut group = LogGroup { processes, batch, in_flight, payload, ticket: 0 };
        group.deliver(Input::Timer(raft_log::Timer::Election));
        group
    }

    /// Lets the leader append entries one after the other. Returns the number of steps.
    fn append(&mut self, entries: u64) -> u64 {
        let append = |group: &mut Self| {
            group.ticket += 1;
            let (ticket, payload) = (group.ticket, group.payload.clone());
            group.deliver(Input::Command(log::Command::Append { ticket, payload }))
        };
        (0..entries).map(|_| append(self)).sum()
    }

    /// Lets the leader send heartbeats. Returns the number of steps.
    fn heartbeats(&mut self, times: u64) -> u64 {
        (0..times).map(|_| self.deliver(Input::Timer(raft_log::Timer::Heartbeat))).sum()
    }

    fn deliver(&mut self, input: Input<RaftReplica>) -> u64 {
        let mut steps = 1;
        self.step(ProcessId(0), input);
        while let Some((from, to, message)) = self.in_flight.pop_front() {
            self.step(to, Input::Message { from, message });
            steps += 1;
        }
        steps
    }

    fn step(&mut self, at: ProcessId, input: Input<RaftReplica>) {
        self.processes[at.index()].step(input, &mut self.batch);
        let messages = self.batch.messages.drain(..);
        self.in_flight.extend(messages.map(|(to, message)| (at, to, message)));
        black_box(&self.batch.events);
        self.batch.clear();
    }
}

/// A node with many agreements that saves after each step.
struct SavingNode {
    node: Node<Keyed<u32, Paxos>>,
    names: u32,
    ballot: u64,
}

impl SavingNode {
    fn boot(names: u32) -> Self {
        let node =
            Node::boot(Group::new(ProcessId(0), 3), &Default::default(), None, ConstantEnvironment);
        let mut node = SavingNode { node, names, ballot: 0 };
        node.node.boot_step().queue_effects();
        node.save();
        node.promise(u64::from(names));
        node
    }

    /// Handles prepare messages and saves each promise. Returns the number of steps.
    fn promise(&mut self, times: u64) -> u64 {
        for _ in 0..times {
            self.ballot += 1;
            let key = (self.ballot % u64::from(self.names)) as u32;
            let ballot = Term { number: self.ballot, leader: ProcessId(1) };
            let message = Tagged { key, inner: paxos::Message::Prepare { ballot } };
            self.node.step(Input::Message { from: ProcessId(1), message }).queue_effects();
            self.save();
        }
        times
    }

    /// Saves as a driver does, and releases the effects.
    fn save(&mut self) {
        let saving = self.node.begin_save().expect("an unsaved promise");
        black_box(self.node.needs_rewrite());
        self.node.finish_save(saving);
        while let Some(released) = self.node.release() {
            black_box(&released);
        }
    }
}
