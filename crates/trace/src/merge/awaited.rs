//! What a record may have to wait for.

use tenure_core::ProcessId;

use crate::format::{Kind, Passage, Record};

/// Tells a message from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    pub(super) from: ProcessId,
    pub(super) session: u64,
    pub(super) to: ProcessId,
    pub(super) number: u64,
}

impl MessageKey {
    /// Of a message that `at` sent in `session`.
    pub(crate) fn sent(at: ProcessId, session: u64, passage: &Passage) -> Self {
        MessageKey { from: at, session, to: passage.peer, number: passage.number }
    }

    /// Of a message that `at` received.
    pub(crate) fn received(at: ProcessId, passage: &Passage) -> Self {
        let Passage { peer, session, number, .. } = *passage;
        MessageKey { from: peer, session, to: at, number }
    }
}

/// What a file may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Awaited {
    /// The sending of a message.
    Sending(MessageKey),
    /// Everything that a process wrote in a session.
    Writing(ProcessId, u64),
    /// The crash of a process at a time.
    Crashing(ProcessId, u64),
}

/// What somebody may have waited for when this record happened; `by_process` if the process
/// wrote it and not somebody about it.
pub(super) fn gives(record: &Record, by_process: bool) -> impl Iterator<Item = Awaited> + use<> {
    let at = record.process.process();
    let writing = at.filter(|_| by_process).map(|at| Awaited::Writing(at, record.session));
    let more = at.and_then(|at| match &record.kind {
        Kind::Send(passage) => {
            Some(Awaited::Sending(MessageKey::sent(at, record.session, passage)))
        }
        Kind::Crash if !by_process => Some(Awaited::Crashing(at, record.time)),
        _ => None,
    });
    writing.into_iter().chain(more)
}
