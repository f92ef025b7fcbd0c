//! Mutual exclusion.

pub mod central;
mod desk;
pub mod ricart_agrawala;

pub use central::Central;
pub(crate) use desk::{Claim, Desk, Ticket};
pub use ricart_agrawala::RicartAgrawala;
