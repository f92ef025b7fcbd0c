//! Reductions between mutual exclusion and election.

pub mod election_from_mutex;
pub mod mutex_from_election;

pub use election_from_mutex::ElectionFromMutex;
pub use mutex_from_election::MutexFromElection;
