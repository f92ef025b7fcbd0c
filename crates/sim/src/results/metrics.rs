use tenure_core::{Label, Layer, ProcessId};

use crate::results::elections::ElectionCost;
use crate::results::load::Load;
use crate::results::network_load::NetworkLoad;
use crate::results::tally::{Gauge, Tally, ratio};

/// Messages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// Layer and name of the kind.
    pub label: Label,
    /// Messages sent, without those to the sender itself.
    pub sent: u64,
    /// Sent messages that never arrived: lost, cut off, or the receiver was down.
    pub dropped: u64,
    /// Messages that arrived a second time.
    pub duplicated: u64,
    /// Messages in flight at the end of the run.
    pub in_flight: u64,
}

impl KindCount {
    /// Returns the number of messages that arrived.
    pub const fn received(&self) -> u64 {
        self.sent + self.duplicated - self.dropped - self.in_flight
    }
}

/// Cost and delays of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Messages sent, without those to the sender itself.
    pub sent: u64,
    /// Messages received, counting duplicates, without those to the sender itself.
    pub received: u64,
    /// Messages that never arrived.
    pub dropped: u64,
    /// Messages that arrived twice.
    pub duplicated: u64,
    /// Counts by kind, in order of first appearance; empty if metrics were off.
    pub kinds: Vec<KindCount>,
    /// Size of all sent messages between real nodes, in bytes; 0 if it was not measured.
    pub bytes: u64,
    /// Maximum number of messages in flight at the same time.
    pub max_in_flight: u64,
    /// Messages between users, outside the algorithm.
    pub user_messages: u64,
    /// Processes that entered, in order.
    pub entries: Vec<ProcessId>,
    /// Number of entries.
    pub entered: u64,
    /// Number of agreements that users requested.
    pub agreements: u64,
    /// Time from the first request to the last result of an agreement service, in ticks.
    pub agreement_time: u64,
    /// Time from request to entry, in ticks.
    pub entry_delay: Tally,
    /// Time from the request to exit until the exit, in ticks.
    pub exit_delay: Tally,
    /// Time from an exit, while a process waits, to the next entry, in ticks.
    pub synchronisation_delay: Tally,
    /// Number of waiting processes.
    pub waiting: Gauge,
    /// Time from the last event that made an election necessary (a command, a crash, a recovery)
    /// until every live process believed in one live leader, in ticks.
    pub election_time: Tally,
    /// Number of elections that users started.
    pub started: u64,
    /// Cost of each election, in order; empty without elections or if metrics were off.
    pub elections: Vec<ElectionCost>,
    /// True for each process that sent a message of an election; empty without elections or if
    /// metrics were off.
    pub voters: Vec<bool>,
    /// Work of each process and link; `None` if it was not measured.
    pub load: Option<Box<Load>>,
    /// Load of the edges below the links; `None` without a network.
    pub network: Option<Box<NetworkLoad>>,
    /// Number of handled events: arrivals, timers, users and faults.
    pub events: u64,
}

impl Metrics {
    /// Returns the count of a kind, which is created if necessary.
    #[inline]
    pub(crate) fn kind(&mut self, label: Label) -> &mut KindCount {
        let same = |kind: &KindCount| {
            std::ptr::eq(kind.label.kind, label.kind) && kind.label.layer == label.layer
        };
        let place = match self.kinds.iter().position(same) {
            Some(place) => place,
            None => self.slow_kind(label),
        };
        &mut self.kinds[place]
    }

    /// Records that a process takes part in an election.
    #[inline]
    pub(crate) fn vote(&mut self, voter: ProcessId) {
        if let Some(voted) = self.voters.get_mut(voter.index()) {
            *voted = true;
        }
    }

    /// Returns the index of a kind, found by comparing texts. Needed if the address of the text is
    /// new, because equal texts may have different addresses.
    #[cold]
    fn slow_kind(&mut self, label: Label) -> usize {
        if let Some(place) = self.kinds.iter().position(|kind| kind.label == label) {
            return place;
        }
        self.kinds.push(KindCount { label, sent: 0, dropped: 0, duplicated: 0, in_flight: 0 });
        self.kinds.len() - 1
    }

    /// Returns the number of processes that sent a message of an election.
    pub fn took_part(&self) -> usize {
        self.voters.iter().filter(|voted| **voted).count()
    }

    /// Returns the number of messages sent in one layer.
    pub fn sent_in(&self, layer: Layer) -> u64 {
        self.kinds.iter().filter(|kind| kind.label.layer == layer).map(|kind| kind.sent).sum()
    }

    /// Returns the messages of one layer per entry; 0 without entries.
    pub fn messages_per_entry(&self, layer: Layer) -> f64 {
        ratio(self.sent_in(layer), self.entered)
    }
}
