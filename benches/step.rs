//! The bare step of Ricart–Agrawala: how fast it is, and that it allocates nothing in steady
//! state.
//!
//! `cargo bench --bench step` prints both. Processes enter in turn; their messages are carried by
//! hand through one reused batch.
#![allow(clippy::print_stdout, reason = "a benchmark is here to print")]

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Batch, Group, Input, ProcessId, Protocol, Still};

fn main() {
    println!("{:>4}{:>16}{:>22}", "N", "million steps/s", "allocations/step");
    for size in [3, 5, 50] {
        let mut group = Processes::boot(size);
        let entries = 2_000_000 / u64::from(size);
        group.enter_in_turn(1_000);
        let start = Instant::now();
        let steps = group.enter_in_turn(entries);
        let rate = steps as f64 / start.elapsed().as_secs_f64() / 1e6;
        let counted = allocation_counter::measure(|| {
            black_box(group.enter_in_turn(entries));
        });
        let allocations = counted.count_total as f64 / steps as f64;
        println!("{size:>4}{rate:>16.1}{allocations:>22.6}");
    }
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
