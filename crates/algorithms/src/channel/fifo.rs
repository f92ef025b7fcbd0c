//! A reliable FIFO channel over a channel that loses, duplicates and reorders messages.
//!
//! Go-back-N with cumulative acknowledgements: W. C. Lynch, *Reliable full-duplex file transmission
//! over half-duplex telephone lines*, CACM 11(6), 1968, with a window. Sessions separate the
//! messages before and after a restart.
//!
//! | | |
//! |---|---|
//! | assumes | a message that is sent again and again eventually arrives |
//! | messages | 2 per message of the inner protocol (with its acknowledgement), plus repeats |
//! | memory | no bound: all messages to a peer are kept until it acknowledges them |
//!
//! **Why it is right.** Messages are numbered from 1 for each pair of sessions. A receiver accepts
//! only the message with the number that it expects: nothing is delivered twice, out of order, or
//! after a gap. The sender repeats unacknowledged messages, so under fair loss all arrive. Every
//! message carries the sessions of both ends, so messages of different boots are not confused. If a
//! process learns of a new session of its peer, it sends its unacknowledged messages to the new
//! session. Otherwise, messages that it sent after the peer's restart would be lost. So two boots
//! of a receiver may get the same message, but no boot gets a message twice.

mod config;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use alloc::{format, vec};

use tenure_core::{
    Algorithm, Card, ChannelOrder, Delay, Effects, Group, Labelled, Layer, LocalTime, MessageLabel,
    PeerVerdict, ProcessId, Property, Protocol, TimerRole, Timing,
};

pub use config::Config;

/// A process of the protocol `P`. The messages of `P` pass through a reliable FIFO channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FifoChannel<P: Protocol> {
    inner: P,
    endpoint: Endpoint<P>,
}

/// State of all links of this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Endpoint<P: Protocol> {
    /// Session of this process: the number of times that it has booted.
    session: u64,
    /// Links to the other processes, by index of the process.
    links: Vec<Link<P::Message>>,
    window: usize,
    resend: Delay,
}

/// Both directions of the link between this process and a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link<M> {
    /// The peer's session, 0 while unknown.
    peer_session: u64,
    /// Number of messages to the peer's current session that the peer has acknowledged.
    acknowledged: u64,
    /// Unacknowledged messages, oldest first, without a bound. Those in the window are in flight.
    outgoing: VecDeque<M>,
    /// Number of messages from the peer's current session that this process has accepted.
    received: u64,
}

/// Messages between the two ends of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<M> {
    /// A message of the inner protocol, sent for the first time.
    Data(Box<Packet<M>>),
    /// A message that is sent again: it was not acknowledged in time, or the peer has restarted.
    Repeat(Box<Packet<M>>),
    /// Acknowledges all messages up to `received`.
    Acknowledge {
        /// Session of the sender.
        session: u64,
        /// Session of the receiver, as stated in the packet that the sender acknowledges.
        to_session: u64,
        /// Number of the last message that the sender has accepted.
        received: u64,
    },
}

/// A numbered message of the inner protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Packet<M> {
    session: u64,
    /// Session of the receiver, or 0 if the sender does not know it.
    to_session: u64,
    /// Sequence number of the message, counted from 1 for each pair of sessions.
    number: u64,
    message: M,
}

impl<M: Labelled> Labelled for Message<M> {
    fn label(&self) -> MessageLabel {
        let kind = match self {
            Message::Data(packet) => return packet.message.label(),
            Message::Repeat(_) => "repeat",
            Message::Acknowledge { .. } => "acknowledge",
        };
        MessageLabel { layer: Layer::Channel, kind }
    }
}

/// Timers of the channel and of the inner protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// The unacknowledged messages in the window of this peer are sent again.
    Resend(ProcessId),
    /// A timer of the inner protocol.
    Inner(T),
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable<S> {
    /// Number of the last session. It equals the number of boots.
    session: u64,
    inner: S,
}

