//! A reliable first-in-first-out channel over one that loses, duplicates and reorders.
//!
//! Go-back-N with cumulative acknowledgements: W. C. Lynch, *Reliable full-duplex file
//! transmission over half-duplex telephone lines*, CACM 11(6), 1968, with a window; sessions
//! keep the messages of a crashed process from its successor.
//!
//! | | |
//! |---|---|
//! | assumes | a message that is sent again and again arrives in the end |
//! | messages | 2 per message of the protocol inside (it and its acknowledgement), plus repeats |
//!
//! **Why it is right.** A receiver accepts *exactly* the number that it expects: nothing is
//! delivered twice, out of order, or after a gap. The sender repeats what is not acknowledged,
//! so under fair loss everything arrives. Numbers count from 1 within a pair of sessions: both
//! ends' sessions travel in every message, so nothing that one boot of a process sent is taken
//! for a message of another. What is still unacknowledged when the peer's next session shows
//! itself is sent again to that one, which may have been up already. So a message may reach two
//! boots of its receiver, but none of them twice.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::{
    Algorithm, Card, Delay, Effects, Group, Label, Labelled, Layer, LocalTime, Order, ProcessId,
    Property, Protocol, TimerRole, Verdict,
};

/// One process of `P`, behind a reliable channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fifo<P: Protocol> {
    inner: P,
    post: Post<P>,
}

/// This process's end of all its links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Post<P: Protocol> {
    /// Which boot of this process this is, from 1.
    session: u64,
    /// By peer.
    links: Vec<Link<P::Message>>,
    window: usize,
    resend: Delay,
}

/// Both directions between this process and a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link<M> {
    /// The peer's session, 0 until we hear of it.
    peer_session: u64,
    /// How many of our messages the peer has acknowledged.
    acknowledged: u64,
    /// The messages after those, in order; those within the window are under way.
    outgoing: VecDeque<M>,
    /// How many of the peer's messages we have accepted.
    received: u64,
}

/// What the two ends of a link say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<M> {
    /// A message of the protocol inside, for the first time.
    Data(Box<Parcel<M>>),
    /// The same again, for want of an acknowledgement.
    Repeat(Box<Parcel<M>>),
    /// "I have accepted everything up to here."
    Acknowledge {
        /// The sender's session.
        session: u64,
        /// The receiver's session, as far as the sender knows; 0 when it does not.
        to_session: u64,
        /// The last number that was accepted.
        received: u64,
    },
}

/// A numbered message of the protocol inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parcel<M> {
    /// The sender's session.
    session: u64,
    /// The receiver's session; 0 when the sender has not heard of it.
    to_session: u64,
    /// 1 for the first message between these sessions.
    number: u64,
    /// What is carried.
    message: M,
}

impl<M: Labelled> Labelled for Message<M> {
    fn label(&self) -> Label {
        match self {
            Message::Data(parcel) => parcel.message.label(),
            Message::Repeat(_) => Label { layer: Layer::Channel, kind: "repeat" },
            Message::Acknowledge { .. } => Label { layer: Layer::Channel, kind: "acknowledge" },
        }
    }
}

/// The timers of the channel and of the protocol inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// Something sent to this peer is not acknowledged yet.
    Resend(ProcessId),
    /// A timer of the protocol inside.
    Inner(T),
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable<S> {
    /// The last session.
    session: u64,
    /// What survives of the protocol inside.
    inner: S,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// How many messages to a peer may be under way at once.
    pub window: u32,
    /// How long to wait for an acknowledgement.
    pub resend: Delay,
    /// Of the protocol inside.
    pub inner: C,
}

impl<C> Config<C> {
    /// A window of 64 messages, sent again after 20 units.
    pub fn around(inner: C) -> Self {
        Config { window: 64, resend: Delay::units(20), inner }
    }
}

