//! State machine of a client's session: a lease that the client renews.
//!
//! **Why no other client acquires a lock of the session before the session's deadline.** The
//! service counts the lease from the moment when it receives a renewal. The client counts from the
//! moment when it sent the renewal, which was earlier. The client also counts a shorter time than
//! the service, and the difference covers the drift of the clocks. So the client's deadline comes
//! first, even if the response or the connection is lost.

use alloc::vec;
use alloc::vec::Vec;

use crate::times::SessionDurations;

/// Name of one of the two deadline timers. One timer runs for the confirmed renewal, and the other
/// timer runs for the pending renewal. When the pending renewal is confirmed, the timers exchange
/// these roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeadlineTimer {
    /// First deadline timer.
    Left,
    /// Second deadline timer.
    Right,
}

/// The timers of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Deadline of a renewal. When this timer fires and no later renewal was confirmed, the session
    /// ends. The caller must handle this timer before all other events that have arrived.
    Deadline(DeadlineTimer),
    /// The next renewal is due.
    Renewal,
}

/// Action that a session requests from its caller. The caller performs the actions of a list in
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionAction {
    /// Send a request that grants or renews the lease.
    Renew {
        /// Number of the request. The response contains the same number.
        round: u64,
    },
    /// Arm a timer. The duration is in the unit of the TTL and starts now. The timer replaces a
    /// running timer of the same name.
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
    /// No renewal was confirmed in time. The lease may still exist at the service.
    NotRenewed,
    /// The service reports that the lease does not exist.
    LeaseEnded,
    /// The owner closed the session.
    Closed,
}

/// State of a session, as its client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// Number of requests after which request numbers repeat. A response that arrives this many
    /// requests late is mistaken for the response to a newer request.
    round_count: u64,
    /// Number of the last request, from 0 to `round_count` − 1; wraps around.
    round: u64,
    /// The deadline timer that the last request has set. `None` once the response has arrived or
    /// the deadline has passed.
    pending: Option<DeadlineTimer>,
    /// The deadline timer that the last confirmed renewal has set; `None` if the session is not
    /// alive.
    confirmed: Option<DeadlineTimer>,
    ended: Option<LossReason>,
}

impl Session {
    /// Creates a session that is not established yet. Request numbers repeat after `round_count`
    /// requests. The caller must then call [`Session::renew`].
    pub const fn new(round_count: u64) -> Self {
        Session { round_count, round: 0, pending: None, confirmed: None, ended: None }
    }

    /// Returns true if the session is established and has not ended.
    pub const fn is_alive(&self) -> bool {
        self.confirmed.is_some()
    }

    /// Returns the deadline timer that the last confirmed renewal has set. The session ends when
    /// this timer fires. Returns `None` if the session is not alive.
    pub const fn confirmed_deadline_timer(&self) -> Option<DeadlineTimer> {
        self.confirmed
    }

    /// Returns the reason why the session has ended. Returns `None` if the session has not ended.
    pub const fn end_reason(&self) -> Option<LossReason> {
        self.ended
    }

    /// Returns the number of the last request; 0 before the first request.
    pub const fn last_request_number(&self) -> u64 {
        self.round
    }

