//! A protocol together with the failure detector that it listens to.
//!
//! T. D. Chandra, S. Toueg, JACM 43(2), 1996: a detector is a module of its own that an
//! algorithm queries. Here what the detector `D` says becomes a suspicion of `P`, so `P` can
//! be judged apart from `D`: simulator and checker give it the same input from an oracle.

use alloc::format;
use alloc::vec::Vec;

use tenure_core::service::detector;
use tenure_core::{
    Algorithm, Card, Detection, Detector, Effects, Group, Label, Labelled, ProcessId, Protocol,
    TimerRole, Timing, Verdict,
};

/// One process of `P`, listening to its `D`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Detected<D: Detector, P: Protocol> {
    detector: D,
    inner: P,
}

/// The messages of both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<D, P> {
    /// Of the detector.
    Detector(D),
    /// Of the protocol.
    Inner(P),
}

impl<D: Labelled, P: Labelled> Labelled for Message<D, P> {
    fn label(&self) -> Label {
        match self {
            Message::Detector(message) => message.label(),
            Message::Inner(message) => message.label(),
        }
    }
}

/// The timers of both.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<D, P> {
    /// Of the detector.
    Detector(D),
    /// Of the protocol.
    Inner(P),
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config<D, P> {
    /// Of the detector.
    pub detector: D,
    /// Of the protocol.
    pub inner: P,
}

impl<D: Detector, P: Protocol> Protocol for Detected<D, P> {
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
        let (detector, opinions) = fx.lift(Message::Detector, Timer::Detector, |fx| {
            D::boot(group, &config.detector, of_detector, fx)
        });
        let inner = P::boot(group, &config.inner, of_inner, &mut inside(fx));
        let mut detected = Detected { detector, inner };
        detected.suspect(opinions, fx);
        detected
    }

    fn stable(&self) -> Self::Stable {
        (self.detector.stable(), self.inner.stable())
    }

    fn unsaved(&self, (detector, inner): &Self::Stable) -> Option<Self::Stable> {
        self.change(self.detector.unsaved(detector), self.inner.unsaved(inner))
    }

    const DEFERS: bool = D::DEFERS || P::DEFERS;

    fn urgent(&self, (detector, inner): &Self::Stable) -> Option<Self::Stable> {
        self.change(self.detector.urgent(detector), self.inner.urgent(inner))
    }

    fn amend((detector, inner): &mut Self::Stable, change: Self::Stable) {
        D::amend(detector, change.0);
        P::amend(inner, change.1);
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.inner.on_command(command, &mut inside(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Inner(message) => self.inner.on_message(from, message, &mut inside(fx)),
            Message::Detector(message) => {
                let (_, opinions) = fx.lift(Message::Detector, Timer::Detector, |fx| {
                    self.detector.on_message(from, message, fx)
                });
                self.suspect(opinions, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Inner(timer) => self.inner.on_timer(timer, &mut inside(fx)),
            Timer::Detector(timer) => {
                let (_, opinions) = fx.lift(Message::Detector, Timer::Detector, |fx| {
                    self.detector.on_timer(timer, fx)
                });
                self.suspect(opinions, fx);
            }
        }
    }

    fn rests_on_saves(message: &Self::Message) -> bool {
        match message {
            Message::Inner(message) => P::rests_on_saves(message),
            Message::Detector(message) => D::rests_on_saves(message),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Inner(timer) => P::timer_role(timer),
            Timer::Detector(timer) => D::timer_role(timer),
        }
    }

    /// Somebody else knows better, as the runtime does where a peer has begun a new session: the
    /// detector is told as well, so that it does not think of the session before.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        let (_, opinions) = fx.lift(Message::Detector, Timer::Detector, |fx| {
            self.detector.on_suspicion(peer, verdict, fx)
        });
        self.inner.on_suspicion(peer, verdict, &mut inside(fx));
        self.suspect(opinions, fx);
    }
}

/// The effects of the protocol inside: only their names change.
fn inside<D: Detector, P: Protocol>(fx: &mut impl Effects<Detected<D, P>>) -> impl Effects<P> {
    fx.wrap(Message::Inner, Timer::Inner, Some)
}

impl<D: Detector, P: Protocol> Detected<D, P> {
    /// The protocol inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// The detector.
    pub fn detector(&self) -> &D {
        &self.detector
    }

    /// A change of both, where one of them changes.
    fn change(
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

    /// Passes on what the detector said.
    fn suspect(&mut self, opinions: Vec<detector::Event>, fx: &mut impl Effects<Self>) {
        for detector::Event { peer, verdict } in opinions {
            self.inner.on_suspicion(peer, verdict, &mut inside(fx));
        }
    }
}

impl<D: Detector + Algorithm, P: Algorithm> Algorithm for Detected<D, P> {
    /// The card of the protocol, with the detector's needs in place of a detector.
    fn card(config: &Self::Config, size: u32) -> Card {
        let detector = D::card(&config.detector, size);
        let mut card = P::card(&config.inner, size);
        card.title = format!("{}, with the detector {}", card.title, detector.name);
        card.timing = card.timing.max(Timing::Partial);
        card.detection = Detection::None;
        card
    }
}
