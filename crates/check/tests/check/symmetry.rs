//! Exchanging names: fewer worlds, the same verdicts.

use serde::{Deserialize, Serialize};
use tenure_check::{Check, Judgement, Refusal, Renaming, Symmetric};
use tenure_core::monitors::MutualExclusion;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol, labelled};

/// A coordinator (P1) with a queue; all clients are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Desk {
    group: Group,
    waits: bool,
    /// Forgets, on request, that somebody is inside.
    forgetful: bool,
    /// Who is inside, and who waits, in the order of arrival.
    queue: Vec<ProcessId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Request,
    Grant,
    Release,
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Release => "release");

impl Protocol for Desk {
    type Config = bool;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, forgetful: &bool, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Desk { group, waits: false, forgetful: *forgetful, queue: Vec::new() }
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
                if self.queue.len() == 1 || self.forgetful && self.queue.len() == 3 {
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

impl Symmetric for Desk {
    fn renamed(&self, names: &Renaming) -> Self {
        Desk {
            group: Group::new(names.of(self.group.me()), self.group.size()),
            waits: self.waits,
            forgetful: self.forgetful,
            queue: self.queue.iter().map(|process| names.of(*process)).collect(),
        }
    }

    fn renamed_message(message: &Message, _: &Renaming) -> Message {
        message.clone()
    }
}

fn desk(forgetful: bool) -> Check<Desk> {
    Check::with(4, forgetful).entries([0, 2, 2, 2]).always(MutualExclusion::new())
}

#[test]
fn clients_of_a_desk_may_be_exchanged_without_a_change_of_the_verdict() {
    let clients = [ProcessId(1), ProcessId(2), ProcessId(3)];
    for forgetful in [false, true] {
        for (lost, doubled) in [(0, 0), (1, 0), (0, 1)] {
            for fifo in [false, true] {
                let check = || {
                    let check = desk(forgetful).losing(lost).duplicating(doubled);
                    if fifo { check.fifo() } else { check }
                };
                let (plain, reduced) = (check().run(), check().exchanging(clients).run());
                let case = (forgetful, lost, doubled, fifo);
                assert_eq!(plain.judgement(), reduced.judgement(), "{case:?}");
                let length =
                    |report: &tenure_check::Report| report.shortest().map(|found| found.length());
                assert_eq!(length(&plain), length(&reduced), "{case:?}");
                if plain.judgement() == Judgement::Holds {
                    let ratio = plain.states as f64 / reduced.states as f64;
                    assert!(ratio > 4.5 && ratio <= 6.0, "{case:?}: {ratio}");
                }
            }
        }
    }
}

#[test]
fn liveness_is_never_judged_where_names_are_exchanged() {
    let check = desk(false).exchanging([ProcessId(1), ProcessId(2)]).starvation_free();
    assert_eq!(check.try_run().expect_err("names matter"), Refusal::Symmetric);
}
