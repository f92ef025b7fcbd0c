//! Steps of processes. A step consists of the records of one input at one process.

use std::collections::HashMap;

use tenure_core::{Layer, ProcessId};

use crate::format::{ClockUnit, Record, RecordKind};

/// Returns the records in an order in which the records of each step follow each other.
///
/// In virtual time, the records have this order. Real nodes write at the same time, so a merge puts
/// records of other processes between the records of a step.
pub fn order_by_step(records: &[Record], clock: ClockUnit) -> Vec<&Record> {
    if clock == ClockUnit::Tick {
        return records.iter().collect();
    }
    let mut steps: HashMap<ProcessId, usize> = HashMap::new();
    let with_start = |(place, record): (usize, &'_ Record)| -> usize {
        let Some(at) = record.process.process() else { return place };
        if begins_real_step(&record.kind) {
            steps.insert(at, place);
        } else if is_effect(&record.kind) {
            return *steps.entry(at).or_insert(place);
        }
        place
    };
    let starts = records.iter().enumerate().map(with_start);
    let mut ordered: Vec<(usize, &Record)> = starts.zip(records).collect();
    // The sort is stable: the records of a step keep their order.
    ordered.sort_by_key(|(start, _)| *start);
    ordered.into_iter().map(|(_, record)| record).collect()
}

/// Returns true if a record of this kind begins a step in the trace of any engine.
pub(super) const fn begins_step(kind: &RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Boot
            | RecordKind::Command(_)
            | RecordKind::Receive(_)
            | RecordKind::Timer(_)
            | RecordKind::Suspicion { .. }
            | RecordKind::Crash
            | RecordKind::Recover
            | RecordKind::Memory(_)
            | RecordKind::Partition(_)
            | RecordKind::Heal
            | RecordKind::End
    )
}

/// Returns true if a record of this kind begins a step in the trace of a real node. A node does not
/// record the timers of its failure detector, and its application sends messages of its own accord.
pub(super) fn begins_real_step(kind: &RecordKind) -> bool {
    match kind {
        RecordKind::Send(message) => message.layer == Layer::Detector || message.is_between_users(),
        _ => begins_step(kind),
    }
}

const fn is_effect(kind: &RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Choice(_) | RecordKind::Send(_) | RecordKind::Event(_) | RecordKind::State(_)
    )
}
