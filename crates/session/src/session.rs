//! A session: a renewed lease, from the view of its owner.
//!
//! **Why the service grants nothing of the session to another client before its deadline.** The
//! service counts the lease from when it receives a renewal. The client counts from when it sent
//! the renewal, which was earlier, and for a shorter time, by more than the clocks may drift. So
//! the client's deadline comes first, whatever happens to the response and the connection.

use alloc::vec;
use alloc::vec::Vec;

use crate::times::SessionTimes;

/// Name of a deadline timer. One of the two timers runs for the confirmed renewal, and the other
/// for the pending renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The first timer.
    Left,
    /// The second timer.
    Right,
}

/// The timers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The validity of the renewal of this side has ended. The caller must handle this timer before
    /// all other events that have arrived.
    Deadline(Side),
    /// The next renewal is due.
    Renewal,
}

/// Action for the caller, to be performed in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Request the lease or its renewal.
    Renew {
        /// Number of the request, which the response repeats.
        round: u64,
    },
    /// Arm a timer for a duration, in the unit of the TTL, that starts now. It replaces a timer of
    /// the same name.
    Arm(Timer, u64),
    /// Disarm a timer.
    Disarm(Timer),
    /// The session is established: its first request was confirmed.
    Alive,
    /// The session has ended. Other clients may acquire its locks at any moment.
    Lost(LossReason),
}

/// Reason why a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossReason {
    /// No renewal was confirmed in time. The service may still have the lease.
    NotRenewed,
    /// The service reports that the lease does not exist.
    LeaseEnded,
    /// The owner closed the session.
    Closed,
}

/// State of a session, from the view of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// Number of requests after which request numbers repeat. A response that is late by this many
    /// requests is mistaken for the response to a new one.
    round_count: u64,
    /// Number of the last request, below `round_count`.
    round: u64,
    /// Deadline timer of the last request, until its response arrives or its deadline passes.
    pending: Option<Side>,
    /// Deadline timer of the renewal that confirms the session; `None` if the session is not alive.
    confirmed: Option<Side>,
    ended: Option<LossReason>,
}

impl Session {
    /// Creates a session that is not established yet. The numbers of its requests repeat after
    /// `round_count`. The next step is [`Session::renew`].
    pub const fn new(round_count: u64) -> Self {
        Session { round_count, round: 0, pending: None, confirmed: None, ended: None }
    }

    /// Returns true if the session is established and has not ended.
    pub const fn is_alive(&self) -> bool {
        self.confirmed.is_some()
    }

    /// Returns the side whose deadline timer ends the session; `None` if the session is not alive.
    pub const fn deadline_side(&self) -> Option<Side> {
        self.confirmed
    }

    /// Returns the reason why the session has ended; `None` if it has not ended.
    pub const fn ended(&self) -> Option<LossReason> {
        self.ended
    }

    /// Returns the number of the last request.
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Requests the lease or its renewal. The caller calls this at the start, when the renewal is
    /// due, and after a reconnection.
    pub fn renew(&mut self, times: &SessionTimes) -> Vec<Action> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let side = if self.confirmed == Some(Side::Left) { Side::Right } else { Side::Left };
        self.pending = Some(side);
        self.round = (self.round + 1) % self.round_count.max(1);
        vec![
            Action::Arm(Timer::Deadline(side), times.validity),
            Action::Arm(Timer::Renewal, times.renewal_interval),
            Action::Renew { round: self.round },
        ]
    }

    /// Handles the response to the request with number `round`. A response to any but the last
    /// request is ignored, because it does not tell how long the lease lasts.
    pub fn on_response(&mut self, round: u64) -> Vec<Action> {
        let Some(side) = self.pending.take_if(|_| round == self.round) else { return Vec::new() };
        match self.confirmed.replace(side) {
            Some(before) => vec![Action::Disarm(Timer::Deadline(before))],
            None => vec![Action::Alive],
        }
    }

    /// Handles a response that the lease does not exist.
    pub fn on_lease_ended(&mut self) -> Vec<Action> {
        self.end(LossReason::LeaseEnded)
    }

    /// Closes the session. The caller should also inform the service; that message may be lost.
    pub fn close(&mut self) -> Vec<Action> {
        self.end(LossReason::Closed)
    }

    /// Handles a timer that has fired.
    pub fn on_timer(&mut self, timer: Timer, times: &SessionTimes) -> Vec<Action> {
        match timer {
            Timer::Renewal => self.renew(times),
            Timer::Deadline(side) => {
                self.pending = self.pending.filter(|pending| *pending != side);
                if self.confirmed == Some(side) {
                    self.end(LossReason::NotRenewed)
                } else {
                    Vec::new()
                }
            }
        }
    }

    fn end(&mut self, reason: LossReason) -> Vec<Action> {
        if self.ended.is_some() {
            return Vec::new();
        }
        *self = Session { ended: Some(reason), pending: None, confirmed: None, ..*self };
        let all = [Timer::Deadline(Side::Left), Timer::Deadline(Side::Right), Timer::Renewal];
        all.into_iter().map(Action::Disarm).chain([Action::Lost(reason)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SessionTimes = SessionTimes { ttl: 10, validity: 9, renewal_interval: 3 };

    fn alive() -> Session {
        let mut session = Session::new(1000);
        let actions = session.renew(&TIMES);
        assert!(actions.contains(&Action::Arm(Timer::Deadline(Side::Left), 9)));
        assert!(actions.ends_with(&[Action::Renew { round: 1 }]));
        assert_eq!(session.on_response(1), [Action::Alive]);
        session
    }

    #[test]
    fn session_expires_when_last_confirmed_request_is_too_old() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        let over = session.on_timer(Timer::Deadline(Side::Left), &TIMES);
        assert!(over.ends_with(&[Action::Lost(LossReason::NotRenewed)]));
        assert!(
            session.on_response(2).is_empty() && !session.is_alive(),
            "the response is too late"
        );
    }

    #[test]
    fn response_moves_deadline_to_that_of_its_request() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        assert_eq!(session.on_response(2), [Action::Disarm(Timer::Deadline(Side::Left))]);
        assert!(session.on_timer(Timer::Deadline(Side::Left), &TIMES).is_empty());
        assert!(session.is_alive());
    }

    #[test]
    fn response_to_older_request_is_ignored() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        session.on_timer(Timer::Renewal, &TIMES);
        assert!(session.on_response(2).is_empty());
        assert_eq!(session.on_response(3), [Action::Disarm(Timer::Deadline(Side::Left))]);
    }

    #[test]
    fn late_first_response_does_not_start_session() {
        let mut session = Session::new(1000);
        session.renew(&TIMES);
        assert!(session.on_timer(Timer::Deadline(Side::Left), &TIMES).is_empty());
        assert!(session.on_response(1).is_empty() && !session.is_alive());
        assert_eq!(session.ended(), None, "the session can still be established");
    }

    #[test]
    fn session_ends_once() {
        let mut session = alive();
        assert!(session.on_lease_ended().ends_with(&[Action::Lost(LossReason::LeaseEnded)]));
        assert!(session.close().is_empty() && session.renew(&TIMES).is_empty());
        assert_eq!(session.ended(), Some(LossReason::LeaseEnded));
    }
}
