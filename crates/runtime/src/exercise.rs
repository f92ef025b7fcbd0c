//! What a node does with what it is told, without sockets and without a disk: for bytes that nobody
//! meant to send.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use tenure_core::service::agreement::{Client, Seat, User};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Agreement, Algorithm, Election, Environment, Group, Input, LocalTime, Mutex, Node, ProcessId,
    Protocol, Step, TimerChange, Verdict,
};

use crate::envelope::Envelope;
use crate::plausible::Plausible;

/// How many things happen at most.
const STEPS: usize = 4096;

/// What of that which can be read is told to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// What can be true, as by a node; and nothing is saved that cannot.
    Plausible,
    /// Everything: what nodes would be without their doubts, for whoever tests the test.
    Everything,
}

/// Reads bytes as files that nodes save: state, and segments of what changed in it.
pub fn files(bytes: &[u8]) {
    crate::store::read_all(bytes);
}

/// Lets a process of a lock live through what `bytes` say, whose user enters and exits again and
/// again: see [`process`].
pub fn lock<P: Mutex>(group: Group, config: &P::Config, belief: Belief, bytes: &[u8]) {
    let command = |event: Option<&mutex::Event>| match event {
        None | Some(mutex::Event::Exited) => Some(mutex::Command::Enter),
        Some(mutex::Event::Entered { .. }) => Some(mutex::Command::Exit),
    };
    process::<P>(group, config, command, belief, bytes);
}

/// The same of an election, which each life asks for once.
pub fn election<P: Election>(group: Group, config: &P::Config, belief: Belief, bytes: &[u8]) {
    let command =
        |event: Option<&election::Event>| event.is_none().then_some(election::Command::Elect);
    process::<P>(group, config, command, belief, bytes);
}

/// The same of a service of agreement, which each life asks for what a workload asks first.
pub fn agreement<P: Agreement + Algorithm>(
    group: Group,
    config: &P::Config,
    belief: Belief,
    bytes: &[u8],
) {
    let service = P::card(config, group.size()).service;
    let seat = Seat { service, at: group.me(), size: group.size(), times: 1 };
    let first = User::first(&seat);
    let command = |event: Option<&P::Event>| first.clone().filter(|_| event.is_none());
    process::<P>(group, config, command, belief, bytes);
}

/// Lets a process live through what `bytes` say: messages, timers, suspicions and crashes with a
/// return. What cannot be read is passed over, and so is what `belief` leaves out; what was saved
/// is read back, and so is what was sent.
///
/// `command` is asked what the local user says first after each boot, and to each event.
///
/// # Panics
///
/// When the process does, or what it saved or sent cannot be read back: either is a defect.
pub fn process<P: Protocol>(
    group: Group,
    config: &P::Config,
    command: impl Fn(Option<&P::Event>) -> Option<P::Command>,
    belief: Belief,
    bytes: &[u8],
) {
    let mut bytes = Bytes(bytes);
    let plausible = Plausible::new(group.size());
    let mut doubts = Doubts((belief == Belief::Plausible).then_some(plausible));
    let mut saved = None;
    for _ in 0..STEPS {
        let commands = command(None).into_iter().collect();
        let command = &command;
        let mut life = Life::<P> { group, armed: BTreeSet::new(), commands, command, saved };
        let node = Node::boot(group, config, life.saved.clone(), Still);
        if life.live(node, &mut doubts, &mut bytes).is_none() {
            return;
        }
        saved = life.saved;
    }
}

/// Nothing is left to chance, and no time passes.
#[derive(Clone, Debug)]
struct Still;

impl Environment for Still {
    fn choose(&mut self, _bound: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(0)
    }
}

/// What a user says first after a boot, and to an event.
type Commands<'a, P> =
    dyn Fn(Option<&<P as Protocol>::Event>) -> Option<<P as Protocol>::Command> + 'a;

/// A process from its boot to its crash, and what its runner keeps of it.
struct Life<'a, P: Protocol> {
    group: Group,
    armed: BTreeSet<P::Timer>,
    commands: VecDeque<P::Command>,
    command: &'a Commands<'a, P>,
    saved: Option<P::Stable>,
}

