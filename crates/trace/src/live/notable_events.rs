//! The latest notable events of a run, as text.

use std::collections::VecDeque;

use serde::Serialize;
use tenure_core::ProcessId;

/// Maximum number of events that are kept. Older events are dropped.
const MAX_EVENTS: usize = 40;

/// A notable event of the run, as the list of news on a live page shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NotableEvent {
    /// Number of the event, from 1. A page uses it to recognize the events that it already shows.
    pub number: u64,
    /// Time of the event in milliseconds since the first record.
    pub at: f64,
    /// Kind of the event: the name of the record's kind, `elected` for a new leader, or `refused`
    /// for a rejected access.
    pub kind: &'static str,
    /// Number of the process, from 1. `None` if the event concerns no process.
    pub process: Option<u32>,
    /// Description of the event.
    pub description: String,
}

/// List of the latest notable events of a run, and their numbering.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentEvents {
    count: u64,
    events: VecDeque<NotableEvent>,
}

impl RecentEvents {
    pub(super) fn push(
        &mut self,
        time_ms: f64,
        kind: &'static str,
        process: Option<ProcessId>,
        description: String,
    ) {
        self.count += 1;
        let process = process.map(ProcessId::display_number);
        self.events.push_back(NotableEvent {
            number: self.count,
            at: time_ms,
            kind,
            process,
            description,
        });
        if self.events.len() > MAX_EVENTS {
            self.events.pop_front();
        }
    }

    pub(super) fn all(&self) -> Vec<NotableEvent> {
        self.events.iter().cloned().collect()
    }
}
