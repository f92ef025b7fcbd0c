//! Chandy and Lamport's snapshot: a marker between the messages tells everybody when to look.
//!
//! K. M. Chandy, L. Lamport, *Distributed snapshots: determining global states of distributed
//! systems*, ACM Transactions on Computer Systems 3(1), 1985.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, first-in-first-out channels, no crash |
//! | messages per snapshot | (N + 1)(N − 1): a marker on every channel, and N − 1 reports |
//! | delay until it is complete | 3 messages |
//!
//! **Why it is right.** Whoever sees the first marker of a snapshot records its own state before
//! it does anything else, and sends a marker on every channel before it sends anything else there.
//! Channels keep their order, so what was sent before the sender's state was recorded arrives
//! before its marker, and what was sent after, after it. The receiver has recorded by then. So
//! nothing is in its state that the sender had not yet sent; and what comes before the marker, and
//! after the receiver recorded, is just what was under way between the two: the channel's state.
//! No process was stopped, and perhaps the group was never in this state. But it might have been:
//! what happened from the first recording to the last can be put into another order, in which no
//! process sees a difference, so that all of them record at once.
//!
//! The paper leaves open what is computed, and how the pieces are brought together. Here everybody
//! has some tokens and may give them to others: no snapshot has more of them or fewer than there
//! are. And everybody reports to the one who asked, which keeps the paper's markers as they are.

use alloc::collections::BTreeMap;

use tenure_core::service::snapshot::{Command, Event, Snapshot, TOKENS};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Label, Labelled, Layer, Never, Order, ProcessId,
    ProcessSet, Property, Protocol, Service, Strategy,
};

use crate::variants::{Variants, switches};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandyLamport {
    group: Group,
    variants: Variants<Switch>,
    /// How many we have.
    tokens: u64,
    /// How many snapshots we have asked for.
    begun: u64,
    /// The snapshots that we have recorded, and of which some channel to us is still open.
    recordings: BTreeMap<Snapshot, Recording>,
    /// By number: those of ours that are not yet reported by everybody.
    collections: BTreeMap<u64, Collection>,
    /// Whom we have not yet sent a marker: nobody, but in the variant that puts it off.
    unmarked: BTreeMap<Snapshot, ProcessSet>,
}

/// What a snapshot has of one process and of the channels that lead to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recording {
    /// How many tokens the process had.
    tokens: u64,
    /// By peer: how many came since, and before its marker.
    channels: BTreeMap<ProcessId, u64>,
    /// From whom no marker has come.
    open: ProcessSet,
}

/// What is reported of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Collection {
    held: u64,
    under_way: u64,
    awaited: ProcessSet,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "These are yours now": all that is computed here.
    Tokens {
        /// How many.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        tokens: u64,
    },
    /// "All that I sent before I was recorded was sent before this."
    Marker {
        /// Recorded in which picture.
        snapshot: Snapshot,
    },
    /// "This is what I have recorded."
    Report {
        /// In which picture.
        snapshot: Snapshot,
        /// How many tokens the sender had.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        held: u64,
        /// How many were under way to it.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        under_way: u64,
    },
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let (layer, kind) = match self {
            Message::Tokens { .. } => (Layer::Application, "tokens"),
            Message::Marker { .. } => (Layer::Agreement, "marker"),
            Message::Report { .. } => (Layer::Agreement, "report"),
        };
        Label { layer, kind }
    }
}

switches! {
    LateMarkers = "late-markers", unsound,
        "a marker waits for the next message to the same process, and goes behind it"
        => "", "-n 2 --property consistent-cut";
    NoChannels = "no-channels", unsound,
        "what arrives between the recording and the marker is left out"
        => "", "-n 2 --property consistent-cut";
}

