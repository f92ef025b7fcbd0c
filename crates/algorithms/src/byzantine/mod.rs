//! Agreement among generals of whom some lie: the one algorithm here with liars.

pub mod oral_messages;

pub use oral_messages::OralMessages;
