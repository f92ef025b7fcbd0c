//! Small protocols to test the simulator without the catalogue.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses some of them")]

pub mod runs;

use serde::{Deserialize, Serialize};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Effects, Fence, Group, LamportClock, PeerVerdict, ProcessId, ProcessSet, Protocol, Term,
    Timestamp, labelled,
};

/// The algorithm of Ricart and Agrawala. The [`Rule`] of the algorithm may contain a mistake.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permission {
    group: Group,
    clock: LamportClock,
    phase: Phase,
    deferred: ProcessSet,
    rule: Rule,
}

/// Rule by which a process decides which of two requests is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The request with the earlier timestamp is first. This is the correct rule.
    #[default]
    Stamps,
    /// Every process replies immediately. This is a mistake.
    ReplyAlways,
    /// Every process defers its reply. This is a mistake.
    DeferAlways,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting { request: Timestamp, awaited: ProcessSet },
    Inside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PermissionMessage {
    Request { stamp: Timestamp },
    Reply { to: Timestamp, clock: u64 },
}
labelled!(PermissionMessage, Mutex, Request => "request", Reply => "reply");

impl Permission {
    fn reply(&mut self, to: Timestamp, fx: &mut impl Effects<Self>) {
        let clock = self.clock.tick();
        fx.send(to.process, PermissionMessage::Reply { to, clock });
    }

    fn defers(&self, stamp: Timestamp) -> bool {
        match (&self.phase, self.rule) {
            (Phase::Inside, _) => true,
            (Phase::Waiting { .. }, Rule::ReplyAlways) | (Phase::Idle, _) => false,
            (Phase::Waiting { .. }, Rule::DeferAlways) => true,
            (Phase::Waiting { request, .. }, Rule::Stamps) => *request < stamp,
        }
    }

    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { request, awaited } = &self.phase
            && awaited.is_empty()
        {
            let fence = Fence(request.clock, u64::from(request.process.0));
            self.phase = Phase::Inside;
            fx.emit(mutex::Event::Entered { fence });
        }
    }
}

impl Protocol for Permission {
    type Config = Rule;
    type Command = mutex::Command;
    type Event = mutex::Event;
    type Message = PermissionMessage;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, rule: &Rule, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let (clock, deferred) = (LamportClock::default(), ProcessSet::new());
        Permission { group, clock, phase: Phase::Idle, deferred, rule: *rule }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: mutex::Command, fx: &mut impl Effects<Self>) {
        match command {
            mutex::Command::Enter => {
                let stamp = Timestamp { clock: self.clock.tick(), process: self.group.me() };
                let awaited = self.group.peers();
                fx.broadcast(&awaited, PermissionMessage::Request { stamp });
                self.phase = Phase::Waiting { request: stamp, awaited };
                self.enter_if_granted(fx);
            }
            mutex::Command::Exit => {
                self.phase = Phase::Idle;
                fx.emit(mutex::Event::Exited);
                let deferred = std::mem::take(&mut self.deferred);
                for process in &deferred {
                    // The process does not store the timestamps of requests, so each deferred reply
                    // contains the clock 0. The tests need no correct clock here: they only count
                    // messages, and lose none.
                    self.reply(Timestamp { clock: 0, process }, fx);
                }
            }
        }
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        message: PermissionMessage,
        fx: &mut impl Effects<Self>,
    ) {
        match message {
            PermissionMessage::Request { stamp } => {
                self.clock.observe(stamp.clock);
                if self.defers(stamp) {
                    self.deferred.insert(from);
                } else {
                    self.reply(stamp, fx);
                }
            }
            PermissionMessage::Reply { clock, .. } => {
                self.clock.observe(clock);
                if let Phase::Waiting { awaited, .. } = &mut self.phase {
                    awaited.remove(from);
                }
                self.enter_if_granted(fx);
            }
        }
    }
}

/// A protocol in which a token circulates forever. Each process keeps the token for a short time,
/// even if its user does not want to enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    group: Group,
    waiting: bool,
    inside: bool,
    token: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RingMessage {
    Token { entries: u64 },
}
labelled!(RingMessage, Mutex, Token => "token");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pass;

impl Ring {
    fn hold(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        self.token = Some(entries);
        if self.waiting {
            self.enter(fx);
        } else {
            fx.set_timer(Pass, tenure_core::Delay { min: 0, max: 1_000_000 });
        }
    }

    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        let entries = self.token.map_or(1, |entries| entries + 1);
        self.token = Some(entries);
        self.waiting = false;
        self.inside = true;
        fx.emit(mutex::Event::Entered { fence: Fence(entries, 0) });
    }

    fn pass(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(entries) = self.token.take() {
            fx.send(self.group.successor(), RingMessage::Token { entries });
        }
    }
}

