//! Byzantine agreement: the participants are called generals, and some of them lie. No other
//! algorithm of this crate assumes liars.

pub mod oral_messages;

pub use oral_messages::OralMessagesGeneral;
