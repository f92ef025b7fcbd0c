//! Failure detectors based on heartbeats: a process sends heartbeats and suspects peers that are
//! silent for too long.
//!
//! All heartbeat detectors share this implementation. A [`TimeoutPolicy`] decides how long a peer
//! may be silent, and each detector has its own policy.

use core::fmt::Debug;
use core::hash::Hash;

use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, CostUnit, CrashModel, Delay, DetectorClass,
    Effects, Group, LocalTime, MessageCost, PeerVerdict, ProcessId, ProcessKnowledge, ProcessSet,
    Protocol, Service, TimerRole, Timing, ToleratedFaults, Topology, UncomparedConfig, labelled,
};

/// Policy of a failure detector. It is the configuration of the detector, and decides how long a
/// peer may be silent. The decision may depend on the past heartbeats of the peer.
pub trait TimeoutPolicy: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// State that a detector keeps for each peer.
    type PeerState: Clone + Debug + Eq + Hash + Send + Sync + 'static;

    /// Returns the interval between heartbeats.
    fn period(&self) -> Delay;

    /// Returns the initial state for a peer.
    fn initial_peer_state(&self) -> Self::PeerState;

    /// Returns how long a peer may be silent after its last heartbeat, in ticks. `of` is the state
    /// of this peer.
    fn timeout(&self, of: &Self::PeerState) -> u64;

    /// Records in `of` that a heartbeat arrived at local time `now`. `suspected` is true if the
    /// peer was suspected until this heartbeat. Then the suspicion was wrong, or the peer has
    /// restarted.
    fn on_heartbeat(&self, of: &mut Self::PeerState, now: LocalTime, suspected: bool);

    /// Restarts the measurement of a peer's silence. `of` is the state of this peer. The detector
    /// calls this function after a pause of this process, and when another source reports that the
    /// peer is alive.
    fn restart_silence_measurement(&self, of: &mut Self::PeerState);

    /// Returns three strings about the detector: its name on the command line, its title and its
    /// paper.
    fn name_title_and_paper(&self) -> [&'static str; 3];
}

/// One process of a failure detector that sends heartbeats.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeartbeatDetector<C: TimeoutPolicy> {
    group: Group,
    pub(super) config: UncomparedConfig<C>,
    suspected: ProcessSet,
    /// For each process, by index: the state that the detector keeps for it.
    pub(super) records: Vec<C::PeerState>,
    /// Local time at which this process sent its last heartbeat.
    last_beat: LocalTime,
}

impl<C: TimeoutPolicy> HeartbeatDetector<C> {
    /// Returns the processes that this process suspects.
    pub fn suspected(&self) -> &ProcessSet {
        &self.suspected
    }
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender is alive.
    Heartbeat,
}

labelled!(Message, Detector, Heartbeat => "heartbeat");

/// Timers of a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The next heartbeat is due.
    Beat,
    /// This peer has sent no heartbeat for as long as its timeout.
    Silence(ProcessId),
}

impl<C: TimeoutPolicy> Protocol for HeartbeatDetector<C> {
    type Config = C;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &C, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let mut beating = HeartbeatDetector {
            group,
            config: UncomparedConfig::new(config.clone()),
            suspected: ProcessSet::new(),
            records: vec![config.initial_peer_state(); group.size() as usize],
            last_beat: fx.local_clock(),
        };
        beating.reset_timeouts(fx);
        beating.send_heartbeat(fx);
        beating
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, _: &mut impl Effects<Self>) {
        match command {}
    }

    fn on_message(&mut self, from: ProcessId, _: Message, fx: &mut impl Effects<Self>) {
        let suspected = self.suspected.remove(from);
        if suspected {
            fx.emit(Event { peer: from, verdict: PeerVerdict::Trust });
        }
        self.config.on_heartbeat(&mut self.records[from.index()], fx.local_clock(), suspected);
        self.set_timeout(from, fx);
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Beat => {
                if self.was_paused(fx) {
                    self.reset_timeouts(fx);
                }
                self.send_heartbeat(fx);
            }
            Timer::Silence(peer) => {
                if self.suspected.insert(peer) {
                    fx.emit(Event { peer, verdict: PeerVerdict::Suspect });
                }
            }
        }
    }

    /// Returns false: a heartbeat says nothing about saved state, so it may be sent before a
    /// pending save is done.
    fn must_wait_for_save(_: &Message) -> bool {
        false
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Beat => TimerRole::PacesHeartbeats,
            Timer::Silence(_) => TimerRole::MeasuresSilence,
        }
    }

    /// Handles a verdict that comes from outside the detector. A suspicion stops the timer of the
    /// peer. If the verdict is trust, the timer restarts. If the peer then sends no heartbeats, the
    /// detector suspects it again.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                fx.cancel_timer(Timer::Silence(peer));
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                self.config.restart_silence_measurement(&mut self.records[peer.index()]);
                self.set_timeout(peer, fx);
            }
        }
    }
}

impl<C: TimeoutPolicy> HeartbeatDetector<C> {
    fn send_heartbeat(&mut self, fx: &mut impl Effects<Self>) {
        self.last_beat = fx.local_clock();
        fx.broadcast(&self.group.peers(), Message::Heartbeat);
        fx.set_timer(Timer::Beat, self.config.period());
    }

    fn set_timeout(&self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let timeout = self.config.timeout(&self.records[peer.index()]);
        fx.set_timer(Timer::Silence(peer), Delay::ticks(timeout));
    }

    /// Restarts the timers of all peers that this process does not suspect.
    fn reset_timeouts(&mut self, fx: &mut impl Effects<Self>) {
        for peer in self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)) {
            self.config.restart_silence_measurement(&mut self.records[peer.index()]);
            self.set_timeout(peer, fx);
        }
    }

    /// Returns true if this process itself seems to have been paused since its last heartbeat. This
    /// is so if at least a period, and half of the difference between the initial timeout and a
    /// period, have passed.
    fn was_paused(&self, fx: &mut impl Effects<Self>) -> bool {
        let silent = fx.local_clock() - self.last_beat;
        let (period, first) =
            (self.config.period().max, self.config.timeout(&self.config.initial_peer_state()));
        silent >= period + first.saturating_sub(period) / 2
    }
}

impl<C: TimeoutPolicy> Algorithm for HeartbeatDetector<C> {
    fn card(config: &C, size: u32) -> Card {
        let cost = u64::from(size) * u64::from(size - 1);
        let [name, title, paper] = config.name_title_and_paper();
        Card {
            name: name.into(),
            title: title.into(),
            service: Service::Other,
            paper,
            strategy: AlgorithmClass::Comparison,
            timing: Timing::Partial,
            order: ChannelOrder::Reordered,
            faults: ToleratedFaults {
                loss: true,
                duplication: true,
                absence: true,
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::none("survives crashes, recovery and lost messages")
            },
            topology: Topology::Complete,
            graph: None,
            detection: DetectorClass::None,
            knows: ProcessKnowledge::NON_UNIFORM,
            messages: MessageCost {
                per: CostUnit::Period,
                ..MessageCost::per_entry("N(N−1)", cost, Some(cost))
            },
            theory: None,
            promises: vec![],
            timed_promises: vec![],
            drift_ppm: 0,
            timeouts: vec![],
            variants: vec![],
        }
    }
}
