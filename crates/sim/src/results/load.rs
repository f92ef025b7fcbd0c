//! Load of processes and links, and utilisation of the critical section.

use std::collections::BTreeMap;

use tenure_core::ProcessId;

use crate::results::accumulators::{TimeWeightedGauge, ratio};

/// Load of a run: the messages and inputs of each process, the messages on each link, and the use
/// of the critical section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLoad {
    /// Messages and inputs of each process, by index.
    pub processes: Vec<ProcessLoad>,
    /// Number of messages on each link that was used. The key contains the sender and the receiver.
    /// Messages of a process to itself do not count.
    pub links: BTreeMap<(ProcessId, ProcessId), u64>,
    /// For each process, by index: true if it is inside the critical section.
    inside: Vec<bool>,
    /// Gauge that is 1 while at least one process is inside the critical section, and 0 otherwise.
    occupied: TimeWeightedGauge,
}

/// Messages and inputs of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessLoad {
    /// Number of messages sent to other processes.
    pub sent: u64,
    /// Number of messages received from other processes. Each copy of a duplicated message counts.
    pub received: u64,
    /// Number of inputs that the process handled: commands, messages, timers and reports of the
    /// failure detector. Messages of the process to itself count.
    pub handled: u64,
}

impl ProcessLoad {
    /// Returns the number of messages that the process sent, plus the number of messages that it
    /// received.
    pub const fn messages(&self) -> u64 {
        self.sent + self.received
    }
}

impl RunLoad {
    pub(crate) fn new(size: u32) -> Self {
        let (processes, inside) =
            (vec![ProcessLoad::default(); size as usize], vec![false; size as usize]);
        RunLoad { processes, inside, ..RunLoad::default() }
    }

    pub(crate) fn on_send(&mut self, from: ProcessId, to: ProcessId) {
        self.processes[from.index()].sent += 1;
        *self.links.entry((from, to)).or_default() += 1;
    }

    pub(crate) fn on_receive(&mut self, at: ProcessId) {
        self.processes[at.index()].received += 1;
    }

    pub(crate) fn on_handled_input(&mut self, at: ProcessId) {
        self.processes[at.index()].handled += 1;
    }

    pub(crate) fn set_inside(&mut self, at: ProcessId, is_inside: bool, now: u64) {
        let was_occupied = self.inside.contains(&true);
        self.inside[at.index()] = is_inside;
        let is_occupied = self.inside.contains(&true);
        if was_occupied != is_occupied {
            self.occupied.change(now, is_occupied);
        }
    }

    /// Extends the time-weighted statistics about the critical section to the end of the run,
    /// `now`.
    pub(crate) fn finish_at(&mut self, now: u64) {
        self.occupied.extend_mean_to(now);
    }

    /// Returns the fraction of time, from 0 to 1, in which at least one process was inside the
    /// critical section.
    pub fn critical_section_utilisation(&self) -> f64 {
        self.occupied.mean()
    }

    /// Returns the process with the largest number of sent and received messages, and its load. If
    /// several processes have this number, returns the first of them. Returns `None` if there are
    /// no processes.
    pub fn busiest_process(&self) -> Option<(ProcessId, ProcessLoad)> {
        let loads = self.processes.iter().enumerate().rev();
        let busiest = loads.max_by_key(|(_, load)| load.messages())?;
        Some((ProcessId::from_index(busiest.0), *busiest.1))
    }

    /// Returns the link that carried the largest number of messages, and this number. If several
    /// links carried this number, returns the first of them. Returns `None` if no link was used.
    pub fn busiest_link(&self) -> Option<((ProcessId, ProcessId), u64)> {
        let links = self.links.iter().rev();
        links.max_by_key(|(_, sent)| **sent).map(|(link, sent)| (*link, *sent))
    }

    /// Returns the mean over all processes of the number of sent and received messages. Returns 0
    /// if there are no processes.
    pub fn mean_messages_per_process(&self) -> f64 {
        let total: u64 = self.processes.iter().map(ProcessLoad::messages).sum();
        ratio(total, self.processes.len() as u64)
    }

    /// Returns the mean number of messages per used link; 0 if no link was used.
    pub fn mean_messages_per_link(&self) -> f64 {
        ratio(self.links.values().sum(), self.links.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: ProcessId = ProcessId(0);
    const P2: ProcessId = ProcessId(1);

    #[test]
    fn counts_by_process_and_link() {
        let mut load = RunLoad::new(3);
        load.on_send(P2, P1);
        load.on_send(P2, P1);
        load.on_receive(P1);
        load.on_send(P1, P2);
        assert_eq!(load.busiest_link(), Some(((P2, P1), 2)));
        assert_eq!(load.busiest_process().map(|(at, _)| at), Some(P1));
        assert!((load.mean_messages_per_process() - 4.0 / 3.0).abs() < 1e-9);
        assert!((load.mean_messages_per_link() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn overlapping_stays_inside_count_once() {
        let mut load = RunLoad::new(2);
        load.set_inside(P1, true, 10);
        load.set_inside(P2, true, 20);
        load.set_inside(P1, false, 30);
        load.set_inside(P2, false, 40);
        load.finish_at(60);
        assert!((load.critical_section_utilisation() - 0.5).abs() < 1e-9);
    }
}
