//! Locks in shared memory: processes read and write common registers.
//!
//! The checker explores every interleaving of these accesses. So it can show known mistakes of
//! textbooks: `tenure check peterson-lock --variant turn-first`.

pub mod bakery;
pub mod peterson_lock;
pub mod test_and_set;

pub use bakery::Bakery;
pub use peterson_lock::PetersonLock;
pub use test_and_set::TestAndSet;

/// Names of the locks in shared memory.
pub const NAMES: [&str; 3] = ["peterson-lock", "bakery", "test-and-set"];