    /// Returns the actions that request the lease or its renewal. The caller calls this method at
    /// the start, when a renewal is due, and after a reconnection. Returns no actions if the
    /// session has ended.
    pub fn renew(&mut self, times: &SessionDurations) -> Vec<SessionAction> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let side = if self.confirmed == Some(DeadlineTimer::Left) {
            DeadlineTimer::Right
        } else {
            DeadlineTimer::Left
        };
        self.pending = Some(side);
        self.round = (self.round + 1) % self.round_count.max(1);
        vec![
            SessionAction::Arm(Timer::Deadline(side), times.validity),
            SessionAction::Arm(Timer::Renewal, times.renewal_interval),
            SessionAction::Renew { round: self.round },
        ]
    }

    /// Handles a response that grants or renews the lease. `round` is the request number in the
    /// response. Returns no actions if the response does not belong to the last request, or if the
    /// deadline of that request has passed.
    pub fn on_response(&mut self, round: u64) -> Vec<SessionAction> {
        let Some(side) = self.pending.take_if(|_| round == self.round) else { return Vec::new() };
        match self.confirmed.replace(side) {
            Some(before) => vec![SessionAction::Disarm(Timer::Deadline(before))],
            None => vec![SessionAction::Alive],
        }
    }

    /// Handles a response that says that the lease does not exist. Ends the session, unless it has
    /// ended already.
    pub fn on_lease_ended(&mut self) -> Vec<SessionAction> {
        self.end(LossReason::LeaseEnded)
    }

    /// Closes the session, unless it has ended already. The caller should also send a message to
    /// the service, but the session ends even if this message is lost.
    pub fn close(&mut self) -> Vec<SessionAction> {
        self.end(LossReason::Closed)
    }

    /// Handles a timer that has fired. Renews the lease if the renewal is due. Ends the session if
    /// the deadline of the last confirmed renewal has passed.
    pub fn on_timer(&mut self, timer: Timer, times: &SessionDurations) -> Vec<SessionAction> {
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

    /// Ends the session and disarms all timers. Returns no actions if the session has already
    /// ended.
    fn end(&mut self, reason: LossReason) -> Vec<SessionAction> {
        if self.ended.is_some() {
            return Vec::new();
        }
        *self = Session { ended: Some(reason), pending: None, confirmed: None, ..*self };
        let all = [
            Timer::Deadline(DeadlineTimer::Left),
            Timer::Deadline(DeadlineTimer::Right),
            Timer::Renewal,
        ];
        all.into_iter().map(SessionAction::Disarm).chain([SessionAction::Lost(reason)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SessionDurations = SessionDurations { ttl: 10, validity: 9, renewal_interval: 3 };

    fn alive() -> Session {
        let mut session = Session::new(1000);
        let actions = session.renew(&TIMES);
        assert!(actions.contains(&SessionAction::Arm(Timer::Deadline(DeadlineTimer::Left), 9)));
        assert!(actions.ends_with(&[SessionAction::Renew { round: 1 }]));
        assert_eq!(session.on_response(1), [SessionAction::Alive]);
        session
    }

    #[test]
    fn session_expires_when_last_confirmed_request_is_too_old() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        let over = session.on_timer(Timer::Deadline(DeadlineTimer::Left), &TIMES);
        assert!(over.ends_with(&[SessionAction::Lost(LossReason::NotRenewed)]));
        assert!(
            session.on_response(2).is_empty() && !session.is_alive(),
            "the response is too late"
        );
    }

    #[test]
    fn response_moves_deadline_to_that_of_its_request() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        assert_eq!(
            session.on_response(2),
            [SessionAction::Disarm(Timer::Deadline(DeadlineTimer::Left))]
        );
        assert!(session.on_timer(Timer::Deadline(DeadlineTimer::Left), &TIMES).is_empty());
        assert!(session.is_alive());
    }

    #[test]
    fn response_to_older_request_is_ignored() {
        let mut session = alive();
        session.on_timer(Timer::Renewal, &TIMES);
        session.on_timer(Timer::Renewal, &TIMES);
        assert!(session.on_response(2).is_empty());
        assert_eq!(
            session.on_response(3),
            [SessionAction::Disarm(Timer::Deadline(DeadlineTimer::Left))]
        );
    }

    #[test]
    fn late_first_response_does_not_start_session() {
        let mut session = Session::new(1000);
        session.renew(&TIMES);
        assert!(session.on_timer(Timer::Deadline(DeadlineTimer::Left), &TIMES).is_empty());
        assert!(session.on_response(1).is_empty() && !session.is_alive());
        assert_eq!(session.end_reason(), None, "the session can still be established");
    }

    #[test]
    fn session_ends_once() {
        let mut session = alive();
        assert!(session.on_lease_ended().ends_with(&[SessionAction::Lost(LossReason::LeaseEnded)]));
        assert!(session.close().is_empty() && session.renew(&TIMES).is_empty());
        assert_eq!(session.end_reason(), Some(LossReason::LeaseEnded));
    }
}
