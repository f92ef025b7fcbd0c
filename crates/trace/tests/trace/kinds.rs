//! Processes, messages, commands and events of traces that tests write.

use tenure_core::service::{election, mutex};
use tenure_core::{Fence, Layer, ProcessId, Term};
use tenure_trace::{MessageRecord, RecordKind};

pub(crate) const P1: ProcessId = ProcessId(0);
pub(crate) const P2: ProcessId = ProcessId(1);
pub(crate) const P3: ProcessId = ProcessId(2);

/// Returns a message of a lock in the first session, without content.
pub(crate) fn message(peer: ProcessId, name: &str, number: u64) -> MessageRecord {
    let (layer, message) = (Layer::Mutex, name.to_owned().into());
    MessageRecord { peer, layer, message, number, session: 0, content: None }
}

pub(crate) fn enter() -> RecordKind {
    RecordKind::Command(mutex::Command::Enter.into())
}

pub(crate) fn exit() -> RecordKind {
    RecordKind::Command(mutex::Command::Exit.into())
}

pub(crate) fn entered(fence: Fence) -> RecordKind {
    RecordKind::Event(mutex::Event::Entered { fence }.into())
}

pub(crate) fn exited() -> RecordKind {
    RecordKind::Event(mutex::Event::Exited.into())
}

/// Returns the event by which a process learns of the leader of a term.
pub(crate) fn elected(leader: ProcessId, number: u64) -> RecordKind {
    RecordKind::Event(election::Event::Elected { leader, term: Term { number, leader } }.into())
}