impl<P: Protocol> Protocol for FifoChannel<P> {
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
        assert!(config.window > 0, "the window must allow at least one message");
        let (last, inner) = stable.map_or((0, None), |stable| (stable.session, Some(stable.inner)));
        let mut endpoint = Endpoint {
            session: last + 1,
            links: vec![Link::default(); group.size() as usize],
            window: config.window as usize,
            resend: config.resend_timeout,
        };
        let inner =
            P::boot(group, &config.inner, inner, &mut InnerEffects { endpoint: &mut endpoint, fx });
        FifoChannel { inner, endpoint }
    }

    fn stable(&self) -> Self::Stable {
        Stable { session: self.endpoint.session, inner: self.inner.stable() }
    }

    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.combined_change(saved.session, self.inner.unsaved_change(&saved.inner))
    }

    const DEFERS_SAVES: bool = P::DEFERS_SAVES;

    fn urgent_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.combined_change(saved.session, self.inner.urgent_change(&saved.inner))
    }

    fn apply_change(saved: &mut Self::Stable, combined_change: Self::Stable) {
        saved.session = combined_change.session;
        P::apply_change(&mut saved.inner, combined_change.inner);
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.inner.on_command(command, &mut InnerEffects { endpoint: &mut self.endpoint, fx });
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Data(packet) | Message::Repeat(packet) => {
                if let Some(message) = self.endpoint.accept(from, *packet, fx) {
                    self.inner.on_message(
                        from,
                        message,
                        &mut InnerEffects { endpoint: &mut self.endpoint, fx },
                    );
                }
            }
            Message::Acknowledge { session, to_session, received } => {
                if to_session == self.endpoint.session {
                    self.endpoint.on_acknowledge(from, session, received, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Resend(peer) => self.endpoint.repeat(peer, fx),
            Timer::Inner(timer) => {
                self.inner.on_timer(timer, &mut InnerEffects { endpoint: &mut self.endpoint, fx });
            }
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        if let Timer::Inner(timer) = timer { P::timer_role(timer) } else { TimerRole::Plain }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let fx = &mut InnerEffects { endpoint: &mut self.endpoint, fx };
        self.inner.on_suspicion(peer, verdict, fx);
    }
}

impl<P: Protocol> FifoChannel<P> {
    /// Returns the change to save; `None` if neither the session nor the inner state has changed.
    /// `last` is the saved session, and `inner` is the change of the inner state. If only the
    /// session has changed, the result contains the whole inner state.
    fn combined_change(&self, last: u64, inner: Option<P::Stable>) -> Option<Stable<P::Stable>> {
        let session = self.endpoint.session;
        let inner = inner.or_else(|| (session != last).then(|| self.inner.stable()))?;
        Some(Stable { session, inner })
    }

    /// Returns the inner protocol.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

/// Effects for the inner protocol. The messages of the inner protocol pass through the channel. All
/// other effects remain unchanged.
struct InnerEffects<'a, P: Protocol, F> {
    endpoint: &'a mut Endpoint<P>,
    fx: &'a mut F,
}

impl<P: Protocol, F: Effects<FifoChannel<P>>> Effects<P> for InnerEffects<'_, P, F> {
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.endpoint.send(to, message, self.fx);
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

impl<P: Protocol> Endpoint<P> {
    fn send(&mut self, to: ProcessId, message: P::Message, fx: &mut impl Effects<FifoChannel<P>>) {
        let link = &mut self.links[to.index()];
        link.outgoing.push_back(message);
        let place = link.outgoing.len() - 1;
        if place == 0 {
            fx.set_timer(Timer::Resend(to), self.resend);
        }
        if place < self.window {
            fx.send(to, Message::Data(self.packet(to, place)));
        }
    }

    /// Acknowledges a packet, unless it is from an older session of the peer. Returns the message
    /// if the packet is for the current session and the next in order, and `None` otherwise.
    fn accept(
        &mut self,
        from: ProcessId,
        packet: Packet<P::Message>,
        fx: &mut impl Effects<FifoChannel<P>>,
    ) -> Option<P::Message> {
        self.on_session(from, packet.session, fx);
        let addressed = self.is_addressed_to_us(packet.to_session);
        let link = &mut self.links[from.index()];
        if packet.session < link.peer_session {
            return None;
        }
        let next = addressed && packet.number == link.received + 1;
        if next {
            link.received += 1;
        }
        let (to_session, received) = (packet.session, link.received);
        fx.send(from, Message::Acknowledge { session: self.session, to_session, received });
        next.then_some(packet.message)
    }

    /// Returns true if a message is for the current session of this process. `to_session` is the
    /// session to which the sender addresses the message. If `to_session` is 0, the sender does not
    /// know the session yet and addresses the first session.
    fn is_addressed_to_us(&self, to_session: u64) -> bool {
        to_session == self.session || (to_session == 0 && self.session == 1)
    }

    fn on_acknowledge(
        &mut self,
        from: ProcessId,
        session: u64,
        received: u64,
        fx: &mut impl Effects<FifoChannel<P>>,
    ) {
        self.on_session(from, session, fx);
        let link = &mut self.links[from.index()];
        let in_flight = link.outgoing.len().min(self.window);
        let newly_acknowledged = received.saturating_sub(link.acknowledged) as usize;
        if session < link.peer_session || newly_acknowledged == 0 || newly_acknowledged > in_flight
        {
            return;
        }
        link.outgoing.drain(..newly_acknowledged);
        link.acknowledged = received;
        let admitted = in_flight - newly_acknowledged..link.outgoing.len().min(self.window);
        if link.outgoing.is_empty() {
            fx.cancel_timer(Timer::Resend(from));
        } else {
            fx.set_timer(Timer::Resend(from), self.resend);
        }
        for place in admitted {
            fx.send(from, Message::Data(self.packet(from, place)));
        }
    }

    /// Records the session of a peer. A newer session restarts both directions of the link. Unless
    /// it is the peer's first session, this process then sends its unacknowledged messages again.
    fn on_session(&mut self, peer: ProcessId, session: u64, fx: &mut impl Effects<FifoChannel<P>>) {
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

    fn repeat(&mut self, peer: ProcessId, fx: &mut impl Effects<FifoChannel<P>>) {
        for place in 0..self.links[peer.index()].outgoing.len().min(self.window) {
            fx.send(peer, Message::Repeat(self.packet(peer, place)));
        }
        fx.set_timer(Timer::Resend(peer), self.resend);
    }

    fn packet(&self, to: ProcessId, place: usize) -> Box<Packet<P::Message>> {
        let link = &self.links[to.index()];
        Box::new(Packet {
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

impl<P: Algorithm> Algorithm for FifoChannel<P> {
    /// Returns the [`Card`] of the inner protocol when it runs over this channel. Links may then
    /// lose, duplicate and reorder messages.
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = P::card(&config.inner, size);
        card.name = format!("fifo:{}", card.name);
        card.title = format!("{}, over a channel made reliable", card.title);
        card.order = ChannelOrder::Reordered;
        card.faults.loss = card.timing != Timing::Rounds; // A repeat comes too late for its round.
        card.faults.max_lost = 0;
        card.timeouts.push(super::resend_timeout(config.resend_timeout));
        card.faults.duplication = true;
        card.theory = None;
        // The bounds of the card do not include repeated messages, although runs count these too.
        card.messages = card.messages.marked_incomplete();
        // Entries need not follow the causal order of requests: a repeated message or an
        // acknowledgement may order two requests that the inner protocol regards as concurrent.
        let lost = [Property::FirstComeFirstServed, Property::OrderWithMessages];
        card.promises.retain(|it| !lost.contains(it));
        card
    }

    fn highest_term(&self) -> u64 {
        self.inner().highest_term()
    }
}
