//! An application that needs a leader, combined with the election of this leader in one protocol.

use super::{EventConversions, election};

/// Command of the local user to an application under a leader. `C` is the type of the application's
/// commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command<C> {
    /// Command of the application.
    Application(C),
    /// Command of the election.
    Election(election::Command),
}

/// Event that an application under a leader reports to the local user. `E` is the type of the
/// application's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event<E> {
    /// Event of the application.
    Application(E),
    /// Event of the election.
    Election(election::Event),
}

impl<E> EventConversions for Event<E> {
    fn as_election(&self) -> Option<&election::Event> {
        match self {
            Event::Application(_) => None,
            Event::Election(event) => Some(event),
        }
    }
}
