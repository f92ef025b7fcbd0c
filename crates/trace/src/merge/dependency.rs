//! Dependencies between records of different files, which a merge must respect.

use tenure_core::ProcessId;

use crate::format::{Kind, MessageRecord, Record};

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
    pub(crate) fn sent(at: ProcessId, session: u64, message_record: &MessageRecord) -> Self {
        MessageKey { from: at, session, to: message_record.peer, number: message_record.number }
    }

    /// Returns the key of a message that `at` received.
    pub(crate) fn received(at: ProcessId, message_record: &MessageRecord) -> Self {
        let MessageRecord { peer, session, number, .. } = *message_record;
        MessageKey { from: peer, session, to: at, number }
    }
}

/// Records that the merge must deliver before a certain record of another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dependency {
    /// The `send` record of this message.
    Sending(MessageKey),
    /// All records that this process wrote in this session.
    Writing(ProcessId, u64),
    /// The record of the crash of this process at this time.
    Crashing(ProcessId, u64),
}

/// Returns the dependencies for which this record is one of the required records. `by_process` is
/// true if the process that is the subject of the record wrote the record itself.
pub(super) fn satisfied_dependencies(
    record: &Record,
    by_process: bool,
) -> impl Iterator<Item = Dependency> + use<> {
    let at = record.process.process();
    let writing = at.filter(|_| by_process).map(|at| Dependency::Writing(at, record.session));
    let more = at.and_then(|at| match &record.kind {
        Kind::Send(message_record) => {
            Some(Dependency::Sending(MessageKey::sent(at, record.session, message_record)))
        }
        Kind::Crash if !by_process => Some(Dependency::Crashing(at, record.time)),
        _ => None,
    });
    writing.into_iter().chain(more)
}
