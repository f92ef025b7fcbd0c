//! Message counts and delays of a run.

use tenure_core::{Layer, MessageLabel, ProcessId};

use crate::results::accumulators::{DurationStats, TimeWeightedGauge, ratio};
use crate::results::elections::ElectionCost;
use crate::results::load::RunLoad;
use crate::results::network_load::NetworkLoad;

/// Counts of the messages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageKindCounts {
    /// Layer and name of the kind of message.
    pub label: MessageLabel,
    /// Number of messages sent to other processes.
    pub sent: u64,
    /// Number of copies of these messages that never arrived. For example, the network lost them, a
    /// partition stopped them, or the receiver was down.
    pub dropped: u64,
    /// Number of messages that the network duplicated.
    pub duplicated: u64,
    /// Number of copies of these messages in flight at the end of the run.
    pub in_flight: u64,
}

impl MessageKindCounts {
    /// Returns the number of copies of these messages that arrived. Valid only after the end of the
    /// run.
    pub const fn received(&self) -> u64 {
        self.sent + self.duplicated - self.dropped - self.in_flight
    }
}

/// Cost and delays of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunMetrics {
    /// Number of messages sent to other processes.
    pub sent: u64,
    /// Number of messages received from other processes. Each copy of a duplicated message counts.
    pub received: u64,
    /// Number of copies of messages that never arrived, as in [`MessageKindCounts::dropped`].
    pub dropped: u64,
    /// Number of messages that the network duplicated.
    pub duplicated: u64,
    /// Message counts by kind of message, in order of first appearance. Empty if
    /// [`MonitoringSettings::metrics`](crate::MonitoringSettings::metrics) was off.
    pub kinds: Vec<MessageKindCounts>,
    /// Total size of all messages sent to other processes, in the encoding of real nodes, in bytes.
    /// 0 if it was not measured.
    pub bytes: u64,
    /// Maximum number of messages in flight at the same time, including those of a process to
    /// itself.
    pub max_in_flight: u64,
    /// Number of messages that users sent to each other, outside of the algorithm.
    pub user_messages: u64,
    /// Processes that entered the critical section, in order of time. A process is listed once per
    /// entry. Empty if metrics were off.
    pub entering_processes: Vec<ProcessId>,
    /// Number of entries to the critical section.
    pub entry_count: u64,
    /// Number of agreements that users requested.
    pub requested_agreement_count: u64,
    /// Time from the first command of a user to the last event of the agreement service so far, in
    /// ticks. 0 before the first event.
    pub agreement_time: u64,
    /// Time from a user's request for the lock to the entry, in ticks.
    pub entry_delay: DurationStats,
    /// Time from a user's request to exit the critical section to the exit, in ticks.
    pub exit_delay: DurationStats,
    /// Time from an exit from the critical section to the next entry, in ticks. Measured only if a
    /// process waits for the lock at the exit.
    pub synchronisation_delay: DurationStats,
    /// Number of processes that wait for the lock, over time.
    pub waiting: TimeWeightedGauge,
    /// Durations of the completed elections, in ticks. An election begins with the event that made
    /// it necessary, such as a command, a crash or a recovery. It ends when all live processes
    /// believe in the same live leader, and all requests for an election are answered.
    pub election_time: DurationStats,
    /// Number of requests for an election that users issued.
    pub election_request_count: u64,
    /// Cost of each election, in order of time. Empty without elections, or if metrics were off.
    pub elections: Vec<ElectionCost>,
    /// For each process, by index: true if the process sent a message of an election. Empty if the
    /// protocol has no elections. All values are false if metrics were off.
    pub is_election_participant: Vec<bool>,
    /// Load of each process and link. `None` if it was not measured.
    pub load: Option<Box<RunLoad>>,
    /// Load of the network along whose edges messages travel; `None` without such a network.
    pub network: Option<Box<NetworkLoad>>,
    /// Number of events that the run has taken from its queues: arrivals of messages, timers,
    /// actions of users, and faults. Events without effect count too, such as those of disarmed
    /// timers.
    pub events: u64,
}

impl RunMetrics {
    /// Returns the counts of a kind of message. Adds the kind if it has no counts yet.
    #[inline]
    pub(crate) fn counts_of_kind(&mut self, label: MessageLabel) -> &mut MessageKindCounts {
        let same = |kind: &MessageKindCounts| {
            std::ptr::eq(kind.label.kind, label.kind) && kind.label.layer == label.layer
        };
        let place = match self.kinds.iter().position(same) {
            Some(place) => place,
            None => self.slow_kind(label),
        };
        &mut self.kinds[place]
    }

    /// Records that `process` has sent a message of an election.
    #[inline]
    pub(crate) fn record_election_participant(&mut self, process: ProcessId) {
        if let Some(voted) = self.is_election_participant.get_mut(process.index()) {
            *voted = true;
        }
    }

    /// Returns the index of a kind of message in `kinds`. If `kinds` does not contain the kind,
    /// adds it. This method compares the texts of labels. Its caller first compares the addresses
    /// of labels, which is faster, and calls this method only if no address is equal.
    #[cold]
    fn slow_kind(&mut self, label: MessageLabel) -> usize {
        if let Some(place) = self.kinds.iter().position(|kind| kind.label == label) {
            return place;
        }
        self.kinds.push(MessageKindCounts {
            label,
            sent: 0,
            dropped: 0,
            duplicated: 0,
            in_flight: 0,
        });
        self.kinds.len() - 1
    }

    /// Returns the number of processes that sent a message of an election.
    pub fn election_participant_count(&self) -> usize {
        self.is_election_participant.iter().filter(|voted| **voted).count()
    }

    /// Returns the number of messages sent to other processes in one layer. Returns 0 if metrics
    /// were off.
    pub fn sent_in_layer(&self, layer: Layer) -> u64 {
        self.kinds.iter().filter(|kind| kind.label.layer == layer).map(|kind| kind.sent).sum()
    }

    /// Returns the number of messages of one layer per entry to the critical section. Returns 0
    /// without entries, or if metrics were off.
    pub fn messages_per_entry(&self, layer: Layer) -> f64 {
        ratio(self.sent_in_layer(layer), self.entry_count)
    }
}
