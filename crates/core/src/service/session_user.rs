//! Users of services with sessions: a command requests a session, an event begins it, and another
//! command ends it.

use core::fmt;
use core::hash::Hash;

use super::user::{ServiceUser, UserModelConfig, UserState};

/// The requests of one user for sessions of a service.
pub trait AcquireReleaseSequence: Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static {
    /// Commands of the user.
    type Command: PartialEq;
    /// Events that the user receives.
    type Event;
    /// Command that ends a session.
    const END: Self::Command;

    /// Creates the sequence of requests of a user with this configuration.
    fn new(config: &UserModelConfig) -> Self;

    /// Returns the current request of the sequence.
    fn request(&self) -> Self::Command;

    /// Moves to the next request of the sequence. [`AcquireReleaseSequence::request`] then returns
    /// this request.
    fn advance(&mut self);

    /// Returns true if the event begins a session. Every other event ends the session.
    fn is_beginning(event: &Self::Event) -> bool;
}

/// A user that requests sessions, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AcquireReleaseUser<R> {
    requests: R,
    /// Number of sessions that the user has not requested yet.
    remaining: u32,
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    Outside,
    Waiting,
    Inside,
}

impl<R: AcquireReleaseSequence> ServiceUser for AcquireReleaseUser<R> {
    type Command = R::Command;
    type Event = R::Event;

    const HAS_HOLD_TIME: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        let requests = R::new(config);
        AcquireReleaseUser { requests, remaining: config.work_count, position: Position::Outside }
    }

    fn next_command(&self) -> Option<R::Command> {
        match self.position {
            Position::Outside if self.remaining > 0 => Some(self.requests.request()),
            Position::Inside => Some(R::END),
            Position::Outside | Position::Waiting => None,
        }
    }

    fn requests_agreement(command: &R::Command) -> bool {
        *command != R::END
    }

    fn must_issue_command(&self) -> bool {
        self.position == Position::Inside
    }

    fn is_using(&self) -> bool {
        self.position == Position::Inside
    }

    fn must_wait(&self) -> bool {
        self.position == Position::Waiting
    }

    fn on_command(&mut self, command: &R::Command) {
        if *command == R::END {
            self.position = Position::Outside;
        } else {
            self.remaining = self.remaining.saturating_sub(1);
            self.requests.advance();
            self.position = Position::Waiting;
        }
    }

    fn on_event(&mut self, event: &R::Event) {
        self.position = if R::is_beginning(event) { Position::Inside } else { Position::Outside };
    }

    fn on_crash(&mut self) {
        (self.remaining, self.position) = (0, Position::Outside);
    }

    fn state(&self) -> UserState {
        match self.position {
            Position::Waiting => UserState::Waiting,
            Position::Outside | Position::Inside => UserState::Idle,
        }
    }
}
