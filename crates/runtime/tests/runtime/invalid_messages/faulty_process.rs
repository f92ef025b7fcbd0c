//! A faulty member of a group. It follows its algorithm, but also sends invalid variants of its
//! messages.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use fastrand::Rng;
use tenure_core::{
    Delay, Effects, Group, Labelled, LocalTime, PeerVerdict, ProcessId, ProcessSet, Protocol,
    TimerRole, UncomparedConfig,
};
use tenure_runtime::Validator;

use super::SIZE;
use super::mutation::variants;

const MAX_FAULTS_PER_MESSAGE: usize = 3;

/// Source of the invalid messages that a faulty process sends. The source records them and limits
/// their number. All values of this type compare as equal, so they do not affect the comparison of
/// process states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FaultSource(UncomparedConfig<Mutex<SentFaults>>);

#[derive(Debug)]
struct SentFaults {
    rng: Rng,
    max_messages: usize,
    /// Invalid messages that were sent. Each element has three fields. The first field is the kind
    /// of the message. The second field is the position of the change in the encoded message. The
    /// third field numbers the variants that have a change at this position.
    sent: BTreeSet<(&'static str, usize, usize)>,
}

impl FaultSource {
    pub(super) fn new(seed: u64, max_messages: usize) -> Self {
        let state = SentFaults { rng: Rng::with_seed(seed), max_messages, sent: BTreeSet::new() };
        FaultSource(UncomparedConfig::new(Mutex::new(state)))
    }

    fn with_state<R>(&self, with: impl FnOnce(&mut SentFaults) -> R) -> R {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn count(&self) -> usize {
        self.with_state(|state| state.sent.len())
    }

    /// Returns two numbers: how many kinds of messages were altered, and how many positions in
    /// these kinds of messages were altered.
    pub(super) fn coverage(&self) -> (usize, usize) {
        self.with_state(|state| {
            let kinds: BTreeSet<_> = state.sent.iter().map(|(kind, ..)| kind).collect();
            let places: BTreeSet<_> = state.sent.iter().map(|(kind, at, _)| (kind, at)).collect();
            (kinds.len(), places.len())
        })
    }
}

impl SentFaults {
    /// Draws at most [`MAX_FAULTS_PER_MESSAGE`] variants of a message that were not sent yet, and
    /// records them as sent. Skips most variants that pass validation, because a valid variant may
    /// block the group until a restart.
    fn variants_of<P: Protocol>(&mut self, message: &P::Message) -> Vec<P::Message> {
        let kind = message.label().kind;
        let mut all = variants(message);
        self.rng.shuffle(&mut all);
        let mut chosen = Vec::new();
        for variant in all {
            if chosen.len() == MAX_FAULTS_PER_MESSAGE || self.sent.len() >= self.max_messages {
                break;
            }
            let is_valid = Validator::new(SIZE).check_message(&variant.message).is_ok();
            if is_valid && self.rng.u8(0..100) > 0 {
                continue;
            }
            let (place, index) = variant.place;
            if self.sent.insert((kind, place, index)) {
                chosen.push(variant.message);
            }
        }
        chosen
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FaultyProcess<P> {
    correct: P,
    faults: FaultSource,
}

impl<P: Protocol> Protocol for FaultyProcess<P> {
    type Config = (P::Config, FaultSource);
    type Command = P::Command;
    type Event = P::Event;
    type Message = P::Message;
    type Timer = P::Timer;
    type Stable = P::Stable;

    fn boot(
        group: Group,
        (config, faults): &Self::Config,
        stable: Option<P::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let faults = faults.clone();
        FaultyProcess {
            correct: P::boot(group, config, stable, &mut FaultyEffects(fx, faults.clone())),
            faults,
        }
    }

    fn stable(&self) -> P::Stable {
        self.correct.stable()
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.correct.on_command(command, &mut FaultyEffects(fx, self.faults.clone()));
    }

    fn on_message(&mut self, from: ProcessId, message: P::Message, fx: &mut impl Effects<Self>) {
        self.correct.on_message(from, message, &mut FaultyEffects(fx, self.faults.clone()));
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.correct.on_timer(timer, &mut FaultyEffects(fx, self.faults.clone()));
    }

    fn timer_role(timer: &P::Timer) -> TimerRole {
        P::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.correct.on_suspicion(peer, verdict, &mut FaultyEffects(fx, self.faults.clone()));
    }
}

/// Wrapper of the effects of the correct process. When the correct process sends a message, the
/// wrapper first sends some invalid variants of this message, and then the message itself.
struct FaultyEffects<'a, E>(&'a mut E, FaultSource);

impl<P: Protocol, E: Effects<FaultyProcess<P>>> Effects<P> for FaultyEffects<'_, E> {
    fn send(&mut self, to: ProcessId, message: P::Message) {
        for variant in self.1.with_state(|state| state.variants_of::<P>(&message)) {
            self.0.send(to, variant);
        }
        self.0.send(to, message);
    }

    fn broadcast(&mut self, to: &ProcessSet, message: P::Message) {
        to.iter().for_each(|peer| self.send(peer, message.clone()));
    }

    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.0.set_timer(timer, after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.0.cancel_timer(timer);
    }

    fn emit(&mut self, event: P::Event) {
        self.0.emit(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.0.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.0.local_clock()
    }
}
