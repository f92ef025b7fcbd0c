//! A group of processes as a program for TraceForge. A thread for each process runs the same
//! protocol code on the same process state as the other tools.
//!
//! TraceForge stores no states. It enumerates executions that differ in the messages that threads
//! receive, and in the choices of threads. In each choice, a thread decides whether the user of its
//! process acts before the process receives the next message.
//!
//! TraceForge runs concurrent steps in one order only, but mutual exclusion must hold in every
//! order. Messages therefore carry vector clocks. The program compares these clocks to check that
//! no two critical sections of an execution are concurrent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_core::service::{election, mutex};
use tenure_core::{ConstantEnvironment, EffectBuffer, Group, Input, ProcessId};
use traceforge::thread::{self, ThreadId};
use traceforge::{Config, ConsType, Stats};

use crate::compared_protocol::{ComparedProtocol, Scope, User};

/// Prefix of the panic message when the property is violated.
pub(crate) const VIOLATION: &str = "the property is violated";

/// Tag of the first message to each thread. This message contains the IDs of the threads of all
/// processes.
const START: u32 = 1;

#[derive(Clone, Debug, PartialEq)]
enum Envelope<M> {
    Start(Vec<ThreadId>),
    Message { from: u32, clock: Vec<u64>, message: M },
}

#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Critical sections, in the order in which this execution runs them.
    sections: Vec<Section>,
    leaders: BTreeMap<u64, u32>,
}

#[derive(Debug)]
struct Section {
    process: u32,
    /// Component of this process in its vector clock when it exits; `None` while the process is
    /// inside.
    exit: Option<u64>,
}

/// An event that can violate the property of the comparison.
pub(crate) trait Recorded {
    /// Records the event of a process with its vector clock. Panics if it violates the property.
    fn record(&self, process: u32, clock: &[u64], records: &mut Records);
}

impl Recorded for mutex::Event {
    fn record(&self, process: u32, clock: &[u64], records: &mut Records) {
        match self {
            mutex::Event::Entered { .. } => {
                for section in records.sections.iter().filter(|it| it.process != process) {
                    let is_before =
                        section.exit.is_some_and(|exit| exit <= clock[section.process as usize]);
                    assert!(is_before, "{VIOLATION}: two processes are inside");
                }
                records.sections.push(Section { process, exit: None });
            }
            mutex::Event::Exited => {
                let own = records.sections.iter_mut().rfind(|it| it.process == process);
                own.expect("it has entered").exit = Some(clock[process as usize]);
            }
        }
    }
}

impl Recorded for election::Event {
    fn record(&self, process: u32, _: &[u64], records: &mut Records) {
        if let election::Event::Elected { leader, term } = self
            && leader.0 == process
        {
            let known = *records.leaders.entry(term.number).or_insert(process);
            assert!(known == process, "{VIOLATION}: two processes lead");
        }
    }
}

/// Explores a group, and returns the numbers of complete and of blocked executions. An execution is
/// complete when all threads wait for messages. Panics with [`VIOLATION`] if the property is
/// violated.
pub(crate) fn explore<P>(scope: Scope) -> Stats
where
    P: ComparedProtocol<Event: Recorded>,
{
    let config = Config::builder().with_cons_type(ConsType::FIFO).build();
    traceforge::verify(config, move || {
        let records = Arc::new(Mutex::new(Records::default()));
        let spawn = |at| {
            let records = records.clone();
            thread::spawn_daemon(move || run::<P>(ProcessId(at), scope, &records))
        };
        let threads: Vec<ThreadId> = (0..scope.size).map(|at| spawn(at).thread().id()).collect();
        for thread in &threads {
            let start = Envelope::<P::Message>::Start(threads.clone());
            traceforge::send_tagged_msg(*thread, START, start);
        }
    })
}

/// Runs one process until it waits for a message and no message arrives any more. TraceForge then
/// ends the execution.
fn run<P>(me: ProcessId, scope: Scope, records: &Mutex<Records>)
where
    P: ComparedProtocol<Event: Recorded>,
{
    // A protocol message of another process may arrive before the start message.
    let is_start = |_: ThreadId, tag: Option<u32>| tag == Some(START);
    let start: Envelope<P::Message> = traceforge::recv_tagged_msg_block(is_start);
    let Envelope::Start(threads) = start else { panic!("the tagged message has the threads") };
    let group = Group::new(me, scope.size);
    let mut clock = vec![0; threads.len()];
    let mut user = P::User::new(scope.times);
    let boot = &mut EffectBuffer::new(ConstantEnvironment);
    let mut process = P::boot(group, &P::config(scope), None, boot);
    loop {
        let acts = user.enabled().filter(|_| traceforge::nondet());
        clock[me.index()] += 1;
        let input = match acts {
            Some(command) => {
                user.on_command();
                Input::Command(command)
            }
            None => match traceforge::recv_msg_block::<Envelope<P::Message>>() {
                Envelope::Message { from, clock: theirs, message } => {
                    for (own, other) in clock.iter_mut().zip(theirs) {
                        *own = (*own).max(other);
                    }
                    Input::Message { from: ProcessId(from), message }
                }
                Envelope::Start(_) => panic!("the threads are known"),
            },
        };
        let mut batch: EffectBuffer<P> = EffectBuffer::new(ConstantEnvironment);
        process.step(input, &mut batch);
        for event in &batch.events {
            user.on_event(event);
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            event.record(me.0, &clock, &mut records);
        }
        for (to, message) in batch.messages {
            let (from, clock) = (me.0, clock.clone());
            traceforge::send_msg(threads[to.index()], Envelope::Message { from, clock, message });
        }
    }
}