impl<P: Protocol> Protocol for Fifo<P> {
    type Config = Config<P::Config>;
    type Command = P::Command;
    type Event = P::Event;
    type Message = Message<P::Message>;
    type Timer = Timer<P::Timer>;
    type Stable = Stable<P::Stable>;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        assert!(config.window > 0, "through a window of 0 messages nothing would ever pass");
        let (last, inner) = stable.map_or((0, None), |stable| (stable.session, Some(stable.inner)));
        let mut post = Post {
            session: last + 1,
            links: vec![Link::default(); group.size() as usize],
            window: config.window as usize,
            resend: config.resend,
        };
        let inner = P::boot(group, &config.inner, inner, &mut Inside { post: &mut post, fx });
        Fifo { inner, post }
    }

    fn stable(&self) -> Self::Stable {
        Stable { session: self.post.session, inner: self.inner.stable() }
    }

    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.change(saved.session, self.inner.unsaved(&saved.inner))
    }

    const DEFERS: bool = P::DEFERS;

    fn urgent(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.change(saved.session, self.inner.urgent(&saved.inner))
    }

    fn amend(saved: &mut Self::Stable, change: Self::Stable) {
        saved.session = change.session;
        P::amend(&mut saved.inner, change.inner);
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.inner.on_command(command, &mut Inside { post: &mut self.post, fx });
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Data(parcel) | Message::Repeat(parcel) => {
                if let Some(message) = self.post.accept(from, *parcel, fx) {
                    self.inner.on_message(from, message, &mut Inside { post: &mut self.post, fx });
                }
            }
            Message::Acknowledge { session, to_session, received } => {
                if to_session == self.post.session {
                    self.post.acknowledged(from, session, received, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Resend(peer) => self.post.repeat(peer, fx),
            Timer::Inner(timer) => {
                self.inner.on_timer(timer, &mut Inside { post: &mut self.post, fx });
            }
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        if let Timer::Inner(timer) = timer { P::timer_role(timer) } else { TimerRole::Plain }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.inner.on_suspicion(peer, verdict, &mut Inside { post: &mut self.post, fx });
    }
}

impl<P: Protocol> Fifo<P> {
    /// A change of the protocol inside, with the session; all there is, where only that is new.
    fn change(&self, last: u64, inner: Option<P::Stable>) -> Option<Stable<P::Stable>> {
        let session = self.post.session;
        let inner = inner.or_else(|| (session != last).then(|| self.inner.stable()))?;
        Some(Stable { session, inner })
    }

    /// The protocol inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

/// What the protocol inside sees: its messages go through the post, all else passes.
struct Inside<'a, P: Protocol, F> {
    post: &'a mut Post<P>,
    fx: &'a mut F,
}

impl<P: Protocol, F: Effects<Fifo<P>>> Effects<P> for Inside<'_, P, F> {
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.post.send(to, message, self.fx);
    }

    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.fx.set_timer(Timer::Inner(timer), after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.fx.cancel_timer(Timer::Inner(timer));
    }

    fn emit(&mut self, event: P::Event) {
        self.fx.emit(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.fx.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.fx.local_clock()
    }
}

impl<P: Protocol> Post<P> {
    fn send(&mut self, to: ProcessId, message: P::Message, fx: &mut impl Effects<Fifo<P>>) {
        let link = &mut self.links[to.index()];
        link.outgoing.push_back(message);
        let place = link.outgoing.len() - 1;
        if place == 0 {
            fx.set_timer(Timer::Resend(to), self.resend);
        }
        if place < self.window {
            fx.send(to, Message::Data(self.parcel(to, place)));
        }
    }

    /// Answers a parcel, and returns what it carries if that is the next message.
    fn accept(
        &mut self,
        from: ProcessId,
        parcel: Parcel<P::Message>,
        fx: &mut impl Effects<Fifo<P>>,
    ) -> Option<P::Message> {
        self.meet(from, parcel.session, fx);
        let addressed = self.is_addressed_to_us(parcel.to_session);
        let link = &mut self.links[from.index()];
        if parcel.session < link.peer_session {
            return None;
        }
        let next = addressed && parcel.number == link.received + 1;
        if next {
            link.received += 1;
        }
        let (to_session, received) = (parcel.session, link.received);
        fx.send(from, Message::Acknowledge { session: self.session, to_session, received });
        next.then_some(parcel.message)
    }

    /// Whoever has not heard of us yet means our first session.
    fn is_addressed_to_us(&self, to_session: u64) -> bool {
        to_session == self.session || (to_session == 0 && self.session == 1)
    }

    fn acknowledged(
        &mut self,
        from: ProcessId,
        session: u64,
        received: u64,
        fx: &mut impl Effects<Fifo<P>>,
    ) {
        self.meet(from, session, fx);
        let link = &mut self.links[from.index()];
        let under_way = link.outgoing.len().min(self.window);
        let news = received.saturating_sub(link.acknowledged) as usize;
        if session < link.peer_session || news == 0 || news > under_way {
            return;
        }
        link.outgoing.drain(..news);
        link.acknowledged = received;
        let admitted = under_way - news..link.outgoing.len().min(self.window);
        if link.outgoing.is_empty() {
            fx.cancel_timer(Timer::Resend(from));
        } else {
            fx.set_timer(Timer::Resend(from), self.resend);
        }
        for place in admitted {
            fx.send(from, Message::Data(self.parcel(from, place)));
        }
    }

    /// Takes note of a peer's session. A later one than we knew of starts both directions
    /// afresh, with what is still unacknowledged.
    fn meet(&mut self, peer: ProcessId, session: u64, fx: &mut impl Effects<Fifo<P>>) {
        let link = &mut self.links[peer.index()];
        if session <= link.peer_session {
            return;
        }
        let as_expected = link.peer_session == 0 && session == 1;
        link.peer_session = session;
        link.received = 0;
        link.acknowledged = 0;
        if !as_expected && !link.outgoing.is_empty() {
            self.repeat(peer, fx);
        }
    }

    /// Sends everything in the window again.
    fn repeat(&mut self, peer: ProcessId, fx: &mut impl Effects<Fifo<P>>) {
        for place in 0..self.links[peer.index()].outgoing.len().min(self.window) {
            fx.send(peer, Message::Repeat(self.parcel(peer, place)));
        }
        fx.set_timer(Timer::Resend(peer), self.resend);
    }

    fn parcel(&self, to: ProcessId, place: usize) -> Box<Parcel<P::Message>> {
        let link = &self.links[to.index()];
        Box::new(Parcel {
            session: self.session,
            to_session: link.peer_session,
            number: link.acknowledged + place as u64 + 1,
            message: link.outgoing[place].clone(),
        })
    }
}

impl<M> Default for Link<M> {
    fn default() -> Self {
        Link { peer_session: 0, acknowledged: 0, outgoing: VecDeque::new(), received: 0 }
    }
}

impl<P: Algorithm> Algorithm for Fifo<P> {
    /// The card of the protocol inside, over a channel that need not be reliable.
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = P::card(&config.inner, size);
        card.name = format!("fifo:{}", card.name);
        card.title = format!("{}, over a channel made reliable", card.title);
        card.order = Order::Reordered;
        card.faults.loss = true;
        card.faults.max_lost = 0;
        card.timeouts.push(super::resend_timeout(config.resend));
        card.faults.duplication = true;
        card.theory = None;
        // What is sent again is counted as what it carries.
        card.messages = card.messages.in_part();
        // Repeats and acknowledgements carry news that the protocol inside does not see.
        card.promises.retain(|it| !matches!(it, Property::Order | Property::OrderWithMessages));
        card
    }

    fn highest_term(&self) -> u64 {
        self.inner().highest_term()
    }
}
