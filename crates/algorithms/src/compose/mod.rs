//! Protocols composed of other protocols.

pub mod coordinated;
mod coordinator;
pub mod keyed;
pub mod lock_sequence;
pub mod mutex_only;
pub mod side_by_side;
pub mod with_detector;

pub use coordinated::CoordinatedLock;
pub use coordinated::named_locks::NamedLocks;
pub use coordinator::RequestStatus;
pub use keyed::Keyed;
pub use lock_sequence::LockSequence;
pub use mutex_only::MutexOnly;
pub use side_by_side::SideBySide;
pub use with_detector::WithDetector;
