//! Durable state of a process: the part of its state that survives a crash, and its session number.
//!
//! A [`StableStorage`] is a directory that one node owns at a time. [`StableStorage::save`]
//! replaces the whole state. [`StableStorage::append`] adds a change, which costs one flush of an
//! existing file. The saved data is durable when these methods return. After a crash at any moment,
//! the directory contains either the state before the save or the state after it. A store
//! distinguishes an interrupted write from damage and from a missing state. Opening, saving and
//! appending block on the disk, so asynchronous callers must choose a suitable thread.
//!
//! `docs/wire.md` specifies the files byte by byte.

mod change_log;
mod directory;
mod open_error;
mod peer_registry;
mod private_file;
mod reserved_files;
mod save_metrics;
mod segment_format;
mod state_file_format;

pub use directory::{SaveError, StableStorage, create_directory_durably, sync_directory};
pub use open_error::OpenError;
pub use peer_registry::MembershipRecord;
pub use save_metrics::{SaveMetrics, SaveSummary};
pub use state_file_format::{STATE_FILE_VERSION, StateOwner, UnreadableReason};

/// Decodes bytes as each kind of file, for fuzzing. Checks that a decoded state is equal after it
/// is encoded and decoded again. Also decodes a segment twice: as the last segment, and as an
/// earlier segment. If both succeed, checks that their contents are equal.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzz_files(bytes: &[u8]) {
    // A file of version 1 has no owner, and cannot be encoded again.
    if let Ok(state_file) = state_file_format::StateFile::decode(bytes)
        && state_file.owner.is_some()
    {
        let again = state_file_format::StateFile::decode(&state_file.encode());
        assert_eq!(again.as_ref(), Ok(&state_file), "a decoded state survives the round trip");
    }
    let _ = peer_registry::decode(bytes);
    let (last, inner) = (segment_format::decode(bytes, true), segment_format::decode(bytes, false));
    if let (Ok(last), Ok(inner)) = (last, inner) {
        assert_eq!(last.changes, inner.changes, "the position of a segment has no effect");
    }
}
