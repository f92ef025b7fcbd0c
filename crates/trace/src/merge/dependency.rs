//! Dependencies between records of different files. A merge must respect these dependencies.

use tenure_core::ProcessId;

use crate::format::{MessageRecord, Record, RecordKind};

/// Identity of a message: the process and session that sent it, its receiver, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    pub(super) from: ProcessId,
    pub(super) session: u64,
    pub(super) to: ProcessId,
    pub(super) number: u64,
}

impl MessageKey {
    /// Returns the key of a message that `at` sent in `session`.
    pub(crate) fn of_sent(at: ProcessId, session: u64, message_record: &MessageRecord) -> Self {
        MessageKey { from: at, session, to: message_record.peer, number: message_record.number }
    }

    /// Returns the key of a message that `at` received.
    pub(crate) fn of_received(at: ProcessId, message_record: &MessageRecord) -> Self {
        let MessageRecord { peer, session, number, .. } = *message_record;
        MessageKey { from: peer, session, to: at, number }
    }
}

/// Records that the merge must deliver before a certain record of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dependency {
    /// The `send` record of this message.
    Sending(MessageKey),
    /// All records that a process wrote in one of its sessions. The fields are the process and the
    /// number of the session.
    SessionRecords(ProcessId, u64),
    /// The record that a process crashed. The fields are the process and the time of the crash.
    Crashing(ProcessId, u64),
}

/// Returns the dependencies that this record satisfies. `written_by_process` is true if the subject
/// of the record is a process, and this process wrote the record itself.
pub(super) fn satisfied_dependencies(
    record: &Record,
    written_by_process: bool,
) -> impl Iterator<Item = Dependency> + use<> {
    let at = record.process.process();
    let writing =
        at.filter(|_| written_by_process).map(|at| Dependency::SessionRecords(at, record.session));
    let more = at.and_then(|at| match &record.kind {
        RecordKind::Send(message_record) => {
            Some(Dependency::Sending(MessageKey::of_sent(at, record.session, message_record)))
        }
        RecordKind::Crash if !written_by_process => Some(Dependency::Crashing(at, record.time)),
        _ => None,
    });
    writing.into_iter().chain(more)
}