impl<P: Protocol> Life<'_, P> {
    /// Lives until the process crashes; nothing when there are no bytes left, or when a runner
    /// would stop it.
    fn live(
        &mut self,
        mut node: Node<P, Still>,
        doubts: &mut Doubts,
        bytes: &mut Bytes<'_>,
    ) -> Option<()> {
        self.release(node.pending(), doubts)?;
        for _ in 0..STEPS {
            let input = match self.commands.pop_front() {
                Some(command) => Input::Command(command),
                None => match self.next(doubts, bytes)? {
                    Happening::Input(input) => input,
                    Happening::Crash => return Some(()),
                    Happening::Nothing => continue,
                },
            };
            self.release(node.step(input), doubts)?;
        }
        None
    }

    fn next(&mut self, doubts: &mut Doubts, bytes: &mut Bytes<'_>) -> Option<Happening<P>> {
        let what = bytes.next()?;
        let from = ProcessId(u32::from(bytes.next()?) % self.group.size());
        let other = from != self.group.me();
        let input = match what % 8 {
            0 if what < 16 => return Some(Happening::Crash),
            0 | 1 if other => {
                let verdict = if what < 128 { Verdict::Suspect } else { Verdict::Trust };
                Some(Input::Suspicion { peer: from, verdict })
            }
            2 => {
                let place = usize::from(what) % self.armed.len().max(1);
                let timer = self.armed.iter().nth(place).cloned();
                timer.and_then(|timer| self.armed.take(&timer)).map(Input::Timer)
            }
            0 | 1 => None,
            _ => {
                let length = usize::from(bytes.next()?);
                let envelope = Envelope::<P::Message>::decode(bytes.take(length));
                let believed = envelope.filter(|envelope| other && doubts.hear(envelope));
                believed.map(|Envelope { message, .. }| Input::Message { from, message })
            }
        };
        Some(input.map_or(Happening::Nothing, Happening::Input))
    }

    /// Does what a runner does after a step: saves, and lets the effects out. Nothing where it
    /// would stop the node instead.
    fn release(&mut self, step: Step<'_, P, Still>, doubts: &mut Doubts) -> Option<()> {
        if let Some(change) = step.unsaved() {
            if !doubts.save(change) {
                return None;
            }
            let change = read_back(change);
            match &mut self.saved {
                Some(saved) => P::amend(saved, change),
                None => self.saved = Some(change),
            }
        }
        let released = step.saved();
        for (_, message) in released.messages {
            let envelope = Envelope { number: 1, clock: None, message };
            let again = Envelope::decode(&envelope.encode());
            assert_eq!(again.as_ref(), Some(&envelope), "what is sent can be read");
        }
        for change in released.timers {
            match change {
                TimerChange::Set(timer, _) => self.armed.insert(timer),
                TimerChange::Cancel(timer) => self.armed.remove(&timer),
            };
        }
        self.commands.extend(released.events.filter_map(|event| (self.command)(Some(&event))));
        Some(())
    }
}

/// What stands between the bytes and the process; nothing where everything is believed.
struct Doubts(Option<Plausible>);

impl Doubts {
    fn hear(&mut self, message: &impl Serialize) -> bool {
        self.0.as_mut().is_none_or(|plausible| plausible.hear(message).is_ok())
    }

    fn save(&mut self, stable: &impl Serialize) -> bool {
        self.0.as_mut().is_none_or(|plausible| plausible.save(stable).is_ok())
    }
}

/// What happens next.
enum Happening<P: Protocol> {
    Input(Input<P>),
    Crash,
    Nothing,
}

fn read_back<S: tenure_core::Wire + Eq + std::fmt::Debug>(stable: &S) -> S {
    let bytes = postcard::to_stdvec(stable).expect("a state can always be encoded");
    let again: S = postcard::from_bytes(&bytes).expect("what is saved can be read");
    assert_eq!(&again, stable, "what is saved is read as it was");
    again
}

/// Bytes that are taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }
}
