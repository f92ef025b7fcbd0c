//! Symmetry reduction: fewer states, and the same judgements.

use serde::{Deserialize, Serialize};
use tenure_check::{Check, CheckError, Judgement, Renaming, Symmetric};
use tenure_core::monitors::MutualExclusion;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol, labelled};

use crate::verdicts::verdicts;

/// A coordinator (P1) with a queue. All clients are symmetric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct QueueCoordinator {
    group: Group,
    waits: bool,
    manner: Manner,
    /// The holder, followed by the waiting processes.
    queue: Vec<ProcessId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Manner {
    /// The coordinator serves the waiting processes in the order of arrival.
    Fair,
    /// The coordinator may forget that a process is inside the critical section.
    Forgetful,
    /// The coordinator always serves the waiting process with the smallest number.
    SmallestFirst,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Request,
    Grant,
    Release,
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Release => "release");

impl Protocol for QueueCoordinator {
    type Config = Manner;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, manner: &Manner, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        QueueCoordinator { group, waits: false, manner: *manner, queue: Vec::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                self.waits = true;
                fx.send(ProcessId(0), Message::Request);
            }
            Command::Exit => {
                fx.emit(Event::Exited);
                fx.send(ProcessId(0), Message::Release);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request => {
                self.queue.push(from);
                if self.manner == Manner::SmallestFirst {
                    self.queue[1..].sort_unstable();
                }
                let forgets = self.manner == Manner::Forgetful && self.queue.len() == 3;
                if self.queue.len() == 1 || forgets {
                    fx.send(from, Message::Grant);
                }
            }
            Message::Release if self.queue.is_empty() => {} // a duplicate
            Message::Release => {
                self.queue.remove(0);
                if let Some(next) = self.queue.first() {
                    fx.send(*next, Message::Grant);
                }
            }
            Message::Grant if !self.waits => {} // a duplicate
            Message::Grant => {
                self.waits = false;
                fx.emit(Event::Entered { fence: Fence::NONE });
            }
        }
    }
}

impl Symmetric for QueueCoordinator {
    fn renamed(&self, names: &Renaming) -> Self {
        QueueCoordinator {
            group: Group::new(names.new_name(self.group.me()), self.group.size()),
            waits: self.waits,
            manner: self.manner,
            queue: self.queue.iter().map(|process| names.new_name(*process)).collect(),
        }
    }

    fn renamed_message(message: &Message, _: &Renaming) -> Message {
        message.clone()
    }
}

fn coordinator(manner: Manner) -> Check<QueueCoordinator> {
    Check::with_protocol_config(4, manner)
        .request_limits([0, 2, 2, 2])
        .always(MutualExclusion::new())
}

#[test]
fn symmetric_clients_keep_judgements() {
    let clients = [ProcessId(1), ProcessId(2), ProcessId(3)];
    for manner in [Manner::Fair, Manner::Forgetful] {
        for (lost, doubled) in [(0, 0), (1, 0), (0, 1)] {
            for fifo in [false, true] {
                let check = || {
                    let check = coordinator(manner).max_losses(lost).max_duplicates(doubled);
                    if fifo { check.fifo() } else { check }
                };
                let (plain, reduced) = (check().run(), check().reducing_by_symmetry(clients).run());
                let case = (manner, lost, doubled, fifo);
                assert_eq!(verdicts(&plain), verdicts(&reduced), "{case:?}");
                if plain.judgement() == Judgement::Holds {
                    let ratio = plain.states as f64 / reduced.states as f64;
                    assert!(ratio > 4.5 && ratio <= 6.0, "{case:?}: {ratio}");
                }
            }
        }
    }
}

#[test]
fn rejects_liveness_with_symmetry() {
    let check = coordinator(Manner::Fair)
        .reducing_by_symmetry([ProcessId(1), ProcessId(2)])
        .check_starvation_freedom();
    assert_eq!(check.try_run().expect_err("names matter"), CheckError::AsymmetricProperty);
}
