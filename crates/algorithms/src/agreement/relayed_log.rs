//! A log that is asked at any process: who does not lead passes on what its user wants to whoever
//! does, and tells its user what has become of it.
//!
//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014, has both ways: to turn
//! clients away to the leader, as [`raft_log`] does, and to pass on what they ask,
//! as here.
//!
//! | | |
//! |---|---|
//! | assumes | what Raft's log does; between processes that stay up nothing is lost or doubled |
//! | survives | crashes, with a return to what was saved; any order |
//! | messages per entry | 2 more than those of the log where another leads |
//! | delay | 2 messages more than at the leader, and until the commit is heard of |
//!
//! **Why it is right.** *Nothing is done twice*: what is passed on is sent once, to one process,
//! and never again. Who was asked has its own log take it, which answers once; that is the answer.
//! What had no answer when the asker hears of another leader is unknown, and is not asked of that
//! one. *What is declined has no effect*: the log that was to take it says so, or it was never
//! sent. *A read is not stale*: whoever leads reads after it was asked, and the asker answers its
//! user when it has told it of as much as the leader had committed then. *No request waits for a
//! process that does not lead*: a term has one leader, so a request is answered as unknown when the
//! log reaches a later term, when the leader crashes or leaves, and when a pre-vote brought nothing
//! for an election timeout. A leader that is missed and followed again in the same term still
//! answers: a process that was stopped for a while loses no request. Reads have no effect. They
//! are declined as soon as no leader is known, and may be repeated.
//!
//! A question is passed on as a read is, and put to the leader's user when the read is answered.

mod card;
mod config;
mod message;
mod rules;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use tenure_core::service::log::{self, Payload, Reason};
use tenure_core::service::relayed_log::{Command, Event, Ticket};
use tenure_core::{
    Algorithm, Effects, Fixed, Group, Lift, ProcessId, Protocol, TimerRole, Verdict,
};

use super::raft_log::{self, RaftLog, Stable, Timer};
pub use config::{Config, Switch};
pub use message::Message;
use message::{Kind, Said, Wanted};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RelayedLog {
    me: ProcessId,
    config: Fixed<Config>,
    log: RaftLog,
    /// Who leads, as the log told last.
    leader: Option<ProcessId>,
    /// Requests of our user that were passed on, by ticket.
    passed: BTreeMap<u64, Passed>,
    /// What was done that our user is to be told when it was told of as much of the log: index and
    /// ticket.
    behind: BTreeSet<(u64, u64, Kind)>,
    /// What our log is to do for others, by the tickets under which it does.
    errands: BTreeMap<u64, Errand>,
}

/// A request that was passed on and has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Passed {
    to: ProcessId,
    /// The term in which that process leads.
    term: u64,
    wanted: Wanted,
}

/// What is to be answered, but for what our user asked of its own log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Errand {
    by: ProcessId,
    ticket: Ticket,
    /// What is asked of our user, if anything is.
    question: Option<Payload>,
}

/// Tickets from here on are ours, and those below are our user's.
const OURS: u64 = 1 << 63;

