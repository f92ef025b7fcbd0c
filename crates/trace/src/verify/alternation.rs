//! Entries and exits of each process: they must alternate.

use std::collections::HashMap;

use tenure_core::service::mutex::Event;
use tenure_core::{Finding, ProcessId, Property};

use crate::fold::process_state::ProcessStateChange;
use crate::format::RecordKind;

/// Verifies that the entries and exits of each process alternate.
///
/// The position of a process, inside or outside, is unknown until a record shows the position,
/// because a trace may begin in the middle of a run. The position is also unknown after a crash: a
/// process may have saved that it is inside, and may still be inside after its recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct AlternationVerifier {
    /// Positions of processes, inside or outside, as far as they are known.
    positions: HashMap<ProcessId, Position>,
    found: Option<Finding>,
}

/// Position of a process relative to the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Outside,
    Inside,
}

impl AlternationVerifier {
    /// Handles the first record of a file, which is a record of the process `at`. The file may be a
    /// part of a trace whose earlier parts were deleted.
    pub(super) fn on_file_start(&mut self, at: ProcessId) {
        self.positions.remove(&at);
    }

    /// Handles a change of the state of a process. A record of kind `cause` has made this change.
    pub(super) fn on_state_change(
        &mut self,
        at: ProcessId,
        change: ProcessStateChange,
        cause: &RecordKind,
    ) {
        match change {
            ProcessStateChange::Boots if *cause == RecordKind::Boot => {
                self.positions.insert(at, Position::Outside);
            }
            ProcessStateChange::Crashes
            | ProcessStateChange::Recovers
            | ProcessStateChange::Terminates => {
                self.positions.remove(&at);
            }
            _ => {}
        }
    }

    /// Handles a request to enter.
    pub(super) fn on_request(&mut self, at: ProcessId) {
        self.positions.entry(at).or_insert(Position::Outside);
    }

    /// Handles an event of a live process.
    pub(super) fn on_event(&mut self, time: u64, at: ProcessId, event: Event) {
        let (position, description) = match event {
            Event::Entered { .. } => (Position::Inside, "enters although it is inside"),
            Event::Exited => (Position::Outside, "exits although it is outside"),
        };
        if self.positions.insert(at, position) == Some(position) && self.found.is_none() {
            let message =
                format!("{at} {description}: a record is missing, or the process is faulty");
            self.found = Some(Finding::violated(Property::WellFormedTrace, time, at, message));
        }
    }

    /// Returns the first entry of a process that was inside already, or the first exit of a process
    /// that was outside, if any.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.found.clone()
    }
}
