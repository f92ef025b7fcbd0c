//! Between the users of a process and its algorithm.

use std::fmt::Debug;

use tenure_core::{Protocol, Term};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// What stands between the local users and the protocol, inside the driver's task: it turns
/// what they ask into commands, refuses misuse, and hands on what the protocol tells.
///
/// It runs where the protocol runs, so a grant reaches its user without another task between.
pub trait Local<P: Protocol>: Send + 'static {
    /// What users ask.
    type Ask: Send + Debug + 'static;

    /// A user asks; the protocol may be given a command for it.
    fn ask(&mut self, ask: Self::Ask) -> Option<P::Command>;

    /// The protocol tells; it may be given another command at once.
    fn told(&mut self, event: P::Event) -> Option<P::Command>;

    /// What the protocol will tell as soon as the disk has done what that rests on. Who may claim
    /// less by it need not wait: a lease ends, and the disk may be slow. It is told all the same.
    fn foretold(&mut self, events: &[P::Event]) {
        let _ = events;
    }

    /// Whether the node is to end in good order, whoever could ask it for something.
    fn is_over(&self) -> bool {
        false
    }

    /// What the protocol told and the users' side cannot take: the node stops before it tells
    /// anything else.
    fn refuses(&self) -> Option<&str> {
        None
    }

    /// The node cannot go on, and this is dropped next.
    fn ends(&mut self, why: &Failure) {
        let _ = why;
    }

    /// Who leads, as the protocol told last; nothing where nobody does, or nobody is elected.
    fn leader(&self) -> Option<Term> {
        None
    }

    /// The node is about to leave, and the process leads: what hands the office over to another,
    /// where the protocol can.
    fn farewell(&mut self) -> Option<P::Command> {
        None
    }

    /// Whether the process leads on after that until another has taken over, and does not give its
    /// office up at once.
    fn leads_on_until_relieved(&self) -> bool {
        false
    }
}

/// Hands everything through: commands in, events out. The user keeps to the protocol's rules.
#[derive(Debug)]
pub struct Raw<P: Protocol> {
    events: mpsc::UnboundedSender<P::Event>,
}

impl<P: Protocol> Raw<P> {
    /// The local side, and where its events come out.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<P::Event>) {
        let (events, told) = mpsc::unbounded_channel();
        (Raw { events }, told)
    }
}

impl<P: Protocol> Local<P> for Raw<P> {
    type Ask = P::Command;

    fn ask(&mut self, command: P::Command) -> Option<P::Command> {
        Some(command)
    }

    fn told(&mut self, event: P::Event) -> Option<P::Command> {
        // Whoever dropped the receiver does not want to be told.
        let _ = self.events.send(event);
        None
    }
}
