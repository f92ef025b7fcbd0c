//! A log whose processes also pass on what their users want of the leader, and its answers.
//!
//! The log itself passes nothing on. Here a process asks the one that it takes for the leader, and
//! knows of each question whether it was sent. As soon as it hears of another leader, or that the
//! one it asked is gone, each question that was not answered is told to be so: nobody waits for
//! somebody who does not lead any more. What is asked and answered are bytes of the users.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure_algorithms::agreement::raft_log::{self, RaftLog, Stable, Timer};
use tenure_core::service::log::{self, Payload};
use tenure_core::{
    Effects, Facts, Group, Label, Labelled, Layer, ProcessId, ProcessSet, Protocol, Verdict,
};
use tenure_trace::{Heard, Spoken};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Relayed {
    log: RaftLog,
    /// Who leads, as the log told last.
    leader: Option<ProcessId>,
    me: ProcessId,
    /// Whom we asked what.
    asked: BTreeMap<Ticket, ProcessId>,
}

/// By what a question is known, and its answer: no two of a process have the same, in whatever
/// life. Who asked may have crashed by the time of the answer, and ask something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Ticket {
    /// The session of who asks.
    pub(crate) session: u64,
    /// Its number in that.
    pub(crate) number: u64,
}

/// What the local user may ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Command {
    /// Something of the log.
    Log(log::Command),
    /// Something of the leader, if that is another.
    Ask { ticket: Ticket, question: Payload },
    /// To tell these something that needs no answer.
    Tell { whom: ProcessSet, what: Payload },
    /// To answer a question of another process.
    Answer { to: ProcessId, ticket: Ticket, answer: Payload },
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// Something by the log.
    Log(log::Event),
    /// Another process asks.
    Asked { by: ProcessId, ticket: Ticket, question: Payload },
    /// Another process tells something.
    Told { what: Payload },
    /// The leader has answered.
    Answered { ticket: Ticket, answer: Payload },
    /// Nobody will answer. What was not sent has had no effect.
    Unanswered { ticket: Ticket, sent: bool },
}

/// What processes send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    /// Something of the log.
    Log(raft_log::Message),
    /// "You lead: what do you say to this?"
    Ask { ticket: Ticket, question: Payload },
    /// "This."
    Answer { ticket: Ticket, answer: Payload },
    /// "You may want to know this."
    Tell { what: Payload },
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Log(message) => return message.label(),
            Message::Ask { .. } => "ask",
            Message::Tell { .. } => "tell",
            Message::Answer { .. } => "answer",
        };
        Label { layer: Layer::Application, kind }
    }
}

impl Spoken for Command {}
impl Facts for Event {}
impl Heard for Event {}

