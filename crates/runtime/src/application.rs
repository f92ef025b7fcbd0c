//! Interface between the users of a process and its protocol.

use std::fmt::Debug;

use tenure_core::{Protocol, Term};
use tokio::sync::mpsc;

use crate::failure::NodeFailure;

/// State machine between the local users and the protocol. It turns user requests into commands,
/// rejects misuse, and forwards the events of the protocol.
///
/// The application runs in the task of the node, so no switch between tasks delays an event on its
/// way to the application.
pub trait Application<P: Protocol>: Send + 'static {
    /// Request of a user.
    type Request: Send + Debug + 'static;

    /// Handles a user request. Returns a command for the protocol if the request requires one.
    fn on_request(&mut self, request: Self::Request) -> Option<P::Command>;

    /// Handles an event of the protocol. Returns a further command if the event requires one. The
    /// node performs this command after the current step.
    fn on_event(&mut self, event: P::Event) -> Option<P::Command>;

    /// Handles the events of a step that must wait for a save, before this save. `events` may be
    /// empty. After the save, the node passes the same events to
    /// [`on_event`](Application::on_event). If a step need not wait, the node calls only
    /// `on_event`.
    ///
    /// If an event ends a right of this process, such as a lease, the application should give up
    /// the right here. The application must not wait for the save, because a lease expires even if
    /// the disk is slow.
    fn on_event_early(&mut self, events: &[P::Event]) {
        let _ = events;
    }

    /// Returns true if the node should shut down, even if users can still send requests.
    fn is_shutdown_requested(&self) -> bool {
        false
    }

    /// Returns an error if the application was unable to handle an event. The node then stops when
    /// it waits for its next input. Before that, the node may still deliver further events, which
    /// the application must ignore.
    fn fatal_error(&self) -> Option<&str> {
        None
    }

    /// Handles a failure that stops the node. The node drops the application afterwards. Not called
    /// after a shutdown on request.
    fn on_failure(&mut self, failure: &NodeFailure) {
        let _ = failure;
    }

    /// Returns the term of the current leader, according to the events that the application has
    /// handled. `None` if there is no leader or the protocol elects none.
    fn leader_term(&self) -> Option<Term> {
        None
    }

    /// Returns the command that hands over leadership, if the protocol has such a command. The node
    /// calls this method before a shutdown if this process leads.
    fn handover_command(&mut self) -> Option<P::Command> {
        None
    }

    /// Returns true if a leader continues to lead during a handover, until another process takes
    /// over. Returns false if the leader gives up leadership at the start of the handover.
    /// [`handover_command`](Application::handover_command) returns the command that begins a
    /// handover.
    fn keeps_leading_during_handover(&self) -> bool {
        false
    }
}

/// Application that forwards commands and events unchanged. It does not check that its user
/// follows the rules of the protocol.
#[derive(Debug)]
pub struct PassthroughApplication<P: Protocol> {
    events: mpsc::UnboundedSender<P::Event>,
}

impl<P: Protocol> PassthroughApplication<P> {
    /// Creates the application, and the receiver of the protocol's events.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<P::Event>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (PassthroughApplication { events }, receiver)
    }
}

impl<P: Protocol> Application<P> for PassthroughApplication<P> {
    type Request = P::Command;

    fn on_request(&mut self, command: P::Command) -> Option<P::Command> {
        Some(command)
    }

    fn on_event(&mut self, event: P::Event) -> Option<P::Command> {
        // The user may have dropped the receiver.
        let _ = self.events.send(event);
        None
    }
}
