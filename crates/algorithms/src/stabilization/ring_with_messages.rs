//! Dijkstra's ring with messages, started in any state of its processes and its links.
//!
//! The processes are those of [`KStateTokenRing`], and every step runs their handlers. No user
//! requests entry, so a process that has the privilege passes it on. A link holds at most one
//! message. A message that is sent on a full link replaces the older one, which is lost. Schedules
//! are weakly fair, because a process could otherwise repeat its state for ever while no message
//! arrives.
//!
//! Each process P has three registers: the state of P, the message on the link from P to its
//! successor, and the successor's copy of the state of P. The registers of all processes, in the
//! order of the ring, form a longer ring of Dijkstra's algorithm. The register of an empty link is
//! left out. A state of the system is legitimate if this longer ring has exactly one privilege.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::stabilization::{StabilizingSystem, SystemStep};
use tenure_core::{EffectBuffer, Group, Input, ProcessId, Protocol};

use crate::mutex::KStateTokenRing;
use crate::mutex::dijkstra_ring::{Config, Message, State, Timer};

/// Dijkstra's ring of processes that exchange messages, with its links.
#[derive(Clone, Debug)]
pub struct KStateRingWithMessages {
    size: u32,
    states: u8,
}

const MOVES: usize = 0;
const REPEATS: usize = 1;
const RECEIVES: usize = 2;

/// Number of variables per process: its own state, its copy of its predecessor's state, and the
/// message to its successor. A message is stored as the state that it carries plus 1. The value 0
/// means that there is no message.
const VARIABLES: usize = 3;

impl KStateRingWithMessages {
    /// Creates a ring of `size` processes. Each process has `states` states. `size` must be at
    /// least 2, and `states` at most 254.
    pub fn new(size: u32, states: u8) -> Self {
        KStateRingWithMessages { size, states }
    }

    fn config(&self, state: &[u8]) -> Config {
        let values = state.chunks(VARIABLES);
        let start = values.map(|it| State { own: it[0].into(), left: it[1].into() }).collect();
        Config { state_count: Some(self.states.into()), initial_states: start, ..Config::default() }
    }

    fn boot(&self, config: &Config, at: usize) -> KStateTokenRing {
        let group = Group::new(ProcessId::from_index(at), self.size);
        KStateTokenRing::boot(
            group,
            config,
            None,
            &mut EffectBuffer::<KStateTokenRing>::default().sink(),
        )
    }
}

/// Runs a handler of the process at index `at`. Stores two results in `next`: the new state of the
/// process and, if the process sends a message, this message.
fn run(mut process: KStateTokenRing, at: usize, input: Input<KStateTokenRing>, next: &mut [u8]) {
    let mut batch = EffectBuffer::<KStateTokenRing>::default();
    process.step(input, &mut batch.sink());
    let State { own, left } = process.state();
    let value = |state: u32| u8::try_from(state).expect("states are below 255");
    next[VARIABLES * at] = value(own);
    next[VARIABLES * at + 1] = value(left);
    for (_, Message::State { own }) in batch.messages {
        next[VARIABLES * at + 2] = value(own) + 1;
    }
}

impl StabilizingSystem for KStateRingWithMessages {
    fn size(&self) -> u32 {
        self.size
    }

    fn domain_sizes(&self) -> Vec<u8> {
        let of_process = [self.states, self.states, self.states + 1];
        (0..self.size).flat_map(|_| of_process).collect()
    }

    fn rules(&self) -> &'static [&'static str] {
        &["moves", "sends its state", "receives"]
    }

    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8])) {
        let size = self.size as usize;
        let config = self.config(state);
        for at in 0..size {
            let process = self.boot(&config, at);
            let before = (at + size - 1) % size;
            let mut happens = |rule: usize, input: Input<KStateTokenRing>| {
                let mut next = state.to_vec();
                if rule == RECEIVES {
                    next[VARIABLES * before + 2] = 0;
                }
                run(process.clone(), at, input, &mut next);
                let machine = ProcessId::from_index(at);
                visit(SystemStep { machine, rule, is_move: rule == MOVES }, &next);
            };
            if process.is_privileged() {
                happens(MOVES, Input::Timer(Timer::Pass));
            }
            happens(REPEATS, Input::Timer(Timer::Repeat));
            if let Some(own) = state[VARIABLES * before + 2].checked_sub(1) {
                let message = Message::State { own: own.into() };
                happens(RECEIVES, Input::Message { from: ProcessId::from_index(before), message });
            }
        }
    }

    fn is_legitimate(&self, state: &[u8]) -> bool {
        let (mut changes, first) = (0, state[0]);
        let mut last = first;
        let mut pass = |register: u8| {
            changes += u32::from(register != last);
            last = register;
        };
        for (at, process) in state.chunks(VARIABLES).enumerate() {
            if at > 0 {
                pass(process[1]);
            }
            pass(process[0]);
            if let Some(message) = process[2].checked_sub(1) {
                pass(message);
            }
        }
        pass(state[1]);
        changes + u32::from(first == last) == 1
    }

    fn assumes_weak_fairness(&self) -> bool {
        true
    }

    fn format_machine(&self, state: &[u8], machine: ProcessId) -> String {
        let values = &state[VARIABLES * machine.index()..];
        let (own, left) = (values[0], values[1]);
        match values[2].checked_sub(1) {
            Some(message) => format!("{left}|{own} →{message}"),
            None => format!("{left}|{own}   "),
        }
    }

    fn legend(&self) -> &'static str {
        "known state of the predecessor | own state → message to the successor"
    }
}