impl Protocol for RelayedLog {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let me = group.me();
        let boot = |fx: &mut Inner<'_, _>| RaftLog::boot(group, &config.log, stable, fx);
        let (log, events) = fx.lift(Message::Log as OfLog, same as OfTimer, boot);
        let mut process = RelayedLog {
            me,
            config: Fixed::new(config.clone()),
            log,
            leader: None,
            passed: BTreeMap::new(),
            behind: BTreeSet::new(),
            errands: BTreeMap::new(),
        };
        process.hear(events, fx);
        process
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
            Command::Log(command) => {
                let ticket = command.ticket();
                let wanted = match &command {
                    log::Command::Append { payload, .. } => Wanted::Append(payload.clone()),
                    log::Command::Read { .. } => Wanted::Read,
                    // Of these each process is asked for itself.
                    log::Command::Transfer { .. }
                    | log::Command::HandOver { .. }
                    | log::Command::Compact { .. }
                    | log::Command::ChangeMembers { .. } => return self.ask_log(command, fx),
                };
                if !self.passes_on(ticket, wanted, fx) {
                    self.ask_log(command, fx);
                }
            }
            Command::Ask { ticket, question } => {
                let wanted = Wanted::Question(question);
                if !self.passes_on(ticket, wanted.clone(), fx) {
                    let ticket = Ticket { life: self.config.life, number: ticket };
                    self.run(self.me, ticket, wanted, fx);
                }
            }
            Command::Reply { to, ticket, reply } => {
                self.answer(to, ticket, Said::Reply(reply), fx);
            }
            Command::Tell { whom, what } => {
                whom.iter().for_each(|to| fx.send(to, Message::Tell { what: what.clone() }));
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Log(message) => self.step(fx, |log, fx| log.on_message(from, message, fx)),
            Message::Ask { ticket, wanted } => self.run(from, ticket, wanted, fx),
            Message::Answer { ticket: Ticket { life, number }, said } => {
                let asked = self.passed.get(&number).is_some_and(|it| it.to == from);
                if life == self.config.life
                    && asked
                    && let Some(passed) = self.passed.remove(&number)
                {
                    self.learn(number, passed.wanted.kind(), said, fx);
                }
            }
            Message::Tell { what } => fx.emit(Event::Told { what }),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        let was_campaigning = timer == Timer::Election && self.log.is_campaigning();
        self.step(fx, |log, fx| log.on_timer(timer, fx));
        if was_campaigning && self.leader.is_none() {
            self.give_up(|_| true, fx);
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        RaftLog::timer_role(timer)
    }

    /// Whoever asks has nothing to remember but that it did, and may crash as well; what others are
    /// told stays true.
    fn rests_on_saves(message: &Message) -> bool {
        match message {
            Message::Log(message) => RaftLog::rests_on_saves(message),
            Message::Ask { .. } | Message::Tell { .. } => false,
            Message::Answer { .. } => true,
        }
    }

    /// The log itself suspects nobody but by its timeouts.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        if verdict == Verdict::Suspect {
            self.give_up(|passed| passed.to == peer, fx);
        }
    }
}

type OfLog = fn(raft_log::Message) -> Message;
type OfTimer = fn(Timer) -> Timer;
type Inner<'a, F> = Lift<'a, F, RelayedLog, RaftLog, OfLog, OfTimer>;

fn same(timer: Timer) -> Timer {
    timer
}

impl RelayedLog {
    /// A step of the log.
    fn step<F: Effects<Self>>(
        &mut self,
        fx: &mut F,
        step: impl FnOnce(&mut RaftLog, &mut Inner<'_, F>),
    ) {
        let step = |fx: &mut Inner<'_, F>| step(&mut self.log, fx);
        let ((), events) = fx.lift(Message::Log as OfLog, same as OfTimer, step);
        self.hear(events, fx);
    }

    fn ask_log(&mut self, command: log::Command, fx: &mut impl Effects<Self>) {
        self.step(fx, |log, fx| log.on_command(command, fx));
    }

    /// Whether another process leads, which is asked then.
    fn passes_on(&mut self, ticket: u64, wanted: Wanted, fx: &mut impl Effects<Self>) -> bool {
        let Some(leader) = self.leader.filter(|leader| *leader != self.me) else { return false };
        let term = self.log.highest_term();
        self.passed.insert(ticket, Passed { to: leader, term, wanted: wanted.clone() });
        let ticket = Ticket { life: self.config.life, number: ticket };
        fx.send(leader, Message::Ask { ticket, wanted });
        true
    }

    /// Has our log do what somebody wants.
    fn run(&mut self, by: ProcessId, ticket: Ticket, wanted: Wanted, fx: &mut impl Effects<Self>) {
        let ours = self.errands.last_key_value().map_or(OURS, |(last, _)| last + 1);
        let (command, question) = match wanted {
            Wanted::Append(payload) => (log::Command::Append { ticket: ours, payload }, None),
            Wanted::Read => (log::Command::Read { ticket: ours }, None),
            Wanted::Question(question) => (log::Command::Read { ticket: ours }, Some(question)),
        };
        self.errands.insert(ours, Errand { by, ticket, question });
        self.ask_log(command, fx);
    }

    /// What the log has said.
    fn hear(&mut self, events: Vec<log::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            match event.answers().filter(|ticket| *ticket >= OURS) {
                Some(ours) => self.come_back(ours, &event, fx),
                None => self.tell(event, fx),
            }
        }
        let (term, leader) = (self.log.highest_term(), self.leader);
        let is_over = |passed: &Passed| {
            let may_be_repeated = passed.wanted == Wanted::Read;
            passed.term < term || may_be_repeated && leader != Some(passed.to)
        };
        self.give_up(is_over, fx);
        self.catch_up(fx);
    }

