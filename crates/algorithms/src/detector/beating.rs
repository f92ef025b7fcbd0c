//! Saying that one is alive, and suspecting whoever is silent for longer than one bears.
//!
//! What detectors by heartbeat have in common. How long a silence is borne is what they differ
//! in, and what a [`Patience`] says.

use core::fmt::Debug;
use core::hash::Hash;

use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Detection, Effects, Faults, Fixed, Group, Knowledge,
    LocalTime, Order, Per, ProcessId, ProcessSet, Protocol, Service, Strategy, TimerRole, Timing,
    Topology, Verdict, labelled,
};

/// How long the silence of a peer is borne, and what is learnt from its signs of life: the
/// configuration of a detector.
pub trait Patience: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// What is remembered of one peer.
    type Record: Clone + Debug + Eq + Hash + Send + Sync + 'static;

    /// How often to say that one is alive.
    fn period(&self) -> Delay;

    /// What is known of a peer at first.
    fn unknown(&self) -> Self::Record;

    /// How long the peer may be silent from its last sign of life on, in ticks.
    fn timeout(&self, of: &Self::Record) -> u64;

    /// There is a sign of life, at this moment of our own clock. If the peer was suspected, it was
    /// a mistake, or it has come back.
    fn hear(&self, of: &mut Self::Record, now: LocalTime, suspected: bool);

    /// We were away ourselves: how long the peer has been silent says nothing of it.
    fn forget_silence(&self, of: &mut Self::Record);

    /// The name on the command line, the title and the paper.
    fn names(&self) -> [&'static str; 3];
}

/// One process of a detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Beating<C: Patience> {
    group: Group,
    pub(super) config: Fixed<C>,
    suspected: ProcessSet,
    /// By peer.
    pub(super) records: Vec<C::Record>,
    /// When this process last beat, by its own clock.
    beaten: LocalTime,
}

impl<C: Patience> Beating<C> {
    /// Whom this process suspects.
    pub fn suspected(&self) -> &ProcessSet {
        &self.suspected
    }
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I am alive."
    Heartbeat,
}

labelled!(Message, Detector, Heartbeat => "heartbeat");

/// The timers of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Time to say that we are alive.
    Beat,
    /// This peer has been silent for too long.
    Silence(ProcessId),
}

impl<C: Patience> Protocol for Beating<C> {
    type Config = C;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &C, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let mut beating = Beating {
            group,
            config: Fixed::new(config.clone()),
            suspected: ProcessSet::new(),
            records: vec![config.unknown(); group.size() as usize],
            beaten: fx.local_clock(),
        };
        beating.expect_all(fx);
        beating.beat(fx);
        beating
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, _: Message, fx: &mut impl Effects<Self>) {
        let suspected = self.suspected.remove(from);
        if suspected {
            fx.emit(Event { peer: from, verdict: Verdict::Trust });
        }
        self.config.hear(&mut self.records[from.index()], fx.local_clock(), suspected);
        self.expect(from, fx);
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Beat => {
                if self.was_away(fx) {
                    self.expect_all(fx);
                }
                self.beat(fx);
            }
            Timer::Silence(peer) => {
                if self.suspected.insert(peer) {
                    fx.emit(Event { peer, verdict: Verdict::Suspect });
                }
            }
        }
    }

    /// A sign of life stays true, and needs no order.
    fn rests_on_saves(_: &Message) -> bool {
        false
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Beat => TimerRole::Paces,
            Timer::Silence(_) => TimerRole::MeasuresSilence,
        }
    }

    /// Somebody else knows better, and has told the others. Whoever is said to be alive is waited
    /// for as from the start: it is suspected again unless it says so itself.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                fx.cancel_timer(Timer::Silence(peer));
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                self.config.forget_silence(&mut self.records[peer.index()]);
                self.expect(peer, fx);
            }
        }
    }
}

impl<C: Patience> Beating<C> {
    fn beat(&mut self, fx: &mut impl Effects<Self>) {
        self.beaten = fx.local_clock();
        fx.broadcast(&self.group.peers(), Message::Heartbeat);
        fx.set_timer(Timer::Beat, self.config.period());
    }

    /// Waits for a sign of life of a peer.
    fn expect(&self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let timeout = self.config.timeout(&self.records[peer.index()]);
        fx.set_timer(Timer::Silence(peer), Delay::ticks(timeout));
    }

    /// Gives everybody who is not suspected a fresh timeout.
    fn expect_all(&mut self, fx: &mut impl Effects<Self>) {
        for peer in self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)) {
            self.config.forget_silence(&mut self.records[peer.index()]);
            self.expect(peer, fx);
        }
    }

    /// Whether this process itself was stopped since it last beat.
    fn was_away(&self, fx: &mut impl Effects<Self>) -> bool {
        let silent = fx.local_clock() - self.beaten;
        let (period, first) =
            (self.config.period().max, self.config.timeout(&self.config.unknown()));
        silent >= period + first.saturating_sub(period) / 2
    }
}

impl<C: Patience> Algorithm for Beating<C> {
    fn card(config: &C, size: u32) -> Card {
        let cost = u64::from(size) * u64::from(size - 1);
        let [name, title, paper] = config.names();
        Card {
            name: name.into(),
            title: title.into(),
            service: Service::Other,
            paper,
            strategy: Strategy::Comparison,
            timing: Timing::Partial,
            order: Order::Reordered,
            faults: Faults {
                loss: true,
                duplication: true,
                absence: true,
                crashes: Crashes::Recovery,
                ..Faults::none("survives crashes, recovery and lost messages")
            },
            topology: Topology::Complete,
            detection: Detection::None,
            knows: Knowledge::NON_UNIFORM,
            messages: Cost { per: Per::Period, ..Cost::per_entry("N(N−1)", cost, Some(cost)) },
            theory: None,
            promises: vec![],
            clocked: vec![],
            drift_ppm: 0,
            timeouts: vec![],
            variants: vec![],
        }
    }
}
