//! Chandy and Lamport's snapshot: a marker in each channel separates messages sent before the
//! snapshot from later ones.
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
//! **Why it is right.** A process that receives the first marker of a snapshot records its state
//! before doing anything else, and sends a marker on every channel before any other message.
//! Channels are FIFO. So a message that was sent before the sender recorded its state arrives
//! before the sender's marker. A later message arrives after the marker. When the marker has
//! arrived, the receiver has recorded its state. So the recorded state of the receiver reflects no
//! message that the sender sent after its own recording. A message that arrives before the marker,
//! but after the receiver recorded its state, was in flight: it belongs to the state of the
//! channel. The group may never have been in the recorded state, because no process stops for the
//! snapshot. But the group could have been in this state: the events between the first and the last
//! recording can be reordered such that all processes record at the same time. No process can
//! observe the reordering.
//!
//! The paper leaves the computation and the collection of results open. Here processes exchange
//! tokens, whose total every snapshot must preserve, and each process reports to the initiator. The
//! paper's markers are unchanged.

use alloc::collections::BTreeMap;

use tenure_core::service::snapshot::{Command, Event, INITIAL_TOKENS, SnapshotId};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, Effects, Group, Labelled, Layer, MessageCost,
    MessageLabel, Never, ProcessId, ProcessSet, Property, Protocol, Service, ToleratedFaults,
};

use crate::variants::{Variants, variant_ids};

/// One process: it exchanges tokens, and takes part in snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandyLamport {
    group: Group,
    variants: Variants<VariantId>,
    tokens: u64,
    /// Number of snapshots started by this process.
    begun: u64,
    /// Snapshots for which this process has recorded its state, and for which it still awaits the
    /// marker of a peer.
    recordings: BTreeMap<SnapshotId, Recording>,
    /// Snapshots that this process started and for which it still awaits reports. The key is the
    /// number of the snapshot.
    collections: BTreeMap<u64, Collection>,
    /// For each snapshot, the processes to which this process has not sent a marker. Used only with
    /// the variant `late-markers`.
    unmarked: BTreeMap<SnapshotId, ProcessSet>,
}

/// The part of a snapshot that one process records: its state and its incoming channels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recording {
    /// Number of tokens that the process held when it recorded its state.
    tokens: u64,
    /// Number of tokens that have arrived from each peer after this process recorded its state and
    /// before the marker of the peer arrived.
    channels: BTreeMap<ProcessId, u64>,
    /// Peers whose marker for this snapshot has not arrived.
    open: ProcessSet,
}

/// Sums over the reports that the initiator of one snapshot has received so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Collection {
    /// Number of tokens that the processes of these reports held.
    held: u64,
    /// Number of tokens in channels according to these reports.
    in_flight: u64,
    /// Processes whose reports have not arrived.
    awaited: ProcessSet,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Transfers tokens. These transfers are the computation that snapshots record.
    Tokens {
        /// Number of tokens.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        tokens: u64,
    },
    /// Marker. When a process records its state, it sends a marker on each channel. All messages
    /// before the marker were sent before the recording, and all messages after the marker were
    /// sent after the recording.
    Marker {
        /// Snapshot that the sender records.
        snapshot: SnapshotId,
    },
    /// Reports the recorded state of the sender to the initiator.
    Report {
        /// Snapshot to which the report contributes.
        snapshot: SnapshotId,
        /// Number of tokens that the sender held when it recorded its state.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        held: u64,
        /// Number of tokens that the snapshot records in the channels to the sender of this report.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        in_flight: u64,
    },
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let (layer, kind) = match self {
            Message::Tokens { .. } => (Layer::Application, "tokens"),
            Message::Marker { .. } => (Layer::Agreement, "marker"),
            Message::Report { .. } => (Layer::Agreement, "report"),
        };
        MessageLabel { layer, kind }
    }
}

variant_ids! {
    LateMarkers = "late-markers", unsound,
        "a marker waits for the next message to the same process, and goes behind it"
        => "", "-n 2 --property consistent-cut";
    NoChannels = "no-channels", unsound,
        "messages between the recording and the marker are not recorded"
        => "", "-n 2 --property consistent-cut";
}

impl Protocol for ChandyLamport {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        ChandyLamport {
            group,
            variants: *variants,
            tokens: INITIAL_TOKENS,
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
                let awaited = ProcessSet::first_n(self.group.size());
                let collection = Collection { held: 0, in_flight: 0, awaited };
                self.collections.insert(self.begun, collection);
                let (by, number) = (self.group.me(), self.begun);
                self.record(SnapshotId { by, number }, fx);
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
            Message::Report { snapshot, held, in_flight } => {
                if snapshot.by == self.group.me() {
                    self.collect(from, snapshot, held, in_flight, fx);
                }
            }
        }
    }
}

/// Transfer of tokens between processes. The snapshots record the state of this computation.
impl ChandyLamport {
    /// Returns the number of tokens that this process holds.
    pub fn token_count(&self) -> u64 {
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
        if self.variants.has(VariantId::NoChannels) {
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

/// Recording of snapshots.
impl ChandyLamport {
    /// Records the state of this process, and then sends a marker on every channel before any other
    /// message.
    fn record(&mut self, snapshot: SnapshotId, fx: &mut impl Effects<Self>) {
        let peers = self.group.peers();
        if self.variants.has(VariantId::LateMarkers) {
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

    fn close_if_complete(&mut self, snapshot: SnapshotId, fx: &mut impl Effects<Self>) {
        let is_complete = |recording: &Recording| recording.open.is_empty();
        if !self.recordings.get(&snapshot).is_some_and(is_complete) {
            return;
        }
        let Some(recording) = self.recordings.remove(&snapshot) else { return };
        let in_flight = recording.channels.values().fold(0_u64, |sum, it| sum.saturating_add(*it));
        let channels = recording.channels.into_iter().collect();
        fx.emit(Event::Closed { snapshot, channels });
        let held = recording.tokens;
        if snapshot.by == self.group.me() {
            self.collect(snapshot.by, snapshot, held, in_flight, fx);
        } else {
            fx.send(snapshot.by, Message::Report { snapshot, held, in_flight });
        }
    }

    fn collect(
        &mut self,
        of: ProcessId,
        snapshot: SnapshotId,
        held: u64,
        in_flight: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(collection) = self.collections.get_mut(&snapshot.number) else { return };
        if !collection.awaited.remove(of) {
            return;
        }
        collection.held = collection.held.saturating_add(held);
        collection.in_flight = collection.in_flight.saturating_add(in_flight);
        if collection.awaited.is_empty() {
            let Collection { held, in_flight, .. } = *collection;
            self.collections.remove(&snapshot.number);
            fx.emit(Event::Collected { snapshot, held, under_way: in_flight });
        }
    }
}

impl Algorithm for ChandyLamport {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let n = u64::from(size);
        let messages = (n + 1) * (n - 1);
        Card {
            strategy: AlgorithmClass::Flooding,
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::none("survives nothing: a lost marker is awaited for ever"),
            messages: MessageCost::per_agreement("(N+1)(N−1)", messages, Some(messages)),
            theory: Some(ExpectedCosts::agreement("3", 3)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Snapshot,
                "chandy-lamport",
                "a marker in each channel separates the messages of the snapshot from later ones",
                "Chandy and Lamport, ACM TOCS 3(1), 1985",
            )
            .with_promises([Property::ConsistentCut])
        }
    }
}