    /// What the log tells our user, who learns as well whether it is served here.
    fn tell(&mut self, event: log::Event, fx: &mut impl Effects<Self>) {
        let leader = match event {
            log::Event::Leading { .. } => Some(self.me),
            log::Event::Following { leader, .. } => leader,
            event => return fx.emit(Event::Log(event)),
        };
        self.leader = leader;
        fx.emit(Event::Log(match (event, leader) {
            (log::Event::Following { term, .. }, Some(leader)) => {
                log::Event::Relaying { term, leader }
            }
            (event, _) => event,
        }));
    }

    /// The log has answered what it did for somebody.
    fn come_back(&mut self, ours: u64, event: &log::Event, fx: &mut impl Effects<Self>) {
        let Some(Errand { by, ticket, question }) = self.errands.remove(&ours) else { return };
        let said = match (event, question) {
            (log::Event::Answered { .. }, Some(question)) => {
                return fx.emit(Event::Asked { by, ticket, question });
            }
            (log::Event::Acknowledged { index, .. } | log::Event::Answered { index, .. }, None) => {
                Said::Done { index: *index }
            }
            (log::Event::Declined { reason, .. }, _) => Said::Declined(*reason),
            _ => Said::Unknown,
        };
        self.answer(by, ticket, said, fx);
    }

    fn answer(&mut self, to: ProcessId, ticket: Ticket, said: Said, fx: &mut impl Effects<Self>) {
        match to == self.me {
            // Only a question comes back to its own process.
            true => self.learn(ticket.number, Kind::Question, said, fx),
            false => fx.send(to, Message::Answer { ticket, said }),
        }
    }

    /// What became of what our user wants.
    fn learn(&mut self, ticket: u64, kind: Kind, said: Said, fx: &mut impl Effects<Self>) {
        fx.emit(match (kind, said) {
            (Kind::Append | Kind::Read, Said::Done { index }) => {
                self.behind.insert((index, ticket, kind));
                return self.catch_up(fx);
            }
            (Kind::Question, Said::Reply(reply)) => Event::Replied { ticket, reply },
            (_, Said::Declined(reason)) => self.declined(ticket, reason),
            // A read has no effect, whatever became of it.
            (Kind::Read, _) => self.declined(ticket, Reason::Deposed),
            (Kind::Append | Kind::Question, _) => Event::Log(log::Event::Unknown { ticket }),
        });
    }

    fn declined(&self, ticket: u64, reason: Reason) -> Event {
        Event::Log(log::Event::Declined { ticket, reason, leader: self.leader })
    }

    /// Tells our user of what was done up to where it was told of the log.
    fn catch_up(&mut self, fx: &mut impl Effects<Self>) {
        let told = self.answers_up_to();
        while let Some(done @ (index, ticket, kind)) = self.behind.first().copied()
            && index <= told
        {
            self.behind.remove(&done);
            fx.emit(Event::Log(match kind {
                Kind::Append => log::Event::Acknowledged { ticket, index },
                Kind::Read | Kind::Question => log::Event::Answered { ticket, index },
            }));
        }
    }

    /// Ends the wait for these requests.
    fn give_up(&mut self, which: impl Fn(&Passed) -> bool, fx: &mut impl Effects<Self>) {
        let lost = self.passed.iter().filter(|(_, passed)| which(passed));
        let lost: Vec<u64> = lost.map(|(ticket, _)| *ticket).collect();
        for ticket in lost {
            if let Some(passed) = self.passed.remove(&ticket) {
                self.lose(ticket, passed, fx);
            }
        }
    }
}
