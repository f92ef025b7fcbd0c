//! Entry points for fuzzing: run a process on arbitrary bytes, without sockets and without a disk.

use std::collections::{BTreeSet, VecDeque};

use tenure_core::service::agreement::User;
use tenure_core::service::user::{ServiceUser, UserModelConfig};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Agreement, Algorithm, ConstantEnvironment, Election, Group, Input, Mutex, Node, PeerVerdict,
    ProcessId, Protocol, Step, TimerChange,
};

use crate::envelope::Envelope;
use crate::validator::Validator;

/// Maximum number of inputs after one boot, including skipped ones. The number of boots in one run
/// has the same maximum.
const MAX_STEPS: usize = 4096;

/// Switch for the validation of the messages that a process receives and of the states that it
/// saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationMode {
    /// Validation is enabled, as in a node: invalid messages are dropped, and an invalid state
    /// stops the process.
    On,
    /// Validation is disabled. A control experiment uses this mode to show that validation prevents
    /// panics.
    Off,
}

/// Decodes the bytes as each kind of file of a store, and ignores the errors of the decoding.
/// Decodes a segment twice: as the last segment, and as an earlier segment.
///
/// # Panics
///
/// If a decoded state file that has an owner differs after it is encoded and decoded again, or if
/// both decodings of a segment succeed with different changes. Both are defects.
pub fn fuzz_store_files(bytes: &[u8]) {
    crate::store::fuzz_files(bytes);
}

/// Runs a process of a lock algorithm on `bytes`. The user of the process enters and exits
/// repeatedly. See [`fuzz_process`].
pub fn fuzz_lock<P: Mutex>(
    group: Group,
    config: &P::Config,
    validation: ValidationMode,
    bytes: &[u8],
) {
    let command = |event: Option<&mutex::Event>| match event {
        None | Some(mutex::Event::Exited) => Some(mutex::Command::Enter),
        Some(mutex::Event::Entered { .. }) => Some(mutex::Command::Exit),
    };
    fuzz_process::<P>(group, config, command, validation, bytes);
}

/// Runs a process of an election algorithm on `bytes`. The user of the process requests one
/// election after each boot. See [`fuzz_process`].
pub fn fuzz_election<P: Election>(
    group: Group,
    config: &P::Config,
    validation: ValidationMode,
    bytes: &[u8],
) {
    let command =
        |event: Option<&election::Event>| event.is_none().then_some(election::Command::Elect);
    fuzz_process::<P>(group, config, command, validation, bytes);
}

/// Runs a process of an agreement algorithm on `bytes`. After each boot, the user of the process
/// issues the first command of a workload. See [`fuzz_process`].
pub fn fuzz_agreement<P: Agreement + Algorithm>(
    group: Group,
    config: &P::Config,
    validation: ValidationMode,
    bytes: &[u8],
) {
    let service = P::card(config, group.size()).service;
    let user_config =
        UserModelConfig { service, at: group.me(), size: group.size(), work_count: 1 };
    let first = User::first_command(&user_config);
    let command = |event: Option<&P::Event>| first.clone().filter(|_| event.is_none());
    fuzz_process::<P>(group, config, command, validation, bytes);
}

/// Runs a process on the inputs that `bytes` encode: messages, timers, suspicions, and crashes with
/// recovery. Skips bytes that cannot be decoded and messages that `validation` rejects. Checks that
/// every saved state and sent message survives a round trip through its encoding.
///
/// The function `command` returns the next command of the user. It is called with `None` after each
/// boot, and with each event that the process emits.
///
/// # Panics
///
/// If the process panics or a state or message does not survive the round trip. Both are defects.
pub fn fuzz_process<P: Protocol>(
    group: Group,
    config: &P::Config,
    command: impl Fn(Option<&P::Event>) -> Option<P::Command>,
    validation: ValidationMode,
    bytes: &[u8],
) {
    let mut runner = Runner::<P> {
        group,
        validator: (validation == ValidationMode::On).then(|| Validator::new(group.size())),
        bytes: ByteSource(bytes),
        armed: BTreeSet::new(),
        commands: VecDeque::new(),
        command: &command,
        saved: None,
    };
    for _ in 0..MAX_STEPS {
        runner.armed.clear();
        runner.commands = command(None).into_iter().collect();
        let node = Node::boot(group, config, runner.saved.clone(), ConstantEnvironment);
        if runner.run(node).is_none() {
            return;
        }
    }
}

