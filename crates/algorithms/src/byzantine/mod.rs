//! Byzantine agreement: some of the participants, called generals, lie. No other algorithm of this
//! crate assumes liars.

pub mod oral_messages;

pub use oral_messages::OralMessages;