impl Protocol for ChandyLamport {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        ChandyLamport {
            group,
            variants: *variants,
            tokens: TOKENS,
            begun: 0,
            recordings: BTreeMap::new(),
            collections: BTreeMap::new(),
            unmarked: BTreeMap::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Give { to, tokens } => self.give(to, tokens, fx),
            Command::Record => {
                self.begun += 1;
                let awaited = ProcessSet::first(self.group.size());
                let collection = Collection { held: 0, under_way: 0, awaited };
                self.collections.insert(self.begun, collection);
                let (by, number) = (self.group.me(), self.begun);
                self.record(Snapshot { by, number }, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Tokens { tokens } => self.take(from, tokens, fx),
            Message::Marker { snapshot } => {
                if !self.recordings.contains_key(&snapshot) {
                    self.record(snapshot, fx);
                }
                if let Some(recording) = self.recordings.get_mut(&snapshot) {
                    recording.open.remove(from);
                    self.close_if_complete(snapshot, fx);
                }
            }
            Message::Report { snapshot, held, under_way } => {
                if snapshot.by == self.group.me() {
                    self.collect(from, snapshot, held, under_way, fx);
                }
            }
        }
    }
}

/// What is computed.
impl ChandyLamport {
    /// How many tokens this process has.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    fn give(&mut self, to: ProcessId, tokens: u64, fx: &mut impl Effects<Self>) {
        let tokens = tokens.min(self.tokens);
        if tokens == 0 || !self.group.peers().contains(to) {
            return;
        }
        self.tokens -= tokens;
        fx.send(to, Message::Tokens { tokens });
        fx.emit(Event::Given { to, tokens });
        for (snapshot, peers) in &mut self.unmarked {
            if peers.remove(to) {
                fx.send(to, Message::Marker { snapshot: *snapshot });
            }
        }
    }

    fn take(&mut self, from: ProcessId, tokens: u64, fx: &mut impl Effects<Self>) {
        self.tokens = self.tokens.saturating_add(tokens);
        fx.emit(Event::Taken { from, tokens });
        if self.variants.has(Switch::NoChannels) {
            return;
        }
        for recording in self.recordings.values_mut() {
            if recording.open.contains(from) {
                let channel = recording.channels.entry(from).or_default();
                *channel = channel.saturating_add(tokens);
            }
        }
    }
}

/// The snapshot.
impl ChandyLamport {
    /// Records this process as it is, and says so on every channel before anything else.
    fn record(&mut self, snapshot: Snapshot, fx: &mut impl Effects<Self>) {
        let peers = self.group.peers();
        if self.variants.has(Switch::LateMarkers) {
            self.unmarked.insert(snapshot, peers.clone());
        } else {
            fx.broadcast(&peers, Message::Marker { snapshot });
        }
        let channels = peers.iter().map(|peer| (peer, 0)).collect();
        let recording = Recording { tokens: self.tokens, channels, open: peers };
        self.recordings.insert(snapshot, recording);
        fx.emit(Event::Recorded { snapshot, tokens: self.tokens });
        self.close_if_complete(snapshot, fx);
    }

    /// When the markers of all have come, we know what was under way to us.
    fn close_if_complete(&mut self, snapshot: Snapshot, fx: &mut impl Effects<Self>) {
        let is_complete = |recording: &Recording| recording.open.is_empty();
        if !self.recordings.get(&snapshot).is_some_and(is_complete) {
            return;
        }
        let Some(recording) = self.recordings.remove(&snapshot) else { return };
        let under_way = recording.channels.values().fold(0_u64, |sum, it| sum.saturating_add(*it));
        let channels = recording.channels.into_iter().collect();
        fx.emit(Event::Closed { snapshot, channels });
        let held = recording.tokens;
        if snapshot.by == self.group.me() {
            self.collect(snapshot.by, snapshot, held, under_way, fx);
        } else {
            fx.send(snapshot.by, Message::Report { snapshot, held, under_way });
        }
    }

    /// Adds what one process has recorded of a snapshot of ours.
    fn collect(
        &mut self,
        of: ProcessId,
        snapshot: Snapshot,
        held: u64,
        under_way: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(collection) = self.collections.get_mut(&snapshot.number) else { return };
        if !collection.awaited.remove(of) {
            return;
        }
        collection.held = collection.held.saturating_add(held);
        collection.under_way = collection.under_way.saturating_add(under_way);
        if collection.awaited.is_empty() {
            let Collection { held, under_way, .. } = *collection;
            self.collections.remove(&snapshot.number);
            fx.emit(Event::Collected { snapshot, held, under_way });
        }
    }
}

impl Algorithm for ChandyLamport {
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let n = u64::from(size);
        let messages = (n + 1) * (n - 1);
        Card {
            strategy: Strategy::Flooding,
            order: Order::Fifo,
            faults: Faults::none("survives nothing: a lost marker is awaited for ever"),
            messages: Cost::per_agreement("(N+1)(N−1)", messages, Some(messages)),
            theory: Some(Theory::agreement("3", 3)),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Snapshot,
                "chandy-lamport",
                "a marker between the messages tells everybody when to look",
                "Chandy and Lamport, ACM TOCS 3(1), 1985",
            )
            .promising([Property::ConsistentCut])
        }
    }
}