/// Function that returns the next command of the user. It is called with `None` after each boot,
/// and with each event that the process emits.
type Commands<'a, P> =
    dyn Fn(Option<&<P as Protocol>::Event>) -> Option<<P as Protocol>::Command> + 'a;

struct Runner<'a, P: Protocol> {
    group: Group,
    /// Validator of messages and states; `None` if everything is accepted.
    validator: Option<Validator>,
    bytes: ByteSource<'a>,
    armed: BTreeSet<P::Timer>,
    commands: VecDeque<P::Command>,
    command: &'a Commands<'a, P>,
    saved: Option<P::Stable>,
}

impl<P: Protocol> Runner<'_, P> {
    /// Steps a booted process until it crashes. Returns `None` if the whole run ends first: no
    /// bytes remain, the process has handled [`MAX_STEPS`] inputs, or a real node would stop.
    fn run(&mut self, mut node: Node<P, ConstantEnvironment>) -> Option<()> {
        self.release(node.boot_step())?;
        for _ in 0..MAX_STEPS {
            let input = match self.commands.pop_front() {
                Some(command) => Input::Command(command),
                None => match self.next()? {
                    NextAction::Input(input) => input,
                    NextAction::Crash => return Some(()),
                    NextAction::Skip => continue,
                },
            };
            self.release(node.step(input))?;
        }
        None
    }

    fn next(&mut self) -> Option<NextAction<P>> {
        let selector = self.bytes.next()?;
        let from = ProcessId(u32::from(self.bytes.next()?) % self.group.size());
        let other = from != self.group.me();
        let input = match selector % 8 {
            0 if selector < 16 => return Some(NextAction::Crash),
            0 | 1 if other => {
                let verdict =
                    if selector < 128 { PeerVerdict::Suspect } else { PeerVerdict::Trust };
                Some(Input::Suspicion { peer: from, verdict })
            }
            2 => {
                let index = usize::from(selector) % self.armed.len().max(1);
                let timer = self.armed.iter().nth(index).cloned();
                timer.and_then(|timer| self.armed.take(&timer)).map(Input::Timer)
            }
            0 | 1 => None,
            _ => {
                let length = usize::from(self.bytes.next()?);
                let envelope = Envelope::<P::Message>::decode(self.bytes.take(length));
                let mut is_valid = |envelope: &Envelope<P::Message>| {
                    self.validator.as_mut().is_none_or(|it| it.check_message(envelope).is_ok())
                };
                envelope
                    .filter(|envelope| other && is_valid(envelope))
                    .map(|Envelope { message, .. }| Input::Message { from, message })
            }
        };
        Some(input.map_or(NextAction::Skip, NextAction::Input))
    }

    /// Saves the state and releases the effects of a step, as a real node does. Returns `None` if
    /// the node would stop instead.
    fn release(&mut self, step: Step<'_, P, ConstantEnvironment>) -> Option<()> {
        if let Some(change) = step.change_before_release() {
            if self.validator.as_mut().is_some_and(|it| it.check_state(change).is_err()) {
                return None;
            }
            let change = round_trip(change);
            match &mut self.saved {
                Some(saved) => P::apply_change(saved, change),
                None => self.saved = Some(change),
            }
        }
        let released = step.mark_saved();
        for (_, message) in released.messages {
            let envelope = Envelope { number: 1, clock: None, message };
            let decoded = Envelope::decode(&envelope.encode());
            assert_eq!(decoded.as_ref(), Some(&envelope), "a sent message can be decoded");
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

enum NextAction<P: Protocol> {
    Input(Input<P>),
    Crash,
    Skip,
}

fn round_trip<S: tenure_core::Wire + Eq + std::fmt::Debug>(stable: &S) -> S {
    let bytes = postcard::to_stdvec(stable).expect("a state is serializable");
    let decoded: S = postcard::from_bytes(&bytes).expect("a saved state can be decoded");
    assert_eq!(&decoded, stable, "a saved state survives the round trip");
    decoded
}

struct ByteSource<'a>(&'a [u8]);

impl<'a> ByteSource<'a> {
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
