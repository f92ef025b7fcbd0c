//! A protocol together with its failure detector.
//!
//! T. D. Chandra, S. Toueg, JACM 43(2), 1996: a detector is a separate module that an algorithm
//! queries. Here the verdicts of the detector `D` become suspicions of the protocol `P`. So `P` can
//! be checked without `D`: in the simulator and the checker, an oracle can generate the suspicions.

use alloc::format;
use alloc::vec::Vec;

use tenure_core::service::detector;
use tenure_core::{
    Algorithm, Card, Detector, DetectorClass, Effects, Group, Labelled, MessageLabel, PeerVerdict,
    ProcessId, Protocol, TimerRole, Timing,
};

/// State of one process of the protocol `P`, with its failure detector `D`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WithDetector<D: Detector, P: Protocol> {
    detector: D,
    inner: P,
}

/// A message of the detector or of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<D, P> {
    /// A message of the detector.
    Detector(D),
    /// A message of the protocol.
    Inner(P),
}

impl<D: Labelled, P: Labelled> Labelled for Message<D, P> {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Detector(message) => message.label(),
            Message::Inner(message) => message.label(),
        }
    }
}

/// A timer of the detector or of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<D, P> {
    /// A timer of the detector.
    Detector(D),
    /// A timer of the protocol.
    Inner(P),
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<D, P> {
    /// Configuration of the detector.
    pub detector: D,
    /// Configuration of the protocol.
    pub inner: P,
}

impl<D: Detector, P: Protocol> Protocol for WithDetector<D, P> {
    type Config = Config<D::Config, P::Config>;
    type Command = P::Command;
    type Event = P::Event;
    type Message = Message<D::Message, P::Message>;
    type Timer = Timer<D::Timer, P::Timer>;
    type Stable = (D::Stable, P::Stable);

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (of_detector, of_inner) = stable.unzip();
        let (detector, verdicts) = fx.run_child(Message::Detector, Timer::Detector, |fx| {
            D::boot(group, &config.detector, of_detector, fx)
        });
        let inner = P::boot(group, &config.inner, of_inner, &mut inner_effects(fx));
        let mut detected = WithDetector { detector, inner };
        detected.forward_verdicts(verdicts, fx);
        detected
    }

    fn stable(&self) -> Self::Stable {
        (self.detector.stable(), self.inner.stable())
    }

    fn unsaved_change(&self, (detector, inner): &Self::Stable) -> Option<Self::Stable> {
        self.combined_change(
            self.detector.unsaved_change(detector),
            self.inner.unsaved_change(inner),
        )
    }

    const DEFERS_SAVES: bool = D::DEFERS_SAVES || P::DEFERS_SAVES;

    fn urgent_change(&self, (detector, inner): &Self::Stable) -> Option<Self::Stable> {
        self.combined_change(self.detector.urgent_change(detector), self.inner.urgent_change(inner))
    }

    fn apply_change((detector, inner): &mut Self::Stable, combined_change: Self::Stable) {
        D::apply_change(detector, combined_change.0);
        P::apply_change(inner, combined_change.1);
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.inner.on_command(command, &mut inner_effects(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Inner(message) => self.inner.on_message(from, message, &mut inner_effects(fx)),
            Message::Detector(message) => {
                let (_, verdicts) = fx.run_child(Message::Detector, Timer::Detector, |fx| {
                    self.detector.on_message(from, message, fx)
                });
                self.forward_verdicts(verdicts, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Inner(timer) => self.inner.on_timer(timer, &mut inner_effects(fx)),
            Timer::Detector(timer) => {
                let (_, verdicts) = fx.run_child(Message::Detector, Timer::Detector, |fx| {
                    self.detector.on_timer(timer, fx)
                });
                self.forward_verdicts(verdicts, fx);
            }
        }
    }

    fn must_wait_for_save(message: &Self::Message) -> bool {
        match message {
            Message::Inner(message) => P::must_wait_for_save(message),
            Message::Detector(message) => D::must_wait_for_save(message),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Inner(timer) => P::timer_role(timer),
            Timer::Detector(timer) => D::timer_role(timer),
        }
    }

    /// Handles a verdict from a source outside the detector. For example, the runtime may have seen
    /// a new session of a peer. Passes the verdict to the detector and to the protocol.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let (_, verdicts) = fx.run_child(Message::Detector, Timer::Detector, |fx| {
            self.detector.on_suspicion(peer, verdict, fx)
        });
        self.inner.on_suspicion(peer, verdict, &mut inner_effects(fx));
        self.forward_verdicts(verdicts, fx);
    }
}

fn inner_effects<D: Detector, P: Protocol>(
    fx: &mut impl Effects<WithDetector<D, P>>,
) -> impl Effects<P> {
    fx.child_effects(Message::Inner, Timer::Inner, Some)
}

impl<D: Detector, P: Protocol> WithDetector<D, P> {
    /// Returns the inner protocol.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Returns the detector.
    pub fn detector(&self) -> &D {
        &self.detector
    }

    /// Combines the changes of the stable states of the detector and the inner protocol. If only
    /// one of them has changed, adds the complete stable state of the other. Returns `None` if none
    /// has changed.
    fn combined_change(
        &self,
        detector: Option<D::Stable>,
        inner: Option<P::Stable>,
    ) -> Option<(D::Stable, P::Stable)> {
        if detector.is_none() && inner.is_none() {
            return None;
        }
        let detector = detector.unwrap_or_else(|| self.detector.stable());
        Some((detector, inner.unwrap_or_else(|| self.inner.stable())))
    }

    fn forward_verdicts(&mut self, verdicts: Vec<detector::Event>, fx: &mut impl Effects<Self>) {
        for detector::Event { peer, verdict } in verdicts {
            self.inner.on_suspicion(peer, verdict, &mut inner_effects(fx));
        }
    }
}

impl<D: Detector + Algorithm, P: Algorithm> Algorithm for WithDetector<D, P> {
    /// Returns the [`Card`] of the protocol together with its detector. The combination requires
    /// partial synchrony or a stronger timing model. It requires no further detector.
    fn card(config: &Self::Config, size: u32) -> Card {
        let detector = D::card(&config.detector, size);
        let mut card = P::card(&config.inner, size);
        card.title = format!("{}, with the detector {}", card.title, detector.name);
        card.timing = card.timing.max(Timing::Partial);
        card.detection = DetectorClass::None;
        card
    }
}
