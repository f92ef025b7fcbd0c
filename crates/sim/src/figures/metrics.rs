use tenure_core::{Label, Layer, ProcessId};

use crate::figures::elections::ElectionCost;
use crate::figures::tally::{Level, Tally};

/// Messages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindCount {
    /// The layer and name of the kind.
    pub label: Label,
    /// How many were sent, not counting those to oneself.
    pub sent: u64,
    /// How many of the sent ones never arrived: lost, cut off, or the receiver was down.
    pub dropped: u64,
    /// How many arrived a second time.
    pub duplicated: u64,
    /// How many were still under way when the run ended.
    pub under_way: u64,
}

impl KindCount {
    /// How many arrived.
    pub const fn received(&self) -> u64 {
        self.sent + self.duplicated - self.dropped - self.under_way
    }
}

/// What a run cost and how long things took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Messages sent, not counting those to oneself.
    pub sent: u64,
    /// Messages that arrived, those that came twice counted twice; not counting those to oneself.
    pub received: u64,
    /// Messages that never arrived.
    pub dropped: u64,
    /// Messages that arrived twice.
    pub duplicated: u64,
    /// By kind, in order of first appearance; empty when metrics were off.
    pub kinds: Vec<KindCount>,
    /// The sent messages' size in bytes, as between real nodes; 0 when it was not measured.
    pub bytes: u64,
    /// The most messages that were under way at once.
    pub in_flight_most: u64,
    /// Messages from user to user, past the algorithm.
    pub chatted: u64,
    /// Who entered, in order.
    pub entries: Vec<ProcessId>,
    /// How many entries there were.
    pub entered: u64,
    /// How many agreements users asked for, of a service of agreement.
    pub agreements: u64,
    /// From the first question to the last answer, of a service of agreement, in ticks.
    pub agreement_time: u64,
    /// From request to entry, in ticks.
    pub entry_delay: Tally,
    /// From asking to exit to being outside, in ticks.
    pub exit_delay: Tally,
    /// From an exit while somebody waited to the next entry, in ticks.
    pub synchronisation_delay: Tally,
    /// How many waited at once.
    pub waiting: Level,
    /// From the last event that made an election necessary (a command, a crash, a recovery) to
    /// the moment when every live process believed in one live leader, in ticks.
    pub election_time: Tally,
    /// How often a user started an election: so many runs of it there were.
    pub started: u64,
    /// Cost of each election, in order. Empty where nobody elects, or when metrics were off.
    pub elections: Vec<ElectionCost>,
    /// By process: whether it sent a message of an election. Empty where nobody elects, or when
    /// metrics were off.
    pub voters: Vec<bool>,
    /// How many events were handled: arrivals, timers, users and faults.
    pub events: u64,
}

impl Metrics {
    /// The place of a kind in `kinds`, new or old.
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

    /// A process takes part in an election.
    #[inline]
    pub(crate) fn vote(&mut self, voter: ProcessId) {
        if let Some(voted) = self.voters.get_mut(voter.index()) {
            *voted = true;
        }
    }

    /// The same text may have several addresses.
    #[cold]
    fn slow_kind(&mut self, label: Label) -> usize {
        if let Some(place) = self.kinds.iter().position(|kind| kind.label == label) {
            return place;
        }
        self.kinds.push(KindCount { label, sent: 0, dropped: 0, duplicated: 0, under_way: 0 });
        self.kinds.len() - 1
    }

    /// How many processes sent a message of an election.
    pub fn took_part(&self) -> usize {
        self.voters.iter().filter(|voted| **voted).count()
    }

    /// Messages of one layer that were sent.
    pub fn sent_in(&self, layer: Layer) -> u64 {
        self.kinds.iter().filter(|kind| kind.label.layer == layer).map(|kind| kind.sent).sum()
    }

    /// Messages of one layer for each entry; 0 when nobody entered.
    pub fn messages_per_entry(&self, layer: Layer) -> f64 {
        if self.entered == 0 { 0.0 } else { self.sent_in(layer) as f64 / self.entered as f64 }
    }
}