impl Protocol for Relayed {
    type Config = raft_log::Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let me = group.me();
        let (log, events) =
            fx.lift(Message::Log, |timer| timer, |fx| RaftLog::boot(group, config, stable, fx));
        let mut booted = Relayed { log, leader: None, me, asked: BTreeMap::new() };
        booted.tell(events, fx);
        booted
    }

    fn stable(&self) -> Stable {
        self.log.stable()
    }

    fn unsaved(&self, saved: &Stable) -> Option<Stable> {
        self.log.unsaved(saved)
    }

    const DEFERS: bool = RaftLog::DEFERS;

    fn urgent(&self, saved: &Stable) -> Option<Stable> {
        self.log.urgent(saved)
    }

    fn amend(saved: &mut Stable, change: Stable) {
        RaftLog::amend(saved, change);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Log(command) => self.step(fx, |log, fx| log.on_command(command, fx)),
            Command::Ask { ticket, question } => {
                match self.leader.filter(|leader| *leader != self.me) {
                    None => fx.emit(Event::Unanswered { ticket, sent: false }),
                    Some(leader) => {
                        self.asked.insert(ticket, leader);
                        fx.send(leader, Message::Ask { ticket, question });
                    }
                }
            }
            Command::Tell { whom, what } => {
                whom.iter().for_each(|to| fx.send(to, Message::Tell { what: what.clone() }));
            }
            Command::Answer { to, ticket, answer } => {
                fx.send(to, Message::Answer { ticket, answer });
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Log(message) => self.step(fx, |log, fx| log.on_message(from, message, fx)),
            Message::Ask { ticket, question } => {
                fx.emit(Event::Asked { by: from, ticket, question });
            }
            Message::Tell { what } => fx.emit(Event::Told { what }),
            Message::Answer { ticket, answer } => {
                if self.asked.get(&ticket) == Some(&from) {
                    self.asked.remove(&ticket);
                    fx.emit(Event::Answered { ticket, answer });
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        self.step(fx, |log, fx| log.on_timer(timer, fx));
    }

    /// Whoever asks has nothing to remember but that they did, and may crash as well; what others
    /// are told stays true.
    fn rests_on_saves(message: &Message) -> bool {
        !matches!(message, Message::Ask { .. } | Message::Tell { .. })
    }

    fn fires_first(timer: &Timer) -> bool {
        RaftLog::fires_first(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.step(fx, |log, fx| log.on_suspicion(peer, verdict, fx));
        if verdict == Verdict::Suspect {
            self.give_up(|asked| asked == peer, fx);
        }
    }
}

type Inner<'a, F> = tenure_core::Lift<
    'a,
    F,
    Relayed,
    RaftLog,
    fn(raft_log::Message) -> Message,
    fn(Timer) -> Timer,
>;

impl Relayed {
    /// A step of the log.
    fn step<F: Effects<Self>>(
        &mut self,
        fx: &mut F,
        step: impl FnOnce(&mut RaftLog, &mut Inner<'_, F>),
    ) {
        let message: fn(raft_log::Message) -> Message = Message::Log;
        let timer: fn(Timer) -> Timer = |timer| timer;
        let ((), events) = fx.lift(message, timer, |fx| step(&mut self.log, fx));
        self.tell(events, fx);
    }

    fn tell(&mut self, events: Vec<log::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            let leader = match event {
                log::Event::Leading { .. } => Some(Some(self.me)),
                log::Event::Following { leader, .. } => Some(leader),
                _ => None,
            };
            fx.emit(Event::Log(event));
            if let Some(leader) = leader {
                self.leader = leader;
                self.give_up(|asked| Some(asked) != leader, fx);
            }
        }
    }

    /// Nobody waits for these any more.
    fn give_up(&mut self, whom: impl Fn(ProcessId) -> bool, fx: &mut impl Effects<Self>) {
        let lost: Vec<Ticket> =
            self.asked.iter().filter(|(_, asked)| whom(**asked)).map(|(it, _)| *it).collect();
        for ticket in lost {
            self.asked.remove(&ticket);
            fx.emit(Event::Unanswered { ticket, sent: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Batch;

    use super::*;

    const LEADER: ProcessId = ProcessId(1);

    fn word(word: &str) -> Payload {
        Payload::new(word.as_bytes())
    }

    /// What is left of a process that asks the leader, and is answered with this ticket.
    fn answered(asked: Ticket, answered: Ticket) -> Vec<Event> {
        let mut batch: Batch<Relayed> = Batch::default();
        let (group, config) = (Group::new(ProcessId(0), 3), raft_log::Config::plain(3, 1));
        let mut process = Relayed::boot(group, &config, None, &mut batch.effects());
        process.leader = Some(LEADER);
        let ask = Command::Ask { ticket: asked, question: word("how long?") };
        process.on_command(ask, &mut batch.effects());
        let answer = Message::Answer { ticket: answered, answer: word("for ever") };
        process.on_message(LEADER, answer, &mut batch.effects());
        batch.events.retain(|event| matches!(event, Event::Answered { .. }));
        batch.events
    }

    #[test]
    fn what_is_asked_and_told_waits_for_no_disk_and_what_is_answered_does() {
        let ticket = Ticket { session: 1, number: 1 };
        let ask = Message::Ask { ticket, question: word("how long?") };
        let answer = Message::Answer { ticket, answer: word("for ever") };
        let rests = [ask, Message::Tell { what: word("so long") }, answer];
        assert_eq!(rests.map(|message| Relayed::rests_on_saves(&message)), [false, false, true]);
    }

    #[test]
    fn who_comes_back_is_not_told_what_it_had_asked_in_an_earlier_life() {
        let [before, now] = [4, 5].map(|session| Ticket { session, number: 1 });
        assert_eq!(answered(now, before), []);
        assert_eq!(answered(now, now), [Event::Answered { ticket: now, answer: word("for ever") }]);
    }
}