impl Protocol for Ring {
    type Config = ();
    type Command = mutex::Command;
    type Event = mutex::Event;
    type Message = RingMessage;
    type Timer = Pass;
    type Stable = ();

    fn boot(group: Group, (): &(), stable: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let mut ring = Ring { group, waiting: false, inside: false, token: None };
        if group.me() == ProcessId(0) && stable.is_none() {
            ring.hold(0, fx);
        }
        ring
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: mutex::Command, fx: &mut impl Effects<Self>) {
        match command {
            mutex::Command::Enter => {
                self.waiting = true;
                if self.token.is_some() {
                    fx.cancel_timer(Pass);
                    self.enter(fx);
                }
            }
            mutex::Command::Exit => {
                self.inside = false;
                fx.emit(mutex::Event::Exited);
                self.pass(fx);
            }
        }
    }

    fn on_message(&mut self, _: ProcessId, message: RingMessage, fx: &mut impl Effects<Self>) {
        let RingMessage::Token { entries } = message;
        self.hold(entries, fx);
    }

    fn on_timer(&mut self, Pass: Pass, fx: &mut impl Effects<Self>) {
        self.pass(fx);
    }
}

/// The algorithm of Chang and Roberts: a process becomes the leader when its id has travelled once
/// around the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extrema {
    group: Group,
    id: u32,
    participant: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExtremaMessage {
    Election { id: u32 },
    Elected { leader: ProcessId },
}
labelled!(ExtremaMessage, Election, Election => "election", Elected => "elected");

impl Extrema {
    fn elected(leader: ProcessId) -> election::Event {
        election::Event::Elected { leader, term: Term { number: 0, leader } }
    }
}

impl Protocol for Extrema {
    /// Id of the process that has this configuration.
    type Config = u32;
    type Command = election::Command;
    type Event = election::Event;
    type Message = ExtremaMessage;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, id: &u32, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Extrema { group, id: *id, participant: false }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: election::Command, fx: &mut impl Effects<Self>) {
        if command == election::Command::Elect && !self.participant {
            self.participant = true;
            fx.send(self.group.successor(), ExtremaMessage::Election { id: self.id });
        }
    }

    fn on_message(&mut self, _: ProcessId, message: ExtremaMessage, fx: &mut impl Effects<Self>) {
        let next = self.group.successor();
        match message {
            ExtremaMessage::Election { id } if id > self.id => {
                self.participant = true;
                fx.send(next, message);
            }
            ExtremaMessage::Election { id } if id < self.id => {
                if !self.participant {
                    self.participant = true;
                    fx.send(next, ExtremaMessage::Election { id: self.id });
                }
            }
            ExtremaMessage::Election { .. } => {
                let leader = self.group.me();
                self.participant = false;
                fx.emit(Extrema::elected(leader));
                fx.send(next, ExtremaMessage::Elected { leader });
            }
            ExtremaMessage::Elected { leader } => {
                self.participant = false;
                if leader != self.group.me() {
                    fx.emit(Extrema::elected(leader));
                    fx.send(next, message);
                }
            }
        }
    }
}

/// An election in which each process believes in the highest process that it does not suspect. The
/// stable state is a number: how many leaders the process has announced to its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Highest {
    group: Group,
    suspected: ProcessSet,
    pub terms: u64,
}

impl Highest {
    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        let trusted = self.group.processes().filter(|p| !self.suspected.contains(*p)).last();
        let leader = trusted.unwrap_or(self.group.me());
        self.terms += 1;
        fx.emit(Extrema::elected(leader));
    }
}

impl Protocol for Highest {
    type Config = ();
    type Command = election::Command;
    type Event = election::Event;
    type Message = ();
    type Timer = ();
    type Stable = u64;

    fn boot(group: Group, (): &(), stable: Option<u64>, fx: &mut impl Effects<Self>) -> Self {
        let terms = stable.unwrap_or(0);
        let mut highest = Highest { group, suspected: ProcessSet::new(), terms };
        if stable.is_some() {
            highest.announce(fx);
        }
        highest
    }

    fn stable(&self) -> u64 {
        self.terms
    }

    fn on_command(&mut self, command: election::Command, fx: &mut impl Effects<Self>) {
        if command == election::Command::Elect {
            self.announce(fx);
        }
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
        self.announce(fx);
    }
}
