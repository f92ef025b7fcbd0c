//! A heartbeat failure detector whose timeouts adapt: eventually perfect under partial
//! synchrony.
//!
//! T. D. Chandra, S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the detector of class ◇P for partial synchrony.
//!
//! | | |
//! |---|---|
//! | assumes | partial synchrony; messages may be lost, though not all of them |
//! | messages | N − 1 per process and period |
//! | detects a crash | within the timeout of that peer after its last heartbeat |
//!
//! **Why it is right.** *Complete*: a crashed process sends no more heartbeats, so its timer
//! fires and is never set again. *Eventually accurate*: each false suspicion of a peer makes
//! its timeout longer; once it exceeds period + delay + drift, which are bounded from some
//! moment on, it never fires again while the peer lives.
//!
//! A process that was itself stopped for longer than a timeout (a suspended machine, a
//! debugger) has heard of nobody, and would suspect all. Its own clock tells it so when it
//! next beats, and it gives everybody a fresh timeout instead.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Detection, Effects, Faults, Fixed, Group, LocalTime,
    Order, Per, ProcessId, ProcessSet, Protocol, Service, Strategy, Timing, Topology, Verdict,
    labelled,
};

/// One process of the detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    group: Group,
    config: Fixed<Config>,
    suspected: ProcessSet,
    /// Δ: by peer, how long its silence may last, in ticks.
    timeouts: Vec<u64>,
    /// When this process last beat, by its own clock.
    beaten: LocalTime,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I am alive."
    Heartbeat,
}

labelled!(Message, Detector, Heartbeat => "heartbeat");

/// The timers of the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Time to say that we are alive.
    Beat,
    /// This peer has been silent for too long.
    Silence(ProcessId),
}

/// What is fixed for life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often to beat.
    pub period: Delay,
    /// The first timeout, in ticks; longer than a period.
    pub timeout: u64,
    /// How much a false suspicion adds to the timeout, in ticks.
    pub increment: u64,
    /// The timeout never grows beyond this, in ticks.
    pub longest: u64,
}

impl Default for Config {
    /// Every 50 ms; 300 ms at first, 100 ms more after each mistake, at most 5 s.
    fn default() -> Self {
        Config {
            period: Delay::units(50),
            timeout: Delay::units(300).max,
            increment: Delay::units(100).max,
            longest: Delay::units(5_000).max,
        }
    }
}

impl Protocol for Heartbeat {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        assert!(
            config.timeout > config.period.max,
            "a timeout shorter than the period accuses everybody"
        );
        let mut heartbeat = Heartbeat {
            group,
            config: Fixed::new(config.clone()),
            suspected: ProcessSet::new(),
            timeouts: vec![config.timeout; group.size() as usize],
            beaten: fx.local_clock(),
        };
        heartbeat.expect_all(fx);
        heartbeat.beat(fx);
        heartbeat
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, _: Message, fx: &mut impl Effects<Self>) {
        if self.suspected.remove(from) {
            let longer = self.timeouts[from.index()] + self.config.increment;
            self.timeouts[from.index()] = longer.min(self.config.longest);
            fx.emit(Event { peer: from, verdict: Verdict::Trust });
        }
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
}

impl Heartbeat {
    fn beat(&mut self, fx: &mut impl Effects<Self>) {
        self.beaten = fx.local_clock();
        fx.broadcast(&self.group.peers(), Message::Heartbeat);
        fx.set_timer(Timer::Beat, self.config.period);
    }

    /// Waits for a sign of life of a peer.
    fn expect(&self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Silence(peer), Delay::ticks(self.timeouts[peer.index()]));
    }

    fn expect_all(&self, fx: &mut impl Effects<Self>) {
        for peer in self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)) {
            self.expect(peer, fx);
        }
    }

    /// Whether this process itself was stopped since it last beat.
    fn was_away(&self, fx: &mut impl Effects<Self>) -> bool {
        let silent = fx.local_clock() - self.beaten;
        silent >= self.config.period.max + (self.config.timeout - self.config.period.max) / 2
    }
}

impl Algorithm for Heartbeat {
    fn card(_: &Config, size: u32) -> Card {
        let cost = u64::from(size) * u64::from(size - 1);
        Card {
            name: "heartbeat".to_string(),
            title: "say that you are alive, suspect who is silent, and learn from mistakes"
                .to_string(),
            service: Service::Other,
            paper: "Chandra & Toueg, JACM 43(2), 1996",
            strategy: Strategy::Comparison,
            timing: Timing::Partial,
            order: Order::Reordered,
            faults: Faults {
                loss: true,
                duplication: true,
                crashes: Crashes::Recovery,
                says: "survives crashes, recovery and lost messages",
            },
            topology: Topology::Complete,
            detection: Detection::None,
            messages: Cost { per: Per::Period, formula: "N(N−1)", least: cost, most: Some(cost) },
            promises: vec![],
            variants: vec![],
        }
    }
}
