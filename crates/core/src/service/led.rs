//! What is done under a leader, beside the election: any service, and the election's own.

use super::{Facts, election};

/// What the local user may ask; `C` of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command<C> {
    /// Of the application.
    Application(C),
    /// Of the election.
    Election(election::Command),
}

/// What the local user is told; `E` by the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event<E> {
    /// By the application.
    Application(E),
    /// By the election.
    Election(election::Event),
}

impl<E> Facts for Event<E> {
    fn of_election(&self) -> Option<&election::Event> {
        match self {
            Event::Application(_) => None,
            Event::Election(event) => Some(event),
        }
    }
}
