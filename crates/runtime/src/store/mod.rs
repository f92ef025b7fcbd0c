//! Durable state of a process: its stable projection and its session.
//!
//! A [`Store`] is a directory that one node owns at a time. [`Store::save`] replaces the whole
//! state. [`Store::append`] adds a change, which costs one flush of an existing file. Both are
//! durable when they return. After a crash at any moment the directory contains the earlier or the
//! later state, and a torn write is distinguished from damage and from absence. All calls block on
//! the disk, so asynchronous callers must choose a suitable thread.
//!
//! `docs/wire.md` specifies the files byte by byte.

mod change_log;
mod directory;
mod private_file;
mod registry;
mod saves;
mod segment;
mod state_file;

pub use directory::{OpenError, SaveError, Store, sync_directory};
pub use registry::Registry;
pub use saves::{SaveCounts, SaveMetrics};
pub use state_file::{Damage, FORMAT_VERSION, Owner};

/// Decodes bytes as each kind of file. Checks that a decoded state survives the round trip, and
/// that a segment has the same content whether or not it is read as the last one of a log.
#[cfg(feature = "fuzzing")]
pub(crate) fn fuzz_files(bytes: &[u8]) {
    if let Ok(state_file) = state_file::StateFile::decode(bytes) {
        let again = state_file::StateFile::decode(&state_file.encode());
        assert_eq!(again.as_ref(), Ok(&state_file), "a decoded state survives the round trip");
    }
    let _ = registry::read(bytes);
    let (last, inner) = (segment::read(bytes, true), segment::read(bytes, false));
    if let (Ok(last), Ok(inner)) = (last, inner) {
        assert_eq!(last.changes, inner.changes, "the position of a segment has no effect");
    }
}
