//! Protocols composed of other protocols.

pub mod coordinated;
mod coordinator;
pub mod detected;
pub mod in_turn;
pub mod keyed;
pub mod mutex_only;
pub mod side;

pub use coordinated::Coordinated;
pub use coordinated::named::Named;
pub use coordinator::ClientStatus;
pub use detected::Detected;
pub use in_turn::InTurn;
pub use keyed::Keyed;
pub use mutex_only::MutexOnly;
pub use side::Side;
